"""Regions and people with a release: files that add up, are stated, signed and explained, and stay as they were."""

import json
import shutil
from pathlib import Path

import dagster as dg
import polars as pl
import pytest
from final_estimates import final
from runs import MONDAY, density, materialise, only, opened
from town import Town, make_town
from weeks import PROMISE, WEEKS, folder_of, published, rebuild, write_week

from density_assets.city import City
from density_assets.definitions import BLUEPRINTS
from density_assets.graph.acting import ANEW_TAG, BY_TAG, REASON_TAG
from density_assets.graph.automation import REGISTER
from density_assets.graph.naming import GROUPS
from density_assets.privacy.zones import Zone
from density_assets.publication.verification import digests_in, outcome
from density_assets.release import sign
from density_assets.settings import load_settings
from resources.tables.files import write_durably

WEEK, LATER = WEEKS[:2]
REGIONS = 'regions = "regions.csv"\nregion_name = "called"\n'
PEOPLE = """
[people]
market_share = "shares.csv"
devices_per_person = 1.25
devices_per_person_low = 1.0
active_share = 0.2
"""
FILES = (f"regions_{WEEK}.parquet", f"regions_{WEEK}.csv", f"public_inputs_{WEEK}.json")
UNTIL_SIGNED = ("published_counts", "privacy_statement", "density_report", "signed_release")


def describe(town: Town) -> None:
    """Regions and factors of the town, in its settings and files."""
    (town.folder / "regions.csv").write_text(
        "cell_id,region_id,called\nSW,S,South\nSE,S,South\nNW,N,North\nNE,N,North\n"
    )
    (town.folder / "shares.csv").write_text("region_id,market_share\nN,0.5\nS,0.4\n")
    town.set('cell_id = "code"\n', f'cell_id = "code"\n{REGIONS}')
    town.settings.write_text(f"{town.settings.read_text()}\n{PROMISE}{PEOPLE}")


def undescribe(town: Town) -> None:
    """As if nobody had ever stated them."""
    town.set(REGIONS, "")
    town.set(PEOPLE, "")


@pytest.fixture(scope="module")
def released(tmp_path_factory) -> tuple[Town, Path]:
    """A town with regions and factors, two weeks of it, and a final estimate of the first."""
    folder = tmp_path_factory.mktemp("described")
    town, home = make_town(folder), folder / "home"
    describe(town)
    for week in (WEEK, LATER):
        write_week(town, week)
        assert materialise(town.settings, home, week).success
    return town, home


@pytest.fixture
def folder(released) -> Path:
    return folder_of(released[1])


def read(folder: Path, stem: str, name: str = WEEK) -> pl.DataFrame:
    return pl.read_parquet(folder / f"{stem}_{name}.parquet")


@pytest.mark.parametrize("column", ["count", "people"])
def test_regions_are_sums_of_the_published_cells(folder: Path, column: str) -> None:
    cells = read(folder, "density").group_by("cell_id", maintain_order=True).agg(pl.col(column))
    of = {cell: pl.Series(values) for cell, values in cells.rows()}
    for file in (read(folder, "regions"), pl.read_csv(folder / f"regions_{WEEK}.csv")):
        hours = file.filter(pl.col("period") == "hour").partition_by("region_id", as_dict=True)
        expected = {None: sum(of.values()), "N": of["NW"] + of["NE"], "S": of["SW"] + of["SE"]}
        assert {region: rows[column].to_list() for (region,), rows in hours.items()} == {
            region: series.to_list() for region, series in expected.items()
        }
        week = file.filter(pl.col("period") == "week", pl.col("region_id").is_null())
        assert week[column].to_list() == [sum(of.values()).sum()]


def test_people_are_visits_by_the_factors(folder: Path) -> None:
    north, south = (
        read(folder, "density").filter(pl.col("cell_id").is_in(cells)) for cells in (("NW", "NE"), ("SW", "SE"))
    )
    assert (north["people"] - north["count"] / (0.5 * 1.25 * 0.2)).abs().max() < 1
    assert (south["people"] - south["count"] / (0.4 * 1.25 * 0.2)).abs().max() < 1
    for table in (read(folder, "density"), read(folder, "regions")):
        assert (table["people_low"] <= table["people"]).all()
        assert (table["people"] < table["people_high"]).all()
        assert table["people_low"].null_count() == 0  # this scheme tells errors of sums


def test_the_files_are_stated_signed_and_explained(folder: Path) -> None:
    said = json.loads((folder / f"privacy_statement_{WEEK}.json").read_text())["files"]
    signed = json.loads((folder / f"manifest_{WEEK}.json").read_text())["files"]
    assert all(said[file] == signed[file]["sha256"] for file in FILES)
    assert outcome(folder / f"manifest_{WEEK}.json").status == 3  # nothing is wrong; who signed was not asked
    explained = (folder / f"data_dictionary_{WEEK}.md").read_text()
    for column in {*read(folder, "density").columns, *read(folder, "regions").columns}:
        assert f"| `{column}` |" in explained
    assert "public_inputs" in explained
    assert "public_inputs" in (folder / f"privacy_statement_{WEEK}.md").read_text()


def test_questions_may_be_about_regions(released, folder: Path) -> None:
    done = density(released[1], "ask", "region=South", "--release", str(folder / f"density_{WEEK}.parquet"))
    south = (pl.col("region_id") == "S") & (pl.col("period") == "week")
    row = read(folder, "regions").row(by_predicate=south, named=True)
    assert done.stdout.splitlines() == [
        f"{row['count']:,} visits in 2 cells and 168 hours",
        f"{row['people']:,} people, by the factors in the release: {row['people_low']:,} to {row['people_high']:,}",
        f"95 % interval {row['count_low']:,} to {row['count_high']:,} (standard error {row['standard_error']:,.1f})",
        f"from density_{WEEK}.parquet",
    ]


