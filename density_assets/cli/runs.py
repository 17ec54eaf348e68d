"""Weeks run from a terminal: one, or one after another until the first that is refused."""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from shlex import quote
from typing import Any

from density_assets.calendar import parse_week
from density_assets.city import City
from density_assets.cli.options import chosen_week, typed
from density_assets.definitions import build
from density_assets.errors import BadInput
from density_assets.graph.automation import (
    AUDIT,
    ERASE,
    EVALUATE,
    FINAL_ESTIMATE,
    ON_THE_TERMINAL,
    PURGE,
    PURGE_BY_FORCE,
    REBUILD,
    WEEKLY,
)
from density_assets.graph.estimating import learns
from density_assets.graph.naming import own, week_of
from density_assets.graph.terminal import Ended, execute
from density_assets.privacy.acts import Act, act_under, needed
from density_assets.publication.files import AUDIT_PAGE, COUNT_FILES, ERRORS_OF_SUMS
from density_assets.release.manifest import REGISTER_FILE, VERIFIER
from density_assets.release.manifest import WEEKLY as WEEKLY_FILES
from density_assets.settings.values import is_url
from resources.alerts import WORDED


def release_week(city: City, asked: str | None, act: Act | None) -> int:
    """Materialise one week end to end and say what was produced; the exit status of the command."""
    week = week_of(city, str(chosen_week(asked, city)))
    _refuse(city, week, act)
    if not _run_week(city, WEEKLY, week, act):
        return 1
    print("\n".join(_produced(city, str(week), act)))
    return 0


def backfill(city: City, first: str, last: str, act: Act | None) -> int:
    """Release every week from one Monday to another; stops at the first that fails and says how to go on."""
    return _one_by_one(city, WEEKLY, _weeks(city, first, last), "backfill", act)


def rebuild(city: City, first: str | None, last: str | None, act: Act | None, *, anew: bool) -> int:
    """Compose released weeks again from stored draws; without weeks, all of them.

    anew: whether what comes out otherwise is published anew, for which somebody must say who and why.
    """
    _refuse_unnamed(act, anew=anew)
    weeks = _weeks(city, first, last or first) if first else _released(city)
    if not weeks:
        raise BadInput(
            f"there must be a released week to rebuild, neither {city.ledger.book.name} nor {city.store.release} knows "
            "one: release one first"
        )
    return _one_by_one(city, REBUILD, weeks, "rebuild --anew" if anew else "rebuild", act, anew=anew)


def final_estimate(city: City, asked: str, act: Act | None, *, anew: bool) -> int:
    """Estimate a released week again with the weeks after it and say where that is; the exit status of the command."""
    _refuse_unnamed(act, anew=anew)
    week = week_of(city, asked)
    if not learns(city):
        raise BadInput(
            f"scheme.name must be one that learns from other weeks, got {city.scheme.name}: name lowrank again"
        )
    final = city.as_drawn(week).estimated_finally(week)
    if not _run_week(city, FINAL_ESTIMATE, week, act, anew=anew):
        return 1
    files = replace(city.files(week), upto=final.later[-1].week)
    used = f"weeks before it: {len(final.earlier)}, after it: {len(final.later)}"
    print(f"\nthe final estimate of the week of {week} ({used}), beside what it was first published with:")
    names = (*COUNT_FILES, ERRORS_OF_SUMS, *WEEKLY_FILES, ("manifest", "json"), ("manifest", "sig"))
    print("\n".join(f"  {file}" for name in names if (file := files.file(*name)).exists()))
    return 0


def evaluate_week(city: City, asked: str) -> int:
    """Compare one released week with the truth and say where the answer is; the exit status of the command."""
    week = week_of(city, asked)
    print(f"{city.name}, week of {week}", file=sys.stderr)
    ended = _run(city, EVALUATE, partition_key=str(week))
    if not ended.success:
        return 1
    shown = ended.shown["evaluation_metrics"]
    print("\n".join(f"{name}: {shown[name]}" for name in ("mre", "pc", "emd", "details") if name in shown))
    print("to choose settings by these numbers on real people voids the promise: choose on synthetic cities")
    return 0


def purge_week(city: City, asked: str, *, force: bool) -> int:
    """Erase the confidential zone of one week; the exit status of the command."""
    week = str(parse_week(asked))
    config = {"ops": {own(city, ERASE): {"config": {"week": week, "confirm": week}}}, **ON_THE_TERMINAL}
    return 0 if _run(city, PURGE_BY_FORCE if force else PURGE, run_config=config).success else 1


def audit(city: City) -> int:
    """Make the auditor's page anew from the ledger and the releases; fails if something does not belong together."""
    accounts = city.ledger.accounts()
    if not accounts.opened:
        raise BadInput(f"there must be a ledger to audit: {city.ledger.none_here()}")
    if warning := city.ledger.elsewhere(accounts):
        print(warning)
    ended = _run(city, AUDIT)
    if not ended.success:
        return 1
    page = ended.shown["audit_page"]
    print(f"{page['summary']}\n\n{city.store.release / AUDIT_PAGE}")
    return 0 if page["problems"] == 0 else 1


