"""Lineage as an information-flow check: nothing computed from people leaves except through a door.

The rule is checked on the asset graph whenever definitions load, so a change that opens a leak does not even start.
"""

from collections.abc import Iterable, Iterator

import dagster as dg

from density_assets.graph.zones import Zone

FREE = (Zone.PUBLIC, Zone.RELEASE)  # may be handed out
SECRET = (Zone.CONFIDENTIAL, Zone.EVALUATION)


class ZoneLeak(ValueError):
    """An asset would carry confidential data past the doors."""


def refuse_leaks(assets: Iterable[dg.AssetsDefinition]) -> None:
    """Raise if any asset breaks the zone rule, naming the way the data would take."""
    if leaks := sorted(find_leaks([spec for asset in assets for spec in asset.specs])):
        raise ZoneLeak("confidential data may reach a release through a mechanism only: " + "; ".join(leaks))


def find_leaks(specs: Iterable[dg.AssetSpec]) -> Iterator[str]:
    """Each edge that breaks the rule, in words.

    An asset that may be handed out reads public, released and mechanism assets only; so by induction everything
    upstream of it passed a door. A door reads no evaluation: choosing what to draw by comparing with the truth is not
    paid for.
    """
    by_key = {spec.key: spec for spec in specs}
    zones = {key: _zone(spec) for key, spec in by_key.items()}
    for key, spec in by_key.items():
        for upstream in (dep.asset_key for dep in spec.deps):
            if upstream not in zones:
                yield f"{key.to_user_string()} reads {upstream.to_user_string()}, which has no zone"
            elif zones[key] in FREE and zones[upstream] in SECRET:
                yield f"{key.to_user_string()} ({zones[key]}) reads {upstream.to_user_string()} ({zones[upstream]})"
            elif zones[key] is Zone.PUBLIC and zones[upstream] is not Zone.PUBLIC:
                yield f"{key.to_user_string()} (public) reads {upstream.to_user_string()} ({zones[upstream]})"
            elif zones[key] is Zone.MECHANISM and zones[upstream] is Zone.EVALUATION:
                yield f"{key.to_user_string()} (mechanism) reads {upstream.to_user_string()} (evaluation)"


def _zone(spec: dg.AssetSpec) -> Zone:
    try:
        return Zone(spec.tags.get("zone", ""))
    except ValueError:
        known = ", ".join(Zone)
        raise ZoneLeak(f"asset {spec.key.to_user_string()} must carry a zone tag, one of {known}") from None
