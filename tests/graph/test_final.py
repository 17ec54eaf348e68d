"""The second vintage of a week: made when somebody asks, beside the first, from draws that are paid for."""

import html
import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from final_estimates import (
    add_a_visit,
    counts,
    final,
    name_of,
    refused,
    said_finally,
)
from runs import materialise, ran
from weeks import NEXT, WEEKS, draw_of, folder_of, published, rebuild, revised, spoilt_draw, stated

from density_assets.publication import verify
from density_assets.publication.verification import outcome
from density_assets.quality.released import worth_of
from resources.ledger.ledger import Ledger

KINDS = ("density", "errors_of_sums", "data_dictionary", "ledger", "privacy_statement", "report", "manifest")
FURTHER = ("cells", "sdmx", "measurements", "datapackage", "dcat", "dp_deployment")


@pytest.fixture
def home(finally_estimated, tmp_path) -> Path:
    """A copy of the home that a test may change."""
    return shutil.copytree(finally_estimated[1], tmp_path / "home")


# --- what is published ------------------------------------------------------------------------------------------------


def test_a_final_estimate_has_files_statement_and_page_of_its_own(finally_estimated):
    _, home = finally_estimated
    name = name_of(WEEKS[0], WEEKS[2])
    files = {file.name for file in folder_of(home).glob(f"*_{name}*")}
    assert {file.split("_final_")[0] for file in files} == {*KINDS, *FURTHER}
    assert {Path(file).suffix for file in files if file.startswith("density")} == {
        ".csv",
        ".parquet",
        ".geojson",
        ".gpkg",
    }
    first, last = counts(home, WEEKS[0]), counts(home, name)
    assert first.select("cell_id", "hour", "timestamp", "week").equals(
        last.select("cell_id", "hour", "timestamp", "week")
    )
    assert not first["count"].equals(last["count"])
    page = (folder_of(home) / f"report_{name}.html").read_text()
    changed = int((first["count"] - last["count"]).abs().sum())
    assert f"changed by {changed:,} visits in all" in page
    assert f"./report_{WEEKS[0]}.html" in page


def test_the_statement_names_every_draw_and_what_all_of_them_cost(finally_estimated):
    _, home = finally_estimated
    said, first = said_finally(home, WEEKS[0], WEEKS[2]), stated(home, WEEKS[0])
    estimate = said["estimate"]
    assert estimate["vintage"] == "final"
    assert [week["week"] for week in estimate["weeks"]] == list(WEEKS[1:])
    assert estimate["key"] != first["estimate"]["key"]
    assert said["charges"] == first["charges"]
    assert estimate["together"]["epsilon"] == pytest.approx(stated(home, WEEKS[2])["estimate"]["together"]["epsilon"])
    text = (folder_of(home) / f"privacy_statement_{name_of(WEEKS[0], WEEKS[2])}.md").read_text()
    assert f"of this week and of 2 later weeks: {WEEKS[1]}, {WEEKS[2]}." in text


def test_the_statement_says_what_all_weeks_up_to_the_last_one_cost(finally_estimated):
    """Not what had been spent when the week was first released."""
    _, home = finally_estimated
    said, first, last = said_finally(home, WEEKS[0], WEEKS[2]), stated(home, WEEKS[0]), stated(home, WEEKS[2])
    spent, then, now = (one["cumulative"] for one in (said, first, last))
    assert said["ledger"]["row"] == last["ledger"]["row"]
    assert spent["epsilon"] == now["epsilon"] > 1.5 * then["epsilon"]
    assert spent["for_a_person"]["lifetime"] == now["for_a_person"]["lifetime"]
    assert spent["for_a_person"]["week"] == then["for_a_person"]["week"]
    text = (folder_of(home) / f"privacy_statement_{name_of(WEEKS[0], WEEKS[2])}.md").read_text()
    assert f"All releases of 2007 so far cost this population epsilon {now['epsilon']:.3f} of 100" in text


def test_a_statement_that_says_what_had_been_spent_at_first_is_found(finally_estimated):
    _, home = finally_estimated
    said, first = said_finally(home, WEEKS[0], WEEKS[2]), stated(home, WEEKS[0])
    ledger = folder_of(home) / f"ledger_{name_of(WEEKS[0], WEEKS[2])}.json"
    chain, wrong = verify.Chain(json.loads(ledger.read_text())), {}
    for spent in (said["cumulative"], first["cumulative"]):
        report = verify.Report()
        verify.check_estimate(report, {**said, "cumulative": spent}, chain, WEEKS[2])
        wrong[spent["epsilon"]] = [text for holds, text in report.findings if not holds]
    right, (found,) = wrong.values()
    assert right == []
    assert found.startswith("all charges of 2007 in the chain cost epsilon")


