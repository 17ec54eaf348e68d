"""A town small enough to check by hand: four square cells, four towers, own files."""

from dataclasses import dataclass
from pathlib import Path

import geopandas as gpd
import polars as pl
from shapely import box

X0, Y0, SIDE = 650_000, 6_860_000, 1_000
WEEK = "2007-09-10"


@dataclass(frozen=True)
class Town:
    """The files of a town; `settings` names them all."""

    folder: Path
    settings: Path

    @property
    def visits(self) -> Path:
        return self.folder / "visits" / WEEK

    def write_visits(self, text: str, name: str = "part-0.csv", *, complete: bool = True) -> None:
        """Replace one file of visits; the header is user_id,time,tower_id."""
        self.visits.mkdir(parents=True, exist_ok=True)
        (self.visits / name).write_text("user_id,time,tower_id\n" + text)
        if complete:
            (self.visits / "_SUCCESS").touch()

    def set(self, old: str, new: str) -> None:
        """Change the settings file."""
        text = self.settings.read_text()
        assert old in text
        self.settings.write_text(text.replace(old, new))


SETTINGS = """
[city]
name = "town"
cells = "cells.geojson"
cell_id = "code"
towers = "towers.csv"
tower_id = "name"
tower_x = "x"
tower_y = "y"
tower_crs = "EPSG:2154"
visits = "visits/{week}/*.csv"
first_week = 2007-09-03

[engine]
threads = 2
"""


def make_town(tmp_path: Path) -> Town:
    """Cells NW, NE, SW, SE of 1 km²; towers A–D at their centres, and A2 on the same mast as A."""
    folder = tmp_path / "town"
    folder.mkdir()
    corners = {"SW": (0, 0), "SE": (1, 0), "NW": (0, 1), "NE": (1, 1)}
    squares = [box(X0 + i * SIDE, Y0 + j * SIDE, X0 + (i + 1) * SIDE, Y0 + (j + 1) * SIDE) for i, j in corners.values()]
    cells = gpd.GeoDataFrame({"code": list(corners)}, geometry=squares, crs="EPSG:2154")
    cells.to_file(folder / "cells.geojson", driver="GeoJSON")
    centres = [(X0 + (i + 0.5) * SIDE, Y0 + (j + 0.5) * SIDE) for i, j in corners.values()]
    points = dict(zip(["A", "B", "C", "D"], centres, strict=True)) | {"A2": centres[0]}
    rows = [{"name": name, "x": x, "y": y} for name, (x, y) in points.items()]
    pl.DataFrame(rows).write_csv(folder / "towers.csv")
    settings = folder / "town.toml"
    settings.write_text(SETTINGS)
    made = Town(folder, settings)
    made.write_visits("ann,2007-09-10 08:10:00,A\nann,2007-09-10 08:50:00,A\nbob,2007-09-12 20:00:00,D\n")
    return made
