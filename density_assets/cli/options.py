"""Options that several commands share, and what they stand for."""

import os
from datetime import date
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from density_assets.city import City
    from density_assets.privacy.accounts import Accounts
    from density_assets.privacy.acts import Act


def _name_settings(file: Path | None) -> Path | None:
    """Let everything that asks for the city of the environment find that of these settings."""
    if file is not None:
        os.environ["DENSITY_SETTINGS"] = str(file.absolute())
    return file


SettingsFile = Annotated[
    Path | None,
    typer.Option("--settings", callback=_name_settings, help="TOML file; without it, the embedded city."),
]
Week = Annotated[str | None, typer.Option("--week", help="The Monday of the week; by default the city's first.")]

By = Annotated[str | None, typer.Option("--by", help="Your name or role; recorded and published. Or DENSITY_BY.")]
Reason = Annotated[str | None, typer.Option("--reason", help="Why; recorded and published. Or DENSITY_REASON.")]


def act(city: "City", by: str | None, reason: str | None, what: str, books: "Accounts | None" = None) -> "Act":
    """Who does something to the books, and why: as given, by the environment or by `[operator]`.

    books: those that are changed, by default the city's. If they are about real people somebody must be named, whatever
    settings the command was given.
    """
    from density_assets.privacy.acts import act_under, needed, of_nobody

    given = act_under(city.settings, by, reason)
    unnamed = given == of_nobody() and (books or city.ledger.accounts()).of_people
    return needed(None if unnamed else given, what)


def typed(words: str, who: "Act | None" = None, **options: object) -> str:
    """A command that can be typed as it stands, about the same settings; from any folder if DENSITY_HOME is set."""
    given = {**options, "settings": os.environ.get("DENSITY_SETTINGS")}
    given |= {"by": who.by, "reason": who.reason} if who else {}
    return " ".join(["density", words, *(f"--{name} {quote(str(value))}" for name, value in given.items() if value)])


def chosen_week(week: str | None, city: "City") -> date:
    """The week that --week names, by default the city's first."""
    from density_assets.calendar import parse_week

    return parse_week(week) if week else city.settings.city.first_week
