"""Weeks that learn from weeks: draws stay, estimates follow from the draws that were public when a week was drawn."""

import json
import shutil
from datetime import date
from pathlib import Path

import dagster as dg
import polars as pl
import pytest
from runs import failures, materialise, only, opened
from weeks import NEXT, WEEKS, folder_of, published, rebuild, revised, spoilt_draw, state_file, stated, town_of

from density_assets import definitions
from density_assets.definitions import BLUEPRINTS
from density_assets.graph.acting import ANEW_TAG, BY_TAG, REASON_TAG
from density_assets.graph.estimating import PAST, composed, composed_of
from density_assets.graph.given import Asked, gather
from density_assets.graph.step import Reader, Step
from density_assets.privacy.zones import Zone
from density_assets.publication.verification import outcome
from density_assets.release import estimate
from density_assets.release.estimate import state_from
from density_assets.schemes import learning
from resources.tables.released import ReleasedTables

ESTIMATED = ("usual_week", "smoothed_series", "density", "published_counts", "privacy_statement")
SIGNED = (*ESTIMATED, "density_report", "signed_release")


@pytest.fixture
def home(three_weeks, tmp_path) -> Path:
    """A copy of the home that a test may change."""
    return shutil.copytree(three_weeks[1], tmp_path / "home")


def weeks_used(home: Path, week: str) -> list[tuple[str, int]]:
    return [(used["week"], used["revision"]) for used in stated(home, week)["estimate"]["weeks"]]


# --- what is stated ---------------------------------------------------------------------------------------------------


def test_a_week_names_the_earlier_weeks_it_uses_and_what_all_of_them_cost(three_weeks):
    _, home = three_weeks
    assert [weeks_used(home, week) for week in WEEKS] == [
        [],
        [(WEEKS[0], 1)],
        [(WEEKS[0], 1), (WEEKS[1], 1)],
    ]
    for number, week in enumerate(WEEKS):
        said = stated(home, week)
        estimate = said["estimate"]
        assert (estimate["vintage"], estimate["alone"]) == ("provisional", None)
        assert estimate["left_out"] == []
        assert estimate["own"]["epsilon"] == said["accounted"]["epsilon"]
        grown = estimate["together"]["epsilon"] / estimate["own"]["epsilon"]
        assert grown == pytest.approx(1, abs=1e-3) if number == 0 else 1.3 < grown < number + 1
        text = (folder_of(home) / f"privacy_statement_{week}.md").read_text()
        assert f"of this week and of {number} earlier week" in text
    (first,) = stated(home, WEEKS[1])["estimate"]["weeks"]
    paid = {charge["door"]: charge for charge in stated(home, WEEKS[0])["charges"]}
    assert {door: draw["draw"] for door, draw in first["draws"].items()} == {d: c["draw"] for d, c in paid.items()}


def test_every_week_verifies_and_a_changed_digest_of_a_used_draw_does_not(three_weeks, home):
    for week in WEEKS:
        result = outcome(folder_of(home) / f"manifest_{week}.json")
        assert result.status == 3, [text for holds, text in result.findings if not holds]
    file = folder_of(home) / f"privacy_statement_{WEEKS[2]}.json"
    digest = stated(home, WEEKS[2])["estimate"]["weeks"][0]["draws"]["noisy_series"]["draw"]
    file.write_text(file.read_text().replace(digest, "0" * 64))
    wrong = [text for holds, text in outcome(folder_of(home) / f"manifest_{WEEKS[2]}.json").findings if not holds]
    assert f"noisy_series of the week of {WEEKS[0]}, which the estimate uses, was paid for and drawn" in wrong


def test_the_state_is_made_of_all_draws_up_to_its_week(three_weeks):
    _, home = three_weeks
    table = pl.read_parquet(state_file(home, WEEKS[2]))
    estimate, charges = stated(home, WEEKS[2])["estimate"], stated(home, WEEKS[2])["charges"]
    named = [week["draws"][door]["draw"] for week in estimate["weeks"] for door in sorted(week["draws"])]
    named += [charge["draw"] for charge in sorted(charges, key=lambda charge: charge["door"])]
    assert table["draws"][0].split() == named
    assert state_from(table).weeks == 3


# --- making a week again ----------------------------------------------------------------------------------------------


def test_a_published_state_spares_folding_the_weeks_it_is_made_of(three_weeks, monkeypatch):
    """Else every week would cost as much as all weeks before it."""
    town, home = three_weeks
    city, week, folded = opened(town.settings, home), date.fromisoformat(WEEKS[2]), []
    monkeypatch.setattr(estimate, "learned", lambda state, measured, xy: folded.append(measured) or state)
    shelves = {plan.name: plan.shelf for plan in BLUEPRINTS}
    past, inputs = ({name: shelves[name] for name in names} for names in (PAST, composed_of(city)))
    tables = ReleasedTables(city.store.folder)
    read = Reader("usual_week", Zone.RELEASE, inputs, tables, week, city.release(week), past)
    (terms,) = gather(("terms",), Asked(city, week, None, None)).values()
    of = composed(Step(city.settings, read), terms).estimation
    of.state_after(of.used)
    assert (len(of.used), len(folded)) == (3, 1)


def test_a_published_week_is_made_again_byte_by_byte(three_weeks, home):
    for lost in ((), (state_file(home, WEEKS[1]),), tuple(state_file(home, week) for week in WEEKS)):
        for file in lost:
            file.unlink(missing_ok=True)
        before = published(home, WEEKS[2])
        assert rebuild(three_weeks[0], home, WEEKS[2]).success
        assert published(home, WEEKS[2]) == before


