"""Schemes of release: one file each, one line here."""

from density_assets.errors import BadInput
from density_assets.schemes.lowrank import LowRank
from density_assets.schemes.scheme import Scheme

SCHEMES: dict[str, Scheme] = {"lowrank": LowRank()}


def scheme_named(name: str) -> Scheme:
    """The scheme that settings ask for."""
    if name not in SCHEMES:
        raise BadInput(f"scheme.name must be one of {', '.join(SCHEMES)}, got {name!r}")
    return SCHEMES[name]
