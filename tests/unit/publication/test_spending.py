"""What releases have cost, week by week."""

import pytest

from density_assets.privacy.charges import Row
from density_assets.privacy.composition import compose
from density_assets.privacy.events import Event, Gaussian, Laplace
from density_assets.privacy.release import Charge
from density_assets.publication.pages.svg import spending_chart
from density_assets.publication.spending import spending, year_so_far

EVENT = Gaussian("series", 1_700.0, 100.0)


def row(
    number: int,
    week: str,
    population: str = "subscribers",
    event: Event = EVENT,
    city: str = "town",
    revision: int = 1,
) -> Row:
    charge = Charge(
        population=population,
        city=city,
        week=week,
        revision=revision,
        epsilon=0.3,
        delta=2e-6,
        door="noisy_series",
        measurement=f"m{number}",
        events=(event,),
    )
    return Row(number, "2026-01-01T00:00:00+00:00", charge, f"h{number}", drawn=True)


def cost(count: int) -> float:
    return pytest.approx(compose([EVENT] * count).epsilon(1e-5))


def test_each_calendar_year_starts_from_nothing_and_neither_52_weeks_nor_a_lifetime_do():
    first, second = spending([row(1, "2007-12-24"), row(2, "2007-12-31"), row(3, "2008-01-07")], "subscribers", 1e-5)
    assert (first.year, first.weeks) == ("2007", ("2007-12-24", "2007-12-31"))
    assert first.epsilon == (cost(1), cost(2))
    assert (second.year, second.epsilon) == ("2008", (cost(1),))
    assert (*first.alone, *second.alone) == (cost(1), cost(1), cost(1))
    assert (*first.rolling, *second.rolling) == (cost(3), cost(3), cost(3))
    assert (*first.lifetime, *second.lifetime) == (cost(1), cost(2), cost(3))


def test_the_costliest_52_weeks_of_each_week():
    weeks = ["2006-01-02", "2006-12-18", "2006-12-25", "2007-01-01", "2008-06-02"]
    years = spending([row(n, week) for n, week in enumerate(weeks, start=1)], "subscribers", 1e-5)
    # The first week and the third are 51 weeks apart, so they are together in 52; the first and the fourth are not.
    assert [epsilon for year in years for epsilon in year.rolling] == [cost(3), cost(3), cost(3), cost(3), cost(1)]


def test_the_order_of_charges_does_not_matter_and_a_second_draw_of_a_week_counts():
    weeks = ["2007-12-24", "2007-12-10", "2007-12-17", "2007-12-10"]
    (year,) = spending([row(n, week) for n, week in enumerate(weeks, start=1)], "subscribers", 1e-5)
    assert year.weeks == ("2007-12-10", "2007-12-17", "2007-12-24")
    assert year.epsilon == (cost(2), cost(3), cost(4))
    assert year.alone == (cost(2), cost(1), cost(1))


def test_other_populations_do_not_count():
    assert spending([row(1, "2007-12-24", "simulated people of town")], "subscribers", 1e-5) == []


def test_releases_are_counted_apart_from_weeks_on_the_page():
    """A revision and a second city are releases of a week that has one already; a second charge is none."""
    released = [row(1, "2007-12-10"), row(2, "2007-12-10"), row(3, "2007-12-10", revision=2)]
    released += [row(4, "2007-12-10", city="suburb"), row(5, "2007-12-17"), row(6, "2008-01-07")]
    first, second = spending(released, "subscribers", 1e-5)
    assert (first.count, second.count) == ("4 releases of 2 weeks", "1 release of 1 week")
    assert spending_chart(first, 3.0).summary.endswith("of 3 after 4 releases of 2 weeks")


def test_the_year_so_far_of_every_row_is_that_of_the_rows_before_it():
    other = Laplace("totals", 10.0, 1.0)
    rows = [
        row(1, "2007-12-24"),
        row(2, "2008-01-07"),
        row(3, "2007-12-31", event=other),
        row(4, "2007-12-24", population="others"),
        row(5, "2007-12-03"),
    ]
    assert year_so_far(rows, 1e-5) == pytest.approx(
        [compose(events).epsilon(1e-5) for events in ([EVENT], [EVENT], [EVENT, other], [EVENT], [EVENT, other, EVENT])]
    )
    assert year_so_far([], 1e-5) == []
