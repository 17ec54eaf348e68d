"""Checks of the public geometry."""

import dagster as dg

from density_assets.geography.overlaps import Overlaps, interpolation
from density_assets.geography.places import to_cover
from density_assets.geography.tables import cover_from, overlaps_from
from density_assets.graph.checks.outcomes import check, open_answer
from density_assets.graph.step import Step
from density_assets.quality.user_bounds import covers, shares_whole


@check("overlaps", "towers", "cells", blocking=True)
def overlaps_keep_mass(step: Step) -> dg.AssetCheckResult:
    """Every tower gives all of itself to cells, once: areal interpolation neither makes nor loses visits."""
    whole = shares_whole(interpolation(_pieces(step)))
    return open_answer([] if whole else ["the shares of some tower do not sum to one"])


@check("cover_graph", "overlaps", "towers", "cells", blocking=True)
def cover_covers(step: Step) -> dg.AssetCheckResult:
    """Every overlap has its tower or its cell in the cover, and belongs to exactly one of the cover's cells."""
    pieces = _pieces(step)
    cover = cover_from(step.read("cover_graph"), step.read("towers"), step.read("cells"))
    if not covers(pieces, cover):
        return open_answer(["some overlap has neither its tower nor its cell in the cover"])
    whole = shares_whole(to_cover(pieces, cover))
    return open_answer([] if whole else ["the cover does not take all of some tower"], cover=len(cover))


def _pieces(step: Step) -> Overlaps:
    return overlaps_from(step.read("overlaps"), step.read("towers"), step.read("cells"))
