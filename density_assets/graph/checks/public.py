"""Checks of the public geometry."""

import dagster as dg

from density_assets.geography.cover_mapping import to_cover
from density_assets.geography.overlaps import Overlaps, interpolation
from density_assets.geography.tables import cover_from, overlaps_from
from density_assets.graph.checks.outcomes import Context, check, open_answer
from density_assets.quality.mass import covers, shares_whole
from resources.tables.store import Store


@check("overlaps", blocking=True)
def overlaps_keep_mass(context: Context) -> dg.AssetCheckResult:
    """Every tower gives all of itself to cells, once: areal interpolation neither makes nor loses visits."""
    whole = shares_whole(interpolation(_pieces(context.resources.store)))
    return open_answer([] if whole else ["the shares of some tower do not sum to one"])


@check("cover_graph", blocking=True)
def cover_covers(context: Context) -> dg.AssetCheckResult:
    """Every overlap has its tower or its cell in the cover, and belongs to exactly one of the cover's cells."""
    store = context.resources.store
    pieces = _pieces(store)
    cover = cover_from(store.read_public("cover"), store.read_public("towers"), store.read_public("cells"))
    if not covers(pieces, cover):
        return open_answer(["some overlap has neither its tower nor its cell in the cover"])
    whole = shares_whole(to_cover(pieces, cover))
    return open_answer([] if whole else ["the cover does not take all of some tower"], cover=len(cover))


def _pieces(store: Store) -> Overlaps:
    return overlaps_from(store.read_public("overlaps"), store.read_public("towers"), store.read_public("cells"))
