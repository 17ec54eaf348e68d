"""Studies of moving characteristics on a small crowd: every point runs, and figures and summaries come out."""

from datetime import UTC, date, datetime

import numpy as np
import polars as pl
import pytest

from density_assets.errors import BadInput
from density_assets.research.moving import recovery_of_releases as recovery_audit
from density_assets.research.moving.characteristics import MOVING_CHARACTERISTICS
from density_assets.research.moving.days import Days, as_streams
from density_assets.research.moving.hybrid import HYBRID_EPSILON, HYBRID_THRESHOLD
from density_assets.research.moving.recovery import NOTHING, RECOVERY, STILL, only_seen
from density_assets.research.moving.recovery_of_releases import EXACT, OTHERS, RAW, RECOVERY_TEST, population
from density_assets.research.study import Source, run
from density_assets.research.weeks.crowd import HOURS, crowd, grid
from density_assets.schemes.moving.windows import histograms
from density_assets.settings import Settings
from resources.tables.store import Store


@pytest.fixture(scope="module")
def days() -> Days:
    made = crowd(120, 3, 1, grid(20, 15))
    return Days(made.xy, made.cells, np.array(HOURS, dtype=float))


@pytest.mark.parametrize(
    "study", [MOVING_CHARACTERISTICS, HYBRID_THRESHOLD, HYBRID_EPSILON, RECOVERY], ids=lambda s: s.name
)
def test_every_point_has_figures_and_a_line_in_the_summary(study, days, tmp_path):
    inputs = days if study is RECOVERY else as_streams(days)
    results = run(study, inputs, tmp_path / "book.jsonl", 1, lambda _: None)
    assert results.select(pl.col(study.grid[0].keys() & results.columns).is_not_null().all()).row(0)
    assert all(figure.axes for figure in study.figures(inputs, results).values())
    assert study.summary(results).count("\n| ") > 10
    if study in (HYBRID_THRESHOLD, HYBRID_EPSILON):
        assert study.about(inputs) == "120 people of a simulated crowd. 3 days of 19 stamps, 300 cells."
        assert results["empty_mae"].unique().to_list() == [pytest.approx(120 / 300)]  # everybody is missed
        lines = [line.split(" | ") for line in study.summary(results).splitlines() if line.startswith("| sound")]
        assert {(line[4], line[7]) for line in lines} == {("0.4", "0.4")}
        drawn, tidy = (results.filter(counts=counts) for counts in ("as drawn", "consistent"))
        worse = [part.filter(pl.col("mae") >= pl.col("empty_mae")).height for part in (drawn, tidy)]
        said = f"{worse[0]} of {len(drawn)} as drawn, {worse[1]} of {len(tidy)} consistent"
        assert f"has a MAE of 0.4. Releases that are no better: {said}." in study.summary(results)
    if study is RECOVERY:
        bare = results.filter(scheme=NOTHING, links="distance").sort("points")["accuracy"].to_list()
        assert bare[0] > bare[-1] > 2 * results.filter(scheme="direct", locations="all")["accuracy"].max()


def test_a_thousand_people_are_recovered_as_published_and_less_than_if_nobody_moved():
    made = crowd(1_000, 1, 2008)
    days = Days(made.xy, made.cells, np.array(HOURS, dtype=float))
    bare = [point for point in RECOVERY.grid if point["scheme"] in (NOTHING, STILL) and point["points"] in (10, 19)]
    found = pl.DataFrame([point | row for point in bare for row in RECOVERY.once(days, point, 0)])
    ten, nineteen = found.filter(scheme=NOTHING, links="distance").sort("stamps")["accuracy"]
    assert 0.8 > ten > nineteen > 0.6  # published: 78.9 % at 10 points, 61.0 % at 19
    assert found.filter(scheme=NOTHING, links="velocity", stamps=19)["accuracy"].item() < nineteen
    assert found.filter(scheme=STILL, stamps=19)["accuracy"].item() > nineteen


def test_taxis_are_compared_with_what_was_published_of_taxis(tmp_path):
    for taxi in range(6):
        lines = [
            f"{taxi},2008-02-0{day} {hour:02}:{minute:02}:00,{116.3 + 0.01 * taxi + 0.002 * hour:.3f},39.9"
            for day in (2, 3)
            for hour in range(24)
            for minute in (5, 35)
        ]
        (tmp_path / f"{taxi}.txt").write_text("\n".join(lines))
    source = Source(Settings(), Store(tmp_path / "home", "taxis"), date(2007, 9, 10), tmp_path)
    days = RECOVERY.load(source)
    assert days.cells.shape == (2, 6, 10)
    assert days.clock.tolist() == [8 + half / 2 for half in range(10)]
    results = run(RECOVERY, days, tmp_path / "book", 1, lambda _: None)
    assert set(results["source"]) == {"taxis"}
    assert set(results["stamps"]) == {5, 10}
    summary = RECOVERY.summary(results)
    assert "59.4 %" in summary
    assert "40.6 %" in summary
    assert not any(of_crowds in summary for of_crowds in ("78.9 %", "61.0 %", "10–20 %"))
    assert all(figure.axes for figure in RECOVERY.figures(days, results).values())


