"""The commands as a person types them, each in a process of its own: ours, and Dagster's in the repository."""

import gzip
import json
import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import polars as pl
import pytest
from runs import WEEK, copied, density
from serving import ROOT, answer_when, started
from town import make_town

WHO = ("--by", "data team", "--reason", "weekly releases")
OURS = {"DENSITY_HOME", "DENSITY_SETTINGS", "DENSITY_CITIES", "DAGSTER_HOME"}
QUIET = "telemetry:\n  enabled: false\nnux:\n  enabled: false\n"


@pytest.fixture(scope="module")
def released_once(tmp_path_factory):
    """A town, its home with one week released by the command, and what the command said: to look at."""
    folder = tmp_path_factory.mktemp("commands")
    town = make_town(folder)
    done = density(folder / "home", "release", "--settings", str(town.settings), "--week", "2007-09-10")
    assert done.returncode == 0, done.stderr
    return town, folder / "home", done


@pytest.fixture
def released(released_once, tmp_path):
    """The town and its home, to do anything with."""
    town, home, _ = released_once
    return copied(town, home, tmp_path)


def test_release_says_what_was_produced(released_once):
    town, home, done = released_once
    assert "✓ truncated_visits" in done.stderr
    released = {file for file in (home / "town/release").rglob("*") if file.is_file()}
    tables = {file for file in released if file.parent.parent.name == "tables" or file.parent.name == "tables"}
    assert {str(file) for file in released - tables} <= {line.strip() for line in done.stdout.splitlines()}
    assert f"density verify {home / 'town/release/manifest_2007-09-10.json'} --key " in done.stdout
    assert f"look at it      {home / 'town/release/report_2007-09-10.html'}" in done.stdout
    assert f"the next week   density release --week 2007-09-17 --settings {town.settings}" in done.stdout
    assert str(home / "town/confidential/weeks") in done.stdout
    assert len(pl.read_parquet(home / "town/confidential/weeks/visits/2007-09-10/*/*.parquet")) == 2
    kept = {name for name in os.listdir(home) if not name.startswith("ledger.sqlite-")}
    assert kept == {"town", "keys", "ledger.sqlite", "ledger.lock", "ledger.heads"}
    assert sorted(os.listdir(home / "town")) == ["confidential", "dagster", "locks", "release"]
    assert "bob" not in done.stdout + done.stderr


def test_purge_erases_what_is_confidential(released):
    town, home = released
    visits = home / "town/confidential/weeks/visits/2007-09-10"
    refused = density(home, "purge", "--settings", str(town.settings), "--week", "2007-09-03")
    assert refused.returncode == 1
    assert "the week of 2007-09-03 must be released before its records are erased" in refused.stderr
    forced = density(home, "purge", "--settings", str(town.settings), "--week", "2007-09-03", "--force")
    assert forced.returncode == 0, forced.stderr
    assert json.loads((home / "town/confidential/purged/2007-09-03.json").read_text())["forced"]
    assert visits.exists()
    purged = density(home, "purge", "--settings", str(town.settings), "--week", "2007-09-10")
    assert purged.returncode == 0, purged.stderr
    assert "the confidential zone of the week of 2007-09-10 is erased; what is released stays" in purged.stderr
    assert f"your own files are yours to erase: {town.folder}/visits/2007-09-10/*.csv" in purged.stderr
    assert not visits.exists()
    assert density(home, "verify", str(home / "town/release")).returncode == 3  # whole, but not signed


def test_real_people_are_evaluated_when_asked_for_and_the_terminal_says_where_not_what(released):
    town, home = released
    about = home / "town/confidential/about/evaluation_metrics"
    assert not about.exists()
    done = density(home, "evaluate", "--settings", str(town.settings), "--week", "2007-09-10")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "details: confidential: confidential/about/evaluation_metrics/2007-09-10*",
        "to choose settings by these numbers on real people voids the promise: choose on synthetic cities",
    ]
    assert (about / "2007-09-10.json").exists()


