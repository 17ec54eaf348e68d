"""The audit page: what it says of good and bad releases, and its pictures: a leak one would see, and the budget."""

import html
import re
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from density_assets.city import City
from density_assets.definitions import graph
from density_assets.privacy.zones import Zone
from density_assets.publication.assessment import HAZARDS, AttackTest
from density_assets.publication.pages.audit_page import AuditData, Checked, audit_html, audit_markdown
from density_assets.publication.pages.svg import ZONES, Node, depths, lineage, spending_svg
from density_assets.publication.pages.templates import render
from density_assets.publication.register import Entry
from density_assets.publication.spending import Spending
from density_assets.settings import load_settings

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
        release, asked="ada (terminal): a week", upto="2007-09-24", earlier_weeks=0,
        asked_finally="bob (terminal): <better> numbers",
    )  # fmt: skip
    page = audit_html(replace(data, releases=[release, final]))
    assert "<td>2007-09-10</td>" in page
    assert "<td>2007-09-10<br>final to<br>2007-09-24</td>" in page
    assert "asked for by ada (terminal): a week; final estimate asked for by bob (terminal): &lt;better&gt; num" in page
    assert "lowrank (sound), estimated with weeks after it up to 2007-09-24: final" in page
    assert page.count("final estimate asked for by") == 1


@pytest.mark.parametrize(("weeks", "words"), [(0, "with 0 weeks before"), (1, "with 1 week before")])
def test_weeks_before_are_counted(data, release, weeks, words):
    learned = replace(release, earlier_weeks=weeks)
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


SMALL = (
    Node("cells", Zone("public")),
    Node("visits", Zone("confidential"), ("cells",)),
    Node("series", Zone("confidential"), ("visits", "cells")),
    Node("noisy", Zone("mechanism"), ("series",)),
    Node("density", Zone("release"), ("noisy", "cells")),
)
EDGE = re.compile(
    r'<path class="edge from-(\w+)" data-from="(\w+)" data-to="(\w+)" [^>]*? d="M([\d.-]+) [^"]*? ([\d.-]+) [\d.-]+"'
)


def lineage_svg(nodes) -> str:
    return render("lineage.svg", lineage=lineage(nodes))


def edges(svg: str) -> list[tuple[str, str, str, float, float]]:
    return [(kind, start, end, float(x0), float(x1)) for kind, start, end, x0, x1 in EDGE.findall(svg)]


def crossings(svg: str) -> list[tuple[str, str]]:
    """Edges that start on the confidential side and end right of the doors."""
    wall = max(float(x) for x in re.findall(r'class="ground door" x="([\d.]+)"', svg))
    width = max(float(x) for x in re.findall(r'class="ground door" x="[\d.]+" y="8" width="([\d.]+)"', svg))
    return [(start, end) for _, start, end, x0, x1 in edges(svg) if x0 < wall and x1 > wall + width]


def test_every_asset_is_a_box_and_every_read_an_edge():
    svg = lineage_svg(SMALL)
    assert re.findall(r'data-asset="(\w+)"><title>', svg) == [node.name for node in SMALL]
    assert {(start, end) for _, start, end, _, _ in edges(svg)} == {
        ("cells", "visits"),
        ("cells", "series"),
        ("visits", "series"),
        ("series", "noisy"),
        ("noisy", "density"),
        ("cells", "density"),
    }


def test_depth_is_the_longest_way():
    assert depths(SMALL) == {"cells": 0, "visits": 1, "series": 2, "noisy": 3, "density": 4}


def test_a_leak_is_an_edge_across_the_doors():
    assert crossings(lineage_svg(SMALL)) == []
    leaking = (*SMALL, Node("page", Zone("release"), ("visits",)))
    assert crossings(lineage_svg(leaking)) == [("visits", "page")]


def test_our_graph_is_drawn_whole_and_nothing_crosses(tmp_path):
    assets, known = graph(City(load_settings(None), tmp_path))
    nodes = known.nodes
    svg = lineage_svg(nodes)
    reads = {
        asset.key.to_user_string(): {key.to_user_string() for key in asset.asset_deps[asset.key]} for asset in assets
    }
    assert {node.name: set(node.reads) for node in nodes} == reads
    assert len(nodes) > 20
    assert {node.zone for node in nodes} == set(ZONES)
    assert len(edges(svg)) == sum(len(node.reads) for node in nodes)
    assert crossings(svg) == []


def test_boxes_do_not_overlap(tmp_path):
    svg = lineage_svg(graph(City(load_settings(None), tmp_path))[1].nodes)
    boxes = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="(\d+)" height="(\d+)" rx', svg)
    corners = sorted((float(x), float(y), float(h)) for x, y, _, h in boxes)
    assert all(x1 > x0 or y1 >= y0 + h for (x0, y0, h), (x1, y1, _) in pairwise(corners))


YEAR = Spending(
    year="2007",
    weeks=("2007-01-01", "2007-07-02", "2007-12-31"),
    epsilon=(0.3, 0.5, 0.7),
    alone=(0.3, 0.3, 0.3),
    rolling=(0.7, 0.7, 0.7),
    lifetime=(0.9, 1.0, 1.1),
    releases=4,
)


def heights(svg: str) -> list[float]:
    return [float(y) for y in re.findall(r'<circle class="step" cx="[\d.]+" cy="([\d.]+)"', svg)]


def limit(svg: str) -> float:
    return float(re.search(r'class="limit" [^>]*y1="([\d.]+)"', svg)[1])


def test_weeks_stand_in_their_months_and_steps_rise():
    svg = spending_svg([YEAR], 3.0)
    xs = [float(x) for x in re.findall(r'<circle class="step" cx="([\d.]+)"', svg)]
    assert xs == sorted(xs)
    assert xs[1] == pytest.approx((xs[0] + xs[2]) / 2, abs=1)  # the first of July is the middle of the year
    assert heights(svg) == sorted(heights(svg), reverse=True)
    assert "after the week of 2007-07-02: epsilon 0.500" in svg


@pytest.mark.parametrize("budget", [0.6, 0.7, 3.0, 50.0])
def test_the_budget_line_is_above_what_is_below_it(budget):
    svg = spending_svg([YEAR], budget)
    above = [y >= limit(svg) for y in heights(svg)]
    assert above == [epsilon <= budget for epsilon in YEAR.epsilon]
    assert all(0 < y < 220 for y in (*heights(svg), limit(svg)))


def test_alone_it_is_a_picture_with_its_own_style_and_ground():
    svg = spending_svg([YEAR], 3.0)
    assert svg.startswith("<svg xmlns=")
    assert ElementTree.fromstring(svg).get("width") == "560"
    assert "2007: epsilon 0.700 of 3 after 4 releases of 3 weeks" in svg
    assert ".spending .line {" in svg
    # No page hands the picture its colours, so each must name one of its own.
    assert not re.search(r"var\([\w-]+\)", svg)


def test_alone_the_newest_three_years_stand_one_below_the_other():
    years = [replace(YEAR, year=str(year)) for year in range(2004, 2009)]
    svg = spending_svg(years, 3.0)
    assert re.findall(r'class="spending-title"[^>]*>(\d+):', svg) == ["2006", "2007", "2008"]
    assert re.findall(r'<g transform="translate\(0 (\d+)\)">\n<text', svg) == ["0", "250", "500"]
    assert ElementTree.fromstring(svg).get("height") == "750"
