"""All techniques of the three approaches by name, in the order of the chapter.

Defined here are the ends of the comparison, what no technique should be worse than and what every technique hides, and
the release schemes of this software as techniques: the steps of a release on traces, at their own promise. Places of
the traces stand for towers and for cells alike, so nothing is interpolated.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np
from scipy.sparse import csr_array

from density_assets.errors import BadInput, nearest
from density_assets.geography.places import Places
from density_assets.research.approaches.technique import AnyTechnique, Parameters, Published, Technique
from density_assets.research.contributions import bound_week
from density_assets.research.membership.defenses import Groups
from density_assets.research.membership.releases import METRES, release_groups, roi_places
from density_assets.research.queries.audited_answers import AUDITED_ANSWERS
from density_assets.research.queries.mwem import MWEM
from density_assets.research.queries.noisy_answers import NOISY_ANSWERS
from density_assets.research.streams.filtered import FAST, RESCUE_DP
from density_assets.research.streams.w_event import BUDGET_ABSORPTION, BUDGET_DISTRIBUTION, K_THRESHOLD, SAMPLE, UNIFORM
from density_assets.research.study import cached_plan
from density_assets.research.traces.matrix import Traces
from density_assets.research.trajectories.confidentiality import P_CONFIDENTIALITY
from density_assets.research.trajectories.dp_where import DP_WHERE
from density_assets.research.trajectories.generalisation import K_ANONYMITY
from density_assets.research.trajectories.km_anonymity import KM_ANONYMITY, PROBABILISTIC_KM
from density_assets.research.trajectories.markov import MARKOV
from density_assets.research.trajectories.never_walk_alone import NEVER_WALK_ALONE
from density_assets.research.trajectories.ngrams import N_GRAMS
from density_assets.settings import Settings
from density_assets.settings.values import Cap, Delta, Epsilon

PROMISE = "whoever is counted or not, and wherever in the week: the odds of any release change by e^epsilon at most"
SOURCES = {"lowrank": "ours", "efpag": "Acs & Castelluccia 2014", "lpa": "Dwork et al. 2006"}


class OfScheme(Parameters):
    """The promise of a release, and how many visits of a person count."""

    epsilon: Epsilon = 1.0
    delta: Delta = 1e-6
    visits_per_user: Cap = 30


def scheme_technique(name: str) -> Technique[OfScheme]:
    """One scheme, with the settings that releases have by default."""

    def publish(traces: Traces, chosen: OfScheme, seed: int) -> Published:
        settings = Settings.model_validate({"privacy": chosen.model_dump(), "scheme": {"name": name}})
        parts = bound_week(traces, settings, np.random.default_rng([seed, 1]))  # noise has a stream of its own
        everybody = csr_array(np.ones((1, len(traces.users)), np.int32))
        places = _places(traces.positions.tobytes())
        release = release_groups(Groups(traces, everybody), parts, places, settings, seed)
        plan = cached_plan(settings.privacy, settings.scheme)
        events = tuple(event for door in plan.values() for event in door)
        return Published(release.estimates[0].astype(np.float64), events=events)

    return Technique(name, "density", "a user's week", PROMISE, SOURCES[name], OfScheme, publish)


@lru_cache(maxsize=4)
def _places(positions: bytes) -> Places:
    xy = np.frombuffer(positions).reshape(-1, 2)
    nobody = csr_array((0, 0), dtype=np.int32)
    return roi_places(replace(Traces(nobody, np.arange(0), 0, xy), positions=xy / METRES))


OWN = tuple(scheme_technique(name) for name in SOURCES)


def _exact(traces: Traces, chosen: Parameters, seed: int) -> Published:
    return Published(traces.aggregate().astype(np.float64))


def _empty(traces: Traces, chosen: Parameters, seed: int) -> Published:
    return Published(np.zeros((traces.rois, traces.hours)))


def _flat(traces: Traces, chosen: Parameters, seed: int) -> Published:
    mean = traces.matrix.nnz / (traces.rois * traces.hours)
    return Published(np.full((traces.rois, traces.hours), mean))


EXACT = Technique("exact_counts", "density", "nobody", "none: counts as they are", "–", Parameters, _exact)
EMPTY = Technique("empty_map", "density", "a user's week", "tells nothing", "–", Parameters, _empty)
FLAT = Technique("flat_map", "density", "nobody", "tells the number of all visits, exactly", "–", Parameters, _flat)


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
