"""One technique from the command line: parameters as typed, files that are stamped, traces that stay confidential."""

import stat
from datetime import date
from pathlib import Path

import polars as pl
import pytest

from density_assets.errors import BadInput
from density_assets.research.approaches.techniques import TECHNIQUES
from density_assets.research.approaches.trying import STAMP, attempt, chosen, population
from density_assets.research.study import Source
from density_assets.settings import Settings
from resources.tables.store import Store

CABS = "cab,unixtime,lat,lon\n" + "\n".join(
    f"c{cab},{1211180400 + 3600 * hour},{37.745 + 0.005 * ((cab + hour) % 14)},{-122.465 + 0.005 * (hour % 19)}"
    for cab in range(40)
    for hour in range(0, 168, 5)
)


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """The embedded city under a home of its own."""
    return Source(Settings(), Store(tmp_path, "embedded"), date(2007, 9, 10))


def test_files_of_invented_people_are_stamped(source, tmp_path):
    technique = TECHNIQUES["k_anonymity"]
    town = population(source, 300, 60, 1)
    said = attempt(technique, chosen(technique, ["k=3"]), town, 1, source)
    folder = tmp_path / "embedded/studies/techniques/k_anonymity"
    assert STAMP in said
    assert "| k | 3 |" in said
    assert str(folder) in said
    for name in ("density", "records"):
        assert pl.read_parquet(folder / f"{name}.parquet")["stamp"].unique().to_list() == ["simulation"]
    assert (folder / "report.md").read_text() in said + "\n"


def test_traces_that_are_given_stay_confidential(source, tmp_path):
    cabs = tmp_path / "traces/cabs.csv"
    cabs.parent.mkdir()
    cabs.write_text(CABS)
    source = Source(source.settings, source.store, source.week, cabs)
    technique = TECHNIQUES["uniform"]
    attempt(technique, chosen(technique, []), population(source, 1, 1, 1), 1, source)
    folder = tmp_path / "embedded/confidential/studies/techniques/uniform"
    assert pl.read_parquet(folder / "density.parquet").height == 100 * 168
    for file in folder.iterdir():
        assert not file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    assert not (tmp_path / "embedded/studies").exists()


def test_visits_of_a_city_of_real_people_are_refused(source, tmp_path):
    visits = tmp_path / "visits/part.parquet"
    visits.parent.mkdir()
    pl.DataFrame({"user_id": ["a"], "hour": [1], "tower_id": ["t"]}).write_parquet(visits)
    visits.with_name("traces.toml").write_text('kind = "visits"\n')
    city = source.settings.city.model_copy(update={"visits": "visits/*.parquet"})
    real = Source(source.settings.model_copy(update={"city": city}), source.store, source.week, visits)
    with pytest.raises(BadInput, match="which nobody pays for"):
        population(real, 1, 1, 1)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("epsilo=1", r"lowrank has no parameter 'epsilo'; did you mean 'epsilon'\?; it has epsilon"),
        ("epsilon=none", "lowrank: epsilon is refused.*got 'none'"),
        ("epsilon=-1", "lowrank: epsilon is refused.*got -1"),
        ("epsilon", "name=value, got 'epsilon'"),
        ("=3", "name=value, got '=3'"),
    ],
)
def test_parameters_are_refused_by_name(given, said):
    with pytest.raises(BadInput, match=said):
        chosen(TECHNIQUES["lowrank"], [given])
