"""What the graph of a city holds, as plain values, and whether data could flow through it to where it may not.

Assets have zones and edges, checks what they are about. Nothing computed from people leaves except through a door: the
declared edges are checked whenever definitions load, so a change that opens a leak there does not even start. That
reads keep to what is declared is seen to elsewhere, while steps run: `step.py` and `worker.py`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import dagster as dg
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus

from density_assets.city import City
from density_assets.graph.naming import key
from density_assets.graph.step import Shelf
from density_assets.privacy.zones import Zone, ZoneLeak
from density_assets.publication.pages.audit_page import WITHHELD, Checked
from density_assets.publication.pages.svg import Node

ENDED = {AssetCheckExecutionRecordStatus.SUCCEEDED, AssetCheckExecutionRecordStatus.FAILED}


@dataclass(frozen=True)
class KnownCheck:
    """A check of an asset; `free` if everything it reads may be handed out."""

    asset: str
    name: str
    about: str
    free: bool


# Attack tests make people of their own, so everybody may know what they find. Research, which is a code location of its
# own, runs them and their checks; the audit page shows their outcomes.
EPSILON_WITHIN_PROMISE = KnownCheck(
    asset="epsilon_audit",
    name="epsilon_within_promise",
    about="No sound scheme was seen to give away more than it promises.",
    free=True,
)
MEMBERSHIP_WITHIN_PROMISE = KnownCheck(
    asset="membership_audit",
    name="membership_within_promise",
    about="Attacks on our own releases do on average no better, by two standard errors, than epsilon and delta allow.",
    free=True,
)
ATTACK_CHECKS = (EPSILON_WITHIN_PROMISE, MEMBERSHIP_WITHIN_PROMISE)


@dataclass(frozen=True)
class Catalogue:
    """The assets, without studies, where their tables are kept, and all checks."""

    shelves: Mapping[str, Shelf]
    nodes: Sequence[Node]
    checks: Sequence[KnownCheck]


def outcomes(known: Catalogue, instance: dg.DagsterInstance, city: City) -> list[Checked]:
    """The newest outcome of each check.

    Guarantees: of real data, nothing but what checks of public and released assets found, and of studies on people of
    their own; a check of a confidential asset or of a door is one bit of records that nobody paid for.
    """
    return [
        _newest(check, instance, city)
        if check.free or city.synthetic
        else Checked(check.asset, check.name, check.about, WITHHELD)
        for check in known.checks
    ]


def _newest(check: KnownCheck, instance: dg.DagsterInstance, city: City) -> Checked:
    checked = dg.AssetCheckKey(key(city, check.asset), check.name)
    history = instance.event_log_storage.get_asset_check_execution_history(checked, limit=1, status=ENDED)
    if not (history and (outcome := history[0].evaluation)):
        return Checked(check.asset, check.name, check.about, "not run")
    bad = "warned" if outcome.severity is dg.AssetCheckSeverity.WARN else "failed"
    at = datetime.fromtimestamp(history[0].create_timestamp, UTC).date().isoformat()
    return Checked(check.asset, check.name, check.about, "passed" if outcome.passed else bad, at)


# --- zone rule -------------------------------------------------------------------------------------------------------


def refuse_leaks(assets: Iterable[dg.AssetsDefinition]) -> None:
    """Raise if any asset breaks the zone rule, naming the way the data would take."""
    if leaks := sorted(find_leaks([_node(spec) for asset in assets for spec in asset.specs])):
        raise ZoneLeak("confidential data may reach a release through a mechanism only: " + "; ".join(leaks))


def find_leaks(nodes: Sequence[Node]) -> Iterator[str]:
    """Each declared edge that breaks the rule, in words."""
    zones = {node.name: node.zone for node in nodes}
    for node in nodes:
        for upstream in node.reads:
            if upstream not in zones:
                yield f"{node.name} reads {upstream}, which has no zone"
            elif not node.zone.may_read(zones[upstream]):
                yield f"{node.name} ({node.zone}) reads {upstream} ({zones[upstream]})"


def _node(spec: dg.AssetSpec) -> Node:
    name, reads = spec.key.to_user_string(), tuple(dep.asset_key.to_user_string() for dep in spec.deps)
    try:
        return Node(name, Zone(spec.tags.get("zone", "")), reads)
    except ValueError:
        raise ZoneLeak(f"asset {name} must carry a zone tag, one of {', '.join(Zone)}") from None