def test_a_bad_file_is_one_line_and_no_week(town, tmp_path):
    town.write_visits("", name="other.csv")
    (town.visits / "part-0.csv").unlink()
    (town.visits / "other.csv").write_text("bob,2007-09-10 08:10:00,A\n")  # no header: line 1 is somebody's record
    home = tmp_path / "home"
    done = density(home, "release", "--settings", str(town.settings), "--week", "2007-09-10")
    assert done.returncode == 1
    assert "error: visits: " in done.stderr
    assert "city.visit_user must name a column of the file, 'user_id' is not in line 1" in done.stderr
    assert "Traceback" not in done.stderr
    assert "bob" not in done.stdout + done.stderr
    assert not list((home / "town/confidential").rglob("*.parquet"))


@pytest.mark.parametrize(
    ("week", "words"),
    [
        ("2007-09-12", "2007-09-12 is a Wednesday, its Monday is 2007-09-10"),
        ("1999-01-04", "a week must lie between city.first_week (2007-09-03) and the last full one"),
        ("2007-09-24", "the week of 2007-09-24 must have visit files"),
    ],
)
def test_a_week_that_cannot_be(town, tmp_path, week, words):
    done = density(tmp_path / "home", "release", "--settings", str(town.settings), "--week", week)
    assert done.returncode in (1, 2)
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_check_says_what_the_files_hold_and_leaves_nothing_behind(town, tmp_path):
    town.write_visits(
        "ann,2007-09-10 08:10:00,A\nbob,2007-09-10 08:10:00,A\nann,2007-09-11 08:10:00,Q\n,2007-09-12 20:00:00,B\n"
    )
    home = tmp_path / "home"
    done = density(home, "check", "--settings", str(town.settings), "--week", "2007-09-10")
    assert done.returncode == 3, done.stderr  # half of the records cannot be used: look at this
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "cells 4 valid and disjoint, 4.00 km², EPSG:2154" in lines
    assert "towers 4 sites; antennas merged into one: 1, outside: 0, listed again: 0" in lines
    assert "records 4" in lines
    assert {"2 usable", "1 no user", "1 unknown tower"} <= set(lines)
    assert "span 2007-09-10 08h to 2007-09-12 20h" in lines
    assert not home.exists()


def test_check_of_wrong_settings_names_the_mistake(town, tmp_path):
    town.set("cell_id", "cel_id")
    done = density(tmp_path, "check", "--settings", str(town.settings))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "unknown key city.cel_id; did you mean 'cell_id'?" in done.stderr


def test_a_refusal_to_replace_a_published_week_says_why_and_that_the_week_stays(released):
    town, home = released
    towers = town.folder / "towers.csv"
    towers.write_text(towers.read_text().replace("650500.0", "650400.0"))
    refused = density(home, "release", "--settings", str(town.settings), "--week", "2007-09-10")
    assert refused.returncode == 1
    assert "cells or towers changed since it was drawn" in refused.stderr
    assert "called off: the week is published, and stays as it is" in refused.stderr


def test_budget_and_ledger_answer_before_and_after_a_release(released, tmp_path):
    town, home = released
    before = density(tmp_path / "empty", "budget", "--settings", str(town.settings), "--weeks", "10")
    assert before.returncode == 0, before.stderr
    assert "subscribers: any 52 consecutive weeks and any calendar year may cost epsilon 3 at delta" in before.stdout
    assert "0 releases of 0 weeks" in before.stdout
    after = density(home, "budget", "--settings", str(town.settings))
    assert "1 release of 1 week" in after.stdout
    audited = density(home, "audit", "--settings", str(town.settings))
    assert audited.returncode == 0, audited.stderr
    assert "| of them verified | 1 |" in audited.stdout
    assert audited.stdout.endswith(f"{home / 'town/release/audit.html'}\n")
    copy = tmp_path / "copies" / "ledger.sqlite"
    assert "2 charges" in density(home, "ledger", "backup", str(copy)).stdout
    for file in home.glob("ledger.sqlite*"):
        file.unlink()
    lost = density(home, "ledger", "verify")
    assert lost.returncode == 2
    assert "restore a newer backup" in lost.stderr
    assert "2 charges" in density(home, "ledger", "restore", str(copy)).stdout


def test_an_audit_of_nothing_is_refused_and_leaves_nothing_behind(town, tmp_path):
    done = density(tmp_path / "home", "audit", "--settings", str(town.settings))
    assert done.returncode == 2
    assert "there must be a ledger to audit" in done.stderr
    assert not (tmp_path / "home").exists()


