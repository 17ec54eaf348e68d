"""Schemes of release: one line each."""

from density_assets.errors import BadInput
from density_assets.schemes.additive import Additive
from density_assets.schemes.fourier import Fourier
from density_assets.schemes.lowrank import LowRank
from density_assets.schemes.moving.schemes import Direct, DynamicHybrid, StaticHybrid, Threshold
from density_assets.schemes.scheme import Scheme
from density_assets.settings import Settings

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


def refuse_without_areas(settings: Settings) -> None:
    """Raise if a scheme needs the areas of what it counts at, and footprints say that there are none."""
    if not released_with(settings.scheme.name, settings):
        fitting = ", ".join(name for name in SCHEMES if released_with(name, settings))
        raise BadInput(
            f"with footprints, scheme.name must be one of {fitting}, got {settings.scheme.name}: it merges small tower "
            "cells with their neighbours by their areas, which footprints do not have"
        )


def released_with(name: str, settings: Settings) -> bool:
    """Whether a city can be released by a scheme: not by one that needs areas, where footprints say shares."""
    scheme = SCHEMES[name]
    return settings.city.footprints is None or not (scheme.clustered and scheme.places == "cover")


def learning_scheme(name: str) -> LowRank | None:
    """Return the scheme, if its weeks can be estimated with what earlier weeks have said; else none."""
    scheme = SCHEMES[name]
    return scheme if isinstance(scheme, LowRank) else None
