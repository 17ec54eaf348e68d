"""The audit page of a small town: what it finds of good, changed and unpublished releases, and what it hides."""

import base64
import re
import shutil

import dagster as dg
import duckdb
import pytest
from dagster import AssetCheckEvaluation, AssetCheckSeverity
from door import REQUEST
from ledgers import ACT, KEY, acknowledge_input, order
from runs import WEEK, materialise, opened, shown

from density_assets import definitions
from density_assets.city import City
from density_assets.graph.catalogue import ATTACK_CHECKS, outcomes
from density_assets.graph.checks.outcomes import check
from density_assets.publication.register import register
from density_assets.settings import Settings
from resources.ledger.ledger import Ledger
from resources.ledger.opening import open_for_people
from resources.ledger.witnesses import NOTHING

PEOPLE = "simulated people of town"


@pytest.fixture
def home(simulated_once, tmp_path):
    """A copy of the home, to change things in."""
    shutil.copytree(simulated_once[1], tmp_path / "home")
    return tmp_path / "home"


def found(home, city="town", population=PEOPLE):
    return register(Ledger(home).accounts(), population, home, city)


def test_a_release_is_found_with_its_charges_and_verifies(simulated_once):
    (release,) = found(simulated_once[1])
    assert (release.week, release.revision, release.epsilon, release.scheme) == (WEEK, 1, 0.3, "lowrank")
    assert list(release.charges) == ["noisy_totals", "noisy_series"]
    assert len(release.findings) > 16
    assert release.verified


def test_the_page_and_the_table_and_the_ui_say_the_same(simulated_once):
    _, home, result = simulated_once
    page = (home / "town/release/audit.html").read_text()
    assert "verified</span>" in page
    assert f'href="./privacy_statement_{WEEK}.json"' in page
    with duckdb.connect(str(home / "town/release/release.duckdb"), read_only=True) as connection:
        rows = connection.sql("select week, epsilon, drawn, verified from audit_page").fetchall()
    assert rows == [(WEEK, 0.3, True, True)]
    metadata = shown(result, "audit_page").metadata
    assert "| of them verified | 1 |" in metadata["summary"].value
    (picture,) = re.findall(r"^!\[picture\]\(data:image/svg\+xml;base64,(\S+)\)$", metadata["spending"].value)
    assert b"2007: epsilon 0." in base64.b64decode(picture)


def test_the_check_of_the_same_run_is_on_the_page(simulated_once):
    page = (simulated_once[1] / "town/release/audit.html").read_text()
    (row,) = re.findall(r"<code>ledger_is_whole</code>.*?</tr>", page, re.DOTALL)
    assert "passed" in row


def test_the_report_links_to_the_page_beside_it(simulated_once):
    assert 'href="./audit.html"' in (simulated_once[1] / f"town/release/report_{WEEK}.html").read_text()


def test_a_changed_file_is_found_and_shown(simulated_once, home):
    file = home / f"town/release/density_{WEEK}.csv"
    file.write_bytes(file.read_bytes() + b"\n")
    (release,) = found(home)
    assert release.verified is False
    defs = definitions.build(opened(simulated_once[0].settings, home))
    with dg.DagsterInstance.ephemeral() as instance:
        result = defs.resolve_job_def("audit").execute_in_process(instance=instance)
    assert shown(result, "audit_page").metadata["problems"].value == 1
    assert "does NOT verify" in (home / "town/release/audit.html").read_text()


def test_a_statement_with_a_chain_of_its_own_is_not_believed(home):
    """A whole forged release verifies beside its forged chain, but not against the ledger."""
    for file in home.glob("ledger.sqlite*"):
        file.unlink()
    (release,) = found(home)
    assert release.verified is False
    assert [text for holds, text in release.findings if not holds] == [
        "the charge of noisy_totals stands in the ledger of today, drawn",
        "the charge of noisy_series stands in the ledger of today, drawn",
    ]


def test_a_statement_that_cannot_be_read_is_a_finding(home):
    statement = home / f"town/release/privacy_statement_{WEEK}.json"
    statement.write_text(statement.read_text()[:100])
    unread, paid = sorted(found(home), key=lambda release: release.verified is None)
    assert (unread.week, unread.verified) == (WEEK, False)
    assert (paid.verified, paid.drawn, len(paid.charges)) == (None, True, 2)


def test_charges_that_no_statement_names_are_listed(home):
    charge = REQUEST.charge("noisy_series")
    open_for_people(Ledger(home), ACT, lambda: KEY, NOTHING)
    acknowledge_input(Ledger(home), order().settings)
    Ledger(home).reserve([charge], order(), NOTHING)
    (release,) = found(home, population="subscribers")
    assert (release.statement, release.verified, release.drawn) == (None, None, False)
    assert len(found(home)) == 1


def test_outcomes_that_depend_on_real_records_are_withheld(town, tmp_path, monkeypatch):
    @check("visits")
    def confidential(step) -> dg.AssetCheckResult:
        """No user is missing."""

    @check("noisy_series")
    def door(step) -> dg.AssetCheckResult:
        """Records are those it was drawn from."""

    @check("density", "iris_series")
    def compared(step) -> dg.AssetCheckResult:
        """Close to the truth."""

    @check("density")
    def free(step) -> dg.AssetCheckResult:
        """Counts are non-negative."""

    monkeypatch.setattr(definitions, "CHECKS", [confidential, door, compared, free])
    city = opened(town.settings, tmp_path)
    known = definitions.catalogue(city)
    with dg.DagsterInstance.ephemeral() as instance:
        for listed in known.checks:
            instance.report_runless_asset_event(
                AssetCheckEvaluation(
                    asset_key=dg.AssetKey(listed.asset),
                    check_name=listed.name,
                    passed=False,
                    metadata={"users": 12},
                    severity=AssetCheckSeverity.ERROR,
                )
            )
        real = {found.name: found.outcome for found in outcomes(known, instance, city)}
        nobody = {found.name: found.outcome for found in outcomes(known, instance, City(Settings(), tmp_path))}
    withheld = dict.fromkeys(("confidential", "door", "compared"), "withheld")
    told = dict.fromkeys(("free", *(attack.name for attack in ATTACK_CHECKS)), "failed")  # these invent people
    assert real == withheld | told
    assert set(nobody.values()) == {"failed"}


def test_the_page_of_real_people_shows_attack_tests_and_names_nothing_of_theirs(town, tmp_path):
    for name, summary in {"epsilon_audit": "at least 0.12", "membership_audit/2007-09-10": "advantage 0.77"}.items():
        folder = tmp_path / "home/town/studies" / name
        folder.mkdir(parents=True)
        (folder / "summary.md").write_text(summary)
    materialise(town.settings, tmp_path / "home", sealed=False)
    page = (tmp_path / "home/town/release/audit.html").read_text()
    assert "subscribers" in page
    assert "at least 0.12" in page
    assert "advantage 0.77" in page
    assert not re.search(r"\bann\b|\bbob\b", page)
