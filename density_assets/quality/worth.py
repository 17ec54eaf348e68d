"""What released counts are worth beside maps that cost nothing: a flat one and an empty one.

All three are compared by the mean relative error of a cell and hour, |x̂ − x| / max(γ, x) with γ a thousandth of the
cell's week (Acs & Castelluccia 2014, §3.3), x the released count. The release's own error is what its standard errors
say. It reads what is published, never records: a city whose counts are noise is found by the size of the noise.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

GAMMA_SHARE = 0.001  # of a cell's week
MEAN_OF_NORMAL = float(np.sqrt(2 / np.pi))  # mean distance from zero, in standard deviations


@dataclass(frozen=True)
class Worth:
    """Mean relative errors: of the release by its own standard errors, of a flat map and of an empty one."""

    release: float
    flat: float
    empty: float

    @property
    def too_small(self) -> bool:
        """Whether a map that needs no records would be about as good."""
        return self.release >= min(self.flat, self.empty)

    def __str__(self) -> str:
        """In words."""
        return (
            f"A typical count of a cell and hour is off by about {self.release:.0%} of itself. A flat map, every cell "
            f"alike in the rhythm of the city, would be off by about {self.flat:.0%}, an empty map by {self.empty:.0%}."
        )

    @property
    def note(self) -> str:
        """What a reader of the counts should know."""
        return " ".join(self.warnings) or str(self)

    @property
    def warnings(self) -> list[str]:
        """That the city is too small for its promise; nothing if it is not."""
        if not self.too_small:
            return []
        return [
            f"This city is too small for its promise. {self} Use sums of many cells and hours, and count more people, "
            "in fewer cells, or under a larger epsilon in weeks to come."
        ]


def worth(counts: NDArray[np.int64], errors: NDArray[np.float64]) -> Worth:
    """Of released counts and their standard errors, both of shape (cells, hours).

    Cells without any count have no relative error. Where no cell has one, a release says what an empty map does.
    """
    seen = counts.sum(axis=1) > 0
    if not seen.any():
        return Worth(1.0, 1.0, 1.0)
    visits, flat = counts[seen].astype(np.float64), counts.mean(axis=0)
    bound = np.maximum(visits, GAMMA_SHARE * visits.sum(axis=1, keepdims=True))
    distances = (MEAN_OF_NORMAL * errors[seen], np.abs(visits - flat), visits)
    return Worth(*(float((distance / bound).mean()) for distance in distances))
