"""The release of a small town, end to end: files that agree with each other, and an outsider who can check them."""

import json
import shutil
from pathlib import Path

import duckdb
import polars as pl
import pytest
from runs import WEEK, materialise, only, shown
from weeks import rebuild, stated

from density_assets.graph.acting import ANEW_TAG, BY_TAG, REASON_TAG
from density_assets.publication.verification import outcome
from density_assets.release import sign
from resources.ledger.ledger import Ledger
from resources.tables.files import write_durably


@pytest.fixture
def released(simulated_once):
    return simulated_once[2], simulated_once[1] / "town/release"


def key_of(folder) -> str:
    """The fingerprint, as somebody who trusts this very folder would read it off."""
    return json.loads((folder / f"manifest_{WEEK}.json").read_text())["key"]["fingerprint"]


def test_parquet_csv_geojson_and_database_hold_the_same_counts(released):
    _, folder = released
    parquet = pl.read_parquet(folder / f"density_{WEEK}.parquet")
    csv = pl.read_csv(folder / f"density_{WEEK}.csv", try_parse_dates=True).sort("cell_id", "hour")
    assert parquet.drop("timestamp").equals(csv.drop("timestamp"))
    assert parquet["timestamp"].dt.convert_time_zone("UTC").equals(csv["timestamp"])
    assert parquet["count"].dtype == pl.Int64
    assert parquet["count"].min() >= 0
    assert len(parquet) == 4 * 168
    features = json.loads((folder / f"density_{WEEK}.geojson").read_text())["features"]
    by_cell = {feature["id"]: feature["properties"]["counts"] for feature in features}
    assert by_cell["NE"] == parquet.filter(cell_id="NE").sort("hour")["count"].to_list()
    with duckdb.connect(str(folder / "release.duckdb"), read_only=True) as connection:
        total = connection.sql("select sum(count) from density").fetchall()[0][0]
    assert total == parquet["count"].sum()
    cells = pl.read_parquet(folder / f"cells_{WEEK}.parquet")
    of_cells = parquet.group_by("cell_id").agg(pl.sum("count"))
    assert set(cells.select("cell_id", "count").rows()) == set(of_cells.rows())


def test_everything_published_can_be_read_by_others(released):
    _, folder = released
    assert all(file.stat().st_mode & 0o044 == 0o044 for file in folder.rglob("*"))


def test_the_statement_says_what_was_promised_and_paid(released):
    result, folder = released
    said = json.loads((folder / f"privacy_statement_{WEEK}.json").read_text())
    assert (said["epsilon"], said["delta"], said["scheme"], said["calibration"]) == (0.3, 1e-7, "lowrank", "sound")
    assert 0.297 < said["accounted"]["epsilon"] <= 0.3
    assert [charge["door"] for charge in said["charges"]] == ["noisy_totals", "noisy_series"]
    (warning,) = said["warnings"]  # of so few people nothing else is to be feared
    assert warning.startswith("This city is too small for its promise.")
    assert warning in (folder / f"data_dictionary_{WEEK}.md").read_text()
    assert "too small for its promise" in (folder / f"report_{WEEK}.html").read_text()
    assert said["cumulative"]["epsilon"] < 0.3
    text = (folder / f"privacy_statement_{WEEK}.md").read_text()
    assert "(0.3, 1e-07)-differentially private" in text
    assert shown(result, "privacy_statement").metadata["statement"].value == text


def test_an_outsider_can_verify_it(released):
    _, folder = released
    found = outcome(folder / f"manifest_{WEEK}.json", key_of(folder))
    assert (found.status, [text for holds, text in found.findings if not holds]) == (0, [])
    assert outcome(folder / f"manifest_{WEEK}.json").status == 3  # whose key it is must come from elsewhere
    assert outcome(folder / f"manifest_{WEEK}.json", "00" * 32).status == 1


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (f"density_{WEEK}.csv", "NE,0,", "NE,00,"),
        (f"data_dictionary_{WEEK}.md", "Not people", "People"),
        (f"privacy_statement_{WEEK}.json", '"epsilon": 0.3', '"epsilon": 0.1'),
        (f"privacy_statement_{WEEK}.md", "(0.3, ", "(0.1, "),
        (f"report_{WEEK}.html", "(0.3, ", "(0.1, "),
        (f"ledger_{WEEK}.json", "nonce", "nonse"),
        (f"manifest_{WEEK}.json", '"revision": 1', '"revision": 2'),
    ],
)
def test_whatever_was_changed_afterwards_is_found(released, tmp_path, file, old, new):
    """Pages and texts for people too: they were once left out."""
    _, folder = released
    copy = shutil.copytree(folder, tmp_path / "copy")
    text = (copy / file).read_text()
    assert old in text
    (copy / file).write_text(text.replace(old, new))
    assert outcome(copy / f"manifest_{WEEK}.json", key_of(folder)).status == 1


