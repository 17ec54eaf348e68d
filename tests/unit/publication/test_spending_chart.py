"""The chart of a year: steps that only rise, below a line that is the budget."""

import re

import pytest

from density_assets.publication.pages.spending_chart import spending_svg
from density_assets.publication.spending import Spending

YEAR = Spending("2007", ("2007-01-01", "2007-07-02", "2007-12-31"), (0.3, 0.5, 0.7))


def heights(svg: str) -> list[float]:
    return [float(y) for y in re.findall(r'<circle class="step" cx="[\d.]+" cy="([\d.]+)"', svg)]


def limit(svg: str) -> float:
    return float(re.search(r'class="limit" [^>]*y1="([\d.]+)"', svg)[1])


def test_weeks_stand_in_their_months_and_steps_rise():
    svg = spending_svg(YEAR, 3.0)
    xs = [float(x) for x in re.findall(r'<circle class="step" cx="([\d.]+)"', svg)]
    assert xs == sorted(xs)
    assert xs[1] == pytest.approx((xs[0] + xs[2]) / 2, abs=1)  # the first of July is the middle of the year
    assert heights(svg) == sorted(heights(svg), reverse=True)
    assert "after the week of 2007-07-02: epsilon 0.500" in svg


@pytest.mark.parametrize("budget", [0.6, 0.7, 3.0, 50.0])
def test_the_budget_line_is_above_what_is_below_it(budget):
    svg = spending_svg(YEAR, budget)
    above = [y >= limit(svg) for y in heights(svg)]
    assert above == [epsilon <= budget for epsilon in YEAR.epsilon]
    assert all(0 < y < 220 for y in (*heights(svg), limit(svg)))
