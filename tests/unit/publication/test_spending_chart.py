"""The chart of a year: steps that only rise, below a line that is the budget."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from density_assets.publication.pages.svg import spending_chart, spending_svg
from density_assets.publication.spending import Spending

YEAR = Spending(
    year="2007",
    weeks=("2007-01-01", "2007-07-02", "2007-12-31"),
    epsilon=(0.3, 0.5, 0.7),
    alone=(0.3, 0.3, 0.3),
    rolling=(0.7, 0.7, 0.7),
    lifetime=(0.9, 1.0, 1.1),
    releases=4,
)


def heights(svg: str) -> list[float]:
    return [float(y) for y in re.findall(r'<circle class="step" cx="[\d.]+" cy="([\d.]+)"', svg)]


def limit(svg: str) -> float:
    return float(re.search(r'class="limit" [^>]*y1="([\d.]+)"', svg)[1])


def test_weeks_stand_in_their_months_and_steps_rise():
    svg = spending_svg([YEAR], 3.0)
    xs = [float(x) for x in re.findall(r'<circle class="step" cx="([\d.]+)"', svg)]
    assert xs == sorted(xs)
    assert xs[1] == pytest.approx((xs[0] + xs[2]) / 2, abs=1)  # the first of July is the middle of the year
    assert heights(svg) == sorted(heights(svg), reverse=True)
    assert "after the week of 2007-07-02: epsilon 0.500" in svg


@pytest.mark.parametrize("budget", [0.6, 0.7, 3.0, 50.0])
def test_the_budget_line_is_above_what_is_below_it(budget):
    svg = spending_svg([YEAR], budget)
    above = [y >= limit(svg) for y in heights(svg)]
    assert above == [epsilon <= budget for epsilon in YEAR.epsilon]
    assert all(0 < y < 220 for y in (*heights(svg), limit(svg)))


def test_alone_it_is_a_picture_with_its_own_style_and_ground():
    svg = spending_svg([YEAR], 3.0)
    assert svg.startswith("<svg xmlns=")
    assert ElementTree.fromstring(svg).get("width") == "560"
    assert "2007: epsilon 0.700 of 3 after 4 releases of 3 weeks" in svg
    assert ".spending .line {" in svg
    # No page hands the picture its colours, so each must name one of its own.
    assert not re.search(r"var\([\w-]+\)", svg)


def test_alone_the_newest_three_years_stand_one_below_the_other():
    years = [replace(YEAR, year=str(year)) for year in range(2004, 2009)]
    svg = spending_svg(years, 3.0)
    assert re.findall(r'class="spending-title"[^>]*>(\d+):', svg) == ["2006", "2007", "2008"]
    assert re.findall(r'<g transform="translate\(0 (\d+)\)">\n<text', svg) == ["0", "250", "500"]
    assert ElementTree.fromstring(svg).get("height") == "750"


def test_a_single_week_is_one_week():
    one = replace(YEAR, weeks=YEAR.weeks[:1], epsilon=YEAR.epsilon[:1], releases=1)
    assert spending_chart(one, 3.0).summary == "epsilon 0.300 of 3 after 1 release of 1 week"
