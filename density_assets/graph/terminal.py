"""Runs from a terminal: a job in this process, as part of the city's instance, and what became of it."""

import sys
from collections.abc import Sequence
from typing import Any

import dagster as dg

from density_assets.city import City
from density_assets.graph.abandoned import this_process
from density_assets.graph.instance import open_instance
from density_assets.graph.jobs import purge_job


def execute(
    city: City, definitions: dg.Definitions, job: str, secret: Sequence[str] = (), **options: Any
) -> dg.ExecuteInProcessResult:
    """Run a job, and say what failed.

    secret: the assets that purging by force would erase; only a terminal offers that.
    """
    open_instance(city)
    known = dg.Definitions.merge(definitions, dg.Definitions(jobs=[purge_job(secret, force=True)]))
    with dg.DagsterInstance.get() as instance:
        result = known.resolve_job_def(job).execute_in_process(
            instance=instance, raise_on_error=False, tags=this_process(), **options
        )
    if not result.success:
        _print_failures(result)
    return result


def _print_failures(result: dg.ExecuteInProcessResult) -> None:
    for event in result.get_step_failure_events():
        error = event.step_failure_data.error
        cause = error.cause if error and error.cause else error
        print(f"error: {event.step_key}: {cause.message.strip() if cause else 'failed'}", file=sys.stderr)
    print(f"run {result.run_id} failed; nothing of the failed steps was kept", file=sys.stderr)
