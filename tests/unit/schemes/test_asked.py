"""Measurement keys know what shapes a draw and nothing of how files are read: to read them better costs nothing."""

from datetime import date

import pytest
from runs import MONDAY

from density_assets.city import City
from density_assets.settings import load_settings
from density_assets.settings.city import CitySettings

SHAPES_DRAWS = {"name", "timezone", "users", "seed"}  # whose budget, which hours; the last two of simulated people
OTHERS = {"visit_timezone": "UTC", "visit_where": {"flag": 0}, "first_week": date(2007, 9, 10), "population": 7}


def keys(town, home, **changed) -> set[str]:
    settings = load_settings(town.settings)
    city = settings.city.model_copy(update=changed)
    release = City(settings.model_copy(update={"city": city}), home).release(MONDAY)
    return {release.key(door) for door in release.doors}


@pytest.mark.parametrize("setting", sorted(CitySettings.model_fields.keys() - SHAPES_DRAWS))
def test_how_files_are_read_is_in_no_measurement_key(town, tmp_path, setting):
    other = OTHERS.get(setting, "another")
    assert getattr(load_settings(town.settings).city, setting) != other
    assert keys(town, tmp_path, **{setting: other}) == keys(town, tmp_path)


@pytest.mark.parametrize("changed", [{"name": "other"}, {"timezone": "UTC"}, {"visits": None, "users": 5}])
def test_whose_week_it_is_and_on_which_clocks_is_in_every_one(town, tmp_path, changed):
    assert not keys(town, tmp_path, **changed) & keys(town, tmp_path)
