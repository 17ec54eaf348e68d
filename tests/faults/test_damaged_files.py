"""Files overwritten with garbage: a message that says what to do, and what it says works, at no new charge."""

import shutil
from datetime import date
from pathlib import Path

import duckdb
import polars as pl
import pytest
from door import REQUEST, Door
from elsewhere import week_file
from ledgers import ACT, witnesses_under
from runs import MONDAY, WEEK, density, materialise, only

from density_assets.errors import BadInput
from resources.ledger.book import LedgerError
from resources.ledger.ledger import Ledger
from resources.ledger.opening import backup, restore
from resources.tables.release_database import export
from resources.tables.store import Store

NEXT = date(2007, 9, 17)
GARBAGE = b"not a database " * 1000


def released_counts(folder: Path) -> pl.DataFrame:
    with duckdb.connect(str(folder / "release.duckdb"), read_only=True) as connection:
        return pl.DataFrame(connection.table("density").to_arrow_table()).sort("week", "cell_id", "hour")


def test_damaged_tables_and_their_database_are_rebuilt_from_the_stored_draws(town, tmp_path):
    home, settings = tmp_path / "home", ("--settings", str(town.settings))
    done = density(home, "backfill", *settings, "--from", WEEK, "--to", "2007-09-24")
    # the second week has no files: the first is done, the third is not tried
    assert done.returncode == 1
    assert f"done: {WEEK}\nstopped at: 2007-09-17" in done.stdout
    assert "not tried: 2007-09-24\nto go on: density backfill --from 2007-09-17 --to 2007-09-24" in done.stdout
    assert "the week of 2007-09-17 must have visit files" in done.stderr

    release = home / "town/release"
    before, charges = released_counts(release), Ledger(home).rows()
    for damaged in ("release.duckdb", "tables/cells.parquet", f"tables/density/{WEEK}.parquet"):
        (release / damaged).write_bytes(GARBAGE)
    (town.visits / "part-0.csv").unlink()  # records may be gone by then
    for table in (home / "town/confidential").glob("weeks/**/*.parquet"):
        table.unlink()
    with pytest.raises(BadInput, match=r"cells\.parquet must be a Parquet file, but it is damaged.*density rebuild"):
        Store(home, "town").read_public("cells")
    with pytest.raises(BadInput, match=rf"density/{WEEK}\.parquet must be a Parquet file.*density rebuild"):
        Store(home, "town").read_week_before("density", NEXT)

    rebuilt = density(home, "rebuild", *settings)
    assert rebuilt.returncode == 0, rebuilt.stderr
    assert f"done: {WEEK}" in rebuilt.stdout
    assert released_counts(release).equals(before)
    assert Store(home, "town").read_week_before("density", NEXT).height == 4 * 168
    assert Ledger(home).rows() == charges

    of_week = {file: file.read_bytes() for file in release.glob(f"*_{WEEK}.*")}
    for lost in set(release.iterdir()) - {release / "measurements"}:
        shutil.rmtree(lost) if lost.is_dir() else lost.unlink()
    assert f"done: {WEEK}" in density(home, "rebuild", *settings).stdout  # the ledger knows which weeks there were
    assert {file: file.read_bytes() for file in release.glob(f"*_{WEEK}.*")} == of_week


