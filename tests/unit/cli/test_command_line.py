"""What `density` does with the words it is given, before any command does its work."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from runs import MONDAY, opened

from density_assets.__main__ import main
from density_assets.city import City
from density_assets.cli import runs
from density_assets.privacy.acts import Act
from density_assets.publication.verify import signature_holds
from density_assets.research import results
from density_assets.research.study import Source
from density_assets.settings import Settings, load_settings
from resources.ledger.deciding import KEY_CHANGE
from resources.ledger.ledger import Ledger
from resources.signing import make_key

OPTIONS = {
    "release": {"--settings", "--week"},
    "backfill": {"--settings", "--from", "--to"},
    "rebuild": {"--settings", "--from", "--to"},
    "final": {"--settings", "--by", "--reason", "WEEK"},
    "evaluate": {"--settings", "--week"},
    "purge": {"--settings", "--week", "--force"},
    "budget": {"--settings", "--week", "--epsilon", "--weeks"},
    "ledger": {"--settings", "verify", "backup", "restore", "file"},
    "verify": {"release", "--key", "--second", "--anchor"},
    "audit": {"--settings"},
    "study": {"--settings", "--week", "--repetitions", "--data", "name"},
    "results": {"--settings", "--week", "--repetitions", "--studies", "--page"},
    "check": {"--settings", "--week", "--acknowledge", "--by", "--reason"},
    "init": {"--cells", "--towers", "--visits", "--set", "--yes", "out"},
    "dpia": {"--settings", "file"},
    "plan": {"--settings", "--epsilons", "--people", "--quick", "--out"},
    "ui": {"--settings", "--port", "--read-only"},
}


class Said(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str


Density = Callable[..., Said]


@pytest.fixture
def density(monkeypatch, capsys, tmp_path) -> Density:
    """The command in this process; the environment it sets is put back."""
    monkeypatch.setenv("DENSITY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DENSITY_SETTINGS", "")

    def run(*words: str) -> Said:
        monkeypatch.setattr(sys, "argv", ["density", *words])
        status = main()
        out, err = (re.sub(r"\x1b\[[0-9;]*m", "", text) for text in capsys.readouterr())
        return Said(status, out, err)

    return run


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


# --- the budget that is shown is the budget that is enforced ----------------------------------------------------------

WHO = ("--by", "ann", "--reason", "a study")


def test_the_budget_shown_is_the_stricter_of_what_is_recorded_and_what_settings_state(density, town):
    said = ("--settings", str(town.settings), "--weeks", "3")
    assert density("ledger", "init", "--settings", str(town.settings), *WHO).status == 0
    assert "may cost epsilon 3 " in density("budget", *said, "--give", "3", "--delta", "1e-8", *WHO).out
    town.set("[engine]", "[privacy]\nbudget_epsilon = 1.0\n[engine]")
    shown = density("budget", *said, "--epsilon", "0.1").out
    assert "may cost epsilon 1 at delta 1e-08" in shown
    assert "the settings state less" in shown
    given = density("budget", *said, "--give", "4", *WHO).out
    assert "may cost epsilon 1 " in given
    assert "recorded is epsilon 4 at delta 1e-08" in given


def test_a_budget_that_settings_raise_is_shown_as_it_is_recorded_with_the_refusal(density, town):
    said = ("--settings", str(town.settings), "--weeks", "3")
    assert density("ledger", "init", "--settings", str(town.settings), *WHO).status == 0
    assert density("budget", *said, "--give", "2", *WHO).status == 0
    town.set("[engine]", "[privacy]\nbudget_epsilon = 5.0\n[engine]")
    shown = density("budget", *said)
    assert shown.status == 0
    assert "may cost epsilon 2 " in shown.out
    assert "raising a budget is a recorded act" in shown.out
    assert "may cost epsilon 5 " in density("budget", *said, "--give", "5", *WHO).out


# --- somebody looks before the first charge ---------------------------------------------------------------------------


def test_a_first_release_is_refused_before_a_record_is_read_until_somebody_has_looked(density, town, tmp_path):
    """Whatever the verdict: these records are not ready, and acknowledging them is a person's business."""
    town.write_visits("ann,noon,A\n")
    these = ("--settings", str(town.settings), "--week", "2007-09-10")
    assert "opened by a person" in density("check", *these, "--acknowledge", *WHO).err
    assert density("ledger", "init", "--settings", str(town.settings), *WHO).status == 0
    refused = density("release", *these)
    assert (refused.status, "a person must look at what their files are understood as" in refused.err) == (2, True)
    assert not list((tmp_path / "home/town").glob("confidential/visits/*"))
    looked = density("check", *these)
    assert looked.status == 1
    assert "NOT ready:" in looked.out
    assert "nobody has acknowledged yet" in looked.out
    said = density("check", *these, "--acknowledge", *WHO)
    assert (said.status, "NOT ready:" in said.out, "are acknowledged, by ann" in said.out) == (0, True, True)
    assert "nothing was recorded" in density("check", *these, "--acknowledge", *WHO).out
    (entry,) = Ledger(tmp_path / "home").accounts().of("approval")
    assert entry.body.keys() == {"what", "city", "inputs", "by", "reason", "how"}
    city = City(load_settings(town.settings), tmp_path / "home")
    city.refuse_week(MONDAY, Act("ann", "a study"))


