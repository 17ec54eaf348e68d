"""Studies of moving characteristics on a small crowd: every point runs, and figures and summaries come out."""

import numpy as np
import polars as pl
import pytest

from density_assets.cities.crowd import HOURS, crowd, grid
from density_assets.moving.stream import histograms
from density_assets.studies import recovery_audit
from density_assets.studies.crowds import Days, as_streams
from density_assets.studies.hybrid import HYBRID_EPSILON, HYBRID_THRESHOLD
from density_assets.studies.moving_characteristics import MOVING_CHARACTERISTICS
from density_assets.studies.recovery import NOTHING, RECOVERY, only_seen
from density_assets.studies.recovery_audit import EXACT, OTHERS, RAW, RECOVERY_AUDIT, population, whole
from density_assets.studies.study import run


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
    if study is RECOVERY:
        bare = results.filter(scheme=NOTHING, links="distance").sort("points")["accuracy"].to_list()
        assert bare[0] > bare[-1] > 2 * results.filter(scheme="direct", locations="all")["accuracy"].max()


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
    assert {point["scheme"] for point in RECOVERY_AUDIT.grid} > {"lpa", "lowrank", "direct", "dynamic_hybrid"}
    assert RECOVERY_AUDIT.asset_name == "recovery_audit"


def test_the_audit_samples_an_hour_of_their_own_for_everyone():
    town = population(40, 25, 30)
    cell_of = np.asarray(town.week.places.to_cells("towers").argmax(axis=0)).ravel()
    sampled = np.bincount(cell_of, town.week.sampled, 25)
    assert sampled.sum() == 40
    assert not (histograms(town.cells, 25) == sampled).all(axis=1).any()  # everybody in the same hour


def test_the_audit_attacks_the_counts_that_are_handed_out():
    density = np.array([[0.3], [0.4], [0.3], [0.4], [0.3], [0.4], [0.3]])  # nowhere half a person, 2.4 in all
    assert whole(density).tolist() == [[0, 1, 0, 1, 0, 0, 0]]
    ten = population(10, 100, 130)  # a visit is spread over cells, and few have half a person
    assert (
        recovery_audit.once(ten, {"scheme": RAW, "epsilon": None}, 0)[0]["accuracy"] > 0.6
    )  # 0.48 if those count none
