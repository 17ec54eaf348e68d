"""Several first runs of a city at once: its Dagster instance is made once, and every later run can open it."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).parents[2]
AT_ONCE = 6
OPENING = """
import sys, time
from pathlib import Path
import dagster as dg
from density_assets.city import City
from density_assets.graph.instance import open_instance
from density_assets.settings import Settings
home, start = map(Path, sys.argv[1:])
print("ready", flush=True)
while not start.exists():
    time.sleep(0.001)
open_instance(City(Settings(), home))
with dg.DagsterInstance.get() as instance:
    instance.get_runs_count()
    instance.event_log_storage.all_asset_keys()
    instance.schedule_storage.all_instigator_state()
"""


def test_an_instance_that_many_processes_make_at_once_is_made_once(tmp_path):
    home, start = tmp_path / "home", tmp_path / "start"
    command = [sys.executable, "-c", OPENING, str(home), str(start)]
    running = [
        subprocess.Popen(
            command, cwd=ROOT, env={**os.environ}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(AT_ONCE)
    ]
    for process in running:
        assert process.stdout.readline() == "ready\n"
    start.touch()
    ended = [process.communicate(timeout=300) for process in running]
    assert [process.returncode for process in running] == [0] * AT_ONCE, ended
    databases = sorted((home / "embedded/dagster").rglob("*.db"))
    versions = {file.name: _versions(file) for file in databases}
    assert {"runs.db", "index.db", "schedules.db"} <= versions.keys()
    assert {name: len(rows) for name, rows in versions.items()} == dict.fromkeys(versions, 1)


def _versions(file: Path) -> list[tuple[str]]:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute("select version_num from alembic_version").fetchall()
