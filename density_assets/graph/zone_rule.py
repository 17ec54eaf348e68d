"""Lineage as an information-flow check: nothing computed from people leaves except through a door.

The rule is checked on the declared edges whenever definitions load, so a change that opens a leak there does not even
start. That reads keep to what is declared is seen to elsewhere, while steps run: `step.py` and `worker.py`.
"""

from collections.abc import Iterable, Iterator, Sequence

import dagster as dg

from density_assets.privacy.zones import Zone, ZoneLeak
from density_assets.publication.pages.svg import Node


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
