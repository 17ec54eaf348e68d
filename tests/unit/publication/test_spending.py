"""What a year has cost, week by week."""

import pytest

from density_assets.privacy.charges import Row
from density_assets.privacy.events import Gaussian
from density_assets.privacy.planning import cost_of
from density_assets.privacy.release import Charge
from density_assets.publication.spending import spending

EVENT = Gaussian("series", 17.0, 1.0)


def row(number: int, week: str, population: str = "subscribers") -> Row:
    charge = Charge(
        population=population,
        city="town",
        week=week,
        revision=1,
        epsilon=0.3,
        delta=2e-6,
        door="noisy_series",
        measurement=f"m{number}",
        events=(EVENT,),
    )
    return Row(number, "2026-01-01T00:00:00+00:00", charge, f"h{number}", drawn=True)


def test_each_calendar_year_starts_from_nothing():
    first, second = spending([row(1, "2007-12-24"), row(2, "2007-12-31"), row(3, "2008-01-07")], "subscribers", 1e-5)
    assert (first.year, first.weeks) == ("2007", ("2007-12-24", "2007-12-31"))
    assert first.epsilon == pytest.approx((cost_of([EVENT], [], 0, 1e-5), cost_of([EVENT] * 2, [], 0, 1e-5)))
    assert (second.year, second.epsilon) == ("2008", pytest.approx((first.epsilon[0],)))


def test_the_order_of_charges_does_not_matter_and_a_second_draw_of_a_week_counts():
    weeks = ["2007-12-24", "2007-12-10", "2007-12-17", "2007-12-10"]
    (year,) = spending([row(n, week) for n, week in enumerate(weeks, start=1)], "subscribers", 1e-5)
    assert year.weeks == ("2007-12-10", "2007-12-17", "2007-12-24")
    assert year.epsilon == pytest.approx([cost_of([EVENT] * n, [], 0, 1e-5) for n in (2, 3, 4)])


def test_other_populations_do_not_count():
    assert spending([row(1, "2007-12-24", "simulated people of town")], "subscribers", 1e-5) == []
