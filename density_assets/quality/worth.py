"""What released counts are worth beside maps that cost nothing: a flat one and an empty one.

All three are compared by the same share: the visits that a map has too many or too few, over all cells and hours, of
the visits there are. For an empty map it is all of them. The release's own share is what its standard errors say, the
flat map's is its distance from the released counts. It reads what is published, never records: a city whose counts are
noise is found by the size of the noise.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MEAN_OF_NORMAL = float(np.sqrt(2 / np.pi))  # mean distance from zero, in standard deviations
EMPTY = 1.0


@dataclass(frozen=True)
class Worth:
    """Shares of visits that are wrong: in the release by its own standard errors, and in a flat map.

    flat: none of a city of one cell, in which there is nothing to be flat.
    """

    release: float
    flat: float | None

    @property
    def too_small(self) -> bool:
        """Whether a map that needs no records would be about as good."""
        return self.release >= min(EMPTY, EMPTY if self.flat is None else self.flat)

    def __str__(self) -> str:
        """In words."""
        flat = "" if self.flat is None else f"{_said(self.flat)} in a flat map, where every cell is alike, and "
        return (
            f"Over all cells and hours, visits that are too many or too few make {_said(self.release)} of the visits: "
            f"this is what noise does. It would be {flat}100% in an empty map."
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
            f"This city is too small for its promise. {self} Rely on no count of a cell and hour, and on sums only if "
            "their own errors are small. Count more people, in fewer cells, or under a larger epsilon in weeks to come."
        ]


def worth_of(counts: NDArray[np.int64], errors: NDArray[np.float64]) -> Worth:
    """Of released counts and their standard errors, both of shape (cells, hours).

    Where there is no count at all, a release says what an empty map does.
    """
    visits = float(counts.sum())
    if not visits:
        return Worth(EMPTY, EMPTY)
    flat = float(np.abs(counts - counts.mean(axis=0)).sum()) / visits if len(counts) > 1 else None
    return Worth(MEAN_OF_NORMAL * float(errors.sum()) / visits, flat)


def _said(share: float) -> str:
    return f"about {share:.0%}" if share <= EMPTY else "more than 100%"
