"""Measurement keys know every setting that shapes a draw, and no other: to read files better costs nothing."""

import hashlib
import json
from dataclasses import replace
from datetime import date

import pytest
from door import EVENT, REQUEST
from pydantic import BaseModel

from density_assets.errors import BadInput
from density_assets.privacy.events import Gaussian
from density_assets.privacy.release import FORMAT, Charge
from density_assets.schemes import SCHEMES
from density_assets.schemes.asked import OF_EVERY_SCHEME, asked_release, settings_as_drawn
from density_assets.schemes.scheme import SERIES, TOTALS
from density_assets.settings import SchemeSettings, Settings
from density_assets.settings.city import CitySettings

WEEK = date(2007, 9, 10)
SIMULATED = Settings()
REAL = SIMULATED.model_copy(update={"city": CitySettings.model_construct(name="town", visits="visits/{week}.csv")})
SHAPING = {
    "city": {"name", "timezone"},  # whose budget pays, and which hours
    "privacy": {"epsilon", "delta", "visits_per_user", "visits_clamp"},
    "scheme": {"name", "calibration", *OF_EVERY_SCHEME},
    "revisions": {""},
}
ALL = [
    (table, name)
    for table, field in Settings.model_fields.items()
    for name in getattr(field.annotation, "model_fields", {"": None})
]

# A key that changes is another charge for a week which is drawn. These change with the format alone.
KEYS = {
    "lpa": "5858e5524bf738b1",
    "gpa": "ee39a9df084cc1e8",
    "fpa": "3b3817d4548ad789",
    "efpa": "45e75d22b2c14d39",
    "efpag": "a5d9134c64658025",
    "efpag_iris": "8c0f146717ff3a28",
    "lowrank": "21f721f7b0ee2580",
    "direct": "8d5032c2b6aa9446",
    "threshold": "46dda41bc270a311",
    "static_hybrid": "160190078cc92f7c",
    "dynamic_hybrid": "68f5b41e552bb349",
}


def keys(settings: Settings, scheme: str = "lowrank") -> set[str]:
    release = asked_release(settings, SCHEMES[scheme], {TOTALS: (), SERIES: ()}, "geography", WEEK)
    return {release.key(door) for door in release.doors}


def changed(settings: Settings, table: str, name: str) -> Settings:
    """The same settings but one, whatever it may be."""
    before = getattr(settings, table)
    if isinstance(before, BaseModel):
        return settings.model_copy(update={table: before.model_copy(update={name: "another"})})
    return settings.model_copy(update={table: {WEEK: 2} if table == "revisions" else "another"})


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # of values that no setting may have
@pytest.mark.parametrize(("table", "name"), ALL)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_key_changes_with_what_shapes_the_draw_alone(scheme, table, name):
    shaping = name in SHAPING.get(table, ()) or (table == "scheme" and name in SCHEMES[scheme].own_settings)
    if (table, name) == ("scheme", "name"):
        return  # the scheme itself is given; see below
    assert (keys(changed(REAL, table, name), scheme) != keys(REAL, scheme)) == shaping


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize("name", CitySettings.model_fields)
def test_of_a_city_without_people_their_number_and_seed_shape_the_draw(name):
    shaping = name in {*SHAPING["city"], "users", "seed", "visits"}  # with `visits` they are people
    assert (keys(changed(SIMULATED, "city", name)) != keys(SIMULATED)) == shaping


def test_the_keys_of_each_scheme_are_those_in_the_table():
    assert {name: min(keys(REAL, name))[:16] for name in SCHEMES} == KEYS


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
    "parameters": {"weight_l": 2},
}


@pytest.mark.parametrize("field", DECIDED)
def test_whatever_a_person_decides_makes_another_key(field):
    assert replace(REQUEST, **{field: DECIDED[field]}).key("noisy_series") != REQUEST.key("noisy_series")


def test_the_key_is_the_hash_of_all_decisions_door_and_format():
    decided = {name: getattr(REQUEST, name) for name in DECIDED} | {"door": "noisy_series", "format": FORMAT}
    text = json.dumps(decided, sort_keys=True)
    assert REQUEST.key("noisy_series") == hashlib.sha256(text.encode()).hexdigest()
    assert REQUEST.key("noisy_totals") != REQUEST.key("noisy_series")
    calibrated = replace(REQUEST, doors={"noisy_series": (Gaussian("series", 18.0, 1.0),)})
    assert calibrated.key("noisy_series") == REQUEST.key("noisy_series")  # noise follows from the decisions
    assert REQUEST.name == REQUEST.key("")[:16]


def test_a_charge_names_release_door_draw_and_events():
    identity = {"population": "subscribers", "city": "town", "week": "2007-09-10", "revision": 1}
    identity |= {"epsilon": 0.3, "delta": 2e-6}
    paid = Charge(**identity, door="noisy_series", measurement=REQUEST.key("noisy_series"), events=(EVENT,))
    assert (REQUEST.charge("noisy_series"), REQUEST.identity(), REQUEST.year) == (paid, identity, "2007")


def test_a_drawn_release_gives_back_the_settings_it_was_asked_for_by():
    settings = REAL.model_copy(update={"scheme": SchemeSettings(name="efpag", split=0.4)})
    release = asked_release(settings, SCHEMES["efpag"], {SERIES: ()}, "geography", WEEK)
    assert settings_as_drawn(REAL, release).scheme == settings.scheme
    assert settings_as_drawn(settings, release) is settings


def test_a_week_that_newer_software_drew_is_refused():
    drawn = replace(REQUEST, parameters={**REQUEST.parameters, "unheard_of": 1})
    with pytest.raises(BadInput, match="unheard_of"):
        settings_as_drawn(Settings(), drawn)
