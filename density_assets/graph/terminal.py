"""Weeks run from a terminal: one, or one after another until the first that is refused."""

import sys
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

import dagster as dg

from density_assets.calendar import parse_week
from density_assets.errors import BadInput
from density_assets.graph.abandoned import this_process
from density_assets.graph.instance import open_instance
from density_assets.graph.jobs import purge_job
from density_assets.graph.partitions import WEEKS, current_home, current_settings
from resources.tables.databases import set_aside_if_damaged
from resources.tables.store import Store


def release_week(asked: str | None) -> int:
    """Materialise one week end to end and say what was produced; the exit status of the command."""
    week = _known(parse_week(asked) if asked else current_settings().city.first_week)
    if not _run("weekly_release", week):
        return 1
    print("\n".join(_produced(_store(), str(week))))
    return 0


def backfill(first: str, last: str) -> int:
    """Release every week from one Monday to another; stops at the first that fails and says how to go on."""
    return _one_by_one("weekly_release", _weeks(first, last), "backfill")


def rebuild(first: str | None, last: str | None) -> int:
    """Make the tables and files of released weeks again from stored draws; without weeks, of all of them."""
    store = _store()
    if aside := set_aside_if_damaged(store.release_database):
        print(f"{store.release_database.name} is damaged and was set aside as {aside}", file=sys.stderr)
    weeks = _weeks(first, last or first) if first else _released(store)
    if not weeks:
        raise BadInput(f"there must be a released week to rebuild, {store.release} holds none: release one first")
    return _one_by_one("rebuild_release", weeks, "rebuild")


def purge_week(asked: str, *, force: bool) -> int:
    """Erase the confidential zone of one week; the exit status of the command."""
    week = parse_week(asked)
    config = {"week": str(week), "confirm": str(week)}
    run_config = {"ops": {"erase": {"config": config}}, "loggers": {"console": {}}}
    job = "purge_week_by_force" if force else "purge_week"
    return 0 if _execute(job, run_config=run_config).success else 1


def audit() -> int:
    """Make the auditor's page anew from the ledger and the releases; fails if something does not belong together."""
    if not (current_home() / "ledger.sqlite").exists():
        raise BadInput(f"there must be a ledger to audit, {current_home()} has none: it is made by the first release")
    result = _execute("audit")
    if not result.success:
        return 1
    ((page,)) = result.asset_materializations_for_node("audit_page")
    print(f"{page.metadata['summary'].value}\n\n{_store().release / 'audit.html'}")
    return 0 if page.metadata["problems"].value == 0 else 1


def _one_by_one(job: str, weeks: list[date], command: str) -> int:
    done = 0
    while done < len(weeks) and _run(job, weeks[done]):
        done += 1
    print(f"done: {', '.join(map(str, weeks[:done])) or 'none'}")
    if done == len(weeks):
        return 0
    print(f"stopped at: {weeks[done]}, for the reason given above")
    print(f"not tried: {', '.join(map(str, weeks[done + 1 :])) or 'none'}")
    print(f"to go on: make {command} FROM={weeks[done]} TO={weeks[-1]}")
    return 1


def _run(job: str, week: date) -> bool:
    print(f"{current_settings().city.name}, week of {week}", file=sys.stderr)
    return _execute(job, partition_key=str(week)).success


def _execute(job: str, **options: Any) -> dg.ExecuteInProcessResult:
    """Run a job in this process, as part of the city's instance, and say what failed."""
    open_instance(current_home(), current_settings().city.name)

    from density_assets.definitions import defs, graph  # imported late: it needs the environment as it is now

    known = dg.Definitions.merge(defs, dg.Definitions(jobs=[purge_job(graph(), force=True)]))
    with dg.DagsterInstance.get() as instance:
        result = known.resolve_job_def(job).execute_in_process(
            instance=instance, raise_on_error=False, tags=this_process(), **options
        )
    if not result.success:
        _print_failures(result)
    return result


def _weeks(first: str, last: str | None) -> list[date]:
    start, end = _known(parse_week(first)), _known(parse_week(last or first))
    if end < start:
        raise BadInput(f"the last week must not lie before the first, got FROM={start} and TO={end}")
    return [start + timedelta(weeks=n) for n in range((end - start).days // 7 + 1)]


def _known(week: date) -> date:
    if not WEEKS.has_partition_key(str(week)):
        first = current_settings().city.first_week
        raise BadInput(f"a week must lie between city.first_week ({first}) and the last full one; got {week}")
    return week


def _released(store: Store) -> list[date]:
    """Weeks with a privacy statement of the revision that the settings name."""
    names = [file.name.removeprefix("privacy_statement_") for file in store.release.glob("privacy_statement_*.json")]
    weeks = {name[:10] for name in names}
    revisions = {week: current_settings().revision_of(week) for week in weeks}
    wanted = {week: f"{week}_r{number}.json" if number > 1 else f"{week}.json" for week, number in revisions.items()}
    return sorted(date.fromisoformat(week) for week in weeks if wanted[week] in names)


def _store() -> Store:
    return Store(current_home(), current_settings().city.name)


def _print_failures(result: dg.ExecuteInProcessResult) -> None:
    for event in result.get_step_failure_events():
        error = event.step_failure_data.error
        cause = error.cause if error and error.cause else error
        print(f"error: {event.step_key}: {cause.message.strip() if cause else 'failed'}", file=sys.stderr)
    print(f"run {result.run_id} failed; nothing of the failed steps was kept", file=sys.stderr)


def _produced(store: Store, week: str) -> Iterator[str]:
    yield "\npublished, readable by anybody:"
    yield from (f"  {file}" for file in sorted(store.release.glob(f"*_{week}*")))
    yield f"  {store.release / 'audit.html'}"
    yield f"  {store.release_database}"
    yield "confidential, readable by you only:"
    yield from (f"  {file}" for file in sorted(store.confidential.glob(f"*/{week}.parquet")))
    yield f"  {store.confidential / 'confidential.duckdb'} (views over the above)"