@pytest.mark.parametrize("file", [f"density_{WEEK}.parquet", f"privacy_statement_{WEEK}.md", f"manifest_{WEEK}.sig"])
def test_a_missing_file_is_found(released, tmp_path, file):
    _, folder = released
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / file).unlink()
    assert outcome(copy / f"manifest_{WEEK}.json", key_of(folder)).status == 1


def test_a_release_made_again_after_others_keeps_its_bytes(town, tmp_path):
    """Statement, chain and signature are as of its charge; a run that is killed leaves files that belong together."""
    town.set("first_week = 2007-09-03", "first_week = 2007-09-10")
    town.set('visits = "visits/{week}/*.csv"', "users = 300")
    folder = tmp_path / "home/town/release"
    materialise(town.settings, tmp_path / "home")
    first = {file.name: file.read_bytes() for file in folder.glob(f"*_{WEEK}.*")}
    materialise(town.settings, tmp_path / "home", "2007-09-17")
    made = ("published_counts", "privacy_statement", "density_report", "signed_release")
    materialise(town.settings, tmp_path / "home", asset_selection=only(*made))
    assert {file.name: file.read_bytes() for file in folder.glob(f"*_{WEEK}.*")} == first
    assert len(first) == 18
    assert len(list(Ledger(tmp_path / "home").accounts().of("published"))) == 2


def test_the_page_and_the_ui_show_the_release(released):
    result, folder = released
    page = (folder / f"report_{WEEK}.html").read_text()
    assert f"density_{WEEK}.parquet" in page
    assert "differentially private" in page
    metadata = shown(result, "density").metadata
    assert "data:image/png;base64," in metadata["map"].value
    assert "data:image/png;base64," in metadata["sample"].value


def test_delta_above_one_in_the_population_is_a_warning(town, tmp_path):
    town.set("first_week", "population = 1000\nfirst_week")
    town.set("[engine]", "[privacy]\ndelta = 1e-5\n[engine]")
    materialise(town.settings, tmp_path / "home")
    said = stated(tmp_path / "home", WEEK)
    assert [words for words in said["warnings"] if "delta" in words] == []  # 1e-5 is below 1/1000
    town.set("population = 1000\n", "population = 1000000\n")
    published = (tmp_path / f"home/town/release/privacy_statement_{WEEK}.json").read_bytes()
    materialise(town.settings, tmp_path / "home")  # what was stated of a published week stays
    assert (tmp_path / f"home/town/release/privacy_statement_{WEEK}.json").read_bytes() == published
    materialise(town.settings, tmp_path / "other")
    warning = "delta 1e-05 is above one in the population (1,000,000)."
    assert stated(tmp_path / "other", WEEK)["warnings"][0] == warning
    asked = {BY_TAG: "op", REASON_TAG: "the city has grown", ANEW_TAG: "yes"}
    assert rebuild(town, tmp_path / "home", WEEK, tags=asked).success  # until somebody asks for other files
    assert stated(tmp_path / "home", WEEK)["warnings"][0] == warning


def test_a_signature_is_noted_in_the_ledger_before_it_is_written(town, tmp_path, monkeypatch):
    """As draws are: whatever dies in between, no release is out that the ledger does not know."""
    home = tmp_path / "home"
    signature = home / f"town/release/manifest_{WEEK}.sig"

    def dies(*_: object) -> None:
        raise OSError("killed")

    def dies_at_signatures(file: Path, content: bytes) -> None:
        dies() if file.suffix == ".sig" else write_durably(file, content)

    def signed_again() -> bool:
        options = {"sealed": False, "raise_on_error": False, "asset_selection": only("signed_release")}
        return materialise(town.settings, home, **options).success

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "publish", dies)
        assert not materialise(town.settings, home, sealed=False, raise_on_error=False).success
    assert not signature.exists()
    with monkeypatch.context() as patched:
        patched.setattr(sign, "write_durably", dies_at_signatures)
        assert not signed_again()
    assert not signature.exists()
    (noted,) = Ledger(home).accounts().of("published")
    assert signed_again()
    assert signature.read_bytes().hex() == noted.body["signature"]
    assert len(list(Ledger(home).accounts().of("published"))) == 1
