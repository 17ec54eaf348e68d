"""Whether records are understood as their owner means them: what `check` says before anything is spent.

A verdict is advice for whoever may read the records, and is stored nowhere: it stops no release and allows none,
because that a week was stopped would tell everybody what is in it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from density_assets.city_settings import CitySettings
from density_assets.records.nights import quieter_than_night
from density_assets.records.text_files import UNREADABLE
from density_assets.records.times import year_last
from density_assets.records.understood import Understood
from density_assets.records.usable import LEFT_OUT, SETTINGS, USABLE, mostly_unusable

FEW_USABLE = 0.9  # of the records: below it somebody should know why
LOST_LINES = 0.001  # of the records: letters with accents are lost together with what has them in its name
FEW_TOWERS = 0.5  # of the sites: a week of a whole city sees most of them
MANY_ONCE = 0.5  # of the identifiers: people are seen more often than once a week
FEW_HOURS = 144  # of a week, from the first to the last one with a record: six days
FEW_RECORDS = 1_000  # fewer say nothing of towers and identifiers


class Verdict(IntEnum):
    """What follows; the number is the exit status of the command."""

    READY = 0
    NOT_READY = 1
    LOOK = 3

    def __str__(self) -> str:
        """In words."""
        return {0: "ready", 1: "NOT ready", 3: "look at this"}[self]


@dataclass(frozen=True)
class Finding:
    """One thing that speaks against a release, and how much."""

    verdict: Verdict
    text: str


@dataclass
class WeekOfRecords:
    """What the records of a week hold, in numbers.

    records: how many are usable, and how many are not by reason.
    hours: first and last hour of the week in which a record lies; none where no time was readable.
    far: how many lie more than a year from the week.
    towers, sites: at how many sites there are usable records, and how many sites there are.
    identifiers, once: how many there are among usable records, and how many of them are seen once.
    by_hour: how many usable records lie in each hour of the day, on the city's clocks; empty where nobody counted.
    """

    records: Counter[str] = field(default_factory=Counter)
    hours: tuple[int, int] | None = None
    far: int = 0
    towers: int = 0
    sites: int = 0
    identifiers: int = 0
    once: int = 0
    by_hour: tuple[int, ...] = ()


def verdict_of(findings: Sequence[Finding]) -> Verdict:
    """The worst of what was found."""
    found = {finding.verdict for finding in findings}
    return next((worst for worst in (Verdict.NOT_READY, Verdict.LOOK) if worst in found), Verdict.READY)


def findings_of_week(week: WeekOfRecords) -> list[Finding]:
    """What speaks against the records of a week."""
    if unusable := mostly_unusable(week.records):
        return [Finding(Verdict.NOT_READY, unusable)]
    asked = Counter({why: n for why, n in week.records.items() if why != LEFT_OUT})
    total, usable = asked.total(), asked[USABLE]
    found = []
    if usable < FEW_USABLE * total:
        reason, count = _main_reason(asked)
        found.append(f"{total - usable:,} of {total:,} records cannot be used, {count:,} of them because of "
                     f"{reason!r}: look at {SETTINGS.get(reason, 'the files')}")  # fmt: skip
    elif (lines := asked[UNREADABLE]) > LOST_LINES * total:
        found.append(f"{lines:,} of {total:,} lines are no text and are left out: look at {SETTINGS[UNREADABLE]}")
    if week.far:
        found.append(
            f"{week.far:,} records lie more than a year from the week: look at city.visit_time, its format and unit"
        )
    if usable >= FEW_RECORDS and (hours := _hours_between(week)) < FEW_HOURS:
        found.append(
            f"records of this week lie in {hours} hours of it, from the first to the last: are these all files of the "
            "week?"
        )
    elif usable >= FEW_RECORDS and week.by_hour and (quiet := quieter_than_night(week.by_hour)):
        found.append(
            f"fewest records lie from {quiet[0]}h to {quiet[1]}h on the city's clocks, fewer than in any hours of the "
            "night: look at city.timezone, at city.visit_timezone where times carry no zone, and at city.visit_time"
        )
    if usable >= FEW_RECORDS and week.towers < FEW_TOWERS * week.sites:
        found.append(
            f"usable records are at {week.towers:,} of {week.sites:,} sites only: are these all files of the week, and "
            "is the antenna list of this city?"
        )
    if usable >= FEW_RECORDS and week.once > MANY_ONCE * week.identifiers:
        found.append(
            f"{week.once:,} of {week.identifiers:,} identifiers are seen once: a column that is no subscriber, or "
            "pseudonyms that change, would promise less than one person's week: look at city.visit_user"
        )
    return [Finding(Verdict.LOOK, text) for text in found]


def findings_of_geography(antennas: int, outside: int, warnings: Sequence[str]) -> list[Finding]:
    """What speaks against the public lists.

    antennas: in the city, `outside`: not. warnings: what is foreseen of a release of it.
    """
    found = []
    if outside > antennas:
        found.append(
            f"{outside:,} antennas of the list lie outside the city and {antennas:,} in it: records at the former "
            "count as 'tower outside the city'; look at city.tower_crs, or take the cells of the whole region"
        )
    return [Finding(Verdict.LOOK, text) for text in (*found, *warnings)]


def findings_of_files(files: Sequence[Understood], city: CitySettings) -> list[Finding]:
    """What speaks against how files are understood, with what to write into the settings."""
    broken = [
        f"{file.unreadable:,} of {file.sampled:,} lines looked at in {file.file} are no UTF-8, or have more or fewer "
        "fields than line 1 names: look at the delimiters of both"
        for file in files
        if file.unreadable > (1 - FEW_USABLE) * file.sampled
    ]
    wanted: dict[str, str] = {}  # by what to write: said of the first file that needs it
    for file in files:
        for line in suggestions(file, city):
            wanted.setdefault(line.partition("  #")[0], line)
    said = [f"the settings may have to say: {line}" for line in sorted(wanted.values())]
    return [Finding(Verdict.LOOK, text) for text in (*broken[:1], *said)]


def suggestions(file: Understood, city: CitySettings) -> list[str]:
    """Lines for [city] that a file seems to need, each with why."""
    said = [
        f'{key} = "{file.roles[role]}"  # no column {named!r} in {file.file}'
        for role, key, named in (
            ("user", "visit_user", city.visit_user),
            ("time", "visit_time", city.visit_time),
            ("tower", "visit_tower", city.visit_tower),
        )
        if role in file.roles and named not in dict(file.columns)
    ]
    return [*said, *_formats(file, city), *_spellings(file, city), *_zones(file, city)]


def _formats(file: Understood, city: CitySettings) -> Iterator[str]:
    """How times seem to be written, where the year comes last: which only settings can tell."""
    written = [
        " ".join(row[file.roles[role]] for role in ("date", "time") if role in file.roles and row.get(file.roles[role]))
        for row in file.rows
    ]
    if city.visit_time_format is None and (pattern := year_last(written)):
        other = "" if "." in pattern else ", or the month before it?"
        yield f'visit_time_format = "{pattern}"  # the year comes last: is the day first{other or "?"}'


def _spellings(file: Understood, city: CitySettings) -> Iterator[str]:
    """What to say where one identifier may be spelled in several ways; of text that is no number nobody can tell."""
    forms, numbers = file.distinct, file.identifiers.get("digits", 0) + file.identifiers.get("integer", 0)
    if city.user_form != "as is" or 2 * numbers < sum(file.identifiers.values()) or forms["digits"] == forms["as is"]:
        return
    form = "trimmed" if forms["trimmed"] == forms["digits"] else "digits only"
    fewer = forms["as is"] - forms["digits"]
    yield f'user_form = "{form}"  # {fewer:,} of {forms["as is"]:,} identifiers looked at seem to be other spellings'


def _zones(file: Understood, city: CitySettings) -> Iterator[str]:
    if file.kind == "parquet" and "without a zone" in file.times and city.visit_timezone is None:
        zone = city.timezone
        yield f'visit_timezone = "UTC"  # times carry no zone and are read as {zone}; name theirs'


def _hours_between(week: WeekOfRecords) -> int:
    """From the first hour of the week with a record to the last one; records of other weeks do not count."""
    if week.hours is None:
        return 0
    first, last = (min(max(hour, 0), 167) for hour in week.hours)
    return last - first + 1


def _main_reason(records: Mapping[str, int]) -> tuple[str, int]:
    return max(((why, n) for why, n in records.items() if why != USABLE), key=lambda item: item[1])