def test_a_week_that_should_be_looked_at_ends_with_3_and_one_that_is_ready_with_0(density, town):
    these = ("--settings", str(town.settings), "--week", "2007-09-10")
    assert density("check", *these).status == 0
    town.write_visits("ann,2007-09-10 08:10:00,A\nann,noon,A\n")
    said = density("check", *these)
    assert (said.status, "look at this:" in said.out) == (3, True)


# --- a rehearsal before anything is spent -----------------------------------------------------------------------------


def test_a_rehearsal_reads_no_record_charges_nothing_and_leaves_a_table_and_a_figure(density, town, tmp_path):
    shutil.rmtree(town.visits)
    these = ("--settings", str(town.settings), "--quick", "--epsilons", "1,50", "--out", str(tmp_path / "plan"))
    assert "a public figure: set city.population or give --people" in density("plan", *these).err
    said = density("plan", *these, "--people", "500")
    assert said.status == 0, said.err
    assert "town: 4 cells, 4 sites, 500 invented people" in said.out
    assert "| 50 | lowrank | 20 | visits too many or too few |" in said.out
    assert sorted(file.name for file in (tmp_path / "plan").iterdir()) == [
        f"plan_town.{kind}" for kind in ("csv", "png", "svg")
    ]
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(("epsilons", "words"), [("a,b", "must be numbers such as"), ("0", "epsilon")])
def test_promises_to_rehearse_are_held_to_the_limits_of_settings(density, epsilons, words):
    said = density("plan", "--epsilons", epsilons)
    assert (said.status, words in said.err) == (2, True)


# --- a ledger that refuses says why -----------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["audit"], ["budget"], ["budget", "--give", "4", *WHO], ["ledger", "verify"]])
def test_a_damaged_ledger_is_said_in_words(density, town, tmp_path, words):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "ledger.sqlite").write_bytes(b"garbage " * 1000)
    said = density(words[0], *words[1:], "--settings", str(town.settings))
    assert said.status == 2
    assert said.err.startswith("error: the ledger must be a SQLite file")
    assert "restore a backup" in said.err


def test_the_operator_of_the_settings_opens_the_ledger(density, town, monkeypatch):
    for name in ("DENSITY_BY", "DENSITY_REASON"):
        monkeypatch.delenv(name, raising=False)
    command = ("ledger", "init", "--settings", str(town.settings))
    assert "opening a ledger must say who and why" in density(*command).err
    town.set("[engine]", '[operator]\nname = "desk"\nreason = "weekly"\n[engine]')
    assert density(*command).status == 0


# --- where the ledger is, and whether it may pay ----------------------------------------------------------------------


