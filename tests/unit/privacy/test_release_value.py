"""A release as a value: what its key depends on, and what a charge says of it."""

import hashlib
import json
from dataclasses import replace

import pytest
from door import EVENT, REQUEST

from density_assets.errors import BadInput
from density_assets.privacy.drawn import settings_as_drawn
from density_assets.privacy.events import Gaussian
from density_assets.privacy.release import Charge
from density_assets.settings import Settings

DECIDED = {
    "population": "others",
    "city": "village",
    "week": "2007-09-17",
    "revision": 2,
    "epsilon": 0.2,
    "delta": 1e-6,
    "geography": "abd",
    "scheme": "gpa",
    "calibration": "published",
    "version": 2,
    "parameters": {"weight_l": 2},
}


@pytest.mark.parametrize("field", DECIDED)
def test_whatever_a_person_decides_makes_another_key(field):
    assert replace(REQUEST, **{field: DECIDED[field]}).key("noisy_series") != REQUEST.key("noisy_series")


def test_the_key_is_the_hash_of_all_decisions_and_the_door_and_nothing_else():
    decided = {name: getattr(REQUEST, name) for name in DECIDED} | {"door": "noisy_series"}
    text = json.dumps(decided, sort_keys=True)
    assert REQUEST.key("noisy_series") == hashlib.sha256(text.encode()).hexdigest()
    assert REQUEST.key("noisy_totals") != REQUEST.key("noisy_series")
    calibrated = replace(REQUEST, doors={"noisy_series": (Gaussian("series", 18.0, 1.0),)})
    assert calibrated.key("noisy_series") == REQUEST.key("noisy_series")  # noise follows from the decisions
    assert REQUEST.name == REQUEST.key("")[:16]


def test_a_charge_names_release_door_draw_and_events():
    assert REQUEST.charge("noisy_series") == Charge(
        population="subscribers",
        city="town",
        week="2007-09-10",
        revision=1,
        epsilon=0.3,
        delta=2e-6,
        door="noisy_series",
        measurement=REQUEST.key("noisy_series"),
        events=(EVENT,),
    )
    assert REQUEST.year == "2007"
    assert REQUEST.identity() == {
        "population": "subscribers",
        "city": "town",
        "week": "2007-09-10",
        "revision": 1,
        "epsilon": 0.3,
        "delta": 2e-6,
    }


def test_a_week_that_newer_software_drew_is_refused_in_words():
    drawn = replace(REQUEST, parameters={**REQUEST.parameters, "unheard_of": 1})
    with pytest.raises(BadInput, match=r"week of 2007-09-10 was drawn with unheard_of.* newer one, which must be used"):
        settings_as_drawn(Settings(), drawn)
