"""What planners do with the page: districts with intervals, two weeks compared, files saved; by key, and in French."""

import csv
import io
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from planned_weeks import CLOCKS_CHANGE, EARLIER, EVENT, IDS, LATER, MIDDLES, SKIPPED, periods, weeks

from density_assets.publication.sums import compass

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from browser import needs_browser  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

pytestmark = needs_browser
CELL, HOUR = EVENT
WEEKS = weeks()


@pytest.fixture
def saved(reader, tmp_path):
    """Press a button that saves, and read what was saved."""

    def press(name: str, suffix: str) -> bytes:
        place = {"behavior": "allow", "downloadPath": str(tmp_path)}
        reader.driver.execute_cdp_cmd("Browser.setDownloadBehavior", place)
        reader.part(f"save-{name}-{suffix}").click()
        reader.wait(lambda: list(tmp_path.glob(f"*.{suffix}")))
        return next(tmp_path.glob(f"*.{suffix}")).read_bytes()

    return press


def number(text: str) -> int:
    return int(text.replace(",", "").replace("−", "-").replace("+", ""))


# --- districts --------------------------------------------------------------------------------------------------------


def test_a_district_has_its_sum_and_the_error_of_sums_in_every_hour_day_and_week(reader):
    reader.runs("void chooseArea('north-west')")
    part = compass(MIDDLES)["north-west"].astype(float)[None]
    week, along = WEEKS[LATER], periods()
    visits, margins = (reader.runs(f"state.sum.{name}") for name in ("visits", "margins"))
    assert visits == (part @ week.counts @ along)[0].tolist()
    assert np.allclose(margins, week.margins(part, along)[0], rtol=1e-4)
    assert reader.text("cell-title") == "north-west"
    assert number(reader.text("value")) == visits[HOUR]
    assert reader.text("margin") == f"± {margins[HOUR]:.0f} visits"
    reader.unfold("days")
    assert reader.table("days")[7] == ["Week", f"{visits[175]:,} ± {margins[175]:,.0f}"]


def test_cells_join_a_choice_one_by_one_and_the_address_keeps_it(reader, files):
    reader.part("several").click()
    reader.click_cell(CELL + 1)
    assert reader.text("cell-title") == "2 cells"
    assert number(reader.text("value")) == WEEKS[LATER].counts[[CELL, CELL + 1], HOUR].sum()
    reader.wait(lambda: reader.driver.current_url.count("cell=") == 2)
    reader.open(reader.driver.current_url)
    assert reader.text("cell-title") == "2 cells"
    reader.part("several").click()
    reader.click_cell(CELL)  # leaves
    assert reader.text("cell-title") == f"Cell {IDS[CELL + 1]}"
    reader.click_cell(CELL + 1)  # the last one stays
    assert reader.text("cell-title") == f"Cell {IDS[CELL + 1]}"


def test_a_sum_without_errors_of_sums_has_no_interval_and_says_so(reader):
    reader.runs("void (week.sums = null)")
    reader.runs("void chooseArea('north-west')")
    assert reader.text("margin") == "error not known visits"
    assert "has no interval here" in reader.text("series-hint")


def test_people_stand_beside_visits_where_factors_are_stated(reader, files, saved):
    reader.open(f"{files[LATER].with_name(f'people_{LATER}.html').as_uri()}#hour={HOUR}&cell={IDS[CELL]}")
    assert "how many people that may be" in reader.text("kicker")
    count, error = WEEKS[LATER].counts[EVENT], WEEKS[LATER].errors[EVENT]
    low, high = np.floor(count - 1.96 * error), np.ceil(4 * (count + 1.96 * error))
    assert f"{2 * count:,} ({low:,.0f} to {high:,.0f})" in reader.text("cell-facts")
    part = compass(MIDDLES)["north-west"].astype(float)[None]
    (of_part,) = WEEKS[LATER].margins(part, np.eye(168)[:, [HOUR]])[0]
    visits = WEEKS[LATER].counts[part[0] > 0, HOUR].sum()
    reader.runs("void chooseArea('north-west')")
    low, high = np.floor(visits - of_part), np.ceil(4 * (visits + of_part))
    assert f"{2 * visits:,} ({low:,.0f} to {high:,.0f})" in reader.text("cell-facts")
    rows = list(csv.DictReader(io.StringIO(saved("map", "csv").decode())))
    assert [int(row["people"]) for row in rows] == (2 * WEEKS[LATER].counts[:, HOUR]).tolist()


# --- two weeks --------------------------------------------------------------------------------------------------------


def difference(cells: list[int]) -> np.ndarray:
    return (WEEKS[LATER].counts - WEEKS[EARLIER].counts)[cells].sum(axis=0)


@pytest.mark.parametrize("name", ["report_{}.html", "density_{}.csv"])
def test_another_week_is_compared_from_its_page_or_its_counts(reader, files, name):
    reader.compare(files[LATER].with_name(name.format(EARLIER)))
    assert reader.text("compare-with") == "Compared with 10 – 16 September 2007"
    assert reader.runs("state.differenceSum.visits.slice(0, HOURS)") == difference([CELL]).tolist()
    beyond = WEEKS[LATER].errors[CELL, HOUR] * np.sqrt(2)
    standard_errors = abs(difference([CELL])[HOUR]) / beyond
    assert f": {standard_errors:.1f} standard errors. More than noise explains." in reader.text("change-value")
    assert ": 1 of 36 cells differ" in reader.text("verdict")
    grey = reader.cell(0).get_attribute("fill")
    assert grey == reader.cell(1).get_attribute("fill") != reader.cell(CELL).get_attribute("fill")


