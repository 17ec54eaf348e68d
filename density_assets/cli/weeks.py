"""Weeks: release one or several, make released ones again, compare one with the truth, erase what is confidential."""

from typing import Annotated

import typer

from density_assets.cli.options import By, Reason, SettingsFile, Week
from density_assets.privacy.acts import act_of

_FIRST = typer.Option("--from", help="The first Monday.")
_LAST = typer.Option("--to", help="The last Monday.")
_ANEW = typer.Option("--anew", help="Replace published files that come out otherwise; needs --by and --reason.")


def release(settings: SettingsFile = None, week: Week = None, by: By = None, reason: Reason = None) -> int:
    """Materialise one week, from records to everything derived from them."""
    from density_assets.city import City
    from density_assets.cli import runs

    return runs.release_week(City.here(), week, act_of(by, reason))


def backfill(
    first: Annotated[str, _FIRST],
    last: Annotated[str, _LAST],
    settings: SettingsFile = None,
    by: By = None,
    reason: Reason = None,
) -> int:
    """Release one week after another, until the first that is refused."""
    from density_assets.city import City
    from density_assets.cli import runs

    return runs.backfill(City.here(), first, last, act_of(by, reason))


def rebuild(
    settings: SettingsFile = None,
    first: Annotated[str | None, _FIRST] = None,
    last: Annotated[str | None, _LAST] = None,
    anew: Annotated[bool, _ANEW] = False,
    by: By = None,
    reason: Reason = None,
) -> int:
    """Compose released weeks again from stored draws, at no charge, and make damaged files whole.

    A week whose files come out otherwise stays as it is published; with --anew it is published anew, which the ledger
    notes.
    """
    from density_assets.city import City
    from density_assets.cli import runs

    return runs.rebuild(City.here(), first, last, act_of(by, reason), anew=anew)


def final(
    week: Annotated[str, typer.Option("--week", help="The Monday of a released week.")],
    settings: SettingsFile = None,
    anew: Annotated[bool, _ANEW] = False,
    by: By = None,
    reason: Reason = None,
) -> int:
    """Estimate a released week again with the weeks after it, at no charge, and publish that beside the first."""
    from density_assets.city import City
    from density_assets.cli import runs

    return runs.final_estimate(City.here(), week, act_of(by, reason), anew=anew)


def evaluate(
    week: Annotated[str, typer.Option("--week", help="The Monday of the week.")], settings: SettingsFile = None
) -> int:
    """Compare a released week with the truth. Of real people the answer is confidential.

    To choose a scheme, a cap or any other setting by it voids the promise: choose on synthetic cities.
    """
    from density_assets.city import City
    from density_assets.cli import runs

    return runs.evaluate_week(City.here(), week)


def purge(
    week: Annotated[str, typer.Option("--week", help="The Monday of the week.")],
    settings: SettingsFile = None,
    force: Annotated[bool, typer.Option("--force", help="Erase it even if its release is not complete.")] = False,
) -> int:
    """Erase the confidential zone of a week that is released."""
    from density_assets.city import City
    from density_assets.cli import runs

    return runs.purge_week(City.here(), week, force=force)