def test_what_is_final_and_what_is_provisional_stands_below_the_name_of_the_city(finally_estimated):
    _, home = finally_estimated
    name, below = name_of(WEEKS[0], WEEKS[2]), f"Final estimate, with weeks up to {WEEKS[2]}"
    for file in ("privacy_statement", "data_dictionary"):
        final, first = ((folder_of(home) / f"{file}_{which}.md").read_text() for which in (name, WEEKS[0]))
        assert final.split("\n\n")[0].endswith(f"town, week of {WEEKS[0]}")
        assert final.split("\n\n")[1] == below
        assert "Final estimate" not in first
    pages = {which: (folder_of(home) / f"report_{which}.html").read_text() for which in (name, WEEKS[0])}
    headers = {which: page.split("<h1>town</h1>")[1].split("</header>")[0] for which, page in pages.items()}
    assert f'<p class="vintage">{below}</p>' in headers[name]
    assert '<p class="vintage">Provisional estimate</p>' in headers[WEEKS[0]]


def test_errors_of_its_sums_are_stated_signed_explained_and_shown(finally_estimated):
    _, home = finally_estimated
    folder, name = folder_of(home), name_of(WEEKS[0], WEEKS[2])
    file = f"errors_of_sums_{name}.parquet"
    signed = json.loads((folder / f"manifest_{name}.json").read_text())["files"]
    assert said_finally(home, WEEKS[0], WEEKS[2])["files"][file] == signed[file]["sha256"]
    assert f"`{file}` tells the error of any sum" in (folder / f"data_dictionary_{name}.md").read_text()
    errors, first = (pl.read_parquet(folder / one) for one in (file, f"errors_of_sums_{WEEKS[0]}.parquet"))
    assert errors.schema == first.schema
    assert not errors.equals(first)
    page, table = (folder / f"report_{name}.html").read_text(), counts(home, name)
    row = page[page.index(">whole city</th>") :].split("</tr>")[0]
    assert f">{table['count'].sum():,}<" in row.split("<td")[-1]
    assert f'href="./{file}"' in page


def test_it_says_what_its_counts_are_worth_where_a_week_does(finally_estimated):
    """As a note; if the city is too small that is a warning, which the statement has as well."""
    _, home = finally_estimated
    name = name_of(WEEKS[0], WEEKS[2])
    table = counts(home, name)
    said = worth_of(*(table[column].to_numpy().reshape(-1, 168) for column in ("count", "standard_error")))
    assert said.note in (folder_of(home) / f"data_dictionary_{name}.md").read_text()
    assert said.note in html.unescape((folder_of(home) / f"report_{name}.html").read_text())
    assert set(said.warnings) <= set(said_finally(home, WEEKS[0], WEEKS[2])["warnings"])


def test_it_costs_nothing_and_the_ledger_notes_it_once(finally_estimated, home):
    accounts = Ledger(home).accounts()
    which = {"city": "town", "week": WEEKS[0], "revision": 1}
    (first,), (noted,) = accounts.publications(which), accounts.publications(which, WEEKS[2])
    assert noted.body["estimate"] == said_finally(home, WEEKS[0], WEEKS[2])["estimate"]["key"]
    assert first.body["manifest"] != noted.body["manifest"]
    assert len(accounts.rows) == 2 * len(WEEKS)
    before = published(home, WEEKS[0])
    assert final(finally_estimated[0], home, WEEKS[0]).success
    assert published(home, WEEKS[0]) == before
    assert list(Ledger(home).accounts().of("published")) == list(accounts.of("published"))


def test_outsiders_verify_it_and_every_week_beside_it(finally_estimated, home):
    manifest = folder_of(home) / f"manifest_{name_of(WEEKS[0], WEEKS[2])}.json"
    key = json.loads(manifest.read_text())["key"]["fingerprint"]
    result = outcome(manifest, key, around=True)
    assert result.status == 0, [text for holds, text in result.findings if not holds]
    assert f"the estimate uses weeks after its own, up to {WEEKS[2]}" in [text for _, text in result.findings]
    assert not [note for note in result.notes if "not covered" in note]
    for week in WEEKS:
        result = outcome(folder_of(home) / f"manifest_{week}.json", key, around=True)
        assert result.status == 0
        assert not [note for note in result.notes if "not covered" in note]
    listed = json.loads(manifest.read_text())["files"]
    assert {f"measurements/{draw_of(home, week).name}" for week in WEEKS} <= listed.keys()


