"""The files of a release: counts as Parquet, CSV and GeoJSON, and the dictionary that explains them."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import polars as pl
import shapely
from numpy.typing import NDArray

from density_assets.calendar import HOURS, WeekClock
from density_assets.geography.cells import DEGREES
from density_assets.geography.cells_and_towers import Cells
from density_assets.publication.columns import Columns, as_markdown
from density_assets.publication.sum_errors import MEANING
from density_assets.publication.vintages import named_final
from density_assets.quality.released import Worth

AUDIT_PAGE = "audit.html"  # beside the pages of releases
MEASUREMENTS = "measurements"  # folder of stored draws, which are published too
ERRORS_OF_SUMS = ("errors_of_sums", "parquet")  # of schemes that know them
COUNT_FILES = (("density", "parquet"), ("density", "csv"), ("density", "geojson"), ("data_dictionary", "md"))
FURTHER_FILES = (("cells", "parquet"), ("density", "gpkg"), ("sdmx", "csv"), ("measurements", "parquet"))
DESCRIPTIONS = (("datapackage", "json"), ("dcat", "jsonld"), ("dp_deployment", "yaml"))
DICTIONARY = """# Data dictionary: {city}, week of {week}

{vintage}{columns}

Counts are non-negative integers. In each hour they were rounded together, by largest remainder, so that the city's
total is kept. The noise that protects people is part of every count: see the privacy statement.

{clock}
{sums}{others}"""
OF_SUMS = """
## Errors of sums

Standard errors of cells and hours must not be added, nor their squares: neighbours and hours err together. The file
`{file}` tells the error of any sum. Its rows are patterns of errors:

| column | meaning |
|---|---|
{columns}

For weights a of cells and b of hours the square of the standard error of the sum of a·b·`count` is

    Σ over kinds |U'a|² · |F'b|²  +  |C'y|²  +  Σ a² b² · own

U: patterns over cells, F: over hours, of one kind. C: the patterns of the kind `city`; y: the sum of a·b·`count` in
each hour. own: what the other terms leave of `standard_error`² of a cell and hour by itself, or zero. The documentation
of the software has this as functions for Python and R (`docs/errors-of-sums.md`).
"""


@dataclass(frozen=True)
class Naming:
    """Where the files of one release lie; revisions and final estimates stand side by side.

    upto: the last week that a final estimate uses; none for what a week is first published with.
    """

    folder: Path
    week: str
    revision: int
    upto: str | None = None

    def file(self, stem: str, suffix: str) -> Path:
        """For example density_2007-09-10.csv, or density_2007-09-10_r2.csv for a second revision.

        Of a final estimate density_final_2007-09-10_to_2007-10-29.csv.
        """
        name = f"{self.week}_r{self.revision}" if self.revision > 1 else self.week
        return self.folder / f"{stem}_{f'final_{name}_to_{self.upto}' if self.upto else name}.{suffix}"


def draw_file(key: str) -> str:
    """The file of a stored draw, by the key of its measurement, as seen from the release folder."""
    return f"{MEASUREMENTS}/{key[:32]}.npz"


def key_file(fingerprint: str) -> str:
    """The file of a public key, as seen from the release folder; its name stays with the key."""
    return f"key_{fingerprint[:16]}.pem"


def fingerprint(public: str) -> str:
    """Return what people compare of a public key: its SHA-256."""
    return hashlib.sha256(bytes.fromhex(public)).hexdigest()


def density_table(
    cells: Cells, counts: NDArray[np.int64], errors: NDArray[np.float64], clock: WeekClock
) -> pl.DataFrame:
    """One row per cell and hour."""
    moments = [hour_start(clock, hour) for hour in range(HOURS)]
    return pl.DataFrame(
        {
            "cell_id": np.repeat(cells.ids, HOURS).tolist(),
            "hour": np.tile(np.arange(HOURS, dtype=np.int64), len(cells)),
            "timestamp": [moment.isoformat() if moment else None for moment in moments] * len(cells),
            "count": counts.reshape(-1),
            "standard_error": np.round(errors.reshape(-1), 3),
        },
        schema_overrides={"timestamp": pl.String},
    )


def counts_and_errors(density: pl.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Counts and standard errors of such a table, both of shape (cells, hours)."""
    counts, errors = (density[name].to_numpy().reshape(-1, HOURS) for name in ("count", "standard_error"))
    return counts, errors


