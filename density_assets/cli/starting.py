"""Starting: a first settings file, from the files a person has."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os.path import expanduser
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from density_assets.errors import BadInput

if TYPE_CHECKING:
    from density_assets.cli.first_visits import Beginning, Guess


def init(
    out: Annotated[Path, typer.Argument(help="The settings file to write; one that is there is never replaced.")],
    cells: Annotated[str | None, typer.Option("--cells", help="Polygons of the areas to publish.")] = None,
    grid: Annotated[
        str | None, typer.Option("--grid", help="In place of cells: 'inspire 1km' (of Europe), or 'h3 8'.")
    ] = None,
    boundary: Annotated[
        str | None, typer.Option("--boundary", help="Polygons that the grid's cells lie in; without, around antennas.")
    ] = None,
    towers: Annotated[str | None, typer.Option("--towers", help="Antenna list: CSV, Parquet, a folder of it.")] = None,
    visits: Annotated[
        str | None, typer.Option("--visits", help="Event files, quoted, such as 'cdr/{week}/*.csv'; or with {day}.")
    ] = None,
    users: Annotated[
        int | None, typer.Option("--users", min=1, help="In place of visits: how many people to simulate.")
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A line of the table city, in place of a guess."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Take every guess without asking.")] = False,
) -> int:
    """Write a first settings file, guessed from your files; every line says why, and none what you promise."""
    from density_assets.cli.first_visits import Beginning
    from density_assets.cli.guesses import guesses, settings_text, with_answers

    if out.exists():
        raise BadInput(f"init must write a new file, {out} is there already: name another, or edit that one")
    _refuse_both("--visits (records of real people) or --users (how many to simulate)", visits, users)
    _refuse_both("--cells (areas of your own) or --grid (whose areas have names)", cells, grid)
    if boundary is not None and grid is None:
        raise BadInput("--boundary says which areas of a grid are the city's: give --grid as well")
    try:
        beginning = Beginning(
            cells=None if grid else Path(_wanted("cells", cells, yes=yes)),
            grid=grid,
            boundary=None if boundary is None else Path(_wanted("boundary", boundary, yes=yes)),
            towers=Path(_wanted("towers", towers, yes=yes)),
            visits=None if users else _wanted("visits", visits, yes=yes),
            users=users,
        )
        _refuse_ours(beginning)
        lines = with_answers(list(guesses(out, beginning)), _answers(given or []))
        if not yes:
            lines = _confirmed(lines, partial(_columns, beginning))
    except typer.Abort:
        raise BadInput("nothing was written: a question was left without an answer (--yes asks none)") from None
    _write(out, settings_text(lines, str(out), partial(_columns, beginning)))
    print("\n".join(_next(out, simulated=users is not None)))
    return 0


def _refuse_both(said: str, *options: object) -> None:
    """Raise if two options that speak of one thing are both given."""
    if None not in options:
        raise BadInput(f"init takes either {said}, got both")


def _columns(beginning: "Beginning") -> str:
    """The columns of the antenna list and of an event file, as the end of a message."""
    from density_assets.cli.first_visits import sample_of
    from density_assets.cli.guesses import antennas

    of_towers = f"columns of {beginning.towers.name}: {', '.join(antennas(beginning.towers).columns)}"
    if beginning.visits is None:
        return f" ({of_towers})"
    events = sample_of(beginning.visits)
    return f" ({of_towers}; of the event files: {', '.join(name for name, _ in events.columns)})"


def _wanted(name: str, value: str | None, *, yes: bool) -> str:
    if value is None and yes:
        others = {"visits": "--users N to simulate people", "cells": "--grid 'inspire 1km' if you have none"}
        raise BadInput(f"init must know your {name}: give --{name}{f', or {others[name]}' if name in others else ''}")
    named = value or typer.prompt(f"where are your {name}?", type=str)
    return _of_this_machine(name, expanduser(named))  # no shell does it in quotes, or in an answer


def _of_this_machine(name: str, place: str) -> str:
    """A path or pattern, if settings would take it; what they refuse may hold a password, and is not repeated."""
    from density_assets.settings.values import is_url, plain_path, plain_place

    try:
        taken = str(plain_place(place) if name == "visits" else plain_path(place))
    except ValueError as error:
        raise BadInput(f"--{name} {error}") from None
    if is_url(taken):
        raise BadInput(
            "--visits must be files of this machine for init to look at, got a URL: copy or mount some of them here "
            'and name those; once the file is written, give city.visits the URL and engine.name = "spark", which '
            "reads it, or let city.visits name the mount"
        )
    return taken


def _refuse_ours(beginning: "Beginning") -> None:
    """Raise if a file that is looked at is one that this software keeps."""
    from density_assets.cli.first_visits import samples_of
    from density_assets.geography.lists import public_files
    from density_assets.records.files import refuse_our_files
    from density_assets.settings.environment import home_here
    from resources.tables.weeks import roots_under

    home, events = home_here(), [] if beginning.visits is None else samples_of(beginning.visits)
    lists = [file for path in beginning.geography for file in public_files(path)]
    refuse_our_files([*lists, *events], home, roots_under(home))


def _answers(given: Sequence[str]) -> Mapping[str, str]:
    if wrong := [text for text in given if not all(text.partition("="))]:
        raise BadInput(f"--set must be KEY=VALUE, got {wrong[0]!r}")
    return {key.strip(): value.strip() for key, _, value in (text.partition("=") for text in given)}


def _confirmed(lines: "Sequence[Guess]", columns: Callable[[], str]) -> "list[Guess]":
    """Every line as a person leaves it.

    columns: says which there are, to whoever must name one that could not be guessed.
    """
    from dataclasses import replace

    if missing := [line.key for line in lines if not line.value]:
        print(f"{' and '.join(missing)} of [city] could not be guessed{columns()}")
    return [replace(line, value=typer.prompt(f"{line.key} ({line.why})", default=line.value)) for line in lines]


def _write(out: Path, text: str) -> None:
    """Write a file that can be loaded; one that cannot is not left behind."""
    from density_assets.settings import load_settings

    try:
        content = text.encode()
    except UnicodeEncodeError:
        raise BadInput("names in settings must be UTF-8, that of a file is not: rename it, or its folder") from None
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("xb") as file:
        file.write(content)
    try:
        load_settings(out)
    except BadInput:
        out.unlink()
        raise


def _next(out: Path, *, simulated: bool) -> list[str]:
    these = f"--settings {quote(str(out))}"
    look = f"  density check {these}                                      what your files are taken for and hold"
    if simulated:
        return [
            f"wrote {out}: look at every line. Then, in this order,",
            look,
            f"  density release {these}                                    the first week, of people who do not exist",
        ]
    return [
        f"wrote {out}: look at every line. Then, in this order,",
        look,
        f"  density plan {these} --people NUMBER                       which errors to expect at which promise",
        f"  density ledger init {these} --by NAME --reason WHY         once: opens the ledger, makes the key",
        f"  density check {these} --acknowledge --by NAME --reason WHY once: you have looked at what check says",
        f"  density release {these} --by NAME --reason WHY             the first week, which is charged",
    ]
