"""Commands that charge nothing: look at files, plan weeks, draft an assessment, ask a release, serve the web UI."""

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated

import typer

from density_assets.cli.options import By, Reason, SettingsFile, Week, act, chosen_week, typed
from density_assets.cli.studies import research
from density_assets.errors import BadInput

if TYPE_CHECKING:
    from density_assets.city import City
    from density_assets.privacy.acts import Act
    from density_assets.research.weeks.rehearsal import Rehearsal


def check(
    settings: SettingsFile = None,
    week: Week = None,
    acknowledge: Annotated[
        bool,
        typer.Option("--acknowledge", help="Record that a person has looked: asked for before the first release."),
    ] = False,
    by: By = None,
    reason: Reason = None,
) -> int:
    """Say what a city's own files hold and are taken for, without running anything.

    Ends with 0 if they are ready, 3 if somebody should look again, 1 if they are not ready; with 0 where
    --acknowledge records that somebody has looked, whatever was found. Nothing else ever reads the verdict.
    """
    from density_assets.city import City
    from density_assets.cli.inspection import inspect
    from density_assets.records.verdict import Verdict

    city = City.here()
    looked_by = act(city, by, reason, "an acknowledgement") if acknowledge else None
    if acknowledge and not city.synthetic:
        city.ledger.refuse_unready(city.population)
    found = inspect(city.settings, chosen_week(week, city), city.home)
    print(found.shown(get_terminal_size().columns if sys.stdout.isatty() else None))
    if looked_by is not None:
        print(_acknowledge(city, looked_by))
    print("\n".join(_what_next(city, week, ready=looked_by is not None or found.verdict != Verdict.NOT_READY)))
    return 0 if looked_by else int(found.verdict)


def _what_next(city: "City", week: str | None, *, ready: bool) -> Iterator[str]:
    """Where to go from here, in commands that can be typed as they stand but for who and why."""
    from density_assets.privacy.acts import act_under
    from density_assets.privacy.policy import acknowledged

    accounts = city.ledger.accounts()
    who = "" if act_under(city.settings, None, None) else " --by NAME --reason WHY"
    yield "\nwhat next:"
    if not ready:
        yield f"  mend what is said above, then look again: {typed('check', week=week)}"
    if not city.synthetic and not accounts.declared:
        yield f"  open the ledger, once: {typed('ledger init')}{who}"
    if city.synthetic or acknowledged(accounts, city.settings):
        yield f"  release the week: {typed('release', week=week)}{who}"
    else:
        yield "  nobody has acknowledged yet how these files are read, which is asked for before the first release."
        yield f"  Once you have read the above: {typed('check --acknowledge', week=week)}{who}"


def _acknowledge(city: "City", looked_by: "Act") -> str:
    """Record that somebody has looked at what the files are understood as; nothing that was found is recorded."""
    from density_assets.privacy.policy import APPROVAL, acknowledged, acknowledgement, input_digest

    digest = input_digest(city.settings)[:12]
    if city.synthetic:
        return "\nnobody of these people exists: there is nothing to acknowledge"
    if acknowledged(city.ledger.accounts(), city.settings):
        return f"\nacknowledged before (input settings {digest}): nothing was recorded"
    city.ledger.record(APPROVAL, acknowledgement(city.settings), looked_by, city.witnesses())
    return f"\nrecorded: the input settings {digest} of {city.name} are acknowledged, by {looked_by.by}"


def ui(
    settings: SettingsFile = None,
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="Where on this machine to serve.")] = 3000,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="For auditors: nothing can be started or changed.")
    ] = False,
) -> int:
    """Serve the Dagster web UI on this machine."""
    from density_assets.city import City
    from density_assets.graph.instance import serve

    return serve(City.all_here()[0], port, read_only=read_only)


