"""What a city's files hold and are taken for, and whether to look again before anything runs (`make check`).

The report quotes counts of real records: it is for the terminal of those who may read them, and is not stored.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from itertools import groupby
from os.path import commonpath, relpath
from pathlib import Path
from textwrap import fill
from typing import Any

from density_assets.calendar import HOURS, WeekClock, week_clock
from density_assets.errors import BadInput, some
from density_assets.geography.cells_and_towers import Cells, Towers
from density_assets.geography.overlaps import overlaps, tower_cells
from density_assets.geography.places import minimum_cover
from density_assets.geography.regions import city_regions
from density_assets.geography.source import city_cells, city_footprints, city_towers
from density_assets.geography.tables import antennas_table
from density_assets.publication.people import city_factors
from density_assets.records.description import ON_CLOCKS, Description, describe
from density_assets.records.event_files import private_database
from density_assets.records.files import how_to_complete, is_complete, named_files, record_files, refuse_our_files
from density_assets.records.formats import ON_SPARK, format_of, named_if_damaged
from density_assets.records.verdict import (
    Finding,
    Verdict,
    WeekOfRecords,
    findings_of_files,
    findings_of_geography,
    findings_of_week,
    verdict_of,
)
from density_assets.schemes import refuse_without_areas
from density_assets.schemes.expected import expected_worth
from density_assets.settings import Settings
from density_assets.settings.city import CitySettings
from density_assets.settings.values import is_url
from resources.sql.ingest import events, unquoted
from resources.tables.weeks import roots_under

MOST_FILES = 24  # whose first records are looked at


def first_files(files: Sequence[Path], city: CitySettings) -> list[Description]:
    """What the first files are taken for, named from the folder on in which all lie: parts of days are named alike."""
    names = {file: relpath(file, commonpath([each.parent for each in files])) for file in files[:MOST_FILES]}
    return [replace(describe(file, city), file=name) for file, name in names.items()]


def said_of(files: Sequence[Description], of_week: int, city: CitySettings) -> Iterator[tuple[str, str]]:
    """Said once for files that are alike; no identifier is repeated.

    of_week: how many files there are, of which some may not have been looked at.
    """
    if of_week > len(files):
        yield "", f"first {len(files)} of {of_week:,} files looked at for what they are; records of all are counted"
    for _, alike in groupby(sorted(files, key=_layout_of), key=_layout_of):
        file, *others = alike
        yield "file", f"{file.file}{f' and {len(others):,} more of its kind' if others else ''}: {_format_words(file)}"
        yield "columns", ", ".join(f"{name} ({kind})" for name, kind in file.columns)
        yield "taken for", ", ".join(f"{role}: {column}" for role, column in file.roles.items()) or "nothing known"
        yield "first", f"{file.sampled:,} records, {file.unreadable:,} of them not readable"
        yield (
            "",
            f"identifiers: {_forms(file.identifiers)}; {file.distinct['as is']:,} different, {file.once:,} seen once",
        )
        yield "", f"times: {_times(file, city)}"
        known = {*file.roles.values()} - {file.roles.get("user")}
        forms = {name for name, _ in file.columns if name != file.roles.get("user")}  # said once: there may be hundreds
        yield from (("", _row(row, known if number else forms)) for number, row in enumerate(file.rows))


def _layout_of(file: Description) -> str:
    return f"{file.kind} {file.compression} {file.delimiter} {file.encoding} {file.columns}"


def _format_words(file: Description) -> str:
    mark = f", delimiter {file.delimiter!r}, {file.encoding}" if file.delimiter else ""
    return f"{file.kind}{f' ({file.compression})' if file.compression else ''}{mark}"


def _forms(forms: Mapping[Any, int]) -> str:
    return ", ".join(f"{number:,} {form}" for form, number in forms.items()) or "none"


def _times(file: Description, city: CitySettings) -> str:
    """Their forms, and on which clocks those are read that carry no zone."""
    pattern = city.visit_time_format
    forms = _forms(file.times) if pattern is None else f"written as {pattern} (city.visit_time_format), without a zone"
    if pattern is None and not {*ON_CLOCKS} & file.times.keys():
        return forms
    if city.visit_timezone is not None:
        return f"{forms}, read as {city.visit_timezone} (city.visit_timezone)"
    return (
        f"{forms}, read as {city.timezone} (city.timezone): if they are others', such as UTC, set city.visit_timezone"
    )


def _row(row: Mapping[str, str], columns: Collection[str]) -> str:
    shown = {name: value if value == value.strip() else repr(value) for name, value in row.items() if name in columns}
    return "  ".join(f"{name}={value}" for name, value in shown.items())


# Records of a week by reason, then usable ones by identifier, by site and by hour, all in one pass: they can be read
# once.
# Hours a century away are slips of the pen, and may have no name in our calendar; 8,784 are a leap year.
SUMS = """
with named as (
  select coalesce(rejection, 'usable') as reason, hour,
    case when rejection is null then user_key end as identifier,
    case when rejection is null then tower_id end as site,
    case when rejection is null then hour end as used_hour
  from found
), sums as (
  select reason, identifier, site, used_hour, grouping(reason, identifier, site, used_hour) as kind, count(*) as number,
    min(hour) filter (where abs(hour) < 876600) as first, max(hour) filter (where abs(hour) < 876600) as last,
    count(*) filter (where abs(hour) > 8784) as far
  from named group by grouping sets ((reason), (identifier), (site), (used_hour))
)
select kind, reason, used_hour,
  sum(number), count(*), count(*) filter (where number = 1), min(first), max(last), sum(far)
