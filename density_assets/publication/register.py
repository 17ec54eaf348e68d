"""Every release of a population, as an auditor finds it: what the ledger charged, beside what statements say.

Charges that no statement names are listed as well. They are no fault: a release whose settings were changed before it
was published again, or a run that was killed. They were paid for, so they count.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from density_assets.privacy.accounts import Accounts
from density_assets.privacy.accounts import Entry as LedgerEntry
from density_assets.privacy.charges import Row
from density_assets.privacy.estimates import FINAL
from density_assets.privacy.release import Identity
from density_assets.publication.files import digests
from density_assets.publication.verification import outcome

Finding = tuple[bool, str]


@dataclass(frozen=True)
class Entry(Identity):
    """One release of a week as the register knows it, or charges for one that no statement names.

    charges: hashes of its rows in the ledger, by door.
    at: when it was charged.
    drawn: whether noise was drawn under any of the charges.
    statement: the file, if there is one, and `digest` its SHA-256.
    files: digests of the released files, by name, as stated.
    findings: what verification found.
    asked: who asked for it and why.
    earlier_weeks: how many weeks before it entered the estimate; none where no statement says, and for weeks estimated
        alone, whose statements say nothing of it.
    upto: the last week that a final estimate uses; empty for what a week was first published with.
    asked_finally: who asked for the final estimate and why; empty for what a week was first published with.
    """

    at: str
    charges: Mapping[str, str]
    drawn: bool
    scheme: str = ""
    calibration: str = ""
    statement: Path | None = None
    digest: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    asked: str = ""
    earlier_weeks: int | None = None
    upto: str = ""
    asked_finally: str = ""

    @property
    def verified(self) -> bool | None:
        """Whether files, statement and ledger belong together; none where there is no statement."""
        return all(holds for holds, _ in self.findings) if self.statement else None


def register(accounts: Accounts, population: str, home: Path, city: str) -> list[Entry]:
    """The releases of a population by week, city and revision.

    accounts: the whole ledger.
    home: the folder under which each city keeps its releases.
    city: a city whose statements are looked at even if the ledger does not know it.
    """
    charges = {row.hash: row for row in accounts.rows if row.charge.population == population}
    others = {row.hash for row in accounts.rows} - charges.keys()
    entries = []
    for name in sorted({city, *(row.charge.city for row in charges.values())}):
        for file in sorted((home / name / "release").glob("privacy_statement_*.json")):
            release = _stated(file, population, name, accounts)
            if not others.intersection(release.charges.values()):
                entries.append(release)
    named = {charge for release in entries for charge in release.charges.values()}
    entries += _unstated([row for row in charges.values() if row.hash not in named])
    return sorted(entries, key=lambda entry: (entry.week, entry.city, entry.revision, entry.at, entry.upto))


def _stated(file: Path, population: str, city: str, accounts: Accounts) -> Entry:
    """A statement and what comes of checking it; one that cannot be read is a finding, not an error."""
    digest, ledger = digests([file])[file.name], accounts.by_hash
    try:
        said = json.loads(file.read_text(encoding="utf-8"))
        charges = {charge["door"]: charge["hash"] for charge in said["charges"]}
        paid = [ledger[charge] for charge in charges.values() if charge in ledger]
        return Entry(
            population=population,
            city=said["city"],
            week=said["week"],
            revision=said["revision"],
            epsilon=float(said["epsilon"]),
            delta=float(said["delta"]),
            at=min((charge["at"] for charge in said["charges"]), default=""),
            charges=charges,
            drawn=any(row.drawn for row in paid),
            scheme=said["scheme"],
            calibration=said["calibration"],
            statement=file,
            digest=digest,
            files=dict(said["files"]),
            findings=(*_verified(file, said, accounts), *_in_ledger(said, ledger)),
            asked=_asked(paid) + ("" if _upto(said) else _published_anew(said, accounts)),
            earlier_weeks=_earlier(said) if "estimate" in said else None,
            upto=_upto(said) or "",
            asked_finally=_asked_finally(said, accounts),
        )
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as problem:
        finding = (False, f"the statement cannot be read: {type(problem).__name__}")
        week = file.stem.removeprefix("privacy_statement_").removeprefix("final_")[:10]
        unread = Identity(population, city, week, revision=0, epsilon=0.0, delta=0.0)
        return Entry(
            **unread.identity(), at="", charges={}, drawn=False, statement=file, digest=digest, findings=(finding,)
        )


def _earlier(said: Mapping[str, Any]) -> int:
    return sum(week["week"] < said["week"] for week in said["estimate"]["weeks"])


def _upto(said: Mapping[str, Any]) -> str | None:
    """The last week that a final estimate uses; none of a statement of another one."""
    if said.get("estimate", {}).get("vintage") != FINAL:
        return None
    return str(max(week["week"] for week in said["estimate"]["weeks"]))


def _publications(said: Mapping[str, Any], accounts: Accounts) -> list[LedgerEntry]:
    """Every time what a statement is of was published, oldest first."""
    return accounts.publications({name: said[name] for name in ("city", "week", "revision")}, _upto(said))


def _asked_finally(said: Mapping[str, Any], accounts: Accounts) -> str:
    """Who asked for a final estimate and why, in words; nothing of another one, whose charges say it."""
    signed = _publications(said, accounts)
    if not signed or _upto(said) is None:
        return ""
    return "{by} ({how}): {reason}".format(**signed[-1].body)


def _published_anew(said: Mapping[str, Any], accounts: Accounts) -> str:
    """Who asked for other files of the same draws and why, in words; nothing where nobody did."""
    anew = [entry.body for entry in _publications(said, accounts) if "replaces" in entry.body]
    return "".join("; published anew by {by} ({how}): {reason}".format(**body) for body in anew)


def _verified(file: Path, said: Mapping[str, Any], accounts: Accounts) -> Iterator[Finding]:
    """What an outsider would find who knows the key; here the ledger says which it was."""
    signed = _publications(said, accounts)
    if not signed:
        yield from outcome(file).findings
        return
    manifest = file.with_name(file.name.replace("privacy_statement_", "manifest_"))
    yield from outcome(manifest if manifest.exists() else file, signed[-1].body["key"]).findings
    found = digests([manifest])[manifest.name] if manifest.exists() else ""
    yield found == signed[-1].body["manifest"], "what is signed is what the ledger says was published last"


def _in_ledger(said: Mapping[str, Any], ledger: Mapping[str, Row]) -> Iterator[Finding]:
    """A chain copied beside a statement proves little alone: its charges must stand in the ledger of today."""
    for charge in said["charges"]:
        row = ledger.get(charge["hash"])
        same = row is not None and row.drawn and row.charge.measurement == charge["measurement"]
        yield same, f"the charge of {charge['door']} stands in the ledger of today, drawn"


def _asked(rows: Sequence[Row]) -> str:
    """Who asked for a release and why, in words."""
    named = [row for row in rows if row.by]
    return f"{named[-1].by} ({named[-1].how}): {named[-1].reason}" if named else ""


def _unstated(rows: Sequence[Row]) -> Iterator[Entry]:
    groups: dict[Identity, list[Row]] = {}
    for row in rows:
        groups.setdefault(Identity(**row.charge.identity()), []).append(row)
    for which, group in groups.items():
        charges = {f"{row.charge.door} (row {row.row})": row.hash for row in group}
        drawn = any(row.drawn for row in group)
        yield Entry(
            **which.identity(), at=min(row.at for row in group), charges=charges, drawn=drawn, asked=_asked(group)
        )