def plan(
    settings: SettingsFile = None,
    epsilons: Annotated[str, typer.Option("--epsilons", help="Promises of one week to try.")] = "0.1,0.3,1",
    people: Annotated[
        int | None,
        typer.Option(
            "--people",
            min=1,
            help="How many people the records are of, if settings do not say: inhabitants times market share.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="The default scheme and the first four weeks only, without intervals.")
    ] = False,
    out: Annotated[Path, typer.Option("--out", help="Folder of the table and the figure.")] = Path(),
) -> int:
    """Rehearse a city's weeks with invented people on its own geography: which errors to expect, at no charge."""
    from density_assets.city import City
    from density_assets.graph.terminal import say

    city = City.here()
    city.refuse_our_files()
    asked = _rehearsal_of(city, epsilons, people, quick=quick)
    rehearsal, ground = research("weeks.rehearsal"), research("weeks.cities").Ground.of(city.settings)
    with tempfile.TemporaryDirectory() as folder:
        table = rehearsal.average_errors(rehearsal.rehearse(ground, asked, Path(folder), say))
    print(
        f"{city.name}: {len(ground.cells):,} cells, {len(ground.towers):,} sites, {asked.people:,} invented people, "
        f"delta {asked.delta:g}. No record was read and nothing was charged.\n\n{rehearsal.summary(table, asked.weeks)}"
    )
    out.mkdir(parents=True, exist_ok=True)
    files = [out / f"plan_{city.name}.{kind}" for kind in ("csv", "png", "svg")]
    table.write_csv(files[0])
    figure = research("plots.curves").over_weeks(table)
    for file in files[1:]:
        figure.savefig(file, dpi=150)
    print("\n" + "\n".join(map(str, files)))
    invented = "beside the invented one" if quick else "outside of what two invented ones span"
    print(f"a real city may lie {invented}; `density budget` says how many weeks fit")
    return 0


def _rehearsal_of(city: "City", epsilons: str, people: int | None, *, quick: bool) -> "Rehearsal":
    from density_assets.schemes import released_with

    rehearsal = research("weeks.rehearsal")
    number = people or city.settings.city.people
    if number is None:
        raise BadInput(
            "a rehearsal must know how many people the records are of, inhabitants times your market share, a public "
            "figure: set city.population or give --people; records are never counted for it"
        )
    privacy = city.settings.privacy
    asked: Rehearsal = rehearsal.Rehearsal(
        number, _epsilons(city, epsilons), privacy.delta, seed=city.settings.city.seed
    )
    if quick:
        return replace(asked, **rehearsal.QUICK)
    return replace(asked, beside=tuple(name for name in asked.beside if released_with(name, city.settings)))


def _epsilons(city: "City", text: str) -> tuple[float, ...]:
    try:
        numbers = sorted({float(each) for each in text.split(",")})
    except ValueError:
        raise BadInput(f"--epsilons must be numbers such as 0.1,0.3,1; got {text!r}") from None
    for number in numbers:
        city.settings.with_epsilon(number)  # held to the limits of settings
    return tuple(numbers)


def dpia(
    file: Annotated[
        Path | None, typer.Argument(help="The file to write, by default dpia_CITY.md; none is replaced.")
    ] = None,
    settings: SettingsFile = None,
) -> int:
    """Draft a data-protection impact assessment (GDPR, Art. 35) from the settings; no record is read."""
    from density_assets.publication.assessment import MARK, impact_assessment, left_to_fill
    from density_assets.settings.environment import settings_here

    meant, _ = settings_here()
    draft, out = impact_assessment(meant), file or Path(f"dpia_{meant.city.name}.md")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with out.open("x", encoding="utf-8") as written:
            written.write(draft)
    except FileExistsError:
        raise BadInput(f"dpia must write a new file, {out} is there already: name another, or move that one") from None
    except OSError as problem:
        raise BadInput(f"dpia must be able to write {out}: {problem.strerror}") from None
    print(f"{out}: a draft for {meant.city.name}, from its settings alone; no record was read")
    print(f"{left_to_fill(draft)} places no setting knows: look for **{MARK}")
    return 0


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
