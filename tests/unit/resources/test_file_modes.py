"""Who may read and write what is kept, under the laxest umask there is, and under a strict one."""

import os
import stat
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import polars as pl
import pytest

from resources.alerts import _append
from resources.tables.files import close_to_others, make_folder, private_files, public_files, write_durably
from resources.tables.release_database import export
from resources.tables.store import Store

WEEK = date(2007, 9, 10)
FRAME = pl.DataFrame({"user_id": [1, 2], "hour": [3, 4]})


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def beyond(folder: Path, file_mode: int, folder_mode: int) -> dict[str, str]:
    """What grants more than it may."""
    paths = [folder, *folder.rglob("*")]
    found = {path: mode(path) & ~(folder_mode if path.is_dir() else file_mode) for path in paths}
    return {str(path.relative_to(folder)): oct(mode(path)) for path, more in found.items() if more}


@pytest.fixture
def store(tmp_path, umask) -> Store:
    store = Store(tmp_path / "new" / "home", "town")
    store.write_public("cells", FRAME)
    store.write_release_week("density", WEEK, FRAME, "r1")
    store.write_week("visits", WEEK, FRAME)
    export(store)
    store.write_release_week("density", WEEK, FRAME, "r2")
    export(store)  # changes the database in place
    assert store.secret
    return store


def test_what_is_released_can_be_written_by_its_owner_only(store):
    home = store.folder.parent
    assert beyond(store.release, 0o644, 0o755) == {}
    assert [mode(folder) for folder in (store.release, store.folder, home, home.parent)] == [0o755] * 4
    assert mode(store.release_database) == mode(store.public_file("cells")) == 0o644


def test_what_is_confidential_is_its_owners_alone(store):
    assert beyond(store.confidential, 0o600, 0o700) == {}
    assert beyond(store.locks, 0o600, 0o700) == {}
    assert len(list(store.confidential.rglob("*"))) >= 4


def test_what_an_older_version_left_open_is_closed(store):
    for folder in (store.release, store.tables, store.release_file("density", WEEK).parent):
        folder.chmod(0o777)
    store.release_database.chmod(0o666)
    store.public_file("cells").chmod(0o666)
    again = Store(store.folder.parent, "town")
    again.write_public("cells", FRAME)
    again.write_release_week("density", WEEK, FRAME, "r3")
    export(again)
    assert beyond(store.release, 0o644, 0o755) == {}


def test_a_stricter_umask_takes_more_away(tmp_path, umask):
    os.umask(0o077)
    make_folder(tmp_path / "a" / "b")
    write_durably(tmp_path / "a" / "b" / "file", b"")
    assert beyond(tmp_path / "a", 0o600, 0o700) == {}


def test_files_of_libraries_follow_as_well(tmp_path, umask):
    with public_files():
        (tmp_path / "public").touch()
        with private_files():
            (tmp_path / "private").touch()
    (tmp_path / "after").touch()
    assert [mode(tmp_path / name) for name in ("public", "private", "after")] == [0o644, 0o600, 0o666]
    close_to_others(tmp_path / "after")
    assert mode(tmp_path / "after") == 0o644


def test_alerts_are_for_their_owner_in_a_folder_that_others_cannot_write_to(tmp_path, umask):
    _append(tmp_path / "new" / "alerts.jsonl", "{}")
    assert (mode(tmp_path / "new"), mode(tmp_path / "new" / "alerts.jsonl")) == (0o755, 0o600)
