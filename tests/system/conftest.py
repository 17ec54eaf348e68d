"""One browser for all tests of the page of a release: opening it takes longer than most of them."""

from collections.abc import Iterator

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
