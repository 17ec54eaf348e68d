"""The command as it is typed: help, misuse, and errors that a person can act upon."""

import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from density_assets.cli import runs
from density_assets.research import results
from density_assets.research.study import Source

OPTIONS = {
    "release": {"--settings", "--week"},
    "backfill": {"--settings", "--from", "--to"},
    "rebuild": {"--settings", "--from", "--to", "--anew"},
    "final": {"--settings", "--anew", "--by", "--reason", "--week"},
    "evaluate": {"--settings", "--week"},
    "purge": {"--settings", "--week", "--force"},
    "budget": {"--settings", "--week", "--epsilon", "--weeks"},
    "ledger": {"--settings", "verify", "backup", "restore", "file"},
    "verify": {"release", "--key", "--second", "--anchor"},
    "audit": {"--settings"},
    "study": {"--settings", "--week", "--repetitions", "--data", "name"},
    "results": {"--settings", "--week", "--repetitions", "--studies", "--page"},
    "check": {"--settings", "--week", "--acknowledge", "--by", "--reason"},
    "init": {"--cells", "--grid", "--boundary", "--towers", "--visits", "--set", "--yes", "out"},
    "dpia": {"--settings", "file"},
    "plan": {"--settings", "--epsilons", "--people", "--quick", "--out"},
    "ui": {"--settings", "--port", "--read-only"},
}


def test_help_names_every_command_in_its_panel(density):
    said = density("--help")
    assert said.status == 0
    _, *panels = re.split(r"╭─ (.+?) ─+╮", said.out)
    titles, texts = panels[::2], panels[1::2]
    named = {title: re.findall(r"^│ (\w+)", text, re.MULTILINE) for title, text in zip(titles, texts, strict=True)}
    assert named == {
        "Options": [],
        "Before the first release": ["init", "check", "plan", "dpia"],
        "Weeks": ["release", "backfill", "rebuild", "final", "evaluate", "purge"],
        "Budget and audit": ["budget", "verify", "audit"],
        "Ledger": ["ledger", "policy", "approve", "sign"],
        "Studies": ["study", "technique", "results"],
        "Looking": ["ask", "ui"],
    }


@pytest.mark.parametrize("command", OPTIONS)
def test_help_of_a_command_names_its_options(density, command):
    said = density(command, "--help")
    assert said.status == 0
    assert said.err == ""
    assert [word for word in OPTIONS[command] if not re.search(rf"(?<![\w-]){word}\b", said.out)] == []
    assert density(command, "-h") == said


@pytest.mark.parametrize("command", OPTIONS)
def test_help_loses_no_word_in_brackets(command):
    """They would be taken for a style, and left out."""
    from typer.main import get_command

    from density_assets.cli.app import app

    parameters = get_command(app).commands[command].params
    assert [text for each in parameters if re.search(r"\[[a-z]", text := getattr(each, "help", None) or "")] == []


def test_help_waits_for_neither_dagster_nor_data_frames():
    code = (
        "import sys\n"
        "from density_assets.__main__ import main\n"
        f"for words in ([], *([name] for name in {list(OPTIONS)!r})):\n"
        "    sys.argv = ['density', *words, '--help']\n"
        "    assert main() == 0\n"
        "slow = {'dagster', 'polars', 'geopandas', 'duckdb', 'numpy', 'matplotlib'} & set(sys.modules)\n"
        "assert not slow, slow\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "usage", "error"),
    [
        ([], "density [OPTIONS] COMMAND", "Missing command."),
        (["relase"], "density [OPTIONS] COMMAND", "No such command 'relase'. Did you mean 'release'?"),
        (["release", "--weak", "2007-09-10"], "density release", "No such option: --weak (Possible options: --week)"),
        (["--settings", "town.toml", "release"], "density [OPTIONS] COMMAND", "No such option: --settings"),
        (["study"], "density study", "Missing argument 'name'."),
        (["verify"], "density verify", "Missing argument 'release'."),
        (["backfill", "--from", "2007-09-10"], "density backfill", "Missing option '--to'."),
        (["purge"], "density purge", "Missing option '--week'."),
        (["ledger", "burn"], "density ledger", "'burn' is not one of 'verify', 'init', 'moved', 'key'"),
        (["budget", "--weeks", "many"], "density budget", "Invalid value for '--weeks': "),
        (["release", "2007-09-10"], "density release", "Got unexpected extra argument"),
    ],
)
def test_a_command_typed_wrongly_is_status_2_with_its_usage(density, words, usage, error):
    said = density(*words)
    assert said.status == 2
    assert said.out == ""
    first, see, last = said.err.splitlines()
    assert first.startswith(f"Usage: {usage}")
    assert see.startswith("See density")
    assert last.startswith("error: ")
    assert error in last


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            ["check", "--settings", "no/such.toml"],
            f"the settings file must be readable: {Path('no/such.toml').absolute()}: ",
        ),
        (["ledger", "backup"], "backup needs the file of the copy"),
        (["study", "scheme"], "got 'scheme'; did you mean 'schemes'?"),
        (["results", "--studies", "caps", "tota[l]s"], "got 'tota[l]s'; did you mean 'totals'?"),
    ],
)
def test_bad_input_is_status_2_and_one_line_as_it_was_written(density, words, error):
    said = density(*words)
    assert said.status == 2
    assert said.out == ""
    assert said.err.startswith("error: ")
    assert said.err.count("\n") == 1
    assert error in said.err


