"""Lineage as an information-flow check: nothing computed from people leaves except through a door.

The rule is checked on the declared edges whenever definitions load, so a change that opens a leak there does not even
start. That reads keep to what is declared is seen to elsewhere, while steps run: `step.py` and `sealed.py`.
"""

from collections.abc import Iterable, Iterator

import dagster as dg

from density_assets.privacy.zones import Zone, ZoneLeak


def refuse_leaks(assets: Iterable[dg.AssetsDefinition]) -> None:
    """Raise if any asset breaks the zone rule, naming the way the data would take."""
    if leaks := sorted(find_leaks([spec for asset in assets for spec in asset.specs])):
        raise ZoneLeak("confidential data may reach a release through a mechanism only: " + "; ".join(leaks))


def find_leaks(specs: Iterable[dg.AssetSpec]) -> Iterator[str]:
    """Each declared edge that breaks the rule, in words."""
    listed = list(specs)
    zones = {spec.key: _zone(spec) for spec in listed}
    for spec in listed:
        for upstream in (dep.asset_key for dep in spec.deps):
            reader, read = spec.key.to_user_string(), upstream.to_user_string()
            if upstream not in zones:
                yield f"{reader} reads {read}, which has no zone"
            elif not zones[spec.key].may_read(zones[upstream]):
                yield f"{reader} ({zones[spec.key]}) reads {read} ({zones[upstream]})"


def _zone(spec: dg.AssetSpec) -> Zone:
    try:
        return Zone(spec.tags.get("zone", ""))
    except ValueError:
        known = ", ".join(Zone)
        raise ZoneLeak(f"asset {spec.key.to_user_string()} must carry a zone tag, one of {known}") from None
