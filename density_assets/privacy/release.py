"""A release as one value: which week of whom, what it promises, what decides its draws.

Charge, ledger row, statement, register and file names all say which release they belong to; what they say is
`Identity`, and is spelled here once. `Release` adds everything that decides what is drawn, and nothing that was
computed from people: its key names a measurement, and the same key never draws twice.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from density_assets.privacy.events import Event

FORMAT = 1  # of everything that is written: ledger, draws, tables, statements, manifests; there is no other


@dataclass(frozen=True)
class Identity:
    """Which release.

    population: whose budget is charged.
    revision: 1, or what a person declared to permit a second draw of the week.
    epsilon, delta: the promise of the whole release.
    """

    population: str
    city: str
    week: str
    revision: int
    epsilon: float
    delta: float

    @property
    def year(self) -> str:
        """The calendar year whose budget pays."""
        return self.week[:4]

    @property
    def which(self) -> dict[str, Any]:
        """City, week and revision: what tells a release from every other of the ledger."""
        return {"city": self.city, "week": self.week, "revision": self.revision}

    def identity(self) -> dict[str, Any]:
        """The fields above, of whatever value this is part of."""
        return {field.name: getattr(self, field.name) for field in fields(Identity)}


@dataclass(frozen=True)
class Charge(Identity):
    """What one door of one release spends.

    door: the mechanism asset that draws.
    measurement: key of the draw that the charge pays for.
    """

    door: str
    measurement: str
    events: tuple[Event, ...]


@dataclass(frozen=True)
class Release(Identity):
    """All that decides what a release draws: settings and public geography, no data.

    geography: hash of the public cells and towers.
    parameters: every setting that shapes the draw.
    doors: what each mechanism asset will spend.
    """

    geography: str
    scheme: str
    calibration: str
    parameters: Mapping[str, Any]
    doors: Mapping[str, tuple[Event, ...]]

    def key(self, door: str) -> str:
        """Return the key of one door's measurement: another key is another charge.

        A scheme whose draws come to be distributed otherwise is another scheme, with a name of its own.
        """
        decided = {name: value for name, value in asdict(self).items() if name != "doors"}
        content = {**decided, "door": door, "format": FORMAT}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def name(self) -> str:
        """A short name of the release: the same for its doors and everything made of them."""
        return self.key("")[:16]

    def record(self) -> dict[str, Any]:
        """What the ledger keeps of it beside its identity and events, so that a drawn week can be made again."""
        names = ("geography", "scheme", "calibration")
        return {"name": self.name, **{name: getattr(self, name) for name in names}, "parameters": dict(self.parameters)}

    @classmethod
    def recorded(cls, charges: Sequence[Charge], record: Mapping[str, Any]) -> "Release":
        """The release that charges were made for, from what `record` kept of it.

        Guarantees: its keys are those of the charges; raises ValueError if they are not.
        """
        kept = {name: value for name, value in record.items() if name != "name"}
        release = cls(**charges[0].identity(), **kept, doors={charge.door: charge.events for charge in charges})
        for charge in charges:
            if release.key(charge.door) != charge.measurement:
                raise ValueError(f"{charge.door} of the week of {charge.week} was charged for another release")
        return release

    def charge(self, door: str) -> Charge:
        """What one door of the release costs."""
        return Charge(**self.identity(), door=door, measurement=self.key(door), events=self.doors[door])
