"""The audit page as text: what it says of good and bad releases, and what it must not hold."""

import html
import re
from dataclasses import replace

import pytest

from density_assets.privacy.zones import Zone
from density_assets.publication.assessment import HAZARDS, AttackTest
from density_assets.publication.pages.audit_page import AuditData, Checked, audit_html, audit_markdown
from density_assets.publication.pages.svg import Node
from density_assets.publication.register import Entry
from density_assets.publication.spending import Spending

HOSTILE = "</style><script>alert(1)</script><img src=x onerror=alert(1)>'\"&{{ data }}{% raise %}"


@pytest.fixture
def release(tmp_path) -> Entry:
    statement = tmp_path / "privacy_statement_2007-09-10.json"
    statement.write_text("{}")
    (tmp_path / "report_2007-09-10.html").write_text("page")
    return Entry(
        population="subscribers",
        city="town",
        week="2007-09-10",
        revision=1,
        epsilon=0.3,
        delta=2e-6,
        at="2026-01-02T03:04:05+00:00",
        charges={"noisy_series": "c" * 64},
        drawn=True,
        scheme="lowrank",
        calibration="sound",
        statement=statement,
        digest="d" * 64,
        files={"density_2007-09-10.csv": "f" * 64},
        findings=((True, "the ledger's chain is whole"),),
    )


@pytest.fixture
def data(tmp_path, release) -> AuditData:
    return AuditData(
        city="town",
        population="subscribers",
        made="2026-01-02T03:04+00:00",
        folder=tmp_path,
        releases=[release],
        charges=2,
        ledger_head="a" * 64,
        ledger_problem=None,
        fingerprint="f" * 64,
        years=[Spending("2007", ("2007-09-10",), (0.294,), (0.294,), (0.31,), (0.35,), releases=1)],
        budget_epsilon=3.0,
        budget_delta=1e-5,
        nodes=[Node("cells", Zone("public")), Node("density", Zone("release"), ("cells",))],
        checks=[Checked("ledger", "ledger_is_whole", "No row is missing.", "passed", "2026-01-02T03:04:05+00:00")],
        attack_tests=[AttackTest("epsilon_audit", "How much is revealed", None)],
        software={"opendp": "0.16.0"},
        mechanisms={"lowrank": "1"},
    )


def test_a_release_is_listed_with_its_promise_links_hashes_and_verdict(data):
    page = audit_html(data)
    for text in ("2007-09-10", "lowrank (sound)", "0.3", "2e-06", "d" * 64, "f" * 64, "c" * 64, "verified"):
        assert text in page
    assert re.findall(r'<a href="(\./[^"]+)">', page) == [
        "./privacy_statement_2007-09-10.json",
        "./report_2007-09-10.html",
    ]
    assert data.problems == 0


def test_a_final_estimate_says_that_it_is_one_and_who_asked_for_it(data, release):
    final = replace(
        release, asked="ada (terminal): a week", upto="2007-09-24", estimator=2, earlier_weeks=0,
        asked_finally="bob (terminal): <better> numbers",
    )  # fmt: skip
    page = audit_html(replace(data, releases=[release, final]))
    assert "<td>2007-09-10</td>" in page
    assert "<td>2007-09-10<br>final to<br>2007-09-24</td>" in page
    assert "asked for by ada (terminal): a week; final estimate asked for by bob (terminal): &lt;better&gt; num" in page
    assert "lowrank (sound), estimator 2 with weeks after it up to 2007-09-24: final" in page
    assert page.count("final estimate asked for by") == 1


@pytest.mark.parametrize(("weeks", "words"), [(0, "with 0 weeks before"), (1, "with 1 week before")])
def test_weeks_before_are_counted(data, release, weeks, words):
    learned = replace(release, estimator=2, earlier_weeks=weeks)
    assert f"{words}<" in audit_html(replace(data, releases=[learned]))


