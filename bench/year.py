"""What a released week costs after a year of weeks: a town of four cells, week after week: `make bench-year`.

Every week is released whole, by the command and in a process of its own, as a schedule does; so nothing is remembered
that a schedule would have to read again. Steps that may be handed out run in that process as well, without their wall:
its processor time is then all that a week costs. The answer wanted is that week 52 costs what week 2 does.
"""

import contextlib
import io
import statistics
import tempfile
from datetime import timedelta
from pathlib import Path

import geopandas as gpd
from shapely import box

from bench.measure import Cost, cost
from density_assets.city import City
from density_assets.cli.runs import release_week
from density_assets.settings import load_settings

WEEKS = 52
SHOWN = (1, 2, 13, 26, 39, 52)
EARLY, LATE = (2, 5), (49, 52)  # both inclusive; the first week has no past, and estimates less
CORNERS = ((0, 0), (1, 0), (0, 1), (1, 1))
X, Y, SIDE = 650_000, 6_860_000, 1_000  # metres
SETTINGS = """
[city]
name = "town"
cells = "cells.geojson"
cell_id = "code"
towers = "towers.csv"
tower_x = "x"
tower_y = "y"
tower_crs = "EPSG:2154"
users = 300

[privacy]
budget_epsilon = 100.0   # a year of weeks, of people who do not exist
"""


def compare() -> None:
    """Print one Markdown table: what some weeks of the year cost, and how the last ones compare with the first."""
    print("| week | processor s | wall s | peak MB |")
    print("|--:|--:|--:|--:|")
    costs = []
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        settings = town(Path(folder))
        for number in range(1, WEEKS + 1):
            costs.append(cost(release, settings, number))
            if number in SHOWN:
                print(f"| {number} | {shown(costs[-1])} |", flush=True)
    print("\n".join(ratios(costs)))


def ratios(costs: list[Cost]) -> list[str]:
    """How much more the last weeks cost than the first ones, in processor and in wall seconds."""
    early, late = (costs[first - 1 : last] for first, last in (EARLY, LATE))
    processor = _mean(late, "processor") / _mean(early, "processor")
    seconds = _mean(late, "seconds") / _mean(early, "seconds")
    which = f"weeks {LATE[0]} to {LATE[1]}, as a multiple of weeks {EARLY[0]} to {EARLY[1]}"
    return [f"| **{which}** | {processor:.2f} | {seconds:.2f} | |"]


def _mean(costs: list[Cost], of: str) -> float:
    return statistics.fmean(getattr(cost, of) for cost in costs)


def shown(cost: Cost) -> str:
    """A cost as cells of a table."""
    return f"{cost.processor:.1f} | {cost.seconds:.1f} | {cost.peak_mb:.0f}"


def town(folder: Path) -> Path:
    """Write four square cells with a tower in the middle of each; returns their settings file."""
    squares = [box(X + i * SIDE, Y + j * SIDE, X + (i + 1) * SIDE, Y + (j + 1) * SIDE) for i, j in CORNERS]
    cells = gpd.GeoDataFrame({"code": ["SW", "SE", "NW", "NE"]}, geometry=squares, crs="EPSG:2154")
    cells.to_file(folder / "cells.geojson", driver="GeoJSON")
    middles = [f"{X + (i + 0.5) * SIDE},{Y + (j + 0.5) * SIDE}" for i, j in CORNERS]
    (folder / "towers.csv").write_text("\n".join(["x,y", *middles]) + "\n")
    settings = folder / "town.toml"
    settings.write_text(SETTINGS)
    return settings


def release(settings: Path, number: int) -> None:
    """Release one week of the town as the command does; what it says is shown if it fails."""
    city = City(load_settings(settings), settings.parent / "home", sealed=False)
    week = city.settings.city.first_week + timedelta(weeks=number - 1)
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = release_week(city, str(week), None)
    if status:
        raise RuntimeError(f"week {number} must be released, but the command said:\n{said.getvalue()}")
