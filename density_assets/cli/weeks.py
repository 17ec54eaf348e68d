"""Weeks: release one or several, make released ones again, erase what is confidential of one."""

from typing import Annotated

import typer

from density_assets.cli.options import SettingsFile, Week

_FIRST = typer.Option("--from", help="The first Monday.")
_LAST = typer.Option("--to", help="The last Monday.")


def release(settings: SettingsFile = None, week: Week = None) -> int:
    """Materialise one week, from records to everything derived from them."""
    from density_assets.city import City
    from density_assets.cli import runs

    return runs.release_week(City.here(), week)


def backfill(first: Annotated[str, _FIRST], last: Annotated[str, _LAST], settings: SettingsFile = None) -> int:
    """Release one week after another, until the first that is refused."""
    from density_assets.city import City
    from density_assets.cli import runs

    return runs.backfill(City.here(), first, last)


def rebuild(
    settings: SettingsFile = None,
    first: Annotated[str | None, _FIRST] = None,
    last: Annotated[str | None, _LAST] = None,
) -> int:
    """Make tables and files of released weeks again from stored draws, at no charge."""
    from density_assets.city import City
    from density_assets.cli import runs

    return runs.rebuild(City.here(), first, last)


def purge(
    week: Annotated[str, typer.Option("--week", help="The Monday of the week.")],
    settings: SettingsFile = None,
    force: Annotated[bool, typer.Option("--force", help="Erase it even if its release is not complete.")] = False,
) -> int:
    """Erase the confidential zone of a week that is released."""
    from density_assets.city import City
    from density_assets.cli import runs

    return runs.purge_week(City.here(), week, force=force)
