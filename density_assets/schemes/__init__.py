"""Schemes of release: one line each."""

from density_assets.schemes.additive import Additive
from density_assets.schemes.fourier import Fourier
from density_assets.schemes.lowrank import LowRank
from density_assets.schemes.moving.schemes import Direct, DynamicHybrid, StaticHybrid, Threshold
from density_assets.schemes.scheme import Scheme

SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        Additive("lpa", "cover", gaussian=False),
        Additive("gpa", "cells", gaussian=True),
        Fourier("fpa", "cover", gaussian=False, selects=False),
        Fourier("efpa", "cover", gaussian=False),
        Fourier("efpag", "cover", gaussian=True),
        Fourier("efpag_iris", "cells", gaussian=True, improvable=False, smooths=True),
        LowRank(),
        Direct(),
        Threshold(),
        StaticHybrid(),
        DynamicHybrid(),
    )
}

EARLIER: dict[tuple[str, int], Scheme] = {}  # by name and version: what weeks that are drawn were drawn by
