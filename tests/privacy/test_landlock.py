"""Hiding folders from a process: every library is refused, neighbours stay, and older kernels say that they cannot."""

import errno
import json
import subprocess
import sys

import duckdb
import polars as pl
import pytest

from resources import wall

FRAME = pl.DataFrame({"visits": [20_011]})
walled = pytest.mark.skipif(not wall.available(), reason="this kernel has no Landlock")

# Hides what it is told to, then tries everything; prints what came of each attempt.
CHILD = """
import json, os, subprocess, sys
from pathlib import Path

from resources.wall import confine

root, hidden, writable = Path(sys.argv[1]), *([Path(path) for path in json.loads(paths)] for paths in sys.argv[2:])
assert confine(hidden, writable) is True

import duckdb  # libraries start threads when they are imported
import polars as pl
import pyarrow.parquet as pq

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
    "rename": ("note.txt", lambda file: file.rename(file.with_name("renamed.txt"))),
    "remove": ("counts.duckdb", lambda file: file.unlink()),
    "rename folder": ("", lambda folder: folder.rename(folder.with_name(f"{folder.name} elsewhere"))),
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


def attempts(root, *hidden, writable=()) -> dict[str, str]:
    paths = [json.dumps(list(map(str, those))) for those in (hidden, writable)]
    command = [sys.executable, "-c", CHILD, str(root), *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def succeeded(found: dict[str, str], folder: str) -> set[str]:
    prefix = f"{folder}: "
    return {name.removeprefix(prefix) for name, end in found.items() if name.startswith(prefix) and end == "done"}


ALL = {
    *("python", "polars", "pyarrow", "duckdb", "database", "program", "link", "list"),
    *("append", "overwrite", "truncate", "new file", "new folder", "rename", "remove"),
}
READ = {"python", "polars", "pyarrow", "duckdb", "database", "program", "link", "list"}


@walled
def test_a_hidden_folder_is_refused_to_every_library_and_its_neighbours_to_none(root):
    found = attempts(root, root / "hidden", writable=[root / "beside"])
    assert succeeded(found, "hidden") == set()
    for way in ("python", "polars", "duckdb", "database", "link", "list"):
        assert "Permission denied" in found[f"hidden: {way}"]
    assert succeeded(found, "beside/deep") == {*ALL, "rename folder"} - {"link"}
    assert succeeded(found, "beside") == ALL - {"link"}
    assert "Permission denied" in found["beside: link"]
    assert (root / "hidden/note.txt").read_text() == "note"
    assert (root / "beside/new.txt").read_text() == "new"
    assert (root / "beside/new/new.txt").read_text() == "new"


@walled
def test_only_what_may_be_written_is(root):
    found = attempts(root, root / "hidden")
    for folder in ("beside", "beside/deep"):
        assert succeeded(found, folder) == READ - {"link"}
    names = {file.name for file in (root / "hidden").iterdir()}
    assert {file.name for file in (root / "beside").iterdir()} == {"deep", *names}


@walled
def test_a_folder_is_hidden_by_whatever_name(root):
    (root / "alias").symlink_to(root / "hidden")
    assert succeeded(attempts(root, root / "alias"), "hidden") == set()


@walled
def test_several_folders_and_single_files_are_hidden(root):
    found = attempts(root, root / "hidden", root / "beside/deep", root / "beside/counts.duckdb")
    assert succeeded(found, "hidden") == succeeded(found, "beside/deep") == set()
    # the folder of a hidden file lies on the way to it: what is there can be opened, but not listed
    assert succeeded(found, "beside") == READ - {"database", "link", "list"}


@walled
def test_nothing_hidden_is_everything_readable(root):
    assert succeeded(attempts(root, writable=[root]), "hidden") == {*ALL, "rename folder"}


def test_what_may_be_written_must_not_hold_what_is_hidden(root):
    with pytest.raises(ValueError, match="must not hold what is hidden"):
        wall.confine([root / "beside/deep"], [root / "beside"])


# Opens every disk there is, and one it makes; prints what the kernel said.
DISKS = """
import os, stat, sys
from pathlib import Path

from resources.wall import confine

own = Path(sys.argv[1], "disk")
disks = [os.path.join(at, name) for at, _, names in os.walk("/dev") for name in names]
disks = [name for name in disks if not os.path.islink(name) and stat.S_ISBLK(os.stat(name).st_mode)]
confine([], [own.parent])

def said(way):
    try:
        return way()
    except OSError as error:
        return error.errno

opened = [said(lambda name=name: os.open(name, os.O_RDONLY)) for name in disks]
print(*{said(lambda: os.mknod(own, stat.S_IFBLK, os.makedev(7, 0))), *opened})
"""


@walled
def test_no_disk_is_read_past_the_files_on_it(root):
    """Root may: what is hidden lies on one."""
    done = subprocess.run([sys.executable, "-c", DISKS, root], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(errno.EACCES)]


@walled
def test_a_process_with_other_threads_is_refused_because_they_would_stay_free():
    code = "import threading, time; threading.Thread(target=time.sleep, args=(60,), daemon=True).start()"
    code += "; from resources.wall import confine; confine([], [])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "must confine itself while it has one thread" in done.stderr


def test_a_kernel_without_landlock_says_so_and_hides_nothing(root, monkeypatch):
    monkeypatch.setattr(wall, "_version", lambda: 0)
    assert wall.available() is False
    assert wall.confine([root / "hidden"], []) is False
    assert pl.read_parquet(root / "hidden/counts.parquet").equals(FRAME)


def test_a_kernel_that_does_not_know_the_call_is_one_without_landlock(monkeypatch):
    def unknown(number, *arguments):
        raise OSError(38, "not implemented")

    monkeypatch.setattr(wall, "_called", unknown)
    assert wall.available() is False