def hour_start(clock: WeekClock, hour: int) -> datetime | None:
    """When an hour of the week starts; none if it does not happen, the first time if it happens twice."""
    if hour in clock.missing:
        return None
    wall = clock.monday + hour * 3600
    offset = clock.before if wall - clock.before < clock.change else clock.after
    return datetime.fromtimestamp(wall - offset, UTC).astimezone(timezone(timedelta(seconds=offset)))


def geojson(cells: Cells, outlines: NDArray[Any], **series: NDArray[Any] | str) -> str:
    """One feature per cell, in degrees (EPSG:4326) to a tenth of a metre.

    outlines: of the cells, as `in_degrees` gives them. series: what is said of the cells, by name: 168 numbers of each,
    or one text of all.
    """
    said = {name: [of] * len(cells) if isinstance(of, str) else of.tolist() for name, of in series.items()}
    features = [
        {
            "type": "Feature",
            "id": cell,
            "properties": {"cell_id": cell, "area_km2": area, **dict(zip(said, row, strict=True))},
            "geometry": shapely.geometry.mapping(shape),
        }
        for cell, area, shape, *row in zip(cells.ids.tolist(), areas_km2(cells), outlines, *said.values(), strict=True)
    ]
    return json.dumps({"type": "FeatureCollection", "features": features})


def in_degrees(cells: Cells) -> NDArray[Any]:
    """The cells' outlines as longitude and latitude, to a tenth of a metre."""
    degrees = gpd.GeoSeries(cells.polygons, crs=cells.crs).to_crs(DEGREES)
    return np.asarray(shapely.transform(np.asarray(degrees), lambda xy: np.round(xy, 6)))


def areas_km2(cells: Cells) -> list[float]:
    """The cells' areas to a hundred square metres."""
    return [round(area / 1e6, 4) for area in cells.areas.tolist()]


def clock_note(clock: WeekClock) -> str:
    """What clocks do in the week."""
    if clock.repeated:
        return f"Clocks go back this week: hour {', '.join(map(str, clock.repeated))} happens twice and is one slot."
    if clock.missing:
        skipped = ", ".join(map(str, clock.missing))
        return f"Clocks go forward this week: hour {skipped} does not happen; its counts are zero, and certain."
    return "Clocks do not change this week."


def dictionary(
    city: str,
    timezone: str,
    clock: WeekClock,
    errors_of_sums: str | None,
    worth: Worth,
    upto: str | None,
    tables: Mapping[str, Columns],
) -> str:
    """The data dictionary.

    errors_of_sums: the name of their file, if there is one. worth: of the counts. upto: the last week that a
    final estimate uses. tables: columns of the counts and of other files, by what heads them; that of the counts first.
    """
    of_counts, *further = tables.values()
    others = (f"\n## {title}\n\n{as_markdown(more)}\n" for title, more in zip([*tables][1:], further, strict=True))
    vintage = f"{named_final(upto)}\n\n" if upto else ""
    columns = "\n".join(f"| `{name}` | {meaning} |" for name, meaning in MEANING.items())
    sums = OF_SUMS.format(file=errors_of_sums, columns=columns) if errors_of_sums else ""
    return DICTIONARY.format(
        city=city,
        week=clock.week,
        vintage=vintage,
        columns=as_markdown(of_counts),
        clock=f"{clock_note(clock)}\n\n{worth.note}",
        sums=sums,
        others="".join(others),
    )


def digests(files: list[Path]) -> dict[str, str]:
    """SHA-256 of each file, by name."""
    by_name: dict[str, str] = {}
    for file in files:
        with file.open("rb") as handle:
            by_name[file.name] = hashlib.file_digest(handle, "sha256").hexdigest()
    return by_name
