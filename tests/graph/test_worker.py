"""The worker of released steps: what it hides, what it passes on, how it fails, and kernels that cannot hide."""

import os
import pickle
import shutil
import socket
import time
from contextlib import suppress
from multiprocessing import Pipe
from pathlib import Path

import dagster as dg
import pytest
from runs import MONDAY, WEEK, materialise, opened

from density_assets import definitions
from density_assets.city import City
from density_assets.errors import BadInput
from density_assets.graph import worker
from density_assets.graph.step import Made, Reader, Step
from density_assets.graph.worker import RemoteError, Wall, hidden_from_releases
from density_assets.privacy.zones import Zone
from density_assets.settings import Settings, load_settings
from resources import wall
from resources.signing import make_key
from resources.tables.released import ReleasedTables
from resources.tables.store import Store


class Heard:
    """What a step said."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.warned: list[str] = []


def step(folder: Path, heard: Heard, name: str = "talking") -> Step:
    """A step of a town whose folders are there, as they are in a run."""
    read = Reader(name, Zone.RELEASE, {}, ReleasedTables(Store(folder, "town").folder), MONDAY)
    return Step(Settings(), read, heard.said.append, heard.warned.append)


def perform(
    name: str, folder: Path, heard: Heard | None = None, run: str = "a run", hidden: str = "confidential", **arguments
) -> Made:
    town = step(folder, heard or Heard(), name)
    around = Wall((folder / "town" / hidden,), (town.folder, town.read.tables.locks, *worker.DEVICES))
    return worker.perform(run, around, "walled", town, arguments)


@pytest.fixture(autouse=True)
def _no_worker_is_left():
    yield
    worker.end_worker()


def test_a_released_step_runs_in_another_process_and_is_heard_in_this_one(tmp_path):
    heard = Heard()
    made = perform("talking", tmp_path, heard, line="hello")
    assert made.table["process"].item() not in (os.getpid(), os.getppid())
    assert made.facts == {"line": "hello", "walled_off": wall.available()}
    assert heard.said == ["hello"]
    assert heard.warned[-1] == "mind: hello"


def process(folder: Path, run: str, hidden: str = "confidential") -> int:
    return perform("talking", folder, run=run, hidden=hidden, line="x").table["process"].item()


def test_steps_of_a_run_share_a_worker_and_no_two_runs_do(tmp_path):
    first, second, another, again = (process(tmp_path, run) for run in ("a", "a", "b", "a"))
    assert first == second
    assert len({first, another, again}) == 3


def test_a_worker_is_left_when_its_wall_is_lower(tmp_path):
    """What is hidden in addition may lie below what is hidden already."""
    low, high, below = (process(tmp_path, "a", hidden) for hidden in ("confidential", ".", "confidential/visits"))
    assert low != high == below


def test_a_worker_that_failed_is_not_asked_again(tmp_path):
    for name in ("refusing", "dying"):
        with pytest.raises((BadInput, RuntimeError)):
            perform(name, tmp_path)
        assert perform("talking", tmp_path, line="the next one lives").facts["line"] == "the next one lives"


def test_a_worker_ends_with_its_run(tmp_path):
    pid = process(tmp_path, "a")
    worker.end_worker()
    ended = time.monotonic() + 60
    while time.monotonic() < ended and status(pid) not in (None, "Z"):
        os.sched_yield()
    assert status(pid) in (None, "Z")


def status(pid: int) -> str | None:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return None


def test_a_step_can_talk_to_nobody_but_the_run_that_started_it(tmp_path):
    made = perform("listing", tmp_path)
    assert len(made.table) == len(made.facts["orders"]) == 1


def test_a_step_gets_no_key_to_a_store_or_database_elsewhere(tmp_path, monkeypatch):
    keys = {"AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL", "PGPASSWORD", "DENSITY_DAGSTER_STORAGE"}
    for name in (*keys, "HARMLESS"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setattr(worker, "start_process", worker._exec)
    made = perform("prying", tmp_path, started_by=os.getpid())
    assert "HARMLESS" in made.facts["variables"]
    assert not keys & set(made.facts["variables"])
    assert not (wall.available() and made.facts["readable"])


def test_no_module_of_the_current_folder_runs_before_the_wall_is_up(tmp_path, monkeypatch):
    (tmp_path / "resources").mkdir()
    (tmp_path / "resources/__init__.py").touch()
    (tmp_path / "resources/wall.py").write_text("open('was run', 'w')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(worker, "start_process", worker._exec)
    assert perform("talking", tmp_path, line="hello").facts["line"] == "hello"
    assert not (tmp_path / "was run").exists()


def test_our_errors_come_as_they_are_and_others_in_words_with_what_was_printed(tmp_path):
    with pytest.raises(BadInput, match=r"^a city must have cells$") as error:
        perform("refusing", tmp_path)
    assert isinstance(error.value.__cause__, RemoteError)
    assert "in refusing" in str(error.value.__cause__)
    with pytest.raises(RuntimeError, match=r"^Unportable: the table: it is empty$"):
        perform("failing", tmp_path)


def test_a_worker_that_dies_is_no_table(tmp_path):
    with pytest.raises(RuntimeError, match="died during dying"):
        perform("dying", tmp_path)


@pytest.mark.skipif(not wall.available(), reason="this kernel has no Landlock")
def test_a_step_reaches_no_disk_and_no_port(tmp_path):
    """Root included: what is hidden lies on a disk, and a server may do what a step may not."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        made = perform("reaching", tmp_path, port=server.getsockname()[1])
    assert made.facts["disks"] == []
    assert made.facts["devices"] == ["/dev/null"]
    assert made.facts["connected"] is False


