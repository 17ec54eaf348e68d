"""What the graph holds, as plain values: its assets with zones and edges, its checks with what they are about."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import dagster as dg
from dagster import AssetCheckKey
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus

from density_assets.graph.zone_rule import FREE
from density_assets.graph.zones import STUDY_GROUPS
from density_assets.publication.pages.audit_page import WITHHELD, Checked
from density_assets.publication.pages.lineage import Node

ENDED = {AssetCheckExecutionRecordStatus.SUCCEEDED, AssetCheckExecutionRecordStatus.FAILED}


@dataclass(frozen=True)
class Check:
    """A check; `free` if everything it reads may be handed out."""

    key: AssetCheckKey
    about: str
    free: bool


@dataclass(frozen=True)
class Catalogue:
    """The assets, without studies, and all checks."""

    nodes: tuple[Node, ...]
    checks: tuple[Check, ...]


def catalogue(assets: Sequence[dg.AssetsDefinition], checks: Sequence[dg.AssetChecksDefinition]) -> Catalogue:
    """What definitions are made of."""
    specs = [spec for asset in assets for spec in asset.specs]
    nodes = tuple(_node(spec) for spec in specs if not _is_study(spec))
    free = {spec.key for spec in specs if spec.tags["zone"] in FREE or _makes_its_own_people(spec)}
    return Catalogue(nodes, tuple(_check(spec, free) for check in checks for spec in check.check_specs))


def outcomes(known: Catalogue, instance: dg.DagsterInstance, *, synthetic: bool) -> list[Checked]:
    """The newest outcome of each check.

    Guarantees: of real data, nothing but what checks of public and released assets found, and of studies on people of
    their own; a check of a confidential asset or of a door is one bit of records that nobody paid for.
    """
    return [
        _newest(check, instance)
        if check.free or synthetic
        else Checked(check.key.asset_key.to_user_string(), check.key.name, check.about, WITHHELD)
        for check in known.checks
    ]


def _node(spec: dg.AssetSpec) -> Node:
    reads = tuple(sorted(dep.asset_key.to_user_string() for dep in spec.deps))
    return Node(spec.key.to_user_string(), spec.tags["zone"], reads)


def _is_study(spec: dg.AssetSpec) -> bool:
    return spec.group_name in STUDY_GROUPS.values()


def _makes_its_own_people(spec: dg.AssetSpec) -> bool:
    """A study that reads neither a table nor a week of the city."""
    return _is_study(spec) and not spec.deps and spec.partitions_def is None


def _check(spec: dg.AssetCheckSpec, free: set[dg.AssetKey]) -> Check:
    read = (spec.asset_key, *(dep.asset_key for dep in spec.additional_deps or ()))
    return Check(spec.key, spec.description or "", free.issuperset(read))


def _newest(check: Check, instance: dg.DagsterInstance) -> Checked:
    name = check.key.asset_key.to_user_string()
    history = instance.event_log_storage.get_asset_check_execution_history(check.key, limit=1, status=ENDED)
    if not (history and (found := history[0].evaluation)):
        return Checked(name, check.key.name, check.about, "not run")
    bad = "warned" if found.severity is dg.AssetCheckSeverity.WARN else "failed"
    at = datetime.fromtimestamp(history[0].create_timestamp, UTC).date().isoformat()
    return Checked(name, check.key.name, check.about, "passed" if found.passed else bad, at)
