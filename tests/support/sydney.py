"""Four squares of Sydney, in degrees, and the week in which its clocks go forward: Sunday 2007-10-28 at 02:00."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import geopandas as gpd
import numpy as np
from shapely import box
from town import Town

WEEK, SKIPPED = "2007-10-22", 6 * 24 + 2
WEST, SOUTH, SIDE = 151.20, -33.88, 0.01
PEOPLE, VISITS = 1_200, 20
SETTINGS = """
[city]
name = "sydney"
timezone = "Australia/Sydney"
cells = "cells.geojson"
cell_id = "code"
towers = "towers.csv"
tower_id = "name"
visits = "visits/{week}/*.csv"
first_week = 2007-10-22

[privacy]
epsilon = 5.0
budget_epsilon = 100.0

[engine]
threads = 2
"""


def make_sydney(folder: Path) -> Town:
    """Files of a city that lies south and east, whose records carry UTC."""
    folder.mkdir()
    corners = [(WEST + i * SIDE, SOUTH + j * SIDE) for j in (0, 1) for i in (0, 1)]
    squares = [box(x, y, x + SIDE, y + SIDE) for x, y in corners]
    cells = gpd.GeoDataFrame({"code": ["SW", "SE", "NW", "NE"]}, geometry=squares, crs="EPSG:4326")
    cells.to_file(folder / "cells.geojson", driver="GeoJSON")
    rows = [f"{name},{x + SIDE / 2},{y + SIDE / 2}" for name, (x, y) in zip("ABCD", corners, strict=True)]
    (folder / "towers.csv").write_text("\n".join(["name,lon,lat", *rows]) + "\n")
    (folder / "sydney.toml").write_text(SETTINGS)
    _write_visits(folder / "visits" / WEEK)
    return Town(folder, folder / "sydney.toml")


def _write_visits(folder: Path) -> None:
    folder.mkdir(parents=True)
    random, zone = np.random.default_rng(1), ZoneInfo("Australia/Sydney")
    start = datetime.fromisoformat(WEEK).replace(tzinfo=zone).astimezone(UTC)
    seconds = random.integers(167 * 3600, size=(PEOPLE, VISITS))  # the week is an hour short
    lines = [
        f"p{person},{start + timedelta(seconds=int(second)):%Y-%m-%dT%H:%M:%SZ},{tower}"
        for person in range(PEOPLE)
        for second, tower in zip(seconds[person], random.choice(list("ABCD"), size=VISITS), strict=True)
    ]
    (folder / "part-0.csv").write_text("user_id,time,tower_id\n" + "\n".join(lines) + "\n")
    (folder / "_SUCCESS").touch()