@pytest.mark.parametrize("place", ["line", "error", "table", "picture", "facts"])
def test_what_comes_back_runs_nothing(tmp_path, place):
    """A line, an error, a table, a picture and plain facts can travel; what would run when it is read cannot."""
    mark = tmp_path / "made outside the wall"
    with pytest.raises(RuntimeError, match=r"Lazy|mkdir"):
        perform("smuggling", tmp_path, place=place, mark=str(mark))
    assert not mark.exists()


def test_files_come_back_as_bytes(tmp_path):
    assert perform("filing", tmp_path).files == {"a.csv": b"1,2", "b.bin": bytes(range(256))}


def test_an_unknown_answer_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(worker, "_receive", lambda orders: {"kind": "unpickle"})
    with pytest.raises(RuntimeError, match="unknown answer"):
        perform("talking", tmp_path, line="x")


def answers(folder: Path, monkeypatch) -> list[dict]:
    """What the worker would answer, if this process were it."""
    monkeypatch.setattr(worker.signal, "signal", lambda *_: None)
    here, there = Pipe()
    worker._send(here, "confine", hidden=[str(folder)], writable=[])
    here.send_bytes(pickle.dumps(("walled", Step(Settings(), step(folder, Heard()).read), {"line": "hello"})))
    here.send_bytes(b"")  # as if nobody could order anything any more
    with suppress(SystemExit):
        worker.work(there, walled_off=wall.enter(there))
    there.close()
    told = []
    with suppress(EOFError, ConnectionError):
        while not told or told[-1]["kind"] != "made":
            told.append(worker._receive(here))
        assert worker._receive_made(here, told[-1]).facts["line"] == "hello"
    return told


def test_where_the_kernel_cannot_hide_the_step_says_so_and_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(wall, "confine", lambda hidden, writable: False)
    warned, said, minded, made = answers(tmp_path, monkeypatch)
    words = "talking is not walled off from confidential files: no Landlock here"
    assert warned == {"kind": "warn", "line": words}
    assert (said["line"], minded["line"]) == ("hello", "mind: hello")
    assert made["facts"]["walled_off"] == ["plain", False]


def test_a_wall_that_cannot_be_put_up_stops_the_step(tmp_path, monkeypatch):
    def broken(hidden, writable):
        raise OSError(7, "too many rules")

    monkeypatch.setattr(wall, "confine", broken)
    (failed,) = answers(tmp_path, monkeypatch)
    assert (failed["kind"], failed["words"]) == ("failed", "[Errno 7] too many rules")


def test_a_worker_that_failed_before_it_was_asked_says_why(tmp_path):
    """Its first order is what to hide; it cannot hide what it may write."""
    town = step(tmp_path, Heard(), "talking")
    broken = Wall((town.folder / "tables",), (town.folder,))
    started = worker.start_worker("a run", broken)
    started.orders.poll(60)
    with pytest.raises(RuntimeError, match="must not hold what is hidden"):
        worker.perform("a run", broken, "walled", town, {"line": "x"})


# --- what is hidden -----------------------------------------------------------------------------------------


def hidden(city: City) -> list[Path]:
    for name in ("town", "village"):
        (city.home / name / "confidential").mkdir(parents=True, exist_ok=True)
        (city.home / name / "release").mkdir(exist_ok=True)
    return hidden_from_releases(city)


def confidential(home: Path) -> list[Path]:
    """What is secret in a home; of the runs, because whoever may start one is served by what lies there."""
    ours = [home / city / name for city in ("town", "village") for name in ("confidential", "dagster")]
    return [*ours, home / "keys", home / "_dagster"]


@pytest.fixture(autouse=True)
def _nobody_has_credentials(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))


def test_confidential_folders_of_all_cities_and_the_operators_records_are_hidden(town, tmp_path):
    home = tmp_path / "home"
    assert hidden(opened(town.settings, home)) == [*confidential(home), town.folder / "visits"]