@pytest.mark.parametrize(
    ("forged", "words"),
    [
        ("a count", f"density_{name_of(WEEKS[0], WEEKS[2])}.csv is the file that was signed"),
        ("a draw", "measurements/{draw} is the file that was signed"),
        ("its name", f"manifest_{name_of(WEEKS[0], NEXT)}.json is named after its week and revision"),
        ("its last week", "the manifest is signed by the key it names"),
    ],
)
def test_what_is_changed_is_found(home, forged, words):
    folder, name = folder_of(home), name_of(WEEKS[0], WEEKS[2])
    manifest = folder / f"manifest_{name}.json"
    if forged == "a count":
        add_a_visit(folder / f"density_{name}.csv")
    elif forged == "a draw":
        words = words.format(draw=spoilt_draw(home, WEEKS[2], lost=False).name)
    elif forged == "its name":
        manifest = manifest.rename(folder / f"manifest_{name_of(WEEKS[0], NEXT)}.json")
    else:
        manifest.write_text(manifest.read_text().replace(f'"upto": "{WEEKS[2]}"', f'"upto": "{WEEKS[1]}"'))
    result = outcome(manifest)
    assert result.status == 1
    assert words in "\n".join(text for holds, text in result.findings if not holds)


def test_the_register_shows_both_vintages(finally_estimated):
    _, home = finally_estimated
    table = pl.read_parquet(folder_of(home) / "tables/audit_page.parquet")
    vintages = [(row["week"], row["vintage"], row["verified"]) for row in table.iter_rows(named=True)]
    assert vintages == [
        (WEEKS[0], "provisional", True),
        (WEEKS[0], f"final to {WEEKS[2]}", True),
        (WEEKS[1], "provisional", True),
        (WEEKS[2], "provisional", True),
    ]
    page = (folder_of(home) / "audit.html").read_text()
    assert f"estimated with weeks after it up to {WEEKS[2]}: final" in page
    assert f"<td>{WEEKS[0]}<br>final to<br>{WEEKS[2]}</td>" in page
    (noted,) = Ledger(home).accounts().publications({"city": "town", "week": WEEKS[0], "revision": 1}, WEEKS[2])
    asked = "final estimate asked for by {by} ({how}): {reason}".format(**noted.body)
    assert html.unescape(page).count(asked) == 1
    assert f"./report_{name_of(WEEKS[0], WEEKS[2])}.html" in page


# --- beside the first, and beside each other --------------------------------------------------------------------------


def test_another_week_makes_another_final_estimate_and_leaves_all_others(finally_estimated, home):
    town = finally_estimated[0]
    before = {week: published(home, week) for week in WEEKS}
    assert materialise(town.settings, home, NEXT).success
    assert final(town, home, WEEKS[0]).success
    assert [week["week"] for week in said_finally(home, WEEKS[0], NEXT)["estimate"]["weeks"]] == [*WEEKS[1:], NEXT]
    assert final(town, home, WEEKS[1]).success
    sides = [week["week"] for week in said_finally(home, WEEKS[1], NEXT)["estimate"]["weeks"]]
    assert sides == [WEEKS[0], WEEKS[2], NEXT]
    for week in WEEKS:
        now = published(home, week)
        assert {name: now[name] for name in before[week]} == before[week]
    for week in WEEKS[:2]:
        assert outcome(folder_of(home) / f"manifest_{name_of(week, NEXT)}.json").status == 3


def test_a_revised_later_week_does_not_take_the_place_of_a_published_estimate(finally_estimated, home):
    town, before = revised(finally_estimated[0], WEEKS[2]), published(home, WEEKS[0])
    assert materialise(town.settings, home, WEEKS[2]).success
    assert refused(town, home, WEEKS[0]).startswith("density_assets.errors.PublishedStays")
    assert published(home, WEEKS[0]) == before


def test_weeks_are_made_again_without_their_final_estimates(finally_estimated, home):
    before = published(home, WEEKS[0])
    result = rebuild(finally_estimated[0], home, WEEKS[0])
    assert result.success
    assert not {"final_series", "final_release"} & ran(result)
    assert published(home, WEEKS[0]) == before
