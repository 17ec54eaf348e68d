"""All techniques of the three approaches, one line each, in the order of the chapter."""

from density_assets.errors import BadInput, nearest
from density_assets.research.approaches.own_schemes import OWN
from density_assets.research.approaches.plain import EMPTY, EXACT, FLAT
from density_assets.research.approaches.technique import AnyTechnique
from density_assets.research.queries.audited_answers import AUDITED_ANSWERS
from density_assets.research.queries.mwem import MWEM
from density_assets.research.queries.noisy_answers import NOISY_ANSWERS
from density_assets.research.streams.filtered import FAST, RESCUE_DP
from density_assets.research.streams.w_event import BUDGET_ABSORPTION, BUDGET_DISTRIBUTION, K_THRESHOLD, SAMPLE, UNIFORM
from density_assets.research.trajectories.confidentiality import P_CONFIDENTIALITY
from density_assets.research.trajectories.dp_where import DP_WHERE
from density_assets.research.trajectories.generalisation import K_ANONYMITY
from density_assets.research.trajectories.km_anonymity import KM_ANONYMITY
from density_assets.research.trajectories.markov import MARKOV
from density_assets.research.trajectories.never_walk_alone import NEVER_WALK_ALONE
from density_assets.research.trajectories.ngrams import N_GRAMS
from density_assets.research.trajectories.probabilistic_km import PROBABILISTIC_KM

_ALL: tuple[AnyTechnique, ...] = (
    *(EXACT, EMPTY, FLAT),
    *(AUDITED_ANSWERS, NOISY_ANSWERS, MWEM),
    *(NEVER_WALK_ALONE, K_ANONYMITY, KM_ANONYMITY, PROBABILISTIC_KM, P_CONFIDENTIALITY),
    *(DP_WHERE, N_GRAMS, MARKOV),
    *(K_THRESHOLD, FAST, BUDGET_DISTRIBUTION, BUDGET_ABSORPTION, RESCUE_DP, UNIFORM, SAMPLE),
    *OWN,
)
TECHNIQUES = {technique.name: technique for technique in _ALL}


def technique_named(name: str) -> AnyTechnique:
    """The technique of a name."""
    if name not in TECHNIQUES:
        raise BadInput(f"a technique must be one of {', '.join(TECHNIQUES)}; got {name!r}{nearest(name, TECHNIQUES)}")
    return TECHNIQUES[name]
