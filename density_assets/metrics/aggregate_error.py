"""MAE and MRE of histograms, stamp by stamp (Chen et al., §7.3)."""

import numpy as np
from numpy.typing import NDArray

GAMMA = 0.001  # counts below it divide as it does: an empty cell weighs a thousandfold

Floats = NDArray[np.float64]


def mae(truth: Floats, released: Floats) -> float:
    """Mean over stamps of the mean absolute error of all locations."""
    return float(np.abs(truth - released).mean())


def mre_of_stamps(truth: Floats, released: Floats) -> float:
    """Mean over stamps of the mean relative error of all locations."""
    return float((np.abs(truth - released) / np.maximum(GAMMA, truth)).mean())
