"""Runs whose process is gone: after a power cut nobody is left to say that they failed, and the queue would wait.

Runs that a server started are gone with it, since an instance is served once. Runs from a terminal carry the process
they live in. To call a living run failed would do no harm: it keeps its locks, and its draws are stored.
"""

import os
from pathlib import Path

import dagster as dg

PROCESS = "density/process"
IN_PROGRESS = [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING]


def this_process() -> dict[str, str]:
    """A tag that says in which process a run lives."""
    return {PROCESS: f"{os.getpid()}/{_born(os.getpid())}"}


def fail_abandoned(instance: dg.DagsterInstance) -> list[str]:
    """Mark every run that lost its process as failed; to be called before a server starts. Returns their ids."""
    runs = instance.get_runs(dg.RunsFilter(statuses=IN_PROGRESS))
    lost = [run for run in runs if not _alive(run.tags.get(PROCESS))]
    for run in lost:
        instance.report_run_failed(run, "the process of this run is gone: start it again, nothing is drawn twice")
    return [run.run_id for run in lost]


def _alive(process: str | None) -> bool:
    if process is None:
        return False
    pid, born = process.split("/")
    return _born(int(pid)) == born


def _born(pid: int) -> str | None:
    """When a process was started, in ticks since this boot: tells it from a later one of the same number."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()[:8]}-{fields[19]}"
