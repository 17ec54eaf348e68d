"""What a confidential table was made under, written into its file and checked whenever it is read.

A bound on one user's part holds for the settings a table was made with. Were tables of other settings read, noise
would be calibrated to a bound they do not keep; were a real city's tables read after it was declared synthetic, real
people would be treated as nobody's data; were tables of another antenna list read, whether that fails would depend on
who was seen where. So every read of a table whose stamp is not today's is refused.
"""

import hashlib
import json
from typing import Any

import polars as pl

from density_assets.geography.cells_and_towers import geography_hash
from density_assets.geography.tables import antennas_inside, cells_from, footprints_from, towers_from, towers_table
from density_assets.privacy.charges import population_name
from density_assets.privacy.release import FORMAT
from density_assets.settings import Settings
from density_assets.settings.city import CitySettings

SOURCE = ("population", "timezone", "users", "seed", "antennas")  # whose records, on which clocks, at which sites
MAPPED = (*SOURCE, "visits_per_user", "geography")
RELEVANT = {
    "visits": SOURCE,
    "truncated_visits": (*SOURCE, "visits_per_user"),
    "tower_series": (*SOURCE, "visits_per_user", "weight_l"),
    "tower_totals": (*SOURCE, "tower_l"),
    "one_visit_histogram": SOURCE,
    "visit_total": (*SOURCE, "visits_clamp"),
    "iris_series": MAPPED,
    "cover_series": MAPPED,
    "evaluation_metrics": (*MAPPED, "visits_clamp", "weight_l"),
}

COLUMNS = ("visit_user", "visit_time", "visit_tower")  # of records: whose week is bounded, and what counts as a visit

Stamp = dict[str, Any]


def stamp_values(settings: Settings) -> Stamp:
    """Every setting that shapes some confidential table."""
    simulated = settings.city.synthetic
    return {
        "population": population_name(settings),
        "timezone": settings.city.timezone,
        "users": settings.city.simulated_users if simulated else None,
        "seed": settings.city.seed if simulated else None,
        "visits_per_user": settings.privacy.visits_per_user,
        "visits_clamp": settings.privacy.visits_clamp,
        "weight_l": settings.scheme.weight_l,
        "tower_l": settings.scheme.tower_l,
        **_reading(settings.city),
    }


def _reading(city: CitySettings) -> Stamp:
    """How records are read, as far as it is not the default."""
    usual = {name: CitySettings.model_fields[name].default for name in COLUMNS}
    how = {
        **{name: getattr(city, name) for name in COLUMNS if getattr(city, name) != usual[name]},
        "user_form": city.user_form if city.user_form != "as is" else None,
        "visit_date": city.visit_date,
        "visit_time_format": city.visit_time_format,
        "visit_timezone": city.visit_zone and city.visit_timezone,
        "visit_where": sorted([column, _told_apart(value)] for column, value in city.visit_where.items()) or None,
    }
    changed = {name: value for name, value in how.items() if value is not None}
    return {"reading": changed} if changed and not city.synthetic else {}


def _told_apart(value: str | float | bool) -> str | float | list[bool]:
    """Truth values in brackets: `true` equals 1 in Python, but 2 passes for the one and not for the other."""
    return [value] if isinstance(value, bool) else value


def geography_stamp(antennas: pl.DataFrame, cells: pl.DataFrame, overlaps: pl.DataFrame | None = None) -> Stamp:
    """The public lists that say where a record is counted: the antennas alone, and with the cells and footprints."""
    sites = antennas_inside(antennas).select(
        "antenna_id", "tower_id", (pl.col("x", "y") * 100).round().cast(pl.Int64)
    )  # centimetres
    shares = [] if overlaps is None else footprints_from(overlaps)
    geography = geography_hash(cells_from(cells), towers_from(towers_table(antennas)), shares)
    listed = hashlib.sha256(json.dumps(sites.rows()).encode()).hexdigest()
    return {"antennas": listed[:16], "geography": geography[:16]}


def stamp_of(table: str, values: Stamp) -> Stamp:
    """The format, and the settings that matter for one table; all of them for a table not listed."""
    names = [*RELEVANT.get(table, tuple(values)), *(["reading"] if "reading" in values else [])]
    return {"format": FORMAT, **{name: values[name] for name in names}} if values else {}


def difference(made: Stamp, now: Stamp) -> str:
    """How two stamps differ, in words; empty if they do not."""
    names = [name for name in {**made, **now} if made.get(name) != now.get(name)]
    return ", ".join(f"{name} was {made.get(name)!r} and is {now.get(name)!r}" for name in names)