@pytest.mark.parametrize("damage", [lambda whole: GARBAGE, lambda whole: whole[: len(whole) // 2]])
def test_a_damaged_release_database_is_made_whole_by_the_next_run(released_town, damage):
    town, home = released_town
    release = home / "town/release"
    before, charges = released_counts(release), Ledger(home).rows()
    database = release / "release.duckdb"
    database.write_bytes(damage(database.read_bytes()))
    (release / "release.partial").write_bytes(GARBAGE)  # of an export that was killed
    assert materialise(town.settings, home, asset_selection=only("release_database")).success
    assert released_counts(release).equals(before)
    assert not (release / "release.partial").exists()
    assert Ledger(home).rows() == charges


def test_each_damaged_week_is_named_until_all_are_rebuilt(released_town):
    town, home = released_town
    (town.visits.parent / str(NEXT)).mkdir()
    (town.visits.parent / str(NEXT) / "part-0.csv").write_text("user_id,time,tower_id\ncid,2007-09-18 10:00:00,B\n")
    assert materialise(town.settings, home, str(NEXT)).success
    release = home / "town/release"
    before, charges = released_counts(release), Ledger(home).rows()
    for week in (WEEK, NEXT):
        (release / f"tables/smoothed_series/{week}.parquet").write_bytes(GARBAGE)

    settings = ("--settings", str(town.settings))
    stopped = density(home, "rebuild", *settings, "--from", WEEK, "--to", WEEK)
    assert stopped.returncode == 1  # its tables are made, the database cannot be
    words = f"smoothed_series/{NEXT}.parquet must be a Parquet file, but it is damaged"
    assert words in stopped.stderr
    assert f"`density rebuild --from {NEXT} --to {NEXT}`" in stopped.stderr
    assert released_counts(release).equals(before)
    rebuilt = density(home, "rebuild", *settings, "--from", str(NEXT), "--to", str(NEXT))
    assert rebuilt.returncode == 0, rebuilt.stderr
    assert released_counts(release).equals(before)
    assert density(home, "rebuild", *settings).returncode == 0
    assert Ledger(home).rows() == charges


def test_a_week_that_was_never_drawn_is_not_drawn_by_rebuilding(tmp_path):
    door = Door(tmp_path)
    with pytest.raises(BadInput, match="must have been drawn, but no such draw is stored"):
        door.measurements.stored(REQUEST, "noisy_series")
    assert Ledger(tmp_path).rows() == []


def test_views_over_confidential_weeks_heal_with_the_next_week(tmp_path):
    store = Store(tmp_path, "town")
    store.write_week("visits", MONDAY, pl.DataFrame({"user_id": ["ann"]}))
    (store.confidential / "confidential.duckdb").write_bytes(GARBAGE)
    store.write_week("tower_series", MONDAY, pl.DataFrame({"tower_id": ["A"]}))
    with duckdb.connect(str(store.confidential / "confidential.duckdb"), read_only=True) as connection:
        assert connection.sql("select user_id from visits").fetchall() == [("ann",)]


def test_a_confidential_week_that_is_damaged(tmp_path):
    store = Store(tmp_path, "town")
    store.write_week("visits", MONDAY, pl.DataFrame({"user_id": ["ann"]}))
    week_file(store, "visits", MONDAY).write_bytes(GARBAGE)
    with pytest.raises(BadInput, match=f"visits of the week of {WEEK} must be whole.*materialise it again"):
        store.read_week("visits", MONDAY)


def test_damage_in_the_middle_of_a_database_is_seen(tmp_path):
    """Where it opens, and most of its tables can be read."""
    store = Store(tmp_path, "town")
    store.write_public("numbers", pl.DataFrame({"n": list(range(200_000))}).sample(fraction=1, shuffle=True, seed=1))
    export(store)
    with store.release_database.open("r+b") as file:
        file.seek(300_000)
        file.write(GARBAGE * 5)
    with (
        duckdb.connect(str(store.release_database), read_only=True) as connection,
        pytest.raises(duckdb.Error, match="Corrupt"),
    ):
        connection.sql("select sum(n) from numbers").fetchall()
    assert export(store) == ["numbers.parquet"]
    with duckdb.connect(str(store.release_database), read_only=True) as connection:
        assert connection.sql("select sum(n) from numbers").fetchall() == [(sum(range(200_000)),)]


def test_a_damaged_ledger_stops_every_door_until_a_backup_is_restored(tmp_path):
    home, copy = tmp_path / "home", tmp_path / "copy.sqlite"
    drawn = Door(home)()
    backup(Ledger(home), copy)
    for side in home.glob("ledger.sqlite-*"):
        side.unlink()
    (home / "ledger.sqlite").write_bytes(GARBAGE)
    with pytest.raises(LedgerError, match=r"must be a SQLite file.*restore a backup"):
        Door(home)(door="noisy_totals")
    for file in home.glob("ledger.sqlite*"):
        file.rename(tmp_path / file.name)
    restore(Ledger(home), copy, ACT, witnesses_under(home))
    again = Door(home)
    assert (again().values["weighted"] == drawn.values["weighted"]).all()
    assert again.drawn == 0


def test_a_damaged_draw_is_never_drawn_again(tmp_path):
    Door(tmp_path)()
    (file,) = (tmp_path / "town/release/measurements").glob("*.npz")
    file.write_bytes(GARBAGE)
    door = Door(tmp_path)
    for name in ("noisy_series", "noisy_totals"):
        with pytest.raises(BadInput, match=r"a stored draw must be the one that was made.*restore it from a backup"):
            door(door=name)
    assert door.drawn == 0