def test_a_release_of_a_sister_city_is_linked_from_here(data, release, tmp_path):
    here = replace(data, folder=tmp_path.parent / "other" / "release")
    assert f'href="./../../{tmp_path.name}/privacy_statement_2007-09-10.json"' in audit_html(here)


def test_what_does_not_verify_cannot_be_overlooked(data, release):
    broken = replace(release, findings=((False, "density.csv is the file the statement was made for"),))
    page = audit_html(replace(data, releases=[broken]))
    assert "does NOT verify" in page
    assert "<details open>" in page
    assert replace(data, releases=[broken], ledger_problem="row 3 was changed").problems == 2
    assert "row 3 was changed" in audit_html(replace(data, ledger_problem="row 3 was changed"))
    assert "2007-09-10, town, revision 1: does NOT verify" in audit_markdown(replace(data, releases=[broken]))


def test_charges_without_a_statement_are_neither_verified_nor_wrong(data, release):
    unstated = replace(release, statement=None, digest="", files={}, findings=(), scheme="", calibration="")
    page = audit_html(replace(data, releases=[unstated]))
    assert "paid, drawn, not published" in page
    assert "paid, not drawn" in audit_html(replace(data, releases=[replace(unstated, drawn=False)]))
    assert "verified</span>" not in page
    assert replace(data, releases=[unstated]).problems == 0


def test_the_page_may_load_nothing_and_runs_no_script(data):
    page = audit_html(data)
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in page
    assert not re.search(r"https?://|<script|@import|url\((?!#)", page)
    assert not re.search(r'(?:src|href)="(?!\./|data:|#)', page)


def test_hostile_words_are_shown_as_words(data, release):
    def hostile(word: str) -> str:
        return f"{word} {HOSTILE}"

    bad = replace(
        release,
        city=hostile("city of a release"),
        week=hostile("week"),
        at=hostile("at"),
        scheme=hostile("scheme"),
        calibration=hostile("calibration"),
        digest=hostile("digest"),
        files={hostile("file"): hostile("hash of a file")},
        charges={hostile("door"): hostile("charge")},
        findings=((True, hostile("finding")),),
    )
    page = audit_html(
        replace(
            data,
            city=hostile("city"),
            population=hostile("population"),
            made=hostile("made"),
            releases=[bad],
            ledger_problem=hostile("problem"),
            nodes=[Node(hostile("asset"), Zone("public")), Node("density", Zone("release"), (hostile("asset"),))],
            checks=[Checked(hostile("checked"), hostile("check"), hostile("about"), "failed", hostile("when"))],
            attack_tests=[
                AttackTest("a", hostile("asked"), hostile("found")),
                AttackTest(hostile("study"), "title", None),
            ],
            software={hostile("library"): hostile("version")},
            mechanisms={hostile("mechanism"): hostile("its version")},
        )
    )
    assert "<script" not in page
    assert "<img" not in page
    assert page.count("</style>") == audit_html(data).count("</style>")
    # 27 words, the city twice (title, heading), and the asset's name in its box, its own tip and its reader's.
    assert html.unescape(re.sub(r"<[^>]*>", "", page)).count(HOSTILE) == 30
    assert not re.search(r"<style>[^<]*alert", page)


def test_nothing_released_yet_is_a_page_too(data):
    page = audit_html(replace(data, releases=[], years=[], charges=0))
    assert "Nothing has been released yet." in page


def test_our_stand_on_every_hazard_is_on_the_page(data):
    cells = set(map(html.unescape, re.findall(r"<td>(.*?)</td>", audit_html(data))))
    assert {text for hazard in HAZARDS for text in hazard} <= cells
    assert len({hazard.name for hazard in HAZARDS}) == len(HAZARDS) == 14


def test_audits_that_were_run_show_what_they_found(data):
    assert "not run</span> <code>density study epsilon_audit</code>" in audit_html(data)
    page = audit_html(replace(data, attack_tests=[AttackTest("epsilon_audit", "How much", "at least **0.12**")]))
    assert "at least <strong>0.12</strong>" in page