def test_a_study_of_real_people_is_refused(town, tmp_path):
    done = density(tmp_path / "home", "study", "schemes", "--settings", str(town.settings))
    assert done.returncode == 2
    assert "a study must run on a synthetic city" in done.stderr


def test_an_operators_semicolons_go_from_init_to_a_verified_release(town, tmp_path):
    """By the commands that the documentation names and no others."""
    home, settings = tmp_path / "home", town.folder / "first.toml"
    first, *lines = (town.visits / "part-0.csv").read_text().replace(",", ";").splitlines()
    named = "service;" + first.replace("user_id;time", "IMSI;timestamp")
    text = "\n".join([named, *(f'"MOC; voice";{line}' for line in lines), ""])
    shutil.rmtree(town.visits)
    town.visits.mkdir()
    (town.visits / "part-0.csv.gz").write_bytes(gzip.compress(text.encode()))
    rows = pl.read_csv(town.folder / "towers.csv", infer_schema=False)
    rows.write_csv(town.folder / "towers.csv", separator=";")

    def said(*words: str, status: int = 0) -> str:
        done = density(home, *words, opening=False)
        assert done.returncode == status, f"{' '.join(words)}: {done.stdout}{done.stderr[-2000:]}"
        return done.stdout + done.stderr

    files = ("--cells", str(town.folder / "cells.geojson"), "--towers", str(town.folder / "towers.csv"))
    said("init", str(settings), *files, "--visits", f"{town.folder}/visits/{{week}}/*.csv.gz", "--yes")
    these = ("--settings", str(settings))
    assert "\nready" in said("check", *these)
    said("ledger", "init", *these, *WHO)
    assert "a person must look" in said("release", *these, *WHO, status=2)
    said("check", *these, "--acknowledge", *WHO)
    released = said("release", *these, *WHO)
    # Whoever releases the next week says why anew: what is said is recorded and published.
    assert f"--settings {settings} --by 'data team' --reason WHY\n" in released.partition("what next:")[2]
    manifest = home / f"first/release/manifest_{WEEK}.json"
    key = json.loads(manifest.read_text())["key"]["fingerprint"]
    assert "verified: signed by" in said("verify", str(manifest), "--key", key)


# --- Dagster's own commands load, and leave nothing behind -----------------------------------------------------------


def environment(home: Path, **names: str) -> dict[str, str]:
    """That of a user who has the programs on the path and nothing of ours, but for what is named."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    known = {name: value for name, value in os.environ.items() if name not in OURS}
    return known | {"PATH": programs, "HOME": str(home)} | names


@pytest.mark.parametrize(
    ("command", "home", "said"),
    [
        (("dg", "check", "defs"), False, "All definitions loaded successfully."),
        (("dagster", "definitions", "validate"), True, "All code locations passed validation."),
    ],
    ids=["dg", "dagster"],
)
def test_definitions_load(tmp_path, command, home, said):
    """Whether or not a home is named; loading makes no folder of a city."""
    known = environment(tmp_path, **({"DENSITY_HOME": str(tmp_path / "home")} if home else {}))
    data = (ROOT / "data").exists()
    done = subprocess.run(command, cwd=ROOT, env=known, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert said in " ".join(f"{done.stdout} {done.stderr}".split())
    assert not (tmp_path / "home").exists()
    assert (ROOT / "data").exists() == data


def test_servers_show_the_graph(tmp_path):
    """`dg dev` and `dagster dev`, side by side: each takes a while to start."""
    with ExitStack() as running:
        addresses = {}
        for command in ("dg", "dagster"):
            home = tmp_path / command
            (home / "dagster").mkdir(parents=True)
            (home / "dagster/dagster.yaml").write_text(QUIET)
            known = environment(home, DENSITY_HOME=str(home / "density"), DAGSTER_HOME=str(home / "dagster"))
            words = [command, "dev", "--host", "127.0.0.1"]
            addresses[command] = running.enter_context(started(words, known, ROOT))
        for command, url in addresses.items():
            answer = answer_when(url, "{ assetNodes { assetKey { path } } }", lambda said: bool(said["assetNodes"]))
            assert ["density"] in [node["assetKey"]["path"] for node in answer["assetNodes"]], command
    assert not any((tmp_path / command / "density").exists() for command in addresses)
