"""The release of a small town, end to end: files that agree with each other, and an outsider who can check them."""

import json

import duckdb
import polars as pl
import pytest
from runs import WEEK, materialise, only, shown
from town import make_town

from density_assets.errors import BadInput
from density_assets.publication.verification import verify_release


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """One release of a simulated town, shared by the tests that only look."""
    folder = tmp_path_factory.mktemp("released")
    town = make_town(folder)
    town.set('visits = "visits/{week}/*.csv"', "users = 3000\npopulation = 300000")
    result = materialise(town.settings, folder / "home")
    return result, folder / "home/town/release"


def findings(folder) -> dict[str, bool]:
    return {text: holds for holds, text in verify_release(folder)}


def test_parquet_csv_geojson_and_database_hold_the_same_counts(released):
    _, folder = released
    parquet = pl.read_parquet(folder / f"density_{WEEK}.parquet")
    csv = pl.read_csv(folder / f"density_{WEEK}.csv")
    assert parquet.equals(csv)
    assert parquet["count"].dtype == pl.Int64
    assert parquet["count"].min() >= 0
    assert len(parquet) == 4 * 168
    features = json.loads((folder / f"density_{WEEK}.geojson").read_text())["features"]
    by_cell = {feature["id"]: feature["properties"]["counts"] for feature in features}
    assert by_cell["NE"] == parquet.filter(cell_id="NE").sort("hour")["count"].to_list()
    with duckdb.connect(str(folder / "release.duckdb"), read_only=True) as connection:
        total = connection.sql("select sum(count) from density").fetchall()[0][0]
    assert total == parquet["count"].sum()


def test_everything_published_can_be_read_by_others(released):
    _, folder = released
    assert all(file.stat().st_mode & 0o044 == 0o044 for file in folder.rglob("*"))


def test_the_statement_says_what_was_promised_and_paid(released):
    result, folder = released
    said = json.loads((folder / f"privacy_statement_{WEEK}.json").read_text())
    assert (said["epsilon"], said["delta"], said["scheme"], said["calibration"]) == (0.3, 2e-6, "lowrank", "sound")
    assert 0.297 < said["accounted"]["epsilon"] <= 0.3
    assert [charge["door"] for charge in said["charges"]] == ["noisy_totals", "noisy_series"]
    assert said["warnings"] == []
    assert said["cumulative"]["epsilon"] < 0.3
    text = (folder / f"privacy_statement_{WEEK}.md").read_text()
    assert "(0.3, 2e-06)-differentially private" in text
    assert shown(result, "privacy_statement").metadata["statement"].value == text


def test_an_outsider_can_verify_it(released):
    _, folder = released
    assert all(findings(folder).values())
    assert len(findings(folder)) == 14


@pytest.mark.parametrize(
    ("file", "old", "new", "finding"),
    [
        (f"density_{WEEK}.csv", "NE,0,", "NE,00,", f"density_{WEEK}.csv is the file the statement was made for"),
        (
            f"privacy_statement_{WEEK}.json",
            '"epsilon": 0.3',
            '"epsilon": 0.1',
            "the charge of noisy_series is for this release",
        ),
        (
            f"privacy_statement_{WEEK}.json",
            '"week": "2007-09-10"',
            '"week": "2007-09-17"',
            "the charge of noisy_totals is for this release",
        ),
        (f"ledger_{WEEK}.json", '"revision": 1', '"revision": 2', "the ledger's chain is whole"),
    ],
)
def test_whatever_was_changed_afterwards_is_found(released, tmp_path, file, old, new, finding):
    _, folder = released
    for original in folder.glob(f"*_{WEEK}.*"):
        (tmp_path / original.name).write_bytes(original.read_bytes())
    text = (tmp_path / file).read_text()
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new))
    assert findings(tmp_path)[finding] is False


@pytest.mark.parametrize(
    ("forge", "finding"),
    [
        (lambda said: said.update(charges=[]), "every door is paid for once"),
        (lambda said: said["charges"].pop(), "every door is paid for once"),
        (lambda said: said["files"].pop(f"ledger_{WEEK}.json"), "the ledger's chain is one of the files"),
        (lambda said: said["files"].update({"../elsewhere.csv": ""}), "'../elsewhere.csv' lies beside the statement"),
        (lambda said: said["charges"][0].update(measurement="other"), "noisy_totals was charged what is stated"),
    ],
)
def test_a_statement_that_leaves_something_out_does_not_verify(released, tmp_path, forge, finding):
    _, folder = released
    for original in folder.glob(f"*_{WEEK}.*"):
        (tmp_path / original.name).write_bytes(original.read_bytes())
    file = tmp_path / f"privacy_statement_{WEEK}.json"
    said = json.loads(file.read_text())
    forge(said)
    file.write_text(json.dumps(said))
    assert findings(tmp_path)[finding] is False


def test_a_release_made_again_after_others_keeps_its_chain(town, tmp_path):
    """Killed between chain and statement, a run leaves files that belong together, because neither changes."""
    town.set("first_week = 2007-09-03", "first_week = 2007-09-10")
    town.set('visits = "visits/{week}/*.csv"', "users = 300")
    folder = tmp_path / "home/town/release"
    materialise(town.settings, tmp_path / "home")
    first = {file.name: file.read_bytes() for file in folder.glob(f"*_{WEEK}.*")}
    materialise(town.settings, tmp_path / "home", "2007-09-17")
    materialise(town.settings, tmp_path / "home", asset_selection=only("privacy_statement"))
    said = json.loads((folder / f"privacy_statement_{WEEK}.json").read_text())
    assert {name: (folder / name).read_bytes() for name in said["files"]} == {n: first[n] for n in said["files"]}
    assert said["cumulative"]["epsilon"] > json.loads(first[f"privacy_statement_{WEEK}.json"])["cumulative"]["epsilon"]
    assert all(holds for holds, _ in verify_release(folder / f"privacy_statement_{WEEK}.json"))


def test_a_missing_file_is_found_and_a_folder_without_a_statement_refused(released, tmp_path):
    _, folder = released
    for original in folder.glob(f"*_{WEEK}.*"):
        if original.suffix != ".parquet":
            (tmp_path / original.name).write_bytes(original.read_bytes())
    assert findings(tmp_path)[f"density_{WEEK}.parquet is missing"] is False
    (tmp_path / f"privacy_statement_{WEEK}.json").unlink()
    with pytest.raises(BadInput, match="name one privacy statement"):
        list(verify_release(tmp_path))


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
    said = json.loads((tmp_path / f"home/town/release/privacy_statement_{WEEK}.json").read_text())
    assert said["warnings"] == []  # 1e-5 is below 1/1000
    town.set("population = 1000\n", "population = 1000000\n")
    materialise(town.settings, tmp_path / "home")
    said = json.loads((tmp_path / f"home/town/release/privacy_statement_{WEEK}.json").read_text())
    assert said["warnings"] == ["delta 1e-05 is above one in the population (1,000,000)."]
