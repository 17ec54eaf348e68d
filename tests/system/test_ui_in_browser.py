"""The real UI in a real browser: what an auditor clicks and what is shown.

One server and one release, made by clicking, for the whole module; the tests look at what came of it.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
from serving import answer_when, serving, token
from town import make_town

pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from browser import Visitor, needs_browser, open_browser
from selenium.webdriver.common.keys import Keys

from density_assets.city import City
from density_assets.definitions import BLUEPRINTS
from density_assets.publication.verification import verify_release
from density_assets.settings import load_settings
from resources.ledger.ledger import Ledger

WEEK = "2007-09-10"
ZONES = ("1_public", "2_confidential", "3_mechanisms", "4_release", "5_evaluation")
DIALOG = ".dagster-dialog"
pytestmark = needs_browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("ui")


@pytest.fixture(scope="module")
def auditor(folder) -> Iterator[Visitor]:
    """Somebody in front of the UI of a simulated town."""
    town = make_town(folder)
    town.set('visits = "visits/{week}/*.csv"', "users = 500")
    with serving(town.settings, folder / "home") as address:
        answer_when(address, "{ assetNodes { assetKey { path } } }", lambda answer: bool(answer["assetNodes"]))
        driver = open_browser(folder / "profile")
        visitor = Visitor(driver, address)
        visitor.visit(f"/?token={token(address)}")
        yield visitor
        driver.quit()


@pytest.fixture(scope="module")
def released(auditor, folder) -> Path:
    """The folder of a release that was made by clicking."""
    auditor.visit("/locations/density_assets/jobs/weekly_release")
    auditor.click("Materialize all…")
    launch(auditor, WEEK)
    ended(auditor, runs=1)
    return folder / "home/town/release"


def launch(auditor: Visitor, week: str) -> None:
    """Choose a week in the dialog, which offers all weeks there are, and start."""
    (field,) = auditor.until(lambda: auditor.all(f"{DIALOG} input[type=text]"), "a field for partitions")
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys(week, Keys.TAB)
    auditor.click("Launch 1 run")
    auditor.until(lambda: not auditor.all(DIALOG), "the dialog to close")


def ended(auditor: Visitor, runs: int) -> None:
    """Wait until so many runs have ended, all of them well."""
    auditor.visit("/runs")
    statuses = ("Success", "Failure", "Canceled")
    auditor.until(
        lambda: sum(word in statuses for word in auditor.text().splitlines()) == runs, f"the end of {runs} runs"
    )
    assert auditor.text().splitlines().count("Success") == runs


def pictures(auditor: Visitor, kind: str) -> list[str]:
    """Pictures of a kind that really show something."""
    images = auditor.all(f'{DIALOG} img[src^="data:image/{kind}"]')
    return [
        image.get_attribute("src") for image in images if image.get_property("naturalWidth") and image.is_displayed()
    ]


def test_without_the_token_a_browser_sees_nothing_and_with_it_the_address_forgets_it(auditor):
    auditor.driver.delete_all_cookies()
    auditor.visit("/asset-groups")
    auditor.sees("this server must be opened with its token")
    auditor.visit(f"/?token={token(auditor.address)}")
    auditor.sees("Overview")
    assert "token" not in auditor.driver.current_url
    assert auditor.driver.execute_script("return document.cookie") == ""  # no script of a page can read it


def test_the_lineage_page_tells_the_story_by_zone(auditor):
    auditor.visit("/asset-groups")
    auditor.sees("Global asset lineage", *ZONES)
    auditor.click("3_mechanisms", "foreignObject div")
    auditor.sees("noisy_totals", "noisy_series", "clusters")


def test_a_week_released_by_clicking_verifies(released):
    assert [text for holds, text in verify_release(released) if not holds] == []
    assert (released / "audit.html").exists()


def test_checks_and_hazards_of_the_audit_page_fit_on_a_telephone(auditor, released):
    telephone = {"width": 380, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    auditor.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", telephone)
    auditor.driver.get((released / "audit.html").as_uri())
    rights = (
        "[...document.querySelectorAll('.checks td, .hazards td')].map((cell) => cell.getBoundingClientRect().right)"
    )
    ends = auditor.driver.execute_script(f"return {rights}")
    auditor.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert len(ends) > 100
    assert max(ends) <= 380


def test_the_page_of_an_asset_shows_columns_origins_and_pictures(auditor, released):
    auditor.visit(f"/assets/density?partition={WEEK}")
    auditor.sees("zone: release", "visits: devices seen in the cell in that hour ← smoothed_series.visits", "map")
    auditor.click("[Show Markdown]")
    assert auditor.until(lambda: pictures(auditor, "png"), "a picture")


def test_the_page_of_a_door_names_the_charge_that_paid(auditor, released, folder):
    charges = {row.charge.door: row.hash for row in Ledger(folder / "home").rows()}
    auditor.visit(f"/assets/noisy_series?partition={WEEK}")
    auditor.sees("zone: mechanism", "paid_by", charges["noisy_series"])


def test_the_check_of_the_ledger_says_how_it_ended(auditor, released):
    auditor.visit("/assets/ledger?view=checks")
    auditor.sees("ledger_is_whole", "Evaluation result", "Passed")


def test_a_first_week_is_not_said_to_be_like_the_week_before(auditor, released):
    auditor.visit("/assets/density?view=checks")
    auditor.click("like_the_week_before", "*")
    auditor.sees("Evaluation result\nSkipped", "no earlier week is released")


def test_the_audit_asset_shows_its_summary_and_its_chart(auditor, released):
    auditor.visit("/assets/audit_page")
    auditor.sees("of them verified", "charges in the ledger")
    auditor.click("[Show Markdown]")
    assert auditor.until(lambda: pictures(auditor, "svg+xml"), "the chart of spending")


def test_the_report_leads_to_the_audit_page_and_its_links_lead_somewhere(auditor, released, folder):
    auditor.driver.get((released / f"report_{WEEK}.html").as_uri())
    auditor.driver.get_log("browser")  # forget what the UI said
    auditor.click("Audit of all releases")
    auditor.sees("Audit of all releases", "What they have cost", "Where numbers come from")
    links = [link.get_attribute("href") for link in auditor.all("main a")]
    assert len(links) == 3
    assert all(Path(unquote(urlparse(link).path)).exists() for link in links)
    (row,) = auditor.all("table.releases tbody tr:not(.more)")
    assert WEEK in row.text
    assert "verified" in row.text
    (chart,) = auditor.all("svg.spending")
    assert chart.size["height"] > 100
    city = City(load_settings(folder / "town/town.toml"), folder / "home")
    assert len(auditor.all("svg.lineage .node")) == len([plan for plan in BLUEPRINTS if plan.where(city)])
    assert "ledger_is_whole" in auditor.text()
    assert auditor.driver.get_log("browser") == []
    assert auditor.driver.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_a_door_materialised_again_by_clicking_draws_nothing(auditor, released, folder):
    before = [(row.hash, row.drawn) for row in Ledger(folder / "home").rows()]
    density = (released / f"density_{WEEK}.csv").read_bytes()
    auditor.visit("/assets/noisy_series")
    auditor.click("Materialize…")
    launch(auditor, WEEK)
    ended(auditor, runs=2)
    assert [(row.hash, row.drawn) for row in Ledger(folder / "home").rows()] == before
    assert (released / f"density_{WEEK}.csv").read_bytes() == density
    said = json.loads((released / f"privacy_statement_{WEEK}.json").read_text())
    assert {charge["hash"] for charge in said["charges"]} == {charge for charge, _ in before}