from sums
where coalesce(reason, cast(identifier as varchar), cast(site as varchar), cast(used_hour as varchar)) is not null
group by kind, reason, used_hour
"""
# What `grouping` says of each set: a bit for each column left out.
REASONS, IDENTIFIERS, SITES, USED_HOURS = 0b0111, 0b1011, 0b1101, 0b1110


@dataclass
class Inspection:
    """What was found: lines to show, by name, and what speaks against a release."""

    lines: list[tuple[str, str]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        """What follows."""
        return verdict_of(self.findings)

    def __str__(self) -> str:
        """As it is printed where nobody looks at how long a line is."""
        return self.shown(None)

    def shown(self, width: int | None) -> str:
        """As it is printed; lines longer than the terminal go on below where they began."""
        said = [_folded(f"{name:<10} {text}", 11, width) for name, text in self.lines]
        reasons = [_folded(f"- {finding.text}", 2, width) for finding in self.findings]
        return "\n".join([*said, "", f"{self.verdict}{':' if reasons else ''}", *reasons])


def _folded(line: str, indent: int, width: int | None) -> str:
    if width is None or len(line) <= width:
        return line
    room = max(width, 2 * indent + 20)
    return fill(line, room, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)


def inspect(settings: Settings, week: date, home: Path) -> Inspection:
    """Read everything the settings name; raises what a run would raise of public files.

    Records that cannot be read at all are a finding like any other: what a person says of them later must not depend
    on them.
    """
    refuse_our_files(named_files(settings), home, roots_under(home))
    refuse_without_areas(settings)
    cells = city_cells(settings)
    towers = city_towers(settings, cells)
    found = Inspection()
    found.lines += _geography(settings, cells, towers)
    told = expected_worth(settings, len(towers))
    found.findings += findings_of_geography(len(towers.antennas), towers.outside, told.warnings if told else ())
    found.lines += _clocks(settings, week)
    if settings.city.visits is None:
        found.lines.append(("visits", f"simulated, {settings.city.simulated_users:,} users"))
        return found
    try:
        _look_at_records(settings, towers, week, home, found)
    except BadInput as problem:
        found.findings.append(Finding(Verdict.NOT_READY, str(problem)))
    return found


def _geography(settings: Settings, cells: Cells, towers: Towers) -> Iterator[tuple[str, str]]:
    source = (
        "embedded" if settings.city.embedded else f"{settings.city.grid or settings.city.cells}, {settings.city.towers}"
    )
    footprints = city_footprints(settings, antennas_table(towers), cells)
    pieces = footprints.pieces if footprints else overlaps(tower_cells(towers.xy, cells.city), cells.polygons)
    yield "city", f"{settings.city.name} ({source})"
    yield "cells", f"{len(cells):,} valid and disjoint, {cells.city.area / 1e6:,.2f} km², {cells.crs}"
    yield (
        "towers",
        f"{len(towers):,} sites; antennas merged into one: {towers.merged:,}, outside: {towers.outside:,}, "
        f"listed again: {towers.repeated:,}",
    )
    yield "", f"their names in the list: {some(map(repr, towers.antennas))}"
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
    elif settings.city.people is None:
        yield (
            "expected",
            "no error can be foreseen: city.population must say how many people the records are of",
        )


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


def _clocks(settings: Settings, week: date) -> Iterator[tuple[str, str]]:
    clock = week_clock(week, settings.city.zone)
    yield "week", f"{week}, {settings.city.timezone}"
    for slots, fate in ((clock.repeated, "happen twice, counted once"), (clock.missing, "do not happen")):
        if slots:
            yield "clocks", f"hours {', '.join(map(str, slots))} {fate}"


def _look_at_records(settings: Settings, towers: Towers, week: date, home: Path, found: Inspection) -> None:
    """Say what the records of a week hold, as far as they can be read."""
    city = settings.city
    assert city.visits is not None
    named = record_files(settings, week)
    refuse_our_files(named, home, roots_under(home))
    if is_url(city.visits):
        said = f"{len(named):,} at {city.visits}, read by Spark only: their records are not looked at here"
        found.lines.append(("files", said))
        found.findings.append(Finding(Verdict.LOOK, "records at a URL are not looked at: check a copy of a few files"))
        return
    files = [file for file in named if isinstance(file, Path)]
    found.lines += _files(settings, week, files)
    if settings.engine.name == "spark" and (others := [file.name for file in files if not format_of(file).on_spark]):
        said = f"on Spark visit files must be {ON_SPARK}, got {some(others)}: convert them, or use DuckDB"
        found.findings.append(Finding(Verdict.NOT_READY, said))
    with named_if_damaged(files):
        looked_at = first_files(files, city)
    found.lines += said_of(looked_at, len(files), city)
    found.findings += findings_of_files(looked_at, city)
    of_week = _events(settings, towers, week_clock(week, city.zone), files)
    found.lines += _record_lines(of_week, week_clock(week, city.zone))
    found.findings += findings_of_week(of_week)


def _files(settings: Settings, week: date, files: list[Path]) -> Iterator[tuple[str, str]]:
    whole = is_complete(settings, week)
    said = "complete" if whole else "not known to be complete"
    yield "files", f"{len(files):,}, {sum(file.stat().st_size for file in files) / 1e6:,.1f} MB, {said}"
    if not whole:
        yield "", f"schedules wait for it: once all of the week is there, {how_to_complete(settings, week)}"


def _events(settings: Settings, towers: Towers, clock: WeekClock, files: list[Path]) -> WeekOfRecords:
    """Count records, usable or by the reason that they are not, their identifiers and their sites."""
    week = WeekOfRecords(sites=len(towers))
    with private_database() as connection, unquoted(settings.folder, files):
        found = events(connection, antennas_table(towers), clock, files, settings.city, week.records)
        found.create_view("found")
        rows = connection.execute(SUMS).fetchall()
    by_reason = [row for row in rows if row[0] == REASONS]
    week.records.update({reason: int(number) for _, reason, _, number, *_ in by_reason})
    hours = [hour for *_, first, last, _ in by_reason for hour in (first, last) if hour is not None]
    week.hours = (min(hours), max(hours)) if hours else None
    week.far = sum(int(far) for *_, far in by_reason)
    in_hour = {hour: int(number) for kind, _, hour, number, *_ in rows if kind == USED_HOURS}
    week.by_hour = tuple(in_hour.get(hour, 0) for hour in range(HOURS))
    for kind, _, _, _, groups, once, *_ in rows:
        if kind == IDENTIFIERS:
            week.identifiers, week.once = groups, once
        elif kind == SITES:
            week.towers = groups
    return week


def _record_lines(week: WeekOfRecords, clock: WeekClock) -> Iterator[tuple[str, str]]:
    yield "records", f"{week.records.total():,}"
    yield from (("", f"{n:,} {reason}") for reason, n in sorted(week.records.items()))
    yield "seen at", f"{week.towers:,} of {week.sites:,} sites"
    yield "users", f"{week.identifiers:,} identifiers, {week.once:,} of them seen once"
    if week.hours:
        yield "span", " to ".join(f"{_wall_clock(clock.monday, hour):%Y-%m-%d %H}h" for hour in week.hours)


def _wall_clock(monday: int, hour: int) -> datetime:
    return datetime.fromtimestamp(monday + hour * 3600, UTC)