def test_a_district_is_compared_with_errors_of_sums_of_both_pages_but_not_of_counts(reader, files):
    reader.compare(files[EARLIER])
    reader.runs("void chooseArea('north-west')")
    part = compass(MIDDLES)["north-west"]
    both = [WEEKS[week].margins(part.astype(float)[None], periods())[0] for week in (LATER, EARLIER)]
    assert np.allclose(reader.runs("state.differenceSum.margins"), np.hypot(*both), rtol=1e-4)
    assert reader.runs("state.differenceSum.visits")[HOUR] == difference(np.flatnonzero(part).tolist())[HOUR]
    assert "Noise may explain it" in reader.text("change-value")
    reader.compare(files[EARLIER].with_name(f"density_{EARLIER}.csv"))
    reader.wait(lambda: "choose the page of that week" in reader.text("change-value"))


def test_comparing_ends_where_it_began(reader, files):
    before = reader.cell(CELL).get_attribute("fill")
    reader.compare(files[EARLIER])
    reader.part("stop").click()
    assert reader.cell(CELL).get_attribute("fill") == before
    assert not reader.part("change").is_displayed()
    assert reader.runs("state.other") is None


def test_a_file_that_does_not_fit_is_refused_and_nothing_in_it_runs(reader, files, tmp_path):
    counts = files[LATER].with_name(f"density_{EARLIER}.csv").read_text()
    page = files[EARLIER].read_text()
    wrong = {
        "page.html": ("<script>document.title = 'taken'</script><img src=x onerror='document.title = 1'>", "neither"),
        "cut.csv": ("\n".join(counts.splitlines()[:-1]), "168 hours"),
        "cells.csv": (counts.replace("C07", "C99"), "other cells"),
        "text.csv": (counts.replace("20.0", "much"), "168 hours"),
        "town.html": (page.replace('"city":"town"', '"city":"elsewhere"'), "another city: elsewhere"),
        "holiday.csv": ("a,b\n1,2\n", "neither"),
    }
    for name, (text, said) in wrong.items():
        file = tmp_path / name
        file.write_text(text)
        reader.part("other").send_keys(str(file))
        reader.wait(lambda name=name: reader.text("compare-problem").startswith(name))
        assert said in reader.text("compare-problem")
        assert reader.runs("state.other") is None
    assert reader.driver.title.startswith("town, week of")


# --- files ------------------------------------------------------------------------------------------------------------


def test_the_map_is_saved_with_the_published_numbers_of_its_hour(saved):
    rows = list(csv.DictReader(io.StringIO(saved("map", "csv").decode())))
    assert [row["cell_id"] for row in rows] == IDS
    assert [int(row["count"]) for row in rows] == WEEKS[LATER].counts[:, HOUR].tolist()
    assert [float(row["standard_error"]) for row in rows] == WEEKS[LATER].errors[:, HOUR].tolist()


def test_the_curve_of_a_difference_is_saved_with_both_weeks(reader, files, saved):
    reader.compare(files[EARLIER])
    rows = list(csv.DictReader(io.StringIO(saved("change", "csv").decode())))
    assert [int(row["count"]) for row in rows] == WEEKS[LATER].counts[CELL].tolist()
    assert [int(row["count_other_week"]) for row in rows] == WEEKS[EARLIER].counts[CELL].tolist()
    assert [int(row["difference"]) for row in rows] == difference([CELL]).tolist()
    expected = np.sqrt(2) * WEEKS[LATER].errors[CELL]
    assert np.allclose([float(row["standard_error_of_difference"]) for row in rows], expected, rtol=1e-3)


def test_drawings_are_saved_as_they_are_shown(reader, saved):
    drawing = ET.fromstring(saved("map", "svg"))
    fills = [element.get("fill") for element in drawing.iter() if element.tag.endswith("path") and element.get("fill")]
    assert fills == [reader.cell(cell).get_attribute("fill") for cell in range(len(IDS))]
    words_in_it = "".join(drawing.itertext())
    assert "Saturday 20:00–21:00: Visits per km² and hour" in words_in_it
    assert "visits with random noise" in words_in_it
    assert saved("series", "png").startswith(b"\x89PNG")


# --- clocks -----------------------------------------------------------------------------------------------------------


def test_an_hour_that_does_not_happen_is_neither_drawn_nor_reached(reader, files):
    reader.open(f"{files[CLOCKS_CHANGE].as_uri()}#hour={SKIPPED}&cell=C00")
    assert reader.hour() != SKIPPED
    assert reader.line("series").count("M") == 2  # before and after the gap
    reader.open(f"{files[CLOCKS_CHANGE].as_uri()}#hour={SKIPPED - 1}&cell=C00")
    reader.part("hour").send_keys(Keys.ARROW_RIGHT)
    assert reader.text("hour-label") == "Sunday 03:00–04:00"
    reader.part("hour").send_keys(Keys.ARROW_LEFT)
    assert reader.text("hour-label") == "Sunday 01:00–02:00"
    assert reader.table("numbers")[2][7] == "–"
    sunday = WEEKS[CLOCKS_CHANGE].counts[0].reshape(7, 24)[6].sum() - WEEKS[CLOCKS_CHANGE].counts[0, SKIPPED]
    assert reader.table("days")[6][1].startswith(f"{sunday:,} ±")


def test_a_shorter_week_is_compared_over_the_hours_of_both(reader, files):
    reader.compare(files[CLOCKS_CHANGE])
    sunday = difference([CELL]).reshape(7, 24)[6].sum() - difference([CELL])[SKIPPED]
    changes, margins = (reader.runs(f"state.differenceSum.{name}") for name in ("visits", "margins"))
    assert changes[168 + 6] == sunday
    assert [margin is None for margin in margins[168:]] == [False] * 6 + [True, True]
    assert reader.line("series").count("M") == 2
