"""The release that settings and public geography ask for, and the settings that a drawn release was asked for by.

A drawn week keeps what it was drawn under, whatever settings and defaults say today: a second draw of a week is a
second release, so only a revision that a person declares changes what a drawn week is.
"""

from collections.abc import Sequence
from datetime import date
from typing import Any

from pydantic import BaseModel

from density_assets.errors import BadInput
from density_assets.privacy.charges import Row, population_name
from density_assets.privacy.release import Release
from density_assets.schemes.scheme import Plan, Scheme
from density_assets.settings import PrivacySettings, SchemeSettings, Settings
from density_assets.settings.city import CitySettings

OF_EVERY_SCHEME = frozenset({"improved", "split", "weight_l"})  # settings of [scheme] that shape all draws


def asked_release(settings: Settings, scheme: Scheme, plan: Plan, geography: str, week: date) -> Release:
    """The release of a week.

    plan: what its doors will spend. geography: the hash of cells and towers.

    Guarantees: a setting that shapes a draw is one of its parameters, and so part of every measurement key; one that
    only says how files are read is not. Another key is another charge.
    """
    simulated = {"users", "seed"} if settings.city.synthetic else set()
    return Release(
        population=population_name(settings),
        city=settings.city.name,
        week=str(week),
        revision=settings.revision_of(str(week)),
        epsilon=settings.privacy.epsilon,
        delta=settings.privacy.delta,
        geography=geography,
        scheme=scheme.name,
        calibration=settings.scheme.calibration,
        parameters={
            **settings.privacy.model_dump(include={"visits_per_user", "visits_clamp"}),
            **settings.scheme.model_dump(include={*OF_EVERY_SCHEME, *scheme.own_settings}),
            **settings.city.model_dump(include={"timezone", *simulated}),
        },
        doors=plan,
    )


def drawn_release(rows: Sequence[Row]) -> Release | None:
    """Return the release that one revision of a week was drawn for; none if nothing was drawn.

    rows: what was charged for it.
    """
    drawn = next((row.release for row in reversed(rows) if row.digest), None)
    if drawn is None:
        return None
    # The charge of each door, the newest where one was charged again after a run was killed.
    charges = {row.charge.door: row.charge for row in rows if row.release["name"] == drawn["name"]}
    return Release.recorded(list(charges.values()), drawn)


def settings_as_drawn(settings: Settings, release: Release) -> Settings:
    """Settings under which a release can be made again: today's, with what decided its draws put back."""
    tables: dict[str, type[BaseModel]] = {"privacy": PrivacySettings, "scheme": SchemeSettings, "city": CitySettings}
    decided: dict[str, dict[str, Any]] = {
        "privacy": {"epsilon": release.epsilon, "delta": release.delta},
        "scheme": {"name": release.scheme, "calibration": release.calibration},
        "city": {},
    }
    for name, value in release.parameters.items():
        table = next((table for table, model in tables.items() if name in model.model_fields), None)
        if table is None:
            raise BadInput(
                f"the week of {release.week} was drawn with {name}, which this software does not know: it was drawn by "
                "a newer one, which must be used"
            )
        decided[table][name] = value
    changed = {
        table: getattr(settings, table).model_copy(update=values)
        for table, values in decided.items()
        if any(getattr(getattr(settings, table), name) != value for name, value in values.items())
    }
    return settings.model_copy(update=changed) if changed else settings
