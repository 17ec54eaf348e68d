"""All techniques of the three approaches, one line each, in the order of the chapter."""

from density_assets.errors import BadInput, nearest
from density_assets.research.approaches.own_schemes import OWN
from density_assets.research.approaches.plain import EMPTY, EXACT, FLAT
from density_assets.research.approaches.technique import AnyTechnique

_ALL: tuple[AnyTechnique, ...] = (EXACT, EMPTY, FLAT, *OWN)
TECHNIQUES = {technique.name: technique for technique in _ALL}


def technique_named(name: str) -> AnyTechnique:
    """The technique of a name."""
    if name not in TECHNIQUES:
        raise BadInput(f"a technique must be one of {', '.join(TECHNIQUES)}; got {name!r}{nearest(name, TECHNIQUES)}")
    return TECHNIQUES[name]
