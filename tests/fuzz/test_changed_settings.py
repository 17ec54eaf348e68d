"""Settings changed at random are refused in words, or can be used: no other exception, here or where they are used."""

from datetime import date

import pytest
from spoiled_files import raw_exceptions, spoiled_toml

from density_assets.calendar import week_clock
from density_assets.errors import BadInput
from density_assets.geography.source import city_cells
from density_assets.records.files import named_files, record_files, refuse_our_files
from density_assets.settings import Settings, load_settings
from resources.sql.duckdb_engine import DuckdbEngine
from resources.tables.stamps import stamp_values
from resources.tables.store import Store

SETTINGS = """
[city]
name = "paris"
population = 2000000
first_week = 2007-09-10
timezone = "Europe/Paris"
cells = "iris.gpkg"
cell_id = "DCOMIRIS"
towers = "orange_sites.csv"
tower_id = "id"
tower_x = "x"
tower_y = "y"
tower_crs = "EPSG:2154"
visits = "visits/{week}/*.csv"
visit_user = "user_id"
visit_time = "time"
visit_tower = "tower_id"

[privacy]
epsilon = 0.3
delta = 2e-6
visits_per_user = 30
visits_clamp = 732
budget_epsilon = 3.0
budget_delta = 1e-5

[scheme]
name = "lowrank"
calibration = "sound"
improved = true
split = 0.5
weight_l = 20
tower_l = 400
tower_share = 0.05
change = 0.25
releases = 28

[engine]
memory = "800MB"
threads = 2
rows_per_bucket = 3000000

[alerts]
file = "alerts.jsonl"
webhook = "https://example.org/x"

[revisions]
2007-09-10 = 2
"""
SYNTHETIC = SETTINGS.replace('visits = "visits/{week}/*.csv"', "users = 1000\nseed = 7")


def use(settings: Settings, store: Store) -> None:
    """What everything else asks of settings before it reads a file."""
    week_clock(settings.city.first_week, settings.city.zone)
    assert isinstance(settings.revision_of("2007-09-10"), int)
    assert settings.engine.memory_bytes >= 10**6
    refuse_our_files(named_files(settings), store.folder.parent)
    stamp_values(settings)
    with DuckdbEngine(store, settings.engine).connect() as connection:
        connection.execute("select $l, $c, $w, $t", {
            "l": settings.privacy.visits_per_user,
            "c": settings.privacy.visits_clamp,
            "w": settings.scheme.weight_l * 2**32,
            "t": settings.scheme.tower_l * 2**32,
        })  # fmt: skip
    files_are_looked_for(settings)


def files_are_looked_for(settings: Settings) -> None:
    """None of them is there, which is said of each."""
    if settings.city.cells is not None:
        with pytest.raises(BadInput):
            city_cells(settings)
    pattern = settings.city.visits
    if pattern is not None and not pattern.startswith("/"):
        with pytest.raises(BadInput):
            record_files(settings.model_copy(update={"folder": settings.folder / "none"}), date(2007, 9, 10))


@pytest.mark.parametrize(
    "seeds", [range(400), pytest.param(range(400, 8_000), marks=pytest.mark.nightly)], ids=["some", "many"]
)
def test_changed_settings_are_used_or_refused(tmp_path, seeds):
    store, used = Store(tmp_path / "home", "town"), []

    def attempt(rng):
        file = tmp_path / "my.toml"
        file.write_bytes(spoiled_toml(rng.choice([SETTINGS, SYNTHETIC]), rng))
        use(load_settings(file), store)
        used.append(file)

    assert raw_exceptions(seeds, attempt) == {}
    assert len(used) > len(seeds) // 20  # some changes do no harm