def test_a_single_file_is_hidden_with_its_folder(town, tmp_path):
    home = tmp_path / "home"
    town.set("visits/{week}/*.csv", str(town.visits / "part-0.csv"))
    assert hidden(opened(town.settings, home)) == [*confidential(home), town.visits]


@pytest.mark.parametrize("pattern", ["calls_{week}.csv", "calls_{year}-{month}-{day}.csv", "calls_*.csv"])
def test_records_beside_the_home_are_hidden_one_by_one(town, pattern):
    """Their folder holds the home, which steps must reach."""
    home = town.folder / "home"
    town.set("visits/{week}/*.csv", pattern)
    calls = [town.folder / f"calls_{week}.csv" for week in (WEEK, "2007-09-17")]
    for file in calls:
        file.touch()
    found = hidden(opened(town.settings, home))
    assert found[:6] == confidential(home)
    assert sorted(found[6:]) == calls


def test_what_steps_write_is_not_taken_for_records_of_days(town):
    """The home is the folder of the settings, so released files lie as deep below it as records."""
    home = town.folder
    town.set("visits/{week}/*.csv", "{year}/{month}/{day}.csv")
    released, calls = home / f"town/release/density_{WEEK}.csv", home / "2007/9/10.csv"
    for file in (released, calls):
        file.parent.mkdir(parents=True)
        file.touch()
    assert hidden_from_releases(opened(town.settings, home))[-1] == calls
    assert released not in hidden_from_releases(opened(town.settings, home))


def test_what_links_in_hidden_folders_lead_to_is_hidden_too(town, tmp_path):
    """Operators move what is large to another disk, and leave a link."""
    home, disk = tmp_path / "home", tmp_path / "disk"
    (home / "town/confidential").mkdir(parents=True)
    disk.mkdir()
    (home / "town/confidential/visits").symlink_to(disk)
    (town.visits / "part-1.csv").symlink_to(town.folder / "towers.csv")
    found = hidden(opened(town.settings, home))
    assert found == [*confidential(home), town.folder / "visits", disk, town.folder / "towers.csv"]


def test_simulated_records_are_nowhere_but_in_the_confidential_folder(town, tmp_path):
    home = tmp_path / "home"
    town.set('visits = "visits/{week}/*.csv"', "users = 300")
    assert hidden(opened(town.settings, home)) == confidential(home)


def test_what_a_run_is_about_to_make_is_hidden_before_it_is_there(town, tmp_path):
    town.set("[engine]", f'[storage]\nweeks = "{tmp_path}/weeks"\n[engine]')
    city = City(load_settings(town.settings), tmp_path / "home")
    expected = {tmp_path / "home/keys", tmp_path / "home/town/dagster", tmp_path / "weeks"}
    assert expected <= set(hidden_from_releases(city))


def test_keys_to_other_machines_are_hidden(town, tmp_path):
    (tmp_path / "nobody/.ssh").mkdir(parents=True)
    assert tmp_path / "nobody/.ssh" in hidden_from_releases(opened(town.settings, tmp_path / "home"))


def test_a_key_that_lies_elsewhere_is_hidden_and_one_in_an_agent_is_no_file(town, tmp_path):
    home, key = tmp_path / "home", tmp_path / "safe" / "signing.pem"
    make_key(key)
    town.set("[engine]", f'[signing]\nkey = "{key}"\n[engine]')
    assert hidden(opened(town.settings, home)) == [*confidential(home), key, town.folder / "visits"]
    town.set(f'"{key}"', '"agent:operator"')
    assert hidden(City(load_settings(town.settings), home)) == [*confidential(home), town.folder / "visits"]
    town.set('"agent:operator"', '"../safe/signing.pem"')  # seen from the settings file
    (relative,) = set(hidden(City(load_settings(town.settings), home))) - {*confidential(home), town.folder / "visits"}
    assert relative.resolve() == key


# --- in a run -----------------------------------------------------------------------------------------------


def test_what_was_handed_out_and_the_ledger_are_enough_to_make_it_again_behind_the_wall(town, tmp_path):
    """Folders that are made after the wall is up cannot be opened; none of them may be needed."""
    materialise(town.settings, tmp_path)
    published = {file: file.read_bytes() for file in (tmp_path / "town/release").glob(f"density_{WEEK}.*")}
    assert len(published) == 4
    for folder in ("confidential", "locks"):
        shutil.rmtree(tmp_path / "town" / folder)
    shutil.rmtree(tmp_path / "town/release/tables")
    for file in (*published, tmp_path / "town/release/release.duckdb"):
        file.unlink()
    job = definitions.build(opened(town.settings, tmp_path)).resolve_job_def("rebuild_release")
    with dg.DagsterInstance.ephemeral() as instance:
        assert job.execute_in_process(instance=instance, partition_key=WEEK).success
    assert {file: file.read_bytes() for file in published} == published
    assert (tmp_path / "town/release/release.duckdb").exists()
