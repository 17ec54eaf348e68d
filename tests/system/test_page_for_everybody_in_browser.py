"""The page is for everybody: by key, in French, on a small window, with less motion, by the rules of accessibility."""

import json
from importlib import resources

import pytest
from planned_weeks import EARLIER, EVENT, IDS, LATER

from density_assets.publication.pages.templates import words

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from browser import needs_browser  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

pytestmark = needs_browser
CELL, _ = EVENT


def test_everything_is_reached_and_done_by_keyboard(reader):
    reached, keys = [], webdriver.ActionChains(reader.driver)
    for _ in range(20):
        keys.send_keys(Keys.TAB).perform()
        reached.append(reader.runs("document.activeElement.id || document.activeElement.name"))
        if reached[-1] == "map":
            assert reader.runs("getComputedStyle(document.activeElement).outlineStyle") == "solid"
            keys.send_keys(Keys.ARROW_RIGHT).perform()
            assert reader.runs("byId('said').textContent").startswith(f"{IDS[CELL + 1]}\n")
            keys.send_keys(Keys.ENTER).perform()
            assert reader.text("cell-title") == f"Cell {IDS[CELL + 1]}"
            keys.send_keys(Keys.ARROW_UP).key_down(Keys.SHIFT).send_keys(Keys.ENTER).key_up(Keys.SHIFT).perform()
            assert reader.text("cell-title") == "2 cells"
    wanted = ["language", "play", "hour", "measure", "map", "save-map-csv", "finder", "several", "area", "other"]
    assert [name for name in reached if name in wanted] == wanted


@pytest.mark.parametrize("width", [360, 500, 1280])
@pytest.mark.parametrize("language", ["en", "fr"])
def test_nothing_is_wider_than_the_window_while_weeks_are_compared(reader, files, width, language):
    reader.narrow(width)
    reader.open(f"{files[LATER].as_uri()}#lang={language}")
    reader.compare(files[EARLIER])
    reader.runs("void document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    assert reader.runs("document.documentElement.scrollWidth") <= width
    if width < 600:
        touched = "button, select, summary, input:not([type=range], [type=radio], [type=checkbox])"
        small = "(part) => part.offsetHeight && part.offsetHeight < 24"
        assert reader.runs(f"[...document.querySelectorAll('{touched}')].filter({small}).map((part) => part.id)") == []


def test_everything_that_is_said_is_said_in_french(reader, files):
    reader.driver.find_element(By.CSS_SELECTOR, "#language option[value=fr]").click()
    assert reader.runs("document.documentElement.lang") == "fr"
    every = "[...document.querySelectorAll('[data-word]')]"
    said = reader.runs(f"{every}.map((part) => [part.dataset.word, part.textContent])")
    assert len(said) > 30
    assert said == [[key, words()[key][1]] for key, _ in said]
    assert reader.text("hour-label").lower() == "samedi 20:00–21:00"
    assert reader.text("cell-title") == f"Maille {IDS[CELL]}"
    assert reader.text("week") == "17 – 23 septembre 2007"
    assert "visites" in reader.text("margin")
    assert reader.driver.title.startswith("town, semaine du 17 septembre 2007")
    reader.wait(lambda: "lang=fr" in reader.driver.current_url)


def test_the_language_is_the_browsers(reader, files):
    agent = {"userAgent": reader.runs("navigator.userAgent")}
    reader.driver.execute_cdp_cmd("Emulation.setUserAgentOverride", {**agent, "acceptLanguage": "fr-CH,en"})
    reader.open(files[LATER].as_uri())
    assert reader.runs("document.documentElement.lang") == "fr"
    reader.driver.execute_cdp_cmd("Emulation.setUserAgentOverride", {**agent, "acceptLanguage": "de,en"})
    reader.open(files[LATER].as_uri())
    assert reader.runs("document.documentElement.lang") == "en"


def test_the_scale_names_a_colour_between_its_ends(reader):
    said = reader.runs("[...document.querySelectorAll('.ticks span')].map((label) => label.textContent)")
    assert said == ["≤ 200", "320", "≥ 500"]  # no round number lies between


def test_who_prefers_less_motion_gets_slower_pictures(reader, files):
    usual = reader.runs("STEP_MS")
    reader.prefers(prefers_reduced_motion="reduce")
    reader.open(files[LATER].as_uri())
    assert reader.runs("STEP_MS") > 2 * usual


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_the_rules_of_accessibility_hold(reader, files, width, scheme):
    """Contrast, names, roles, order of headings and more, by axe-core."""
    pytest.importorskip("axe_core_python", reason="axe-core-python is not installed")
    rules = resources.files("axe_core_python").joinpath("axe.min.js").read_text()
    reader.narrow(width)
    reader.prefers(prefers_color_scheme=scheme)
    reader.open(files[LATER].as_uri())
    reader.compare(files[EARLIER])
    reader.runs("void document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    reader.driver.execute_script(rules)
    found = reader.driver.execute_async_script(
        "axe.run({resultTypes: ['violations']}).then((all) => arguments[0](all.violations))"
    )
    told = [{"rule": rule["id"], "where": [node["html"][:200] for node in rule["nodes"]][:3]} for rule in found]
    assert not told, json.dumps(told, indent=1)