def _refuse_unnamed(act: Act | None, *, anew: bool) -> None:
    if anew:
        needed(act, "publishing anew")


def _one_by_one(city: City, job: str, weeks: list[date], command: str, act: Act | None, *, anew: bool = False) -> int:
    done = 0
    while done < len(weeks) and (job != WEEKLY or _may_release(city, weeks[done], act)):
        if not _run_week(city, job, weeks[done], act, anew=anew):
            break
        done += 1
    print(f"done: {', '.join(map(str, weeks[:done])) or 'none'}")
    if done == len(weeks):
        return 0
    print(f"stopped at: {weeks[done]}, for the reason given above")
    print(f"not tried: {', '.join(map(str, weeks[done + 1 :])) or 'none'}")
    print(f"to go on: {typed(command, act, **{'from': weeks[done], 'to': weeks[-1]})}")
    return 1


def _run_week(city: City, job: str, week: date, act: Act | None, *, anew: bool = False) -> bool:
    print(f"{city.name}, week of {week}", file=sys.stderr)
    return _run(city, job, act, anew=anew, partition_key=str(week)).success


def _refuse(city: City, week: date, act: Act | None) -> None:
    """Raise what stops a week before a record is read."""
    city.refuse_week(week, act or act_under(city.settings, None, None))


def _may_release(city: City, week: date, act: Act | None) -> bool:
    """Whether nothing but records could still stop a week; says what does."""
    try:
        _refuse(city, week, act)
    except WORDED as refusal:
        print(f"error: {refusal}", file=sys.stderr)
        return False
    return True


def _run(city: City, job: str, act: Act | None = None, **options: Any) -> Ended:
    return execute(city, build(city, by_force=job == PURGE_BY_FORCE), job, act, **options)


def _weeks(city: City, first: str, last: str | None) -> list[date]:
    start, end = week_of(city, first), week_of(city, last or first)
    if end < start:
        raise BadInput(f"the last week must not lie before the first, got --from {start} --to {end}")
    return [start + timedelta(weeks=n) for n in range((end - start).days // 7 + 1)]


def _released(city: City) -> list[date]:
    """Weeks that are published in the revision that the settings name, by the ledger or by their statement.

    The ledger says it where files are lost, or on another machine.
    """
    statements = city.store.release.glob("privacy_statement_[0-9]*.json")
    weeks = {date.fromisoformat(file.stem.removeprefix("privacy_statement_")[:10]) for file in statements}
    stated = {week for week in weeks if city.files(week).file("privacy_statement", "json").exists()}
    noted = (entry.body for entry in city.ledger.accounts().all_of("published", city=city.name))
    signed = {said["week"] for said in noted if said["revision"] == city.settings.revision_of(said["week"])}
    return sorted(stated | set(map(date.fromisoformat, signed)))


def _produced(city: City, week: str, act: Act | None) -> Iterator[str]:
    store, manifest = city.store, city.files(date.fromisoformat(week)).file("manifest", "json")
    said = json.loads(manifest.read_bytes())
    yield f"\npublished, readable by anybody: hand out the folder {store.release} whole. Of this week it holds"
    yield from (f"  {store.release / name}" for name in said["files"])
    yield from (f"  {file}" for file in (manifest, manifest.with_suffix(".sig")))
    yield "and of all weeks together, besides the tables,"
    of_all = (AUDIT_PAGE, store.release_database.name, REGISTER_FILE, Path(REGISTER_FILE).with_suffix(".sig"), VERIFIER)
    yield from (f"  {store.release / name}" for name in of_all)
    yield "check it as readers do:"
    yield f"  density verify {quote(str(manifest))} --key {said['key']['fingerprint']}"
    yield "confidential, readable by you only:"
    yield f"  {store.weeks.root}/*/{week}/ (one folder for each table)"
    if not is_url(store.weeks.root):
        yield f"  {store.confidential / 'confidential.duckdb'} (views over the above)"
    yield from _what_next(city, date.fromisoformat(week), act)


def _what_next(city: City, week: date, act: Act | None) -> Iterator[str]:
    """Where to go from here, in commands that can be typed as they stand."""
    ask = typed("ask 'cells=all hours=sat:18-23'", week=week)
    yield "what next:"
    yield f"  look at it      {city.files(week).file('report', 'html')} in any browser"
    yield f"  ask it          {ask}"
    yield f"  see the graph   {typed('ui')}"
    who = act and replace(act, reason="WHY")  # that of this week is not that of the next
    yield f"  the next week   {typed('release', week=week + timedelta(weeks=1), who=who)}"
    yield f"  what it costs   {typed('budget')}"
    if city.synthetic:
        yield "  your own data   density init my.toml"
