"""The process of released steps: what it hides, what it passes on, how it fails, and kernels that cannot hide."""

import os
import shutil
from pathlib import Path

import dagster as dg
import pytest
from runs import MONDAY, WEEK, materialise, opened

from density_assets import definitions
from density_assets.city import City
from density_assets.graph import sealed
from density_assets.graph.step import Made, Reader, Step
from density_assets.privacy.zones import Zone
from density_assets.settings import Settings
from resources.tables.released import ReleasedTables


class Heard:
    """What a step said, and a connection that keeps what is sent."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.warned: list[str] = []
        self.sent: list[tuple[str, object]] = []

    def send(self, message: tuple[str, object]) -> None:
        self.sent.append(message)


def step(folder: Path, heard: Heard, name: str = "talking") -> Step:
    read = Reader(name, Zone.RELEASE, {}, ReleasedTables(folder / "town"), MONDAY)
    return Step(Settings(), read, heard.said.append, heard.warned.append)


def perform(name: str, folder: Path, heard: Heard, **given) -> Made:
    return sealed.perform("walled", step(folder, heard, name), given, [])


def test_a_released_step_runs_in_another_process_and_is_heard_in_this_one(tmp_path):
    heard = Heard()
    made = perform("talking", tmp_path, heard, line="hello")
    assert made.table["process"].item() not in (os.getpid(), os.getppid())
    assert made.facts == {"line": "hello"}
    assert (heard.said, heard.warned) == (["hello"], ["mind: hello"])


def test_no_two_steps_share_a_process(tmp_path):
    first, second = (perform("talking", tmp_path, Heard(), line="x").table["process"].item() for _ in range(2))
    assert first != second


def test_an_error_comes_as_it_is_with_what_was_printed_or_as_its_words(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such thing") as error:
        perform("refusing", tmp_path, Heard())
    assert error.value.filename == "a file"
    assert isinstance(error.value.__cause__, sealed.RemoteError)
    assert "in refusing" in str(error.value.__cause__)
    with pytest.raises(RuntimeError, match="Unportable: the table: it is empty"):
        perform("failing", tmp_path, Heard())


def test_a_process_that_dies_is_no_table(tmp_path):
    with pytest.raises(RuntimeError, match="the process of dying must end with a table, but it died: start again"):
        perform("dying", tmp_path, Heard())


def test_where_the_kernel_cannot_hide_the_step_says_so_and_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(sealed, "hide", lambda hidden: False)
    heard = Heard()
    sealed._work(heard, [tmp_path], "walled", step(tmp_path, heard), {"line": "hello"})
    warned, said, minded, (kind, made) = heard.sent
    assert warned == ("warn", "talking is not walled off from confidential files: this kernel has no Landlock")
    assert (said, minded) == (("say", "hello"), ("warn", "mind: hello"))
    assert (kind, made.facts) == ("made", {"line": "hello"})


def test_a_wall_that_cannot_be_put_up_stops_the_step(tmp_path, monkeypatch):
    def broken(hidden):
        raise OSError(7, "too many rules")

    monkeypatch.setattr(sealed, "hide", broken)
    heard = Heard()
    sealed._work(heard, [tmp_path], "walled", step(tmp_path, heard), {"line": "hello"})
    ((kind, (error, _)),) = heard.sent
    assert (kind, str(error)) == ("failed", "[Errno 7] too many rules")


# --- what is hidden -----------------------------------------------------------------------------------------


def hidden(city: City) -> list[Path]:
    for name in ("town", "village"):
        (city.home / name / "confidential").mkdir(parents=True, exist_ok=True)
        (city.home / name / "release").mkdir(exist_ok=True)
    return sealed.hidden_from_releases(city)


def confidential(home: Path) -> list[Path]:
    return [home / "town/confidential", home / "village/confidential"]


def test_confidential_folders_of_all_cities_and_the_operators_records_are_hidden(town, tmp_path):
    home = tmp_path / "home"
    assert hidden(opened(town.settings, home)) == [*confidential(home), town.folder / "visits"]


def test_a_single_file_is_hidden_with_its_folder(town, tmp_path):
    home = tmp_path / "home"
    town.set("visits/{week}/*.csv", str(town.visits / "part-0.csv"))
    assert hidden(opened(town.settings, home)) == [*confidential(home), town.visits]


def test_records_beside_the_home_are_hidden_one_by_one(town):
    """Their folder holds the home, which steps must reach."""
    home = town.folder / "home"
    town.set("visits/{week}/*.csv", "calls_{week}.csv")
    calls = [town.folder / f"calls_{week}.csv" for week in (WEEK, "2007-09-17")]
    for file in calls:
        file.touch()
    found = hidden(opened(town.settings, home))
    assert found[:2] == confidential(home)
    assert sorted(found[2:]) == calls


def test_simulated_records_are_nowhere_but_in_the_confidential_folder(town, tmp_path):
    home = tmp_path / "home"
    town.set('visits = "visits/{week}/*.csv"', "users = 300")
    assert hidden(opened(town.settings, home)) == confidential(home)


# --- in a run -----------------------------------------------------------------------------------------------


def test_what_was_handed_out_and_the_ledger_are_enough_to_make_it_again_behind_the_wall(town, tmp_path):
    """Folders that are made after the wall is up cannot be opened; none of them may be needed."""
    materialise(town.settings, tmp_path)
    published = {file: file.read_bytes() for file in (tmp_path / "town/release").glob(f"density_{WEEK}.*")}
    assert len(published) == 3
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
