"""The rehearsal: errors that fall with epsilon and with weeks, of people who do not exist, and a figure of them."""

import numpy as np
import polars as pl
import pytest

from density_assets.geography.source import embedded_city
from density_assets.research.plots.curves import over_weeks
from density_assets.research.weeks import rehearsal
from density_assets.research.weeks.cities import Ground
from density_assets.research.weeks.counting import WeekCounts
from density_assets.research.weeks.rehearsal import (
    BY,
    Rehearsal,
    average_errors,
    rehearse,
    scaled_week,
    score_map,
    summary,
)

PEOPLE = 4_000


@pytest.fixture(scope="module")
def errors(tmp_path_factory) -> pl.DataFrame:
    """Two weeks of a village under two promises, by both generators; said once for all tests."""
    said: list[str] = []
    asked = Rehearsal(PEOPLE, epsilons=(0.5, 50.0), learn=(20,), weeks=(1, 2))
    ground = Ground(*embedded_city(9, 12, 3))
    found = rehearse(ground, asked, tmp_path_factory.mktemp("weeks"), said.append)
    assert "patchwork: 4 of 4 ways to release tried" in said
    return found


def test_every_way_is_told_for_every_week_with_the_range_of_both_generators(errors):
    table = average_errors(errors)
    assert table.select(BY).rows() == [
        (scheme, l, epsilon, week)
        for epsilon in (0.5, 50.0)
        for scheme, l in (("lowrank", 20), ("efpag", 30))
        for week in (1, 2)
    ]
    assert (table["mre_low"] <= table["mre"]).all()
    assert (table["wrong"] <= table["wrong_high"]).all()
    assert (table.filter(scheme="lowrank")["mre_low"] < table.filter(scheme="lowrank")["mre_high"]).all()


def test_a_larger_epsilon_errs_less(errors):
    means = dict(average_errors(errors).group_by("epsilon").agg(pl.col("wrong").mean()).iter_rows())
    assert means[50.0] < means[0.5]


def test_the_table_names_each_error_in_words(errors):
    text = summary(average_errors(errors), (1, 2))
    assert "| 0.5 | lowrank | 20 | visits too many or too few |" in text
    assert "| 50 | efpag | 30 | mean relative error |" in text


def test_the_figure_has_a_column_for_each_epsilon_and_a_line_for_each_way(errors):
    figure = over_weeks(average_errors(errors))
    panels = [axes for axes in figure.axes if axes.lines]
    assert len(panels) == 4
    assert [axes.get_title("left") for axes in panels[:2]] == ["epsilon 0.5 a week", "epsilon 50 a week"]
    assert [line.get_label() for line in panels[0].lines] == ["lowrank, l = 20", "efpag, l = 30"]


def test_visits_too_many_and_too_few_count_alike():
    true = np.array([[4.0, 0.0], [4.0, 2.0]])
    assert score_map(true, np.array([[3.0, 1.0], [4.0, 2.0]]))["wrong"] == pytest.approx(0.2)
    assert score_map(true, np.zeros((2, 2)))["wrong"] == 1.0


def test_more_people_than_are_simulated_multiply_what_is_counted(tmp_path, monkeypatch):
    week = WeekCounts(np.ones((2, 168)), {20: np.ones((2, 168))}, np.ones(2), 3.0)
    more = scaled_week(week, 2.5)
    assert (more.visits, more.tower_totals.tolist(), more.weighted[20][0, 0]) == (7.5, [2.5, 2.5], 2.5)
    monkeypatch.setattr(rehearsal, "MOST_SIMULATED", 50)
    asked = Rehearsal(5_000, epsilons=(50.0,), learn=(20,), weeks=(1,), generators=("people",))
    rows = rehearse(Ground(*embedded_city(4, 4, 3)), asked, tmp_path, lambda _: None)
    assert rows["scheme"].to_list() == ["lowrank", "efpag"]
