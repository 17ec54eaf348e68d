"""Towers cut into blocks of neighbours, and matrices over towers that know nothing across blocks.

Dense matrices of towers by towers take memory with the square and time with the cube of their number. Towers far apart
hardly speak of each other, so a large city is cut into compact blocks that are independent of each other, and time and
memory grow with the number of blocks. A city of one block is as it would be without.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]
Sparse = csr_array[np.float64, tuple[int, int]]
Areas = Floats | Sparse

AT_ONCE = 1_500  # rows over all towers that are dense at a time: 240 MB for 20,000 towers


def neighbours(towers: Positions, xy: Floats, most: int) -> Iterator[Positions]:
    """The towers, halved across their longer side until no part has more than `most`."""
    if not len(towers):
        return
    if len(towers) <= most:
        yield towers
        return
    longer = int(np.argmax(np.ptp(xy[towers], axis=0)))
    ordered = towers[np.argsort(xy[towers, longer], kind="stable")]
    for half in np.array_split(ordered, 2):
        yield from neighbours(half, xy, most)


def some_rows(areas: Sparse) -> Iterator[Sparse]:
    """Rows over towers, some at a time: what is dense may be too large for all of them together."""
    for first in range(0, areas.shape[0], AT_ONCE):
        yield areas[first : first + AT_ONCE]


@dataclass(frozen=True)
class Block:
    """A square matrix over some towers. towers: their positions, all of them if it is a slice."""

    towers: Positions | slice
    matrix: Floats


@dataclass(frozen=True)
class BlockDiagonal:
    """A square matrix over all towers that is zero between blocks. It is used as a dense one: `T`, `**`, `@`."""

    blocks: tuple[Block, ...]
    __array_ufunc__: ClassVar[None] = None  # so that numpy leaves areas @ matrix to this class

    @property
    def T(self) -> "BlockDiagonal":  # noqa: N802  # as numpy calls it
        """Transposed."""
        return self.each(lambda block: block.matrix.T)

    def __pow__(self, power: int) -> "BlockDiagonal":
        """Every entry to a power."""
        return self.each(lambda block: block.matrix**power)

    def each(self, change: Callable[[Block], Floats]) -> "BlockDiagonal":
        """The same blocks with other matrices."""
        return BlockDiagonal(tuple(Block(block.towers, change(block)) for block in self.blocks))

    def __matmul__(self, columns: Floats) -> Floats:
        """The product with values of all towers, one column or several."""
        product = np.empty(columns.shape)
        for block in self.blocks:
            product[block.towers] = block.matrix @ columns[block.towers]
        return product

    def __rmatmul__(self, areas: Areas) -> Floats:
        """The product of rows over all towers with this matrix."""
        if len(self.blocks) == 1:
            return np.asarray(areas @ self.blocks[0].matrix)
        product = np.zeros(areas.shape)
        for rows, towers, part in self.parts(areas):
            product[np.ix_(np.asarray(rows), np.asarray(towers))] = part
        return product

    def parts(self, areas: Areas) -> Iterator[tuple[Positions | slice, Positions | slice, Floats]]:
        """The same block by block: which rows, which columns, and what is there. Elsewhere it is zero.

        Most areas lie in few blocks, so this is much less than the whole product.
        """
        of_towers = cast(Any, areas)  # stubs know no columns of sparse arrays
        for block in self.blocks:
            part: Any = of_towers[:, block.towers]
            rows: Positions | slice = slice(None)
            if len(self.blocks) > 1:
                rows = np.flatnonzero(np.diff(part.indptr) if isinstance(part, csr_array) else part.any(axis=1))
            yield rows, block.towers, np.asarray(part[rows] @ block.matrix)
