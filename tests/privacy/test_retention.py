"""A home that has been lived in: nobody outside the confidential zone learns an identifier, and purging leaves none.

One home goes through runs that succeed and runs that fail on real records, on a Dagster instance of its own. Every
identifier, odd tower and unreadable value in its records holds a text that occurs nowhere else.
"""

import json
import stat
from pathlib import Path

import dagster as dg
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ledgers import witnesses_under
from runs import MONDAY, WEEK, failures, only, opened
from town import make_town
from traces import files_with

from density_assets.definitions import build
from density_assets.errors import BadInput
from density_assets.graph.instance import open_instance
from density_assets.publication.verification import verify_release
from resources.ledger.ledger import Ledger
from resources.tables.retention import lacks, purge, traces
from resources.tables.store import Store

SECRET = "zq7x_zq7x"  # no picture that is shown as base64 can hold it by chance
RECORDS = "".join(f"{SECRET}ann{i},2007-09-10 08:{i:02}:00,A\n" for i in range(30)) + (
    f"{SECRET}bob,2007-09-12 20:00:00,{SECRET}tower\n"  # unknown tower
    f"{SECRET}bob,{SECRET} o'clock,D\n"  # unreadable time
    f"{SECRET}bob,1999-09-12 20:00:00,D\n"  # another week
    f"{SECRET}cid,too,many,fields,{SECRET}\n"
    f'"{SECRET}dan\n'  # an open quote
    f"{SECRET}eve,2007-09-10 08:00:00,B\n"
)
NO_TEXT = SECRET.encode() + b"\xe9,2007-09-10 08:00:00,A\r"
MALFORMED = {
    "a.csv": f"{SECRET}ann,2007-09-10 08:00:00,A\n".encode(),  # no header
    "b.csv.gz": f"{SECRET},2007-09-10 08:00:00,A\n".encode(),  # not compressed
    "c.parquet": f"PAR1{SECRET}PAR1".encode(),
}


class Home:
    """A town, its home and its instance."""

    def __init__(self, town, home, instance):
        self.town, self.folder, self.instance = town, home, instance

    def run(self, *assets: str, job: str = "weekly_release", **options) -> dg.ExecuteInProcessResult:
        defs = build(opened(self.town.settings, self.folder))
        if job == "weekly_release":
            options |= {"partition_key": WEEK, "asset_selection": only(*assets) if assets else None}
        return defs.resolve_job_def(job).execute_in_process(instance=self.instance, raise_on_error=False, **options)

    def purge(self, **config) -> dg.ExecuteInProcessResult:
        return self.run(job="purge_week", run_config={"ops": {"erase": {"config": {"week": WEEK, **config}}}})

    @property
    def store(self) -> Store:
        return Store(self.folder, "town")


@pytest.fixture(scope="module")
def lived_in(tmp_path_factory):
    """A released week; then runs that fail on records that cannot be read."""
    folder = tmp_path_factory.mktemp("lived")
    town = make_town(folder)
    town.write_visits(RECORDS)
    with (town.visits / "part-0.csv").open("ab") as records:
        records.write(NO_TEXT)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("DAGSTER_HOME", "")  # put back afterwards
        open_instance(opened(town.settings, folder / "home"))
        instance = dg.DagsterInstance.get()
        home = Home(town, folder / "home", instance)
        assert home.run().success
        _read_odd_values(home)
        messages = []
        for name, content in MALFORMED.items():
            elsewhere = town.folder / name.split(".")[0]
            elsewhere.mkdir()
            (elsewhere / name).write_bytes(content)
            town.set("visits/{week}/*.csv", f"{elsewhere.name}/*.*")
            messages += failures(home.run("visits"))
            town.set(f"{elsewhere.name}/*.*", "visits/{week}/*.csv")
        yield home, messages
        instance.dispose()


def _read_odd_values(home: Home) -> None:
    """A Parquet file in which one text is none and one time is none; then the records of the week again."""
    odd = home.town.folder / "odd"
    odd.mkdir()
    users = pa.array([f"{SECRET}ann".encode(), SECRET.encode() + b"\xff", f"{SECRET}bob".encode()], pa.large_binary())
    times = pa.array([1189404900 * 10**3, 1189404900 * 10**3, 2**62], pa.int64()).cast(pa.timestamp("ms", "UTC"))
    text = pa.Array.from_buffers(pa.large_string(), 3, users.buffers())
    pq.write_table(pa.table({"user_id": text, "time": times, "tower_id": ["A"] * 3}), odd / "r.parquet")
    home.town.set("visits/{week}/*.csv", "odd/*.parquet")
    assert home.run("visits").success
    rejected = json.loads((home.folder / f"town/confidential/about/visits/{WEEK}.json").read_text())["rejected"]
    assert rejected == {"no user": 1, "time not readable": 1}
    home.town.set("odd/*.parquet", "visits/{week}/*.csv")
    assert home.run("visits").success


