"""The Dagster instance of a city, and running or serving it from a terminal.

Each city has its own instance, beside its tables: asset keys are the same for every city, so one instance for
two of them would mix their histories.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import dagster as dg

from density_assets.calendar import parse_week
from density_assets.errors import BadInput
from density_assets.partitions import WEEKS, current_home, current_settings
from resources.store import Store


def release_week(asked: str | None) -> int:
    """Materialise one week end to end and say what was produced; the exit status of the command."""
    settings = current_settings()
    week = parse_week(asked) if asked else settings.city.first_week
    if not WEEKS.has_partition_key(str(week)):
        raise BadInput(
            f"a week must lie between city.first_week ({settings.city.first_week}) and the last full one; got {week}"
        )
    home = _open_instance(current_home(), settings.city.name)

    from density_assets.definitions import defs  # imported late: it needs the environment as it is now

    print(f"{settings.city.name}, week of {week}", file=sys.stderr)
    with dg.DagsterInstance.get() as instance:
        job = defs.resolve_job_def("weekly_release")
        result = job.execute_in_process(instance=instance, partition_key=str(week), raise_on_error=False)
        if not result.success:
            _print_failures(result)
            return 1
    print("\n".join(_produced(Store(home, settings.city.name), str(week))))
    return 0


def serve(port: int) -> int:
    """Serve the web UI and the daemon on this machine only, until interrupted."""
    settings = current_settings()
    _open_instance(current_home(), settings.city.name)
    dagster = Path(sys.executable).with_name("dg")
    command = [
        str(dagster),
        "dev",
        "--workspace",
        "workspace.yaml",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    try:
        return subprocess.run(command, check=False).returncode
    except KeyboardInterrupt:
        return 0


def _open_instance(home: Path, city: str) -> Path:
    """Point Dagster at the city's own instance, with our settings in it."""
    folder = home / city / "dagster"
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["DAGSTER_HOME"] = str(folder)
    with (
        files("resources").joinpath("dagster.yaml").open("rb") as ours,
        (folder / "dagster.yaml").open("wb") as its,
    ):
        shutil.copyfileobj(ours, its)
    return home


def _print_failures(result: dg.ExecuteInProcessResult) -> None:
    for event in result.get_step_failure_events():
        error = event.step_failure_data.error
        cause = error.cause if error and error.cause else error
        print(f"error: {event.step_key}: {cause.message.strip() if cause else 'failed'}", file=sys.stderr)
    print(f"run {result.run_id} failed; nothing of the failed steps was kept", file=sys.stderr)


def _produced(store: Store, week: str) -> Iterator[str]:
    yield "\npublished, readable by anybody:"
    yield from (f"  {file}" for file in sorted(store.release.glob(f"*_{week}*")))
    yield f"  {store.release_database}"
    yield "confidential, readable by you only:"
    yield from (f"  {file}" for file in sorted(store.confidential.glob(f"*/{week}.parquet")))
    yield f"  {store.confidential / 'confidential.duckdb'} (views over the above)"
