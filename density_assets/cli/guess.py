"""A line of a first settings file as it is guessed, and how names and paths are."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from density_assets.records.usual_names import named_as


@dataclass(frozen=True)
class Beginning:
    """What a person begins a city with: of cells and a grid one, of visits and users one.

    boundary: within which a grid's squares are the city's; without one, they lie around the antennas.
    visits: a pattern of records. users: how many people to simulate, where there are no records.
    """

    towers: Path
    cells: Path | None = None
    grid: str | None = None
    boundary: Path | None = None
    visits: str | None = None
    users: int | None = None

    @property
    def areas(self) -> Path | None:
        """The file that says where the city is, if one does."""
        return self.boundary if self.cells is None else self.cells

    @property
    def geography(self) -> list[Path]:
        """The public files."""
        return [self.towers, *(() if self.areas is None else (self.areas,))]


@dataclass(frozen=True)
class Guess:
    """One line of [city]: what it would say, and why; without a value nothing could be guessed."""

    key: str
    value: str | None
    why: str


def first_of(columns: Sequence[str], usual: Sequence[str]) -> str | None:
    """The column with the first of the usual names, else the first column."""
    return named_as(columns, usual) or next(iter(columns), None)


def path_from(path: Path, out: Path) -> str:
    """As the settings file writes it: from its folder on, if it lies below, else whole."""
    whole, folder = Path(os.path.abspath(path)), Path(os.path.abspath(out)).parent
    return whole.relative_to(folder).as_posix() if whole.is_relative_to(folder) else str(whole)
