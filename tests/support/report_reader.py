"""A person at the page of a release, in a real browser."""

from pathlib import Path
from typing import Any

from browser import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait


class Reader:
    """A person at the page."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, address: str) -> None:
        self.driver.get("about:blank")  # a new hash alone would not load the page again
        self.driver.get(address)

    def part(self, id_: str):
        return self.driver.find_element(By.ID, id_)

    def text(self, id_: str) -> str:
        return self.part(id_).text

    def hour(self) -> int:
        return int(self.part("hour").get_property("value"))

    def click_cell(self, number: int) -> None:
        webdriver.ActionChains(self.driver).move_to_element(self.cell(number)).click().perform()

    def cell(self, number: int):
        return self.driver.find_element(By.CSS_SELECTOR, f'#cells path[data-cell="{number}"]')

    def line(self, chart: str) -> str:
        return self.driver.find_element(By.CSS_SELECTOR, f"#{chart} .line").get_attribute("d")

    def compare(self, file: Path) -> None:
        """Choose the file of another week, and wait for it, or for why it is refused."""
        self.part("other").send_keys(str(file))
        self.wait(lambda: self.part("stop").is_displayed() or self.text("compare-problem"))

    def unfold(self, id_: str) -> None:
        """Open the part of the page that holds an element."""
        self.driver.execute_script("document.getElementById(arguments[0]).closest('details').open = true", id_)

    def table(self, id_: str) -> list[list[str]]:
        """The texts of a table, row by row, without its head."""
        script = """return [...document.getElementById(arguments[0]).tBodies[0].rows].map(
            (row) => [...row.cells].map((cell) => cell.textContent))"""
        return self.driver.execute_script(script, id_)

    def runs(self, script: str) -> Any:
        """What a line of script on the page says."""
        return self.driver.execute_script(f"return {script}")

    def narrow(self, width: int) -> None:
        """Take a window of this width; below 600 pixels it is a telephone."""
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def prefers(self, **features: str) -> None:
        """Set what the reader's system prefers, as prefers_color_scheme="dark"."""
        asked = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": asked})

    def wait(self, condition) -> None:
        WebDriverWait(self.driver, 10, poll_frequency=0.05).until(lambda _: condition())
