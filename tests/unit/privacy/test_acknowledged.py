"""Which settings a person acknowledges: those that say how files are read, and no others."""

from pathlib import Path

import pytest

from density_assets.privacy.policy import NOT_READ_BY, input_digest
from density_assets.settings import PrivacySettings, Settings, load_settings
from density_assets.settings.city import CitySettings


def digest(**changed) -> str:
    return input_digest(Settings().model_copy(update={"city": CitySettings.model_construct(**changed)}))


@pytest.mark.parametrize(
    "changed",
    [
        {"visits": "cdr/{week}.csv"},
        {"visit_user": "imsi"},
        {"timezone": "UTC"},
        {"towers": Path("t")},
        {"tower_x": "x"},
    ],
)
def test_another_way_of_reading_files_is_another_digest(changed):
    assert digest(**changed) != digest()


@pytest.mark.parametrize("name", sorted(NOT_READ_BY))
def test_what_says_nothing_of_files_changes_nothing(name):
    assert name in CitySettings.model_fields
    assert digest(**{name: "another"}) == digest()


def test_promise_and_scheme_are_not_acknowledged_here_and_defaults_may_be_written_out():
    assert input_digest(Settings(privacy=PrivacySettings(epsilon=1.0))) == digest()
    assert digest(visit_user="user_id", timezone="Europe/Paris") == digest()


def test_the_folder_of_the_settings_may_move(town, tmp_path):
    (tmp_path / "other").mkdir()
    moved = tmp_path / "other" / "town.toml"
    moved.write_bytes(town.settings.read_bytes())
    assert input_digest(load_settings(moved)) == input_digest(load_settings(town.settings))
