"""All techniques of the three approaches, one line each, in the order of the chapter."""

from density_assets.errors import BadInput, nearest
from density_assets.research.approaches.own_schemes import OWN
from density_assets.research.approaches.plain import EMPTY, EXACT, FLAT
from density_assets.research.approaches.technique import AnyTechnique
from density_assets.research.trajectories.confidentiality import P_CONFIDENTIALITY
from density_assets.research.trajectories.generalisation import K_ANONYMITY
from density_assets.research.trajectories.km_anonymity import KM_ANONYMITY
from density_assets.research.trajectories.never_walk_alone import NEVER_WALK_ALONE
from density_assets.research.trajectories.probabilistic_km import PROBABILISTIC_KM

_ALL: tuple[AnyTechnique, ...] = (
    *(EXACT, EMPTY, FLAT),
    *(NEVER_WALK_ALONE, K_ANONYMITY, KM_ANONYMITY, PROBABILISTIC_KM, P_CONFIDENTIALITY),
    *OWN,
)
TECHNIQUES = {technique.name: technique for technique in _ALL}


def technique_named(name: str) -> AnyTechnique:
    """The technique of a name."""
    if name not in TECHNIQUES:
        raise BadInput(f"a technique must be one of {', '.join(TECHNIQUES)}; got {name!r}{nearest(name, TECHNIQUES)}")
    return TECHNIQUES[name]
