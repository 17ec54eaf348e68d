"""Tables made under other settings are never used: each step says what changed, and nothing is charged or drawn."""

import json

import pytest
from runs import MONDAY, WEEK, failures, materialise, only

from density_assets.errors import BadInput
from density_assets.settings import load_settings
from density_assets.studies.inputs import load_week
from density_assets.studies.study import Source
from resources.ledger import Ledger
from resources.stamps import stamp_values
from resources.store import Store


def partial_run(town, home, *assets: str) -> list[str]:
    result = materialise(town.settings, home, asset_selection=only(*assets), raise_on_error=False)
    return failures(result)


@pytest.mark.parametrize(
    ("change", "door", "words"),
    [
        ("[scheme]\nweight_l = 1\n", "noisy_series", "weight_l was 20 and is 1"),
        ("[privacy]\nvisits_clamp = 10\n", "noisy_totals", "visits_clamp was 732 and is 10"),
        ("[privacy]\nvisits_per_user = 1\n", "noisy_series", "visits_per_user was 30 and is 1"),
    ],
)
def test_a_door_refuses_tables_with_another_bound(town, tmp_path, change, door, words):
    """Noise made for the new bound would be too little for the old table."""
    materialise(town.settings, tmp_path)
    town.set("[engine]", f"{change}[engine]")
    (message,) = partial_run(town, tmp_path, door)
    assert words in message
    assert len(Ledger(tmp_path).rows()) == 2


def test_a_real_city_declared_synthetic_is_not_nobodys_data(town, tmp_path):
    materialise(town.settings, tmp_path)
    town.set('visits = "visits/{week}/*.csv"', "users = 3000")
    for asset in ("noisy_series", "iris_series", "truncated_visits"):
        (message,) = partial_run(town, tmp_path, asset)
        assert "population was 'subscribers' and is 'simulated people of town'" in message
    assert {row.charge.population for row in Ledger(tmp_path).rows()} == {"subscribers"}
    settings = load_settings(town.settings)
    with pytest.raises(BadInput, match="population was 'subscribers'"):
        load_week(Source(settings, Store(tmp_path, "town", stamp_values(settings)), MONDAY))


def test_a_statement_never_covers_counts_of_another_draw(town, tmp_path):
    """Draw at 0.3, draw again at 1, and then publish at 0.3 from the tables of 1: refused."""
    town.set("[engine]", "[privacy]\nepsilon = 0.3\n[engine]")
    materialise(town.settings, tmp_path)
    town.set("epsilon = 0.3", "epsilon = 1.0")
    materialise(town.settings, tmp_path, asset_selection=only("noisy_totals", "noisy_series"))
    town.set("epsilon = 1.0", "epsilon = 0.3")
    (message,) = partial_run(town, tmp_path, "smoothed_series", "density", "privacy_statement")
    assert "must belong to the release of today's settings" in message
    said = json.loads((tmp_path / f"town/release/privacy_statement_{WEEK}.json").read_text())
    assert said["epsilon"] == 0.3


def test_another_time_zone_is_another_release(town, tmp_path):
    materialise(town.settings, tmp_path)
    town.set("first_week", 'timezone = "America/New_York"\nfirst_week')
    (message,) = partial_run(town, tmp_path, "noisy_series")
    assert "timezone was 'Europe/Paris' and is 'America/New_York'" in message


def test_logs_of_real_people_do_not_grow_with_their_number(town, tmp_path, caplog):
    town.set("[engine]", "[engine]\nrows_per_bucket = 1000")
    lines = []
    for people in (10, 5_000):
        town.write_visits("".join(f"u{i},2007-09-10 08:00:00,A\n" for i in range(people)))
        result = materialise(town.settings, tmp_path / str(people))
        lines.append(len([event for event in result.all_events if event.event_type_value]))
    assert lines[0] == lines[1]
