"""The public inputs of a release beside its geography: which region each cell is in, and factors of people.

They shape no draw and no count, so they may change from week to week. But a published week must not be read otherwise
later on: its inputs are published with it in a file of its own, which statement and manifest name, and whoever makes
its files again finds them there. From it anybody can undo people, or add up cells by regions of their own.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from density_assets.calendar import HOURS
from density_assets.errors import BadInput
from density_assets.geography.regions import Regions, regions_named
from density_assets.publication.people import ENDS, OF_HOURS, Factor, PeopleFactors
from density_assets.series import Floats, Ints
from density_assets.settings.people import FACTORS

FORMAT = "density public inputs 1"
INPUTS_FILE = ("public_inputs", "json")

STATED = (
    "Numbers of regions, and of people where there are some, follow from these counts and from the public inputs in "
    "`{file}`, which a person stated: they cost nothing, and the promise holds for them as well."
)
OF_PEOPLE = """
## People

Visits are devices; people are visits divided by public factors, which are assumptions, not computed from records:

    people = count / (market_share · devices_per_person · active_share)

The factors of every cell and hour, with their bounds, are in `{file}`: whoever has better ones takes those. Intervals
hold with 95 % or more if the true factors lie between their bounds; people of regions, days and the week are sums of
those of cells and hours. Who is seen in two cells in one hour counts in both, which factors do not mend.
"""
OF_REGIONS = """
## Regions

Which region each cell belongs to is in `{file}`. Counts of regions are sums of the counts of their cells.
"""


@dataclass(frozen=True)
class PublicInputs:
    """Regions and factors of one release; either may be absent."""

    regions: Regions | None = None
    factors: PeopleFactors | None = None

    def __bool__(self) -> bool:
        return self.regions is not None or self.factors is not None


def written(inputs: PublicInputs, cell_ids: Sequence[str]) -> bytes:
    """The file of public inputs; nothing where there are none.

    Lists are in the order of `cells`, or of the 168 hours of the week; what is alike everywhere is one number.
    """
    if not inputs:
        return b""
    regions, factors = inputs.regions, inputs.factors
    said: dict[str, Any] = {"format": FORMAT, "cells": list(cell_ids)}
    if regions is not None:
        said["regions"] = {
            "names": dict(zip(regions.ids, regions.names, strict=True)),
            "of_cells": [regions.ids[number] for number in regions.of_cell],
        }
    if factors is not None:
        said["people"] = {
            "formula": "people = count / (market_share * devices_per_person * active_share)",
            **{name: _record(getattr(factors, name)) for name in FACTORS},
        }
    return (json.dumps(said, indent=1, ensure_ascii=False) + "\n").encode()


def inputs_in(content: bytes, cell_ids: Sequence[str] | None = None) -> PublicInputs:
    """What `written` wrote; none of an empty file.

    cell_ids: its cells, in the order they are wanted in; by default in that of the file.
    """
    if not content:
        return PublicInputs()
    try:
        said = json.loads(content)
        wanted = said["cells"] if cell_ids is None else cell_ids
        if said["format"] != FORMAT or sorted(said["cells"]) != sorted(wanted):
            raise ValueError("it is of another format, or of other cells")
        number_of = {cell: number for number, cell in enumerate(said["cells"])}
        order = np.array([number_of[cell] for cell in wanted])
        return PublicInputs(_regions(said.get("regions"), order), _factors(said.get("people"), order))
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise BadInput(
            f"public inputs of a release must be a file that this software wrote for its cells, and are not: {problem}"
        ) from None


def explained(inputs: PublicInputs, file: str) -> str:
    """What the dictionary says of them; nothing where there are none.

    file: that of the inputs.
    """
    said = [
        *([OF_PEOPLE] if inputs.factors is not None else []),
        *([OF_REGIONS] if inputs.regions is not None else []),
    ]
    return "".join(text.format(file=file) for text in said)


def follow_from_inputs(files: Iterable[str]) -> str:
    """What a statement says of what follows from them, as a paragraph; nothing of a release without.

    files: names of those that it states.
    """
    file = next((name for name in files if name.startswith(f"{INPUTS_FILE[0]}_")), None)
    return f"{STATED.format(file=file)}\n\n" if file else ""


def _record(factor: Factor) -> dict[str, Any]:
    return {end: _alike_or_all(getattr(factor, end)) for end in ENDS}


def _alike_or_all(values: Floats) -> float | list[float]:
    return float(values[0]) if (values == values[0]).all() else [float(value) for value in values]


def _regions(said: Mapping[str, Any] | None, order: Ints) -> Regions | None:
    if said is None:
        return None
    of_cells = [said["of_cells"][number] for number in order]
    return regions_named(of_cells, [said["names"][region] for region in of_cells])


def _factors(said: Mapping[str, Any] | None, order: Ints) -> PeopleFactors | None:
    if said is None:
        return None
    listed = {name: np.arange(HOURS) if name in OF_HOURS else order for name in FACTORS}
    return PeopleFactors(
        **{
            name: Factor(**{end: _everywhere(said[name][end], len(numbers))[numbers] for end in ENDS})
            for name, numbers in listed.items()
        }
    )


def _everywhere(values: float | list[float], size: int) -> Floats:
    return np.broadcast_to(np.asarray(values, dtype=np.float64), size)