@pytest.fixture(scope="module")
def erased(lived_in):
    """The same home after a purge, and the counts it had released; tests that use it come last."""
    home, _ = lived_in
    counts = pl.read_parquet(home.folder / f"town/release/density_{WEEK}.parquet")
    leftover = home.store.confidential / "spill" / "of_a_killed_run"
    leftover.mkdir()
    (leftover / "block").write_text(SECRET)
    killed = home.store.confidential / f"weeks/visits/{WEEK}/killed"
    killed.mkdir()
    (killed / "0.parquet").write_text(SECRET)
    assert home.purge(confirm=WEEK).success
    return home, counts


def test_failing_runs_say_what_is_wrong_without_quoting_a_record(lived_in):
    _, messages = lived_in
    assert len(messages) == len(MALFORMED)
    assert "city.visit_user must name a column of the file" in messages[0]
    assert all("visit files must be readable" in message for message in messages[1:])


def test_identifiers_are_in_the_confidential_zone_and_nowhere_else(lived_in):
    """Event logs, their journals, logs of steps, metadata, released files and tables, ledger: none holds one."""
    home, messages = lived_in
    found = files_with(SECRET, home.folder)
    folders = {str(Path(file).parents[1]) for file in found}
    assert folders == {f"town/confidential/weeks/{table}/{WEEK}" for table in ("visits", "truncated_visits")}
    logs = {str(file.relative_to(home.folder / "town/dagster")) for file in (home.folder / "town/dagster").rglob("*")}
    assert any(name.endswith(".db") for name in logs)
    assert any("compute_logs" in name for name in logs)
    assert SECRET not in " ".join(messages)
    rejected = json.loads((home.folder / f"town/confidential/about/visits/{WEEK}.json").read_text())["rejected"]
    assert rejected == {
        "line not readable": 1,
        "no user": 2,
        "outside the week": 1,
        "time not readable": 1,
        "unknown tower": 1,
    }


def test_confidential_files_and_the_instance_are_their_owners_alone(lived_in):
    home, _ = lived_in
    private = (home.store.confidential, home.store.folder / "locks")
    zone = [file for folder in private for file in (folder, *folder.rglob("*"))]
    assert len(zone) > 30
    assert [str(file) for file in zone if stat.S_IMODE(file.stat().st_mode) & 0o077] == []
    assert stat.S_IMODE((home.folder / "town/dagster").stat().st_mode) == 0o700


def test_a_week_without_a_complete_release_is_not_erased(lived_in):
    home, _ = lived_in
    before = traces(home.store, MONDAY)
    draw = next((home.folder / "town/release/measurements").glob("*.npz"))
    draw.rename(draw.with_suffix(".away"))
    with pytest.raises(BadInput, match=r"must be released before .* the draw of \w+ is not stored"):
        purge(home.store, MONDAY, 1)
    draw.with_suffix(".away").rename(draw)
    with pytest.raises(BadInput, match="revision 2 has no privacy statement"):
        purge(home.store, MONDAY, 2)
    (message,) = failures(home.purge(confirm="yes"))
    assert f"confirm must repeat the week {WEEK}, got 'yes'" in message
    with pytest.raises(dg.DagsterInvalidConfigError, match="force"):  # only a terminal may
        home.purge(confirm=WEEK, force=True)
    assert traces(home.store, MONDAY) == before


def test_purging_erases_every_trace_of_people(erased):
    home, _ = erased
    assert files_with(SECRET, home.folder) == set()
    zone = home.store.confidential
    left = {str(file.relative_to(zone)) for file in zone.rglob("*") if file.is_file()}
    assert {name for name in left if not name.startswith("spill/")} == {
        "secret",
        "confidential.duckdb",
        f"purged/{WEEK}.json",
    }
    assert (home.town.visits / "part-0.csv").exists()  # the operator's own


def test_an_erased_week_is_released_as_before(erased):
    home, counts = erased
    statement = home.folder / f"town/release/privacy_statement_{WEEK}.json"
    assert all(holds for holds, _ in verify_release(statement))
    assert len(Ledger(home.folder).accounts(witnesses_under(home.folder)).rows) == 2
    assert list(lacks(home.store, MONDAY, 1)) == []

    again = ("noisy_totals", "noisy_series", "clusters", "smoothed_series", "density")
    assert home.run(*again, "published_counts", "privacy_statement").success
    assert len(Ledger(home.folder).rows()) == 2
    assert pl.read_parquet(home.folder / f"town/release/density_{WEEK}.parquet").equals(counts)


def test_what_needs_records_says_that_they_were_erased(erased):
    home, _ = erased
    (message,) = failures(home.run("tower_series"))
    assert f"visits of the week of {WEEK} must be there, but its confidential zone was erased" in message
    for file in home.town.visits.iterdir():
        file.unlink()
    messages = failures(home.run())
    assert any(f"the week of {WEEK} must have visit files" in message for message in messages)


def test_history_tells_auditors_that_the_week_was_erased(erased):
    home, _ = erased
    for name in ("visits", "evaluation_metrics"):
        records = home.instance.fetch_observations(dg.AssetKey(name), limit=1).records
        assert records[0].partition_key == WEEK
        assert records[0].asset_observation.description == "erased"
    assert home.instance.fetch_observations(dg.AssetKey("density"), limit=1).records == []
