"""The page in a real browser, read from disk: what a reader does and what the page answers."""

from datetime import date

import numpy as np
import pytest
from shapely import box

from density_assets.publication.pages.page import ReportData, report_html

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from browser import needs_browser  # noqa: E402
from report_reader import Reader  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

WEDNESDAY_14 = 2 * 24 + 14
HOSTILE = '<script>document.title = "taken"</script><b id="intruder">&"'
TITLE = '"><img id="intruder" src=x onerror="document.title = 1"></title><script>document.title = "taken"</script>'
# A hash and a line of code that are wider than a telephone.
STATEMENT = f"# Statement\n\n{HOSTILE}\n\n- a charge: `{'5778' * 16}`\n\n```\n{'code ' * 40}\n```\n"

pytestmark = needs_browser


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> str:
    """Nine cells of 1 km × 2 km; cell c counts 100 c + h in hour h, with a standard error of 10."""
    squares = [box(i * 1000, j * 2000, (i + 1) * 1000, (j + 1) * 2000) for j in range(3) for i in range(3)]
    counts = 100 * np.arange(9)[:, None] + np.arange(168)
    ids = [*(f"C{number}" for number in range(8)), HOSTILE]
    shapes = np.array(squares, dtype=object)
    errors = np.full(counts.shape, 10.0)
    week, about = date(2007, 9, 10), (STATEMENT, {TITLE: "x.csv"}, [HOSTILE])
    signed = ("manifest_2007-09-10.json", "f" * 64)
    data = ReportData(TITLE, week, "UTC", ids, shapes, counts, errors, *about, *signed)
    file = tmp_path_factory.mktemp("report") / "index.html"
    file.write_text(report_html(data), encoding="utf-8")
    return file.as_uri()


@pytest.fixture
def reader(a_reader, address) -> Reader:
    """Opens the page at Wednesday 14:00, cell C1."""
    a_reader.open(f"{address}#hour={WEDNESDAY_14}&cell=C1")
    return a_reader


def test_the_address_sets_hour_and_cell(reader):
    assert reader.text("hour-label") == "Wednesday 14:00–15:00"
    assert reader.text("cell-title") == "Cell C1"
    assert reader.text("value") == "162"  # 100 × 1 + 62
    assert reader.text("margin") == "± 20 visits"  # 1.96 × 10
    assert reader.text("total") == "4,158"  # 100 × (0 + … + 8) + 9 × 62
    assert "81 per km²" in reader.text("cell-facts")  # 162 on 2 km²


def test_without_an_address_the_busiest_hour_and_cell_are_shown(reader, address):
    reader.open(address)
    assert reader.text("hour-label") == "Sunday 23:00–24:00"
    assert reader.text("cell-title") == f"Cell {HOSTILE}"


def test_names_that_are_tags_are_shown_as_text_and_run_nothing(reader, address):
    reader.open(address)
    hostile = reader.cell(8)
    webdriver.ActionChains(reader.driver).move_to_element(hostile).click().perform()
    assert reader.text("tooltip").startswith(f"{HOSTILE}\n")
    assert reader.text("cell-title") == f"Cell {HOSTILE}"
    assert reader.part("finder").get_property("value") == HOSTILE
    assert HOSTILE in reader.part("series").get_attribute("aria-label")
    assert TITLE in reader.part("map").get_attribute("aria-label")
    assert reader.driver.find_element(By.TAG_NAME, "h1").text == TITLE
    assert HOSTILE in reader.driver.find_element(By.TAG_NAME, "article").text
    assert HOSTILE in reader.driver.find_element(By.CSS_SELECTOR, "aside .notes").text
    assert TITLE in reader.driver.find_element(By.CSS_SELECTOR, "aside .downloads").text
    assert reader.driver.title.startswith(f"{TITLE}, week of")  # what each of the scripts would have changed
    assert not reader.driver.find_elements(By.CSS_SELECTOR, "#intruder, img")
    assert len(reader.driver.find_elements(By.TAG_NAME, "script")) == 2


def test_an_address_that_makes_no_sense_is_ignored(reader, address):
    reader.open(f"{address}#hour=999&cell=nowhere&measure=constructor")
    assert reader.text("hour-label") == "Sunday 23:00–24:00"


