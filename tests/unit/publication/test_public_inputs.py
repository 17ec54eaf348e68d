"""Regions and factors of a release: published with it, and kept by a published week whatever settings say later."""

import json

import numpy as np
import pytest

from density_assets.calendar import HOURS
from density_assets.errors import BadInput
from density_assets.geography.regions import regions_named
from density_assets.publication.people import ENDS, Factor, PeopleFactors
from density_assets.publication.public_inputs import (
    PublicInputs,
    inputs_in,
    written,
)
from density_assets.settings.people import FACTORS

CELLS = ["SW", "SE", "NW"]
REGIONS = regions_named(["S", "S", "N"], ["Süd", "Süd", "Nord"])


def factor(values: np.ndarray) -> Factor:
    return Factor(values, values * 0.9, values * 1.1)


def factors(share: float = 0.4) -> PeopleFactors:
    return PeopleFactors(
        factor(np.array([share, share, share / 2])), factor(np.ones(3)), factor(np.linspace(0.2, 0.3, HOURS))
    )


BOTH = PublicInputs(REGIONS, factors())


@pytest.mark.parametrize("inputs", [BOTH, PublicInputs(REGIONS), PublicInputs(None, factors()), PublicInputs()])
def test_what_is_written_is_read_again(inputs: PublicInputs) -> None:
    again = inputs_in(written(inputs, CELLS), CELLS)
    assert written(again, CELLS) == written(inputs, CELLS)
    if inputs.regions is not None:
        assert (again.regions.ids, again.regions.names) == (("N", "S"), ("Nord", "Süd"))
        assert again.regions.of_cell.tolist() == [1, 1, 0]
    for name in FACTORS if inputs.factors else ():
        for end in ENDS:
            assert np.array_equal(*(getattr(getattr(of.factors, name), end) for of in (again, inputs)))


def test_cells_may_be_asked_for_in_another_order() -> None:
    again = inputs_in(written(BOTH, CELLS), ["NW", "SE", "SW"])
    assert again.regions.of_cell.tolist() == [0, 1, 1]
    assert again.factors.market_share.value.tolist() == [0.2, 0.4, 0.4]
    assert np.array_equal(again.factors.active_share.value, BOTH.factors.active_share.value)


def test_readers_find_the_factors_to_undo_people_by() -> None:
    said = json.loads(written(BOTH, CELLS))
    assert said["people"]["market_share"]["value"] == [0.4, 0.4, 0.2]
    assert said["people"]["devices_per_person"] == {"low": 0.9, "value": 1.0, "high": 1.1}
    assert len(said["people"]["active_share"]["high"]) == HOURS
    assert said["regions"] == {"names": {"N": "Nord", "S": "Süd"}, "of_cells": ["S", "S", "N"]}


@pytest.mark.parametrize("content", [b"{}", b"[]", b"no", written(BOTH, ["A", "B", "C"])])
def test_what_is_no_such_file_is_refused(content: bytes) -> None:
    with pytest.raises(BadInput, match="public inputs"):
        inputs_in(content, CELLS)