def copied(released: tuple[Town, Path], folder: Path) -> tuple[Town, Path]:
    """The town and its home elsewhere, for tests that change them."""
    files, home = (shutil.copytree(path, folder / path.name) for path in (released[0].folder, released[1]))
    town = Town(files, files / "town.toml")
    moved = density(home, "ledger", "moved", "--settings", str(town.settings), "--by", "a", "--reason", "a copy")
    assert moved.returncode == 0, moved.stderr
    return town, home


def test_a_published_week_keeps_its_bytes_whatever_is_stated_later(released, tmp_path: Path) -> None:
    town, home = copied(released, tmp_path)
    before = published(home, WEEK)
    (town.folder / "shares.csv").write_text("region_id,market_share\nN,0.1\nS,0.1\n")
    assert rebuild(town, home, WEEK).success
    assert published(home, WEEK) == before
    undescribe(town)
    assert rebuild(town, home, WEEK).success
    assert published(home, WEEK) == before
    assert final(town, home, WEEK).success  # the final estimate has what its week was published with
    name = f"final_{WEEK}_to_{LATER}"
    release = folder_of(home)
    assert (release / f"public_inputs_{name}.json").read_bytes() == before[f"public_inputs_{WEEK}.json"]
    assert read(release, "regions", name)["people"].sum() > 0
    assert outcome(release / f"manifest_{name}.json").status == 3


def test_a_run_that_nobody_answers_for_publishes_nothing_anew(released, tmp_path: Path) -> None:
    town, home = copied(released, tmp_path)
    before = published(home, WEEK)
    (town.folder / "shares.csv").write_text("region_id,market_share\nN,0.1\nS,0.1\n")
    assert rebuild(town, home, WEEK, tags={BY_TAG: "op", ANEW_TAG: "yes"}).success
    assert published(home, WEEK) == before


def test_files_that_a_new_list_does_not_name_are_gone_once_it_is_signed(released, tmp_path: Path, monkeypatch) -> None:
    town, home = copied(released, tmp_path)
    undescribe(town)
    release, again = folder_of(home), {BY_TAG: "op", REASON_TAG: "no districts any more", ANEW_TAG: "yes"}
    other = {**published(home, LATER), f"regions_{WEEK}_mine.csv": b"somebody's own"}
    (release / f"regions_{WEEK}_mine.csv").write_bytes(b"somebody's own")

    def killed(file: Path, content: bytes) -> None:
        if file == release / f"manifest_{WEEK}.json":
            raise OSError("killed")
        write_durably(file, content)

    with monkeypatch.context() as dying:
        dying.setattr(sign, "write_durably", killed)
        assert not rebuild(town, home, WEEK, tags=again, raise_on_error=False).success
    assert all((release / file).exists() for file in FILES)  # the list that lies there still names them
    assert rebuild(town, home, WEEK).success  # what the run began that was killed
    assert not [file for file in FILES if (release / file).exists()]
    assert {name: (release / name).read_bytes() for name in other} == other
    assert outcome(release / f"manifest_{WEEK}.json").status == 3
    assert set(digests_in((release / f"manifest_{WEEK}.json").read_bytes())) <= {
        file.relative_to(release).as_posix() for file in release.rglob("*")
    }


def test_regions_that_settings_do_not_name_are_not_signed(town: Town, tmp_path: Path) -> None:
    """Somebody writes another table of factors where released tables lie, before the week is signed."""
    describe(town)
    home = tmp_path / "home"
    assert everything_before(town, home).success
    table = folder_of(home) / "tables/people_factors.parquet"
    pl.read_parquet(table).with_columns(pl.col("low") * 0.9).write_parquet(table)
    assert materialise(town.settings, home, asset_selection=only(*UNTIL_SIGNED)).success
    signed = json.loads((folder_of(home) / f"public_inputs_{WEEK}.json").read_text())
    assert signed["people"]["market_share"]["low"] == signed["people"]["market_share"]["value"]


def everything_before(town: Town, home: Path) -> dg.ExecuteInProcessResult:
    """A week with its draws and tables, of which no file is written yet."""
    city = opened(town.settings, home)
    groups = [GROUPS[zone] for zone in (Zone.PUBLIC, Zone.CONFIDENTIAL, Zone.MECHANISM, Zone.RELEASE)]
    made = {plan.name for plan in BLUEPRINTS if plan.where(city) and plan.group in groups}
    return materialise(town.settings, home, asset_selection=only(*sorted(made - {*UNTIL_SIGNED, *REGISTER})))


def test_neither_is_part_of_what_a_draw_is_kept_under(town: Town, tmp_path: Path) -> None:
    plain = City(load_settings(town.settings), tmp_path / "home").release(MONDAY)
    describe(town)
    town.set(PROMISE, "")
    described = City(load_settings(town.settings), tmp_path / "home").release(MONDAY)
    assert described.record() == plain.record()
    assert [described.key(door) for door in described.doors] == [plain.key(door) for door in plain.doors]


def test_a_city_without_either_has_no_such_files(three_weeks) -> None:
    release = folder_of(three_weeks[1])
    assert not list(release.glob("regions_*")) + list(release.glob("public_inputs_*"))
    assert not [column for column in read(release, "density").columns if column.startswith("people")]