def test_a_damaged_state_is_made_again(three_weeks, home):
    before = published(home, WEEKS[2])
    state_file(home, WEEKS[1]).write_bytes(b"garbage")
    assert materialise(three_weeks[0].settings, home, WEEKS[2], asset_selection=only(*SIGNED)).success
    assert published(home, WEEKS[2]) == before


@pytest.mark.parametrize("lost", [True, False])
def test_a_draw_of_an_earlier_week_that_is_lost_or_damaged_is_refused_by_name(three_weeks, home, lost):
    spoilt_draw(home, WEEKS[0], lost=lost)
    before = published(home, WEEKS[2])
    result = materialise(
        three_weeks[0].settings, home, WEEKS[2], asset_selection=only(*ESTIMATED), raise_on_error=False
    )
    messages = " ".join(failures(result))
    assert f"an estimate uses noisy_series of the week of {WEEKS[0]} (revision 1)" in messages
    assert ("is lost" if lost else "is damaged (it is another draw)") in messages
    assert published(home, WEEKS[2]) == before


def test_a_statement_that_names_other_draws_than_were_published_is_not_believed(three_weeks, home):
    before = published(home, WEEKS[2])
    said = stated(home, WEEKS[2])
    del said["estimate"]["weeks"][0]
    (folder_of(home) / f"privacy_statement_{WEEKS[2]}.json").write_text(json.dumps(said, indent=2))
    assert materialise(three_weeks[0].settings, home, WEEKS[2], asset_selection=only(*SIGNED)).success
    assert published(home, WEEKS[2]) == before


def test_a_lost_statement_is_made_again(three_weeks, home):
    before = published(home, WEEKS[2])
    (folder_of(home) / f"privacy_statement_{WEEKS[2]}.json").unlink()
    assert rebuild(three_weeks[0], home, WEEKS[2]).success
    assert published(home, WEEKS[2]) == before


def test_other_files_of_a_week_that_was_estimated_alone_are_of_one_estimate(town, tmp_path, monkeypatch):
    """Asked for with a software that does not fail any more, and with another warning in the statement."""
    home, asked = tmp_path / "home", {BY_TAG: "op", REASON_TAG: "the estimator is mended", ANEW_TAG: "yes"}

    def fails(*_: object) -> None:
        raise ArithmeticError

    with monkeypatch.context() as broken:
        broken.setattr(learning, "estimate_week", fails)
        assert materialise(town.settings, home, sealed=False).success
    assert stated(home, WEEKS[0])["estimate"]["alone"]
    before = published(home, WEEKS[0])
    assert not rebuild(town, home, WEEKS[0], raise_on_error=False).success  # until somebody asks
    assert published(home, WEEKS[0]) == before
    town.set("first_week", "population = 1000000000\nfirst_week")
    assert rebuild(town, home, WEEKS[0], tags=asked).success
    assert stated(home, WEEKS[0])["estimate"]["alone"] is None
    assert outcome(folder_of(home) / f"manifest_{WEEKS[0]}.json").status == 3


# --- gaps and revisions -----------------------------------------------------------------------------------------------


def test_a_missing_week_is_a_gap_and_a_late_one_changes_nothing(tmp_path):
    town, home = town_of(tmp_path), tmp_path / "home"
    for week in (WEEKS[0], WEEKS[2]):
        assert materialise(town.settings, home, week).success
    assert weeks_used(home, WEEKS[2]) == [(WEEKS[0], 1)]
    before = published(home, WEEKS[2])
    assert materialise(town.settings, home, WEEKS[1]).success  # late
    assert weeks_used(home, WEEKS[1]) == [(WEEKS[0], 1)]
    assert rebuild(town, home, WEEKS[2]).success
    assert published(home, WEEKS[2]) == before


def test_a_revision_enters_later_weeks_and_leaves_published_ones_alone(three_weeks, home):
    town = revised(three_weeks[0], WEEKS[0])
    before = {week: published(home, week) for week in WEEKS}
    assert materialise(town.settings, home, WEEKS[0]).success
    assert materialise(town.settings, home, NEXT).success
    assert weeks_used(home, NEXT) == [(WEEKS[0], 2), (WEEKS[1], 1), (WEEKS[2], 1)]
    assert rebuild(town, home, WEEKS[1]).success
    for week in WEEKS:
        now = published(home, week)
        assert {name: now[name] for name in before[week]} == before[week]


# --- the graph --------------------------------------------------------------------------------------------------------


def test_lineage_shows_week_to_week(three_weeks):
    assets, _ = definitions.graph(opened(three_weeks[0].settings, three_weeks[1]))
    deps = {spec.key.to_user_string(): spec.deps for asset in assets for spec in asset.specs}
    for name in ("usual_week", "smoothed_series"):
        (edge,) = [dep for dep in deps[name] if dep.asset_key == dg.AssetKey("usual_week")]
        assert (edge.partition_mapping.start_offset, edge.partition_mapping.end_offset) == (-1, -1)


def test_schemes_that_do_not_learn_have_no_usual_week(three_weeks, tmp_path):
    town, _ = three_weeks
    other = tmp_path / "other.toml"
    other.write_text(town.settings.read_text() + '\n[scheme]\nname = "gpa"\n')
    assets, known = definitions.graph(opened(other, tmp_path / "home"))
    assert dg.AssetKey("usual_week") not in {key for asset in assets for key in asset.keys}
    assert "usual_week" not in {node.name for node in known.nodes}