def test_an_unexpected_error_shows_a_traceback_without_local_variables():
    code = (
        "import sys\n"
        "from density_assets import settings\n"
        "def broken(file):\n"
        "    record = ' at tower '.join(('bob', 'A'))\n"
        "    raise RuntimeError('broken')\n"
        "settings.load_settings = broken\n"
        "from density_assets.__main__ import main\n"
        "sys.argv = ['density', 'budget']\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback (most recent call last):\n")
    assert done.stderr.endswith("\nRuntimeError: broken\n")
    assert "bob at tower A" not in done.stderr


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ([], []),
        (["--studies", "schemes"], ["schemes"]),
        (["--studies", "schemes", "caps", "hours", "--repetitions", "2"], ["schemes", "caps", "hours"]),
        (["--studies", "schemes", "--studies", "caps"], ["schemes", "caps"]),
        (["schemes", "caps"], ["schemes", "caps"]),
    ],
)
def test_results_takes_several_studies(density, monkeypatch, words, names):
    taken = []

    def write_results(source: Source, names: list[str], repetitions: int | None, page: Path) -> None:
        taken.extend(names)

    monkeypatch.setattr(results, "write_results", write_results)
    assert density("results", *words).status == 0
    assert taken == names


def test_the_environment_is_absolute_before_a_command_reads_it(density, monkeypatch, town):
    monkeypatch.chdir(town.folder)
    monkeypatch.setenv("DENSITY_HOME", "kept")
    assert density("budget", "--settings", "town.toml").status == 0
    assert os.environ["DENSITY_HOME"] == str(town.folder / "kept")
    assert os.environ["DENSITY_SETTINGS"] == str(town.settings)
    monkeypatch.setenv("DENSITY_HOME", "")
    assert density("budget").status == 0
    assert os.environ["DENSITY_HOME"] == str(town.folder / "data")
    assert os.environ["DENSITY_SETTINGS"] == str(town.settings)


def test_an_interrupted_command_ends_as_shells_expect(density, monkeypatch):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(results, "write_results", interrupted)
    assert density("results").status == 130


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["budget", "--weeks", "-5"], "greater than or equal to 1"),
        (["budget", "--weeks", "1000000000"], "less than or equal to 5200"),
        (["approve", "--week", "2007-09-10", "--revision", "-5"], "greater than or equal to 2"),
        (["ui", "--port", "0"], "greater than or equal to 1"),
    ],
)
def test_numbers_that_make_no_sense_are_misuse(density, words, said):
    ended = density(*words)
    assert ended.status == 2
    assert said in ended.err


def test_a_home_that_is_a_file_is_bad_input(density, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    for home in (tmp_path / "file", tmp_path / "file" / "below"):
        monkeypatch.setenv("DENSITY_HOME", str(home))
        ended = density("budget")
        assert (ended.status, "DENSITY_HOME must name a folder" in ended.err) == (2, True)


def test_a_city_is_not_named_like_a_folder_of_its_home(density, town):
    town.set('name = "town"', 'name = "keys"')
    assert "a folder which a home keeps for itself" in density("budget", "--settings", str(town.settings)).err


@pytest.mark.parametrize(
    ("origin", "said"),
    [
        (sqlite3.OperationalError("attempt to write a readonly database"), "must be able to read and write"),
        (sqlite3.OperationalError("database or disk is full"), "the disk must have room"),
        (sqlite3.OperationalError("no such table: runs"), "Dagster's history must be there"),
    ],
)
def test_a_history_that_cannot_be_written_is_one_line(density, monkeypatch, origin, said):
    """Dagster's own error quotes statements and values."""

    def audit(_: object) -> int:
        try:
            raise OperationalError("insert into runs values (?)", ("a value",), origin) from origin
        except OperationalError as wrapped:
            raise RuntimeError("too many retries") from wrapped

    monkeypatch.setattr(runs, "audit", audit)
    ended = density("audit")
    assert ended.status == 2
    assert said in ended.err
    assert "a value" not in ended.err
    assert ended.err.count("\n") == 1
