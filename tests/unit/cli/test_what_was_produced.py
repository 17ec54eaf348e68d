"""What a release says at its end about where the tables of visits lie."""

import json
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pytest
from town import WEEK, make_town

from density_assets.city import City
from density_assets.cli.runs import _produced
from density_assets.settings import load_settings


def produced(folder: Path, weeks: str) -> str:
    """What is said of a week of a town whose settings say where weeks are kept."""
    town = make_town(folder)
    town.settings.write_text(f'{town.settings.read_text()}\n[storage]\nweeks = "{weeks}"\n')
    city = City(load_settings(town.settings), folder / "home")
    manifest = city.files(date.fromisoformat(WEEK)).file("manifest", "json")
    manifest.parent.mkdir(parents=True, exist_ok=True)
    manifest.write_text(json.dumps({"files": [], "key": {"fingerprint": "ab"}}))
    return "\n".join(_produced(city, WEEK, None))


def test_weeks_at_a_path_are_named_and_have_views(tmp_path: Path) -> None:
    said = produced(tmp_path, "elsewhere")
    assert f"  {tmp_path}/town/elsewhere/town/*/{WEEK}/ (one folder for each table)\n" in said
    assert "confidential.duckdb (views over the above)" in said


def test_weeks_at_a_url_are_named_and_have_no_views(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(City, "store", property(lambda city: _Folders(city.home / city.name)))  # no server is asked
    said = produced(tmp_path, "s3://density/weeks")
    assert f"  s3://density/weeks/town/*/{WEEK}/ (one folder for each table)\n" in said
    assert "confidential.duckdb" not in said


class _Folders:
    """The folders of a city whose weeks lie elsewhere."""

    def __init__(self, folder: Path) -> None:
        self.release, self.confidential = folder / "release", folder / "confidential"
        self.release_database = self.release / "release.duckdb"
        self.weeks = SimpleNamespace(root="s3://density/weeks/town")
