"""Looking: at the files before anything runs, and at everything in a browser."""

from typing import Annotated

import typer

from density_assets.cli.options import SettingsFile, Week, chosen_week


def check(settings: SettingsFile = None, week: Week = None) -> int:
    """Say what a city's own files hold, without running anything; ends with 1 if most records cannot be used."""
    from density_assets.city import City
    from density_assets.cli.inspection import inspect

    city = City.here()
    said, finding = inspect(city.settings, chosen_week(week, city), city.home)
    print(said)
    if finding:
        print(f"\nNOT ready: {finding}")
    return 1 if finding else 0


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
