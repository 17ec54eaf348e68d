"""Asking a release: sums of published counts with their intervals; nothing is charged, whatever is asked."""

from pathlib import Path
from typing import Annotated

import typer

from density_assets.cli.options import SettingsFile
from density_assets.errors import BadInput


def ask(
    question: Annotated[str, typer.Argument(help='For example "cells=C0001,C0002 hours=sat:18-23".')],
    release: Annotated[
        Path | None,
        typer.Option("--release", help="A file density_….parquet of a release; by default the newest of the city."),
    ] = None,
    week: Annotated[str | None, typer.Option("--week", help="The Monday of the week; by default the last one.")] = None,
    settings: SettingsFile = None,
) -> int:
    """Say how many visits, and people, a release has in some cells or regions and hours, with 95 % intervals; free."""
    from density_assets.calendar import parse_week
    from density_assets.publication.questions import answer, newest_counts, parse_question, read_released

    if release is not None and week is not None:
        raise BadInput("a question must be about one week: give either --release or --week")
    if release is None:
        from density_assets.city import City

        release = newest_counts(City.here().store.release, parse_week(week) if week else None)
    released = read_released(release)
    meant = parse_question(question, released)
    told = answer(released, meant)
    print(f"{told.visits:,} visits in {_counted(meant.cells, 'cell')} and {_counted(meant.hours, 'hour')}")
    if told.people is not None:
        print(f"{told.people[0]:,} people, by the factors in the release{_between(*told.people[1:])}")
    if told.interval is None:
        print("no interval: no file errors_of_sums_… of this release lies beside it (only some schemes publish one)")
    else:
        print(f"95 % interval {told.interval[0]:,} to {told.interval[1]:,} (standard error {told.error:,.1f})")
    if left_out := [hour for hour in meant.hours if not released.counts.happens[hour]]:
        print(f"without hour {', '.join(map(str, left_out))}, which clocks leave out in this week")
    print(f"from {release.name}{'; visits, not people' if told.people is None else ''}")
    return 0


def _between(low: int | None, high: int | None) -> str:
    return "" if low is None or high is None else f": {low:,} to {high:,}"


def _counted(things: tuple[int, ...], name: str) -> str:
    return f"{len(things):,} {name}{'' if len(things) == 1 else 's'}"
