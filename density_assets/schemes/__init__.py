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

# Settings that shape the draws of some schemes only: others keep their measurements when these change.
_MOVING = ("change", "releases", "comparing_share")
_WINDOWS = (*_MOVING, "selecting_share", "moving_share", "window_weight")
OWN_SETTINGS: dict[str, tuple[str, ...]] = {
    "threshold": _MOVING,
    "static_hybrid": _WINDOWS,
    "dynamic_hybrid": _WINDOWS,
}
