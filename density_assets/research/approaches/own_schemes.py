"""The release schemes of this software as techniques: the steps of a release on traces, at their own promise.

Places of the traces stand for towers and for cells alike, so nothing is interpolated.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np
from scipy.sparse import csr_array

from density_assets.geography.places import Places
from density_assets.research.approaches.technique import Parameters, Published, Technique
from density_assets.research.contributions import bound_week
from density_assets.research.membership.defenses import Groups
from density_assets.research.membership.releases import METRES, release_groups, roi_places
from density_assets.research.study import cached_plan
from density_assets.research.traces.matrix import Traces
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
