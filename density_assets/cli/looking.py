"""Looking: at the files before anything runs, and at everything in a browser."""

import sys
from collections.abc import Iterator
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated

import typer

from density_assets.cli.options import By, Reason, SettingsFile, Week, act, chosen_week, typed

if TYPE_CHECKING:
    from density_assets.city import City
    from density_assets.privacy.acts import Act


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
