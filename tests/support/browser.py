"""A real browser: Debian's chromium without a window, and what a person does with it."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from selenium.common.exceptions import (  # noqa: E402
    ElementClickInterceptedException,
    ElementNotInteractableException,
    NoSuchElementException,
    StaleElementReferenceException,
    TimeoutException,
)
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.remote.webelement import WebElement  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "headless",
    "no-sandbox",
    "disable-gpu",
    "disable-quic",
    "disable-dev-shm-usage",
    "no-first-run",
    "disable-background-networking",
    "disable-component-update",
    "disable-sync",
    "hide-scrollbars",
    "window-size=1400,1000",
)
needs_browser = pytest.mark.skipif(not (BROWSER and DRIVER), reason="needs chromium and chromedriver on the PATH")
Found = TypeVar("Found")
# The UI draws itself again while one looks at it.
MOVING = (
    NoSuchElementException,
    StaleElementReferenceException,
    ElementClickInterceptedException,
    ElementNotInteractableException,
)


def open_browser(profile: Path) -> "webdriver.Chrome":
    """A browser with a profile of its own that says nothing to anybody."""
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS, f"user-data-dir={profile}"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service(DRIVER))


class Visitor:
    """A person at a page that is still loading: looks until it is there, clicks what is written."""

    def __init__(self, driver: "webdriver.Chrome", address: str = "", patience: float = 180) -> None:
        self.driver = driver
        self.address = address
        self._patience = patience

    def visit(self, path: str) -> None:
        self.driver.get(self.address + path)

    def until(self, condition: Callable[[], Found], what: str) -> Found:
        """What the condition yields, once it yields something."""
        wait = WebDriverWait(self.driver, self._patience, poll_frequency=0.1, ignored_exceptions=MOVING)
        try:
            return wait.until(lambda _: condition())
        except TimeoutException:
            raise AssertionError(f"waited in vain for {what}; the page says: {self.text()[:2000]}") from None

    def text(self) -> str:
        return self.driver.find_element(By.TAG_NAME, "body").text

    def sees(self, *words: str) -> None:
        """Wait until all words are on the page."""
        self.until(lambda: all(word in self.text() for word in words), " and ".join(words))

    def all(self, css: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def click(self, words: str, css: str = "button, a, [role=tab]") -> None:
        """Click the first thing that reads just so, as soon as it can be clicked."""

        def clicked() -> bool:
            for element in self.all(css):
                if element.text.strip() == words and element.is_displayed() and element.is_enabled():
                    element.click()
                    return True
            return False

        self.until(clicked, f"something to click that reads {words!r}")
