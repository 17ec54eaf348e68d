"""Tables made under other settings are never used: each step says what changed, and nothing is charged or drawn."""

import re

import dagster as dg
import geopandas as gpd
import pytest
from runs import MONDAY, WEEK, failures, materialise, only, opened

from density_assets.definitions import build
from density_assets.errors import BadInput
from density_assets.graph import confidential
from density_assets.research.density.week import load_week
from density_assets.research.study import Source
from density_assets.settings import load_settings
from resources.ledger.ledger import Ledger
from resources.tables.stamps import stamp_values
from resources.tables.store import Store

UP_TO_DOORS = (
    *("cells", "antennas", "towers", "tower_cells", "overlaps", "cover_graph"),
    *("visits", "truncated_visits", "tower_series", "tower_totals", "visit_total", "noisy_totals", "noisy_series"),
)


COUNTED = tuple(asset for asset in UP_TO_DOORS if not asset.startswith("noisy"))


def partial_run(town, home, *assets: str) -> list[str]:
    result = materialise(town.settings, home, asset_selection=only(*assets), raise_on_error=False)
    return failures(result)


@pytest.mark.parametrize(
    ("change", "door", "words"),
    [
        ("[scheme]\nweight_l = 1\n", "noisy_series", "weight_l was 20 and is 1"),
        ("[scheme]\ntower_l = 1\n", "noisy_totals", "tower_l was 400 and is 1"),
        ("[privacy]\nvisits_clamp = 10\n", "noisy_totals", "visits_clamp was 732 and is 10"),
        ("[privacy]\nvisits_per_user = 1\n", "noisy_series", "visits_per_user was 30 and is 1"),
    ],
)
def test_a_door_refuses_tables_with_another_bound(town, tmp_path, change, door, words):
    """Noise made for the new bound would be too little for the old table."""
    materialise(town.settings, tmp_path, asset_selection=only(*COUNTED))
    town.set("[engine]", f"{change}[engine]")
    (message,) = partial_run(town, tmp_path, door)
    assert words in message
    assert Ledger(tmp_path).rows() == []


def test_a_real_city_declared_synthetic_is_not_nobodys_data(town, tmp_path):
    materialise(town.settings, tmp_path, asset_selection=only(*UP_TO_DOORS, "iris_series"))
    town.set('visits = "visits/{week}/*.csv"', "users = 3000")
    for asset in ("noisy_series", "iris_series", "truncated_visits"):
        (message,) = partial_run(town, tmp_path, asset)
        assert "population was 'subscribers' and is 'simulated people of town'" in message
    assert {row.charge.population for row in Ledger(tmp_path).rows()} == {"subscribers"}
    settings = load_settings(town.settings)
    with pytest.raises(BadInput, match="population was 'subscribers'"):
        load_week(Source(settings, Store(tmp_path, "town", stamp_values(settings)), MONDAY))


def test_a_statement_never_covers_counts_of_another_draw(town, tmp_path):
    """Draw at 0.3, draw a revision at 1, and then publish the first from the tables of the second: refused."""
    materialise(town.settings, tmp_path, asset_selection=only(*UP_TO_DOORS))
    town.set("[engine]", f"[privacy]\nepsilon = 1.0\n[revisions]\n{WEEK} = 2\n[engine]")
    materialise(town.settings, tmp_path, asset_selection=only("noisy_totals", "noisy_series"))
    town.set(f"{WEEK} = 2", f"{WEEK} = 1")
    (message,) = partial_run(town, tmp_path, "smoothed_series", "density", "published_counts", "privacy_statement")
    assert "must belong to the release of today's settings" in message
    assert not list((tmp_path / "town/release").glob(f"*_{WEEK}*"))


@pytest.mark.parametrize("removed", ["A", "C"])  # somebody was at A, nobody at C
def test_tables_of_another_antenna_list_are_refused_whoever_was_where(town, tmp_path, removed):
    materialise(town.settings, tmp_path, asset_selection=only(*UP_TO_DOORS))
    towers = town.folder / "towers.csv"
    towers.write_text("".join(line for line in towers.open() if not line.startswith(removed)))
    (message,) = partial_run(town, tmp_path, "antennas", "towers", "tower_series")
    assert (
        "visits of the week of 2007-09-10 must be made under the settings it is used under, but antennas was" in message
    )


def test_tables_mapped_to_other_cells_are_refused_and_those_of_towers_kept(town, tmp_path):
    materialise(town.settings, tmp_path, asset_selection=only(*UP_TO_DOORS, "iris_series"))
    cells = gpd.read_file(town.folder / "cells.geojson")
    cells.loc[0, "code"] = "renamed"
    cells.to_file(town.folder / "cells.geojson", driver="GeoJSON")
    assert materialise(town.settings, tmp_path, asset_selection=only("cells", "truncated_visits")).success
    store = Store(tmp_path, "town", stamp_values(load_settings(town.settings)))
    assert len(store.read_week("tower_series", MONDAY)) == 4 * 168
    with pytest.raises(BadInput, match=r"iris_series of the week of 2007-09-10 .* geography was"):
        store.read_week("iris_series", MONDAY)


def test_another_time_zone_is_another_release(town, tmp_path):
    materialise(town.settings, tmp_path, asset_selection=only(*COUNTED))
    town.set("first_week", 'timezone = "America/New_York"\nfirst_week')
    (message,) = partial_run(town, tmp_path, "noisy_series")
    assert "timezone was 'Europe/Paris' and is 'America/New_York'" in message


@pytest.mark.parametrize("leaking", [False, True])
def test_logs_of_real_people_do_not_grow_with_their_number(town, tmp_path, monkeypatch, leaking):
    """What is logged is the same for ten people and for thousands; planted progress lines would show."""
    town.set("[engine]", "[engine]\nrows_per_bucket = 1000")
    monkeypatch.setattr("resources.tables.week_writer.ROW_GROUP", 1000)
    if leaking:
        monkeypatch.setattr(confidential, "_progress", lambda step: step.say)
    logged = []
    for people in (10, 5_000):
        town.write_visits("".join(f"u{i},2007-09-10 08:00:00,A\n" for i in range(people)))
        assets = ("cells", "antennas", "towers", "visits", "truncated_visits", "tower_series", "tower_totals")
        messages = _messages(town, tmp_path / str(people), *assets)
        assert any("visits" in message for message in messages)
        logged.append(messages)
    assert (logged[0] == logged[1]) is not leaking


def _messages(town, home, *assets: str) -> list[str]:
    """What a run leaves in Dagster's log, without moments, durations and hashes."""
    definitions = build(opened(town.settings, home))
    with dg.DagsterInstance.ephemeral() as instance:
        result = definitions.resolve_job_def("weekly_release").execute_in_process(
            instance=instance, partition_key=WEEK, asset_selection=only(*assets)
        )
        said = [entry.user_message for entry in instance.all_logs(result.run_id)]
    return [re.sub(r"\d+(\.\d+)?(ms|s)\b|[0-9a-f]{8,}[0-9a-f-]*", "…", text) for text in said]
