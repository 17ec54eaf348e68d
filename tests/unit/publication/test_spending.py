"""What releases have cost week by week, and what `density budget` says of it, from settings and the ledger alone."""

import re
from datetime import date, timedelta

import pytest

from density_assets.privacy.charges import Budget, Row, population_name
from density_assets.privacy.composition import compose
from density_assets.privacy.events import Event, Gaussian, Laplace
from density_assets.privacy.release import Charge
from density_assets.publication.pages.svg import spending_chart
from density_assets.publication.spending import budget_report, release_events, spending, year_so_far
from density_assets.settings import Settings

EVENT = Gaussian("series", 1_700.0, 100.0)


def charge_row(
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


def cost_of(count: int) -> float:
    return pytest.approx(compose([EVENT] * count).epsilon(1e-5))


def test_each_calendar_year_starts_from_nothing_and_neither_52_weeks_nor_a_lifetime_do():
    first, second = spending(
        [charge_row(1, "2007-12-24"), charge_row(2, "2007-12-31"), charge_row(3, "2008-01-07")], "subscribers", 1e-5
    )
    assert (first.year, first.weeks) == ("2007", ("2007-12-24", "2007-12-31"))
    assert first.epsilon == (cost_of(1), cost_of(2))
    assert (second.year, second.epsilon) == ("2008", (cost_of(1),))
    assert (*first.alone, *second.alone) == (cost_of(1), cost_of(1), cost_of(1))
    assert (*first.rolling, *second.rolling) == (cost_of(3), cost_of(3), cost_of(3))
    assert (*first.lifetime, *second.lifetime) == (cost_of(1), cost_of(2), cost_of(3))


def test_the_costliest_52_weeks_of_each_week():
    weeks = ["2006-01-02", "2006-12-18", "2006-12-25", "2007-01-01", "2008-06-02"]
    years = spending([charge_row(n, week) for n, week in enumerate(weeks, start=1)], "subscribers", 1e-5)
    # The first week and the third are 51 weeks apart, so they are together in 52; the first and the fourth are not.
    assert [epsilon for year in years for epsilon in year.rolling] == [
        cost_of(3),
        cost_of(3),
        cost_of(3),
        cost_of(3),
        cost_of(1),
    ]


def test_the_order_of_charges_does_not_matter_and_a_second_draw_of_a_week_counts():
    weeks = ["2007-12-24", "2007-12-10", "2007-12-17", "2007-12-10"]
    (year,) = spending([charge_row(n, week) for n, week in enumerate(weeks, start=1)], "subscribers", 1e-5)
    assert year.weeks == ("2007-12-10", "2007-12-17", "2007-12-24")
    assert year.epsilon == (cost_of(2), cost_of(3), cost_of(4))
    assert year.alone == (cost_of(2), cost_of(1), cost_of(1))


def test_other_populations_do_not_count():
    assert spending([charge_row(1, "2007-12-24", "simulated people of town")], "subscribers", 1e-5) == []


def test_releases_are_counted_apart_from_weeks_on_the_page():
    """A revision and a second city are releases of a week that has one already; a second charge is none."""
    released = [charge_row(1, "2007-12-10"), charge_row(2, "2007-12-10"), charge_row(3, "2007-12-10", revision=2)]
    released += [charge_row(4, "2007-12-10", city="suburb"), charge_row(5, "2007-12-17"), charge_row(6, "2008-01-07")]
    first, second = spending(released, "subscribers", 1e-5)
    assert (first.count, second.count) == ("4 releases of 2 weeks", "1 release of 1 week")
    assert spending_chart(first, 3.0).summary.endswith("of 3 after 4 releases of 2 weeks")


def test_the_year_so_far_of_every_row_is_that_of_the_rows_before_it():
    other = Laplace("totals", 10.0, 1.0)
    rows = [
        charge_row(1, "2007-12-24"),
        charge_row(2, "2008-01-07"),
        charge_row(3, "2007-12-31", event=other),
        charge_row(4, "2007-12-24", population="others"),
        charge_row(5, "2007-12-03"),
    ]
    assert year_so_far(rows, 1e-5) == pytest.approx(
        [compose(events).epsilon(1e-5) for events in ([EVENT], [EVENT], [EVENT, other], [EVENT], [EVENT, other, EVENT])]
    )
    assert year_so_far([], 1e-5) == []


SETTINGS = Settings().with_privacy(delta=2e-6)
BUDGET = Budget(3.0, 1e-5)
MONDAY = date(2007, 9, 10)
RELEASE = tuple(release_events(SETTINGS))


def charged_rows(*releases: tuple[int, int, str]) -> list[Row]:
    """Two doors of each release: number of the week, revision, city."""
    made = []
    for number, revision, city in releases:
        week = (MONDAY + timedelta(weeks=number)).isoformat()
        for door, events in (("noisy_totals", RELEASE[:1]), ("noisy_series", RELEASE[1:])):
            charge = Charge(population_name(SETTINGS), city, week, revision, 0.3, 2e-6, door, "m", events)
            made.append(Row(len(made) + 1, "2026-01-01", charge, f"h{len(made)}", drawn=True))
    return made


def lines(charged: list[Row], budget: Budget = BUDGET, week: date = MONDAY, planned: int = 52) -> list[str]:
    return budget_report(SETTINGS, budget, charged, week, planned).splitlines()


def cost(count: int) -> str:
    return f"{(compose(RELEASE) * count).epsilon(1e-5):.3f}"


def test_before_anything_is_charged():
    first, *rest = lines([])
    assert first == (
        "simulated people of embedded: any 52 consecutive weeks and any calendar year may cost epsilon 3 at delta 1e-05"
    )
    assert rest[:-1] == [
        "  charged so far       0 releases of 0 weeks",
        "  calendar year 2007   0.000 spent on 0 weeks, 3.000 left",
        "  all weeks together   0.000",
        "to come, from the week of 2007-09-10 on, one release a week at epsilon 0.3, delta 2e-06",
        "  the next one         0.267 alone, 0.267 in the calendar year 2007 from 2007-01-01 to 2007-12-31: fits",
        "  weeks that fit       any number: what is spent expires as fast",
    ]


@pytest.mark.parametrize("planned", [10, 52])
def test_the_epsilon_of_a_plan_is_one_that_fits_and_hardly_more_would(planned):
    (said,) = re.findall(rf"  {planned} weeks in a row fit at epsilon (\S+) each", lines([], planned=planned)[-1])
    together = (compose(release_events(SETTINGS, float(said))) * planned).epsilon(1e-5)
    assert 0.98 * 3.0 < together <= 3.0


def test_weeks_and_releases_are_counted_apart():
    """A week with a revision is two releases, and so is a week of two cities; doors are no releases."""
    charged = charged_rows(
        (0, 1, "embedded"), (0, 2, "embedded"), (1, 1, "embedded"), (20, 1, "embedded"), (20, 1, "lyon")
    )
    said = lines(charged)
    assert said[1:5] == [
        "  charged so far       5 releases of 3 weeks",
        f"  costliest 52 weeks   {cost(5)} spent on 3 weeks, {3 - float(cost(5)):.3f} left, "
        "from 2007-02-05 to 2008-01-28",
        f"  calendar year 2007   {cost(3)} spent on 2 weeks, {3 - float(cost(3)):.3f} left",
        f"  all weeks together   {cost(5)}",
    ]
    assert said[5].startswith("to come, from the week of 2008-02-04 on")


@pytest.mark.parametrize(("room", "verdict"), [(4, "would be refused"), (5, "fits")])
def test_what_is_to_come_meets_the_weeks_of_the_year_before(room, verdict):
    budget = Budget((compose(RELEASE) * room).epsilon(1e-5) + 1e-9, 1e-5)
    said = lines(charged_rows(*((number, 1, "embedded") for number in (13, 14, 15, 16))), budget)
    assert (
        said[6]
        == f"  the next one         {cost(1)} alone, {cost(5)} in the 52 weeks from 2007-01-15 to 2008-01-07: {verdict}"
    )
    assert said[7] == f"  weeks that fit       {room - 4}"


def test_a_spent_budget_has_room_for_nothing():
    said = lines(charged_rows(*((number, 1, "embedded") for number in range(4))), Budget(0.2, 1e-5))
    assert said[-2:] == ["  weeks that fit       0", "  52 weeks in a row fit at no epsilon"]


def test_errors_are_foretold_where_towers_are_known_and_a_smaller_epsilon_is_worse():
    said = budget_report(SETTINGS, Budget(1.0, 1e-6), [], MONDAY, 52, towers=1_303).splitlines()
    foretold = [line for line in said if line.startswith("    mean error")]
    now, in_a_row = ([float(part) for part in re.findall(r"(\S+)% in week", line)] for line in foretold)
    assert len(now) == 5
    assert all(one < other for one, other in zip(now, in_a_row, strict=True))
    assert not [line for line in lines([]) if "mean error" in line]


def test_a_city_that_is_too_small_is_said_to_be_before_anything_is_spent():
    small = Settings.model_validate({"city": {"population": 5_000}})
    said = budget_report(small, Budget(1.0, 1e-6), [], MONDAY, 52, towers=1_303)
    assert "too small for its promise" in said
    assert "more than 100% in week 1" in said