def cabs_of_lima(folder):
    """Two cabs that drive north for two days, cell by cell of 0.01°, in files as those of San Francisco."""
    for cab in range(2):
        lines = [
            f"{-12.0999 + 0.01 * (hour % 24 % 10):.4f} {-77.0499 + 0.01 * cab:.4f} 0 {LIMA_MONDAY + 3600 * hour}"
            for hour in range(48)
        ]
        (folder / f"new_{cab}.txt").write_text("\n".join([*lines, "40.0 116.3 0 1201900000", "nothing"]))
    (folder / "traces.toml").write_text(LIMA)


LIMA_MONDAY = int(datetime(2010, 3, 1, 5, tzinfo=UTC).timestamp())  # 00:00 on clocks five hours behind
LIMA = """first_week = 2010-03-01
weeks = 1
timezone = "America/Lima"
south = -12.1
north = -12.0
west = -77.05
east = -77.01
rows = 10
columns = 4
minutes = 60
"""


@pytest.mark.parametrize(
    "study", [MOVING_CHARACTERISTICS, HYBRID_THRESHOLD, HYBRID_EPSILON, RECOVERY], ids=lambda s: s.name
)
def test_box_grid_zone_weeks_and_stamps_are_those_of_the_recipe(study, tmp_path):
    cabs_of_lima(tmp_path)
    said = []
    source = Source(Settings(), Store(tmp_path / "home", "lima"), date(2007, 9, 10), tmp_path, said.append)
    loaded = study.load(source)
    days = loaded if study is RECOVERY else loaded.days
    first = 8 if study is RECOVERY else 0  # of which some stamps of the day are shown
    hours = first + np.arange(days.cells.shape[2])
    for cab in range(2):  # rows from the south, of 4 cells
        np.testing.assert_array_equal(days.cells[:, cab], np.tile(4 * (hours % 10) + cab, (2, 1)))
    assert days.clock.tolist() == hours.tolist()
    read = (
        "100 records read, 96 kept (users: 2). Left out: 2 outside the weeks, 2 unreadable. 168 hours: 1 week from "
        "2010-03-01, on clocks of America/Lima. Box: latitude -12.1 to -12, longitude -77.05 to -77.01, a grid of "
        "10 x 4 (rows x columns)."
    )
    assert said == [read]
    assert study.about(loaded).startswith(read)
    assert study.about(loaded).endswith("40 cells.")


def test_people_at_stations_do_not_move(tmp_path):
    (tmp_path / "taps.csv").write_text("user,station,time\na,Bank,2010-03-01 08:10:00\n")
    (tmp_path / "traces.toml").write_text('kind = "taps"\n')
    with pytest.raises(BadInput, match='must have GPS points, got kind = "taps"'):
        RECOVERY.load(Source(Settings(), Store(tmp_path / "home", "taps"), date(2007, 9, 10), tmp_path))


def test_one_day_of_taxis_is_too_few(tmp_path):
    (tmp_path / "1.txt").write_text("1,2008-02-02 08:05:00,116.4,39.9\n")
    with pytest.raises(BadInput, match="two days or more, got 1"):
        RECOVERY.load(Source(Settings(), Store(tmp_path / "home", "taxis"), date(2007, 9, 10), tmp_path))


def test_a_list_of_cells_that_are_seen_keeps_everybody_who_is_in_them(days):
    some = Days(days.xy, np.where(np.arange(120)[None, :, None] == 0, -1, days.cells), days.clock)
    listed = only_seen(some)
    assert len(listed.xy) < len(days.xy)
    assert listed.streams()[-1].sum() == 119 * 19  # the first is nowhere
    np.testing.assert_array_equal(listed.xy[listed.cells[-1, 1:]], days.xy[days.cells[-1, 1:]])


def test_the_audit_knows_people_from_others_and_attacks_every_scheme():
    town = population(40, 25, 30)
    assert town.cells.shape == town.others.shape == (40, 168)
    assert (town.week.truncated.sum(), town.week.visit_total) == (40 * 30, 40 * 168)
    found = {name: recovery_audit.once(town, {"scheme": name, "epsilon": None}, 0)[0] for name in (EXACT, OTHERS)}
    assert found[EXACT]["accuracy"] > found[OTHERS]["accuracy"]
    noisy = recovery_audit.once(town, {"scheme": "static_hybrid", "epsilon": 0.3}, 0)[0]
    assert noisy["accuracy"] < found[EXACT]["accuracy"]
    assert {point["scheme"] for point in RECOVERY_TEST.grid} > {"lpa", "lowrank", "direct", "dynamic_hybrid"}
    assert RECOVERY_TEST.asset_name == "recovery_audit"


def test_the_audit_samples_an_hour_of_their_own_for_everyone():
    town = population(40, 25, 30)
    cell_of = np.asarray(town.week.places.to_cells("towers").argmax(axis=0)).ravel()
    sampled = np.bincount(cell_of, town.week.sampled, 25)
    assert sampled.sum() == 40
    assert not (histograms(town.cells, 25) == sampled).all(axis=1).any()  # everybody in the same hour


def test_the_audit_reads_densities_below_one():
    ten = population(10, 100, 130)  # a visit is spread over cells, and few have half a person
    assert (
        recovery_audit.once(ten, {"scheme": RAW, "epsilon": None}, 0)[0]["accuracy"] > 0.6
    )  # 0.48 if those count none
