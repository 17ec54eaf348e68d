"""Spill: private, gone when the work ends, and told apart from work in progress."""

import stat
import subprocess
import sys

from density_assets.settings import EngineSettings
from resources.sql.duckdb_engine import DuckdbEngine
from resources.tables.files import spill_folder, sweep
from resources.tables.store import Store

KILLED = """
import os, signal, sys
from pathlib import Path
from resources.tables.files import spill_folder
with spill_folder(Path(sys.argv[1])) as folder:
    (folder / "block").write_text("records")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_does_not_fit_memory_is_written_for_its_owner_alone_and_goes(tmp_path):
    store = Store(tmp_path, "town")
    engine = DuckdbEngine(store, EngineSettings(memory="20MB", threads=1))
    with engine.connect() as connection:
        connection.execute("create table big as select range as a, range * 7919 % 10007 as b from range(4000000)")
        spilled = [file for file in (store.confidential / "spill").rglob("*") if file.is_file() and file.stat().st_size]
        assert spilled
        assert all(stat.S_IMODE(file.stat().st_mode) & 0o077 == 0 for file in spilled)
    assert [entry for entry in (store.confidential / "spill").iterdir() if entry.is_dir()] == []


def test_sweeping_takes_what_a_killed_process_left_and_spares_work_in_progress(tmp_path):
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    (left,) = [entry for entry in (tmp_path / "spill").iterdir() if entry.is_dir()]
    assert (left / "block").read_text() == "records"
    with spill_folder(tmp_path) as mine:
        sweep(tmp_path)
        assert not left.exists()
        assert mine.exists()
