"""Counts below k are not released (chapter, §3.3): the usual rule, and not private.

Counts of k and more are exact, so two of them that differ by one person give that person away, and noise is nowhere. A
reader who needs a number for a suppressed cell knows that it lies between 0 and k − 1. We take 0 by default, as maps
do that leave such cells blank; `suppressed` = "half" puts the middle of the range there.
"""

from typing import Literal

import numpy as np
from pydantic import Field

from density_assets.research.approaches.technique import Parameters, Published, Technique
from density_assets.research.streams.truncation import not_empty
from density_assets.research.traces.matrix import Traces


class KThresholdParameters(Parameters):
    """k, and what a reader takes a suppressed count for: 0, or (k − 1)/2."""

    k: int = Field(10, ge=1)
    suppressed: Literal["zero", "half"] = "zero"


def publish(traces: Traces, parameters: KThresholdParameters, seed: int) -> Published:
    """Exact counts of all visits where they are at least k; nothing is drawn, so the seed does not matter."""
    counts = not_empty(traces).aggregate().astype(np.float64)
    hidden = counts < parameters.k
    instead = 0.0 if parameters.suppressed == "zero" else (parameters.k - 1) / 2
    share = float(hidden.mean())
    return Published(np.where(hidden, instead, counts), facts={"suppressed": share})


K_THRESHOLD = Technique(
    name="k_threshold",
    approach="density",
    protects="nobody",
    promise="Counts below k are not shown. Nothing is promised to anybody: differences of counts are exact.",
    source="Acs, Biczók & Castelluccia, §3.3",
    parameters=KThresholdParameters,
    publish=publish,
)