@pytest.mark.parametrize("words", [["budget"], ["ledger"], ["ledger", "verify"]])
def test_a_home_without_a_ledger_is_named_and_left_as_it_was(density, town, tmp_path, words):
    said = density(*words, "--settings", str(town.settings))
    assert said.status == 0
    assert f"there is no ledger at {tmp_path / 'home' / 'ledger.sqlite'}" in said.out
    assert "set DENSITY_HOME" in said.out
    assert not (tmp_path / "home").exists()


def test_an_audit_without_a_ledger_says_how_one_is_opened(density, town):
    assert (
        "`density ledger init --by NAME --reason WHY` opens one"
        in density("audit", "--settings", str(town.settings)).err
    )


@pytest.fixture
def town_home(density, town, tmp_path) -> Path:
    """A home whose ledger was opened for real people."""
    assert density("ledger", "init", "--settings", str(town.settings), *WHO).status == 0
    return tmp_path / "home"


def test_a_copied_home_is_whole_and_may_not_pay(density, town, town_home, monkeypatch, tmp_path):
    assert density("ledger", "verify").status == 0
    shutil.copytree(town_home, tmp_path / "other")
    monkeypatch.setenv("DENSITY_HOME", str(tmp_path / "other"))
    said = density("ledger", "verify")
    assert said.status == 3
    assert "the ledger is whole" in said.out
    assert "may not pay until" in said.out
    assert "may not pay until" in density("budget", "--settings", str(town.settings)).out
    assert density("ledger", "moved", *WHO).status == 0
    assert density("ledger", "verify").status == 0


