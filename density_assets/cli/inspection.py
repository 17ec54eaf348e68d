"""What a city's files hold, said before anything runs (`make check`).

The report quotes counts of real records: it is for the terminal of those who may read them, and is not stored.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import duckdb

from density_assets.calendar import WeekClock, week_clock
from density_assets.geography.cells_and_towers import Cells, Towers
from density_assets.geography.cover import minimum_cover
from density_assets.geography.overlaps import overlaps
from density_assets.geography.regions import city_regions
from density_assets.geography.source import city_cells, city_footprints, city_towers
from density_assets.geography.tables import antennas_table
from density_assets.geography.voronoi import tower_cells
from density_assets.publication.people_tables import city_factors
from density_assets.records.confinement import named_files, refuse_kept
from density_assets.records.found_files import is_complete, record_files
from density_assets.records.usable import mostly_unusable
from density_assets.schemes import refuse_without_areas
from density_assets.schemes.expected import expected_worth
from density_assets.setting_types import is_url
from density_assets.settings import Settings
from resources.sql.ingest import events, unquoted
from resources.tables.roots import roots_under

# Hours a century away are slips of the pen, and may have no name in our calendar.
SPANS = """coalesce(rejection, 'usable') as reason, count(*),
    min(hour) filter (where abs(hour) < 876600), max(hour) filter (where abs(hour) < 876600)"""


def inspect(settings: Settings, week: date, home: Path) -> tuple[str, str]:
    """Read everything the settings name; returns what it holds, and what speaks against releasing it, if anything.

    Raises what a run would raise.
    """
    refuse_kept(named_files(settings), home, roots_under(home))
    refuse_without_areas(settings)
    cells = city_cells(settings)
    towers = city_towers(settings, cells)
    records: Counter[str] = Counter()
    lines = [*_geography(settings, cells, towers), *_visits(settings, towers, week, home, records)]
    said = "\n".join(f"{name:<10} {text}" for name, text in lines)
    return said, "" if settings.city.synthetic else mostly_unusable(records)


def _geography(settings: Settings, cells: Cells, towers: Towers) -> Iterator[tuple[str, str]]:
    source = "embedded" if settings.city.embedded else f"{settings.city.cells}, {settings.city.towers}"
    footprints = city_footprints(settings, antennas_table(towers), cells)
    pieces = footprints.pieces if footprints else overlaps(tower_cells(towers.xy, cells.city), cells.polygons)
    yield "city", f"{settings.city.name} ({source})"
    yield "cells", f"{len(cells):,} valid and disjoint, {cells.city.area / 1e6:,.2f} km², {cells.crs}"
    yield (
        "towers",
        f"{len(towers):,} sites; antennas merged into one: {towers.merged:,}, outside: {towers.outside:,}, "
        f"listed again: {towers.repeated:,}",
    )
    if towers.moved or towers.expired:
        yield (
            "",
            f"moved, so that their newest position counts in all weeks: {towers.moved:,}; ended: {towers.expired:,}",
        )
    yield from _regions_and_people(settings, cells)
    if footprints:
        lost = f"{footprints.outside:.1%} of their mass lies outside; {footprints.unknown:,} antennas unknown"
        yield "footprints", f"{len(pieces):,} shares; {lost}"
    else:
        yield "overlaps", f"{len(pieces):,} above 1 m²"
    yield "cover", f"{len(minimum_cover(pieces)):,} cells"
    if (told := expected_worth(settings, len(towers))) is not None:
        yield "expected", "by simulation, before anything is spent: " + told.note


def _regions_and_people(settings: Settings, cells: Cells) -> Iterator[tuple[str, str]]:
    ids = cells.ids.tolist()
    regions = city_regions(settings, ids)
    if regions is not None:
        yield "regions", f"{len(regions):,}, every cell in one"
    factors = city_factors(settings, ids, regions)
    if factors is None:
        yield "people", "no factors in [people]: counts are visits of devices"
    else:
        ends = (rate.matrix.mean() for rate in (factors.fewest, factors.stated, factors.most))
        low, middle, high = (f"{end:,.2f}" for end in ends)
        yield "people", f"{middle} behind a visit, on average over cells and hours ({low} to {high} by the bounds)"


def _visits(
    settings: Settings, towers: Towers, week: date, home: Path, records: Counter[str]
) -> Iterator[tuple[str, str]]:
    """Say what the records of a week hold; fills in how many are usable, or not and why."""
    city, clock = settings.city, week_clock(week, settings.city.zone)
    yield "week", f"{week}, {city.timezone}"
    for slots, fate in ((clock.repeated, "happen twice, counted once"), (clock.missing, "do not happen")):
        if slots:
            yield "clocks", f"hours {', '.join(map(str, slots))} {fate}"
    if city.visits is None:
        yield "visits", f"simulated, {city.simulated_users:,} users"
        return
    found = record_files(city.visits, week, settings.folder)
    refuse_kept(found, home, roots_under(home))
    if is_url(city.visits):
        yield "files", f"{len(found):,} at {city.visits}, read by Spark only: their records are not looked at here"
        return
    files = [file for file in found if isinstance(file, Path)]
    complete = (
        "complete" if is_complete(city.visits, week, settings.folder) else "no _SUCCESS: not known to be complete"
    )
    yield "files", f"{len(files):,}, {sum(file.stat().st_size for file in files) / 1e6:,.1f} MB, {complete}"
    hours = _events(settings, towers, clock, files, records)
    yield "records", f"{sum(records.values()):,}"
    yield from (("", f"{n:,} {reason}") for reason, n in sorted(records.items()))
    if hours:
        yield "span", " to ".join(f"{_wall_clock(clock.monday, h):%Y-%m-%d %H}h" for h in (min(hours), max(hours)))


def _events(
    settings: Settings, towers: Towers, clock: WeekClock, files: list[Path], reasons: Counter[str]
) -> list[int]:
    """Count records, usable or by the reason that they are not; returns hours that they lie between."""
    with duckdb.connect() as connection, unquoted(settings.folder):
        found = events(connection, antennas_table(towers), clock, files, settings.city, reasons)
        rows = found.aggregate(SPANS, "reason").fetchall()
    reasons.update({reason: n for reason, n, *_ in rows})
    return [hour for *_, first, last in rows for hour in (first, last) if hour is not None]


def _wall_clock(monday: int, hour: int) -> datetime:
    return datetime.fromtimestamp(monday + hour * 3600, UTC)
