"""A draw and an estimate are two things: a draw is paid for and made once, an estimate is free and follows from draws.

An estimate may use the draws of earlier weeks as well. They are paid for and public, so what is made of them costs
nothing more (post-processing). Which draws it uses follows from the ledger alone: of every earlier week of the same
city and population the newest revision that was drawn before this week's own draw was finished. So an estimate comes
out the same whenever it is made, a later revision of an earlier week does not reach weeks that were drawn before it,
and the chain that is published with a week holds every draw its estimate names.

Once weeks after it are drawn, a published week may be estimated again with these too: a second vintage, beside the
first. It uses, of every other week, the newest revision that is drawn when somebody asks.

The key of a measurement knows nothing of estimates: what is drawn does not depend on what will be made of it.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from density_assets.errors import BadInput
from density_assets.privacy.accounts import Accounts
from density_assets.privacy.charges import Row
from density_assets.privacy.release import FORMAT, Release

ALONE, WITH_EARLIER_WEEKS = 1, 2  # how a week was estimated, in its table
PROVISIONAL, FINAL = "provisional", "final"  # vintages: with the weeks before it only, with those after it too
SHAPING = ("weight_l", "tower_l")  # parameters that say what a weighted visit is, and so part of an estimate's key
ALIKE = (*SHAPING, "visits_clamp", "timezone")  # weeks with other ones count other visits or other hours: not mixed


@dataclass(frozen=True)
class DoorDraw:
    """The draw of one door: the charge that paid for it, the key it is stored under, the digest of its values."""

    charge: str
    measurement: str
    digest: str


@dataclass(frozen=True)
class DrawUsed:
    """The draws of one release of a week, by door."""

    week: str
    revision: int
    doors: Mapping[str, DoorDraw]

    @property
    def digests(self) -> tuple[str, ...]:
        """Of its doors, in the order of their names."""
        return tuple(self.doors[door].digest for door in sorted(self.doors))

    def record(self) -> dict[str, Any]:
        """As statements hold it; the order of keys is part of published bytes."""
        draws = {
            door: {"charge": draw.charge, "measurement": draw.measurement, "draw": draw.digest}
            for door, draw in sorted(self.doors.items())
        }
        return {"week": self.week, "revision": self.revision, "draws": draws}


@dataclass(frozen=True)
class LeftOut:
    """Another week that is drawn and not used, and why."""

    week: str
    revision: int
    reason: str


@dataclass(frozen=True)
class Estimated:
    """What an estimate is made of.

    own: the draws of its own week. used: those of other weeks, oldest first; of earlier ones if provisional.
    """

    vintage: str
    own: DrawUsed
    used: tuple[DrawUsed, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    @property
    def earlier(self) -> tuple[DrawUsed, ...]:
        """Draws of weeks before its own, oldest first."""
        return tuple(draw for draw in self.used if draw.week < self.own.week)

    @property
    def later(self) -> tuple[DrawUsed, ...]:
        """Draws of weeks after its own, oldest first; there is one in a final estimate."""
        return tuple(draw for draw in self.used if draw.week > self.own.week)

    @property
    def charges(self) -> frozenset[str]:
        """Hashes of the charges that paid for every draw it uses."""
        return frozenset(draw.charge for week in (*self.used, self.own) for draw in week.doors.values())

    @property
    def digests(self) -> tuple[str, ...]:
        """Of every draw it uses, its own last."""
        return tuple(digest for draw in (*self.used, self.own) for digest in draw.digests)

    def key(self, release: Release) -> str:
        """The key of the estimate: everything that decides it. `verify.py` makes it again from a statement."""
        decided = {
            "draws": self.digests,
            "scheme": release.scheme,
            "format": FORMAT,
            "geography": release.geography,
            "parameters": {name: release.parameters[name] for name in SHAPING if name in release.parameters},
        }
        return hashlib.sha256(json.dumps(decided, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    def rows(self, accounts: Accounts) -> list[Row]:
        """The charges that paid for every draw it uses, its own last."""
        weeks = (*self.used, self.own)
        return [accounts.by_hash[week.doors[door].charge] for week in weeks for door in sorted(week.doors)]


def estimated_with_earlier_weeks(accounts: Accounts, release: Release) -> Estimated:
    """What the estimate of a drawn week is made of, by the rule above."""
    return _estimated(
        accounts,
        release,
        PROVISIONAL,
        lambda other, own: other.draws.week < release.week and other.finished <= own.finished,
    )


def estimated_with_all_weeks(accounts: Accounts, release: Release) -> Estimated:
    """What the second estimate of a drawn week is made of, as of today; raises where no later week can be used."""
    final = _estimated(accounts, release, FINAL, lambda other, _: other.draws.week != release.week)
    if not final.later:
        unused = [f"{week.week} cannot be used: {week.reason}" for week in final.left_out if week.week > release.week]
        raise BadInput(
            f"a final estimate of the week of {release.week} must use a later week, but "
            f"{'; '.join(unused) or 'none is drawn'}. Release a week after it first"
        )
    return final


def _estimated(
    accounts: Accounts, release: Release, vintage: str, considered: Callable[["_Drawn", "_Drawn"], bool]
) -> Estimated:
    """What an estimate is made of.

    considered: whether a drawn release is, given the own one; of those of a week the newest counts.
    """
    drawn = _drawn(accounts, release)
    own = [one for one in drawn if one.record["name"] == release.name]
    if not own:
        raise BadInput(f"the week of {release.week} must be drawn before it is estimated: materialise its doors")
    newest: dict[str, _Drawn] = {}
    for one in sorted(drawn, key=lambda one: (one.draws.week, one.draws.revision, one.finished)):
        if considered(one, own[-1]):
            newest[one.draws.week] = one
    reasons = {week: _unusable(one.record, release) for week, one in newest.items()}
    return Estimated(
        vintage,
        own[-1].draws,
        tuple(one.draws for week, one in newest.items() if not reasons[week]),
        tuple(LeftOut(week, newest[week].draws.revision, reason) for week, reason in reasons.items() if reason),
    )


@dataclass(frozen=True)
class _Drawn:
    """A release that is drawn: its draws, what they were drawn under, and the entry by which the last was finished."""

    draws: DrawUsed
    record: Mapping[str, Any]
    finished: int


def _drawn(accounts: Accounts, release: Release) -> list[_Drawn]:
    """Every release of the same city and population whose doors are all drawn."""
    finished = {entry.body["charge"]: entry.row for entry in accounts.of("drawn")}
    releases: dict[tuple[str, int, str], list[Row]] = {}
    for row in accounts.rows:
        charge, name = row.charge, row.release["name"]
        if (charge.population, charge.city) == (release.population, release.city):
            releases.setdefault((charge.week, charge.revision, name), []).append(row)
    drawn = []
    for (week, revision, _), rows in releases.items():
        doors = {row.charge.door: DoorDraw(row.hash, row.charge.measurement, row.digest) for row in rows if row.digest}
        if doors.keys() == {row.charge.door for row in rows}:
            end = max(finished.get(draw.charge, 0) for draw in doors.values())
            drawn.append(_Drawn(DrawUsed(week, revision, doors), rows[-1].release, end))
    return drawn


def _unusable(record: Mapping[str, Any], release: Release) -> str:
    """Why draws of another week cannot be used, in words; empty if they can."""
    if record["scheme"] != release.scheme:
        return f"it was drawn by {record['scheme']}"
    if record["geography"] != release.geography:
        return "its cells or towers were others"
    changed = [name for name in ALIKE if record["parameters"].get(name) != release.parameters.get(name)]
    return ", ".join(f"{name} was {record['parameters'].get(name)}" for name in changed)