def test_a_backup_says_where_it_went_and_replaces_nothing(density, town_home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert f"copied to {tmp_path / 'copy.sqlite'}\n" in density("ledger", "backup", "copy.sqlite").out
    again = density("ledger", "backup", "copy.sqlite")
    assert again.status == 2
    assert "must be a new file" in again.err


@pytest.mark.parametrize("action", ["moved", "restore", "key"])
def test_books_of_real_people_are_changed_by_somebody_named_whatever_the_settings(
    density, town_home, tmp_path, monkeypatch, action
):
    """Without settings the city is the embedded one, whose people are simulated."""
    for name in ("DENSITY_BY", "DENSITY_REASON"):
        monkeypatch.delenv(name, raising=False)
    copy = tmp_path / "copy.sqlite"
    assert density("ledger", "backup", str(copy)).status == 0
    (town_home / "ledger.sqlite").rename(tmp_path / "lost.sqlite")
    shutil.copy(copy, town_home / "ledger.sqlite")
    words = ("ledger", action, *([str(copy)] if action == "restore" else []))
    refused = density(*words)
    assert refused.status == 2
    assert "must say who and why" in refused.err
    assert density(*words, *WHO).status in (0, 3)
    assert "nobody named" not in (town_home / "ledger.sqlite").read_bytes().decode("latin-1")


def test_a_ledger_of_simulated_people_is_restored_by_anybody(density, tmp_path, monkeypatch):
    for name in ("DENSITY_BY", "DENSITY_REASON"):
        monkeypatch.delenv(name, raising=False)
    city = City(Settings(), tmp_path / "home")
    city.open_ledger(print)
    copy = tmp_path / "copy.sqlite"
    assert density("ledger", "backup", str(copy)).status == 0
    (tmp_path / "home" / "ledger.sqlite").unlink()
    assert density("ledger", "restore", str(copy)).status == 0


# --- a release that will be refused is refused before a record is read ------------------------------------------------

POLICY = 'epsilon = 0.1\nreleases = ["ann"]\n'


@pytest.fixture
def refused(density, town, monkeypatch) -> Callable[..., str]:
    """What a release of the town says that must end before its run starts."""

    def execute(*_: object, **__: object) -> None:
        raise AssertionError("a run was started")

    monkeypatch.setattr(runs, "execute", execute)

    def run(*words: str) -> str:
        said = density("release", "--settings", str(town.settings), "--week", "2007-09-10", *words)
        assert said.status == 2
        (error,) = said.err.splitlines()
        return error

    return run


def test_without_a_ledger_nothing_is_read(refused, tmp_path):
    assert refused().startswith("error: a ledger must be opened by a person")
    assert not (tmp_path / "home").exists()


def test_without_a_name_nothing_is_read(refused, town_home, monkeypatch):
    monkeypatch.delenv("DENSITY_BY", raising=False)
    assert refused().startswith("error: a release must say who and why")


def test_against_the_policy_nothing_is_read(refused, density, town, town_home, tmp_path):
    (tmp_path / "policy.toml").write_text(POLICY)
    assert density("policy", str(tmp_path / "policy.toml"), *WHO).status == 0
    assert refused(*WHO).startswith("error: the policy in force says: the epsilon of a release must be at most 0.1")
    town.set("[engine]", "[privacy]\nepsilon = 0.1\n[engine]")
    assert "only ann may release weeks; got bob" in refused("--by", "bob", "--reason", "a study")


def test_above_the_budget_nothing_is_read(refused, town, town_home):
    town.set("[engine]", "[privacy]\nbudget_epsilon = 0.2\n[engine]")
    assert "error: the releases of the " in refused()
    assert not list(town_home.glob("*/confidential/*/*.parquet"))


def test_a_backfill_that_stops_says_the_whole_command_to_go_on_with(density, town, tmp_path):
    words = ("backfill", "--settings", str(town.settings), "--from", "2007-09-10", "--to", "2007-09-17")
    said = density(*words, "--by", "ann's team", "--reason", "a study")
    assert said.status == 1
    last = said.out.splitlines()[-1]
    assert last.startswith("to go on: make backfill FROM=2007-09-10 TO=2007-09-17 ")
    assert shlex.split(last)[-3:] == [f"SETTINGS={town.settings}", "BY=ann's team", "REASON=a study"]


# --- approvals that count ---------------------------------------------------------------------------------------------


def test_only_a_revision_that_can_come_is_approved(density, town, tmp_path):
    city = opened(town.settings, tmp_path / "home")
    release = city.release(MONDAY)
    charges = [release.charge(door) for door in release.doors]
    city.ledger.reserve(charges, city.order(release, Act("ann", "a study")), city.witnesses())

    def approve(week: str, revision: int) -> Said:
        words = ("approve", "--settings", str(town.settings), "--week", week, "--revision", str(revision))
        return density(*words, "--by", "bob", "--reason", "I agree")

    assert "of a week that was released before" in approve("2007-09-03", 2).err
    assert "greater than or equal to 2" in approve("2007-09-10", 1).err
    said = approve("2007-09-10", 2)
    assert said.status == 0
    assert "counts only if somebody else asks for it" in said.out


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


def test_the_old_key_may_lie_outside_the_home_and_signs_the_change(density, town, tmp_path):
    who = ("--settings", str(town.settings), "--by", "op", "--reason", "a test")
    old, new = make_key(tmp_path / "old.pem"), make_key(tmp_path / "new.pem")
    town.set("[engine]", f'[signing]\nkey = "{tmp_path}/old.pem"\n[engine]')
    assert density("ledger", "init", *who).status == 0
    town.set("old.pem", "new.pem")
    assert "--old must be the key in force" in density("ledger", "key", *who, "--old", str(tmp_path / "new.pem")).err
    assert density("ledger", "key", *who, "--old", str(tmp_path / "old.pem")).status == 0
    (entry,) = Ledger(tmp_path / "home").accounts().of("key")
    assert signature_holds(old.public, KEY_CHANGE + new.public, bytes.fromhex(entry.body["signed"]))


@pytest.mark.parametrize("name", ["keys", "anchors"])
def test_a_city_is_not_named_like_a_folder_of_its_home(density, town, name):
    town.set('name = "town"', f'name = "{name}"')
    assert "a folder which a home keeps for itself" in density("budget", "--settings", str(town.settings)).err
