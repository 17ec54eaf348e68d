"""What no technique should be worse than, and what every technique hides: the ends of the comparison."""

import numpy as np

from density_assets.research.approaches.technique import Parameters, Published, Technique
from density_assets.research.traces.matrix import Traces


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