def test_the_slider_moves_the_hour_and_recolours_the_map(reader):
    before = reader.cell(0).get_attribute("fill")
    reader.part("hour").send_keys(Keys.ARROW_RIGHT)
    assert reader.text("hour-label") == "Wednesday 15:00–16:00"
    reader.part("hour").send_keys(Keys.HOME)
    assert reader.text("hour-label") == "Monday 00:00–01:00"
    assert reader.part("hour").get_attribute("aria-valuetext") == "Monday 00:00–01:00"
    assert reader.text("value") == "100"
    assert reader.cell(0).get_attribute("fill") != before


def test_arrows_move_by_hours_and_with_shift_by_days(reader):
    keys = webdriver.ActionChains(reader.driver)
    keys.send_keys(Keys.ARROW_LEFT).key_down(Keys.SHIFT).send_keys(Keys.ARROW_RIGHT).key_up(Keys.SHIFT).perform()
    assert reader.hour() == WEDNESDAY_14 - 1 + 24


def test_a_click_on_a_cell_shows_its_series_and_is_remembered(reader):
    before = reader.line("series")
    reader.click_cell(5)
    assert reader.text("cell-title") == "Cell C5"
    assert reader.text("value") == "562"
    assert reader.line("series") != before
    assert reader.part("chosen").get_attribute("d") == reader.cell(5).get_attribute("d")
    reader.wait(lambda: "cell=C5" in reader.driver.current_url)


def test_pointing_at_a_cell_tells_its_value(reader):
    webdriver.ActionChains(reader.driver).move_to_element(reader.cell(3)).perform()
    assert reader.text("tooltip") == "C3\n362 ± 20 visits\n181 per km²"
    webdriver.ActionChains(reader.driver).move_to_element(reader.part("play")).perform()
    assert not reader.part("tooltip").is_displayed()


def test_a_click_in_the_week_jumps_to_that_hour(reader):
    slider = reader.part("hour")
    over_the_middle = webdriver.ActionChains(reader.driver).move_to_element(slider).move_by_offset(0, -60)
    over_the_middle.click().perform()
    assert reader.hour() in (83, 84)  # the middle of 0..167 lies between the two


def test_a_cell_is_found_by_name(reader):
    finder = reader.part("finder")
    finder.clear()
    finder.send_keys("C7")
    assert reader.text("cell-title") == "Cell C7"
    finder.send_keys("x")
    assert reader.text("cell-title") == "Cell C7"


def test_colours_follow_the_measure(reader):
    before = reader.text("scale")
    reader.driver.find_element(By.CSS_SELECTOR, 'input[value="count"]').click()
    assert reader.text("scale") != before
    assert reader.part("map").get_attribute("aria-label").endswith("Visits per cell and hour")


def test_the_table_holds_the_week_and_marks_the_hour(reader):
    reader.unfold("numbers")
    rows = [row.text.split() for row in reader.driver.find_elements(By.CSS_SELECTOR, "#numbers tbody tr")]
    assert rows[14] == ["14:00", "114", "138", "162", "186", "210", "234", "258"]
    assert reader.driver.find_element(By.CSS_SELECTOR, "#numbers .current").text == "162"


def test_play_advances_and_pause_stops(reader):
    reader.part("play").click()
    assert reader.text("play") == "Pause"
    reader.wait(lambda: reader.hour() > WEDNESDAY_14 + 1)
    reader.part("play").click()
    assert reader.text("play") == "Play"
    assert reader.driver.execute_script("return state.timer") is None


@pytest.mark.parametrize("width", [360, 500, 768, 1280])
def test_nothing_is_wider_than_the_window(reader, address, width):
    reader.narrow(width)
    reader.open(address)
    assert reader.driver.execute_script("return document.documentElement.scrollWidth") <= width


def test_on_a_dark_ground_more_is_brighter(reader):
    def brightness(number: int) -> int:
        return sum(map(int, reader.cell(number).get_attribute("fill")[4:-1].split()))

    assert brightness(0) > brightness(8)
    scheme = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    reader.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
    reader.wait(lambda: brightness(0) < brightness(8))
