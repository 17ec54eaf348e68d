"""Hiding folders from a process: every library is refused, neighbours stay, and older kernels say that they cannot."""

import json
import subprocess
import sys

import duckdb
import polars as pl
import pytest

from resources import landlock

FRAME = pl.DataFrame({"visits": [20_011]})
walled = pytest.mark.skipif(not landlock.available(), reason="this kernel has no Landlock")

# Hides what it is told to, then tries everything; prints what came of each attempt.
CHILD = """
import json, os, subprocess, sys
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.parquet as pq

from resources.landlock import hide

root, hidden = Path(sys.argv[1]), [Path(path) for path in sys.argv[2:]]
assert hide(hidden) is True

def database(file):
    with duckdb.connect(str(file), read_only=True) as connection:
        return connection.table("counts").fetchall()

def program(file):
    return subprocess.run(["cat", str(file)], capture_output=True, check=True).returncode

def append(file):
    with file.open("a") as text:
        return text.write("more")

ways = {
    "python": ("counts.parquet", lambda file: len(file.read_bytes())),
    "polars": ("counts.parquet", lambda file: pl.read_parquet(file).rows()),
    "pyarrow": ("counts.parquet", lambda file: pq.read_table(file).num_rows),
    "duckdb": ("counts.parquet", lambda file: duckdb.sql(f"from read_parquet('{file}')").fetchall()),
    "database": ("counts.duckdb", database),
    "program": ("counts.parquet", program),
    "link": ("link.parquet", lambda file: pl.read_parquet(file).rows()),
    "list": ("", lambda folder: os.listdir(folder)),
    "append": ("note.txt", append),
    "overwrite": ("note.txt", lambda file: file.write_text("other")),
    "truncate": ("note.txt", lambda file: os.truncate(file, 0)),
    "new file": ("new.txt", lambda file: file.write_text("new")),
    "new folder": ("new/new.txt", lambda file: (file.parent.mkdir(), file.write_text("new"))),
}
done = {}
for name in ("hidden", "beside", "beside/deep"):
    for way, (file, attempt) in ways.items():
        try:
            attempt(root / name / file)
        except Exception as error:
            done[f"{name}: {way}"] = f"{type(error).__name__} {error}"
        else:
            done[f"{name}: {way}"] = "done"
print(json.dumps(done))
"""


@pytest.fixture
def root(tmp_path):
    """Folders with the same files; the link in each leads to the first."""
    for name in ("hidden", "beside", "beside/deep"):
        folder = tmp_path / name
        folder.mkdir()
        FRAME.write_parquet(folder / "counts.parquet")
        with duckdb.connect(str(folder / "counts.duckdb")) as connection:
            connection.execute("create table counts as select 20011 as visits")
        (folder / "note.txt").write_text("note")
        (folder / "link.parquet").symlink_to(tmp_path / "hidden/counts.parquet")
    return tmp_path


def attempts(root, *hidden) -> dict[str, str]:
    command = [sys.executable, "-c", CHILD, str(root), *map(str, hidden)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def succeeded(found: dict[str, str], folder: str) -> set[str]:
    prefix = f"{folder}: "
    return {name.removeprefix(prefix) for name, end in found.items() if name.startswith(prefix) and end == "done"}


ALL = {
    *("python", "polars", "pyarrow", "duckdb", "database", "program", "link", "list"),
    *("append", "overwrite", "truncate", "new file", "new folder"),
}


@walled
def test_a_hidden_folder_is_refused_to_every_library_and_its_neighbours_to_none(root):
    found = attempts(root, root / "hidden")
    assert succeeded(found, "hidden") == set()
    for way in ("python", "polars", "duckdb", "database", "link", "list"):
        assert "Permission denied" in found[f"hidden: {way}"]
    for folder in ("beside", "beside/deep"):
        assert succeeded(found, folder) == ALL - {"link"}
        assert "Permission denied" in found[f"{folder}: link"]
    assert (root / "hidden/note.txt").read_text() == "note"
    assert (root / "beside/new.txt").read_text() == "new"
    assert (root / "beside/new/new.txt").read_text() == "new"


@walled
def test_a_folder_is_hidden_by_whatever_name(root):
    (root / "alias").symlink_to(root / "hidden")
    assert succeeded(attempts(root, root / "alias"), "hidden") == set()


@walled
def test_several_folders_and_single_files_are_hidden(root):
    found = attempts(root, root / "hidden", root / "beside/deep", root / "beside/counts.duckdb")
    assert succeeded(found, "hidden") == succeeded(found, "beside/deep") == set()
    # the folder of a hidden file lies on the way to it: what is there can be opened, what is new cannot
    assert succeeded(found, "beside") == ALL - {"database", "link", "list", "new file", "new folder"}


def test_nothing_to_hide_is_hidden_on_every_kernel(root, monkeypatch):
    assert succeeded(attempts(root), "hidden") == ALL
    monkeypatch.setattr(landlock, "_version", lambda: 0)
    assert landlock.hide([]) is True


def test_a_kernel_without_landlock_says_so_and_hides_nothing(root, monkeypatch):
    monkeypatch.setattr(landlock, "_version", lambda: 0)
    assert landlock.available() is False
    assert landlock.hide([root / "hidden"]) is False
    assert pl.read_parquet(root / "hidden/counts.parquet").equals(FRAME)


def test_a_kernel_that_does_not_know_the_call_is_one_without_landlock(monkeypatch):
    def unknown(number, *arguments):
        raise OSError(38, "not implemented")

    monkeypatch.setattr(landlock, "_called", unknown)
    assert landlock.available() is False
