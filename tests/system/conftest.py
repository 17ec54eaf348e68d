"""One browser for all tests of the page of a release: opening it takes longer than most of them."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def page_browser(tmp_path_factory):
    """The browser, with a profile of its own."""
    from browser import open_browser

    driver = open_browser(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()


@pytest.fixture
def a_reader(page_browser) -> Iterator:
    """A person who opens pages; whatever a test does, they must not complain or load anything."""
    from report_reader import Reader

    yield Reader(page_browser)
    page_browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    page_browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert page_browser.get_log("browser") == []
    assert page_browser.execute_script("return performance.getEntriesByType('resource').length") == 0


@pytest.fixture(scope="session")
def files(tmp_path_factory) -> dict[date, Path]:
    """Pages of planned weeks, by week, with the files beside them; no test changes them."""
    from planned_weeks import written

    return written(tmp_path_factory.mktemp("release"))


@pytest.fixture
def reader(a_reader, files):
    """At the later of these weeks, in the hour of the event and its cell."""
    from planned_weeks import EVENT, IDS, LATER

    cell, hour = EVENT
    a_reader.open(f"{files[LATER].as_uri()}#hour={hour}&cell={IDS[cell]}")
    return a_reader
