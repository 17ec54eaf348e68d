"""What a drawn week was drawn under: it keeps that, whatever settings and defaults say today.

A second draw of a week is a second release, so only a revision that a person declares changes what a drawn week is.
Charges say under what they were made. Those of version 1 do not: there the statement does, and the keys of the draws
tell whether it says all.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from density_assets.errors import BadInput
from density_assets.privacy.charges import Row
from density_assets.privacy.release import Charge, Release
from density_assets.settings import PrivacySettings, SchemeSettings, Settings
from density_assets.settings.city import CitySettings

VERSIONS = range(1, 20)  # of mechanisms: one of them fits a statement of version 1


def drawn_release(rows: Sequence[Row], stated: Mapping[str, Any], geography: str) -> Release | None:
    """The release that one revision of a week was drawn for; none if nothing was drawn.

    rows: what was charged for it.
    stated: its statement, if there is one. geography: the hash of today's, which a statement does not say.
    """
    for row in reversed([row for row in rows if row.digest or (row.drawn and not row.entry)]):
        if row.release:
            same = [other for other in rows if other.release and other.release["name"] == row.release["name"]]
            return Release.recorded(_one_per_door(same), row.release)
        if release := _as_stated(rows, row, stated, geography):
            return release
    return None


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


def _as_stated(rows: Sequence[Row], drawn: Row, stated: Mapping[str, Any], geography: str) -> Release | None:
    """The release of a statement of version 1, if the draw is one that it names and its key can be made again."""
    named = {charge.get("measurement") for charge in stated.get("charges", ())}
    if drawn.charge.measurement not in named:
        return None
    charges = _one_per_door([row for row in rows if row.charge.measurement in named])
    record = {name: stated[name] for name in ("scheme", "calibration", "parameters")} | {"geography": geography}
    return next(_fitting(charges, record), None)


def _fitting(charges: Sequence[Charge], record: Mapping[str, Any]) -> Iterator[Release]:
    for version in VERSIONS:
        try:
            yield Release.recorded(charges, {**record, "version": version})
        except ValueError:
            continue


def _one_per_door(rows: Iterable[Row]) -> list[Charge]:
    """The charge of each door, the newest where one was charged again after a run was killed."""
    return list({row.charge.door: row.charge for row in rows}.values())
