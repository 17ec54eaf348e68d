"""Whether records are understood as their owner means them: what `check` says before anything is spent.

A verdict is advice for whoever may read the records, and is stored nowhere: it stops no release and allows none,
because that a week was stopped would tell everybody what is in it.

Records of a city are fewest some hours after midnight, whoever sends them. Where some other stretch of the day has
clearly fewer, times were read off other clocks than those they were written by: a zone off by five hours or more. One
that is off by less moves the quietest hours within the night, and is not reported.
"""

from calendar import day_name
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from statistics import median

from density_assets.records.csv_files import UNREADABLE
from density_assets.records.description import Description
from density_assets.records.event_files import LEFT_OUT, SETTINGS, USABLE, mostly_unusable
from density_assets.records.values import year_last
from density_assets.settings.city import CitySettings

DAY, STRETCH = 24, 4  # hours
NIGHTS = range(8)  # where the middle of the quietest stretch of a day may lie: 0:00 to 7:00
CLEARLY_FEWER = 2 / 3  # of the quietest stretch of the night: so few are no chance among a thousand even records


def quieter_than_night(records: Sequence[int]) -> tuple[int, int] | None:
    """The stretch of a day, from hour to hour, with clearly fewer records than any of the night; none if there is none.

    records: how many lie in each hour of the day, on the city's clocks.
    """
    around = {
        middle: sum(records[(middle + hour) % DAY] for hour in range(-STRETCH // 2, STRETCH // 2))
        for middle in range(DAY)
    }
    quietest = min(around, key=around.__getitem__)
    if around[quietest] >= CLEARLY_FEWER * min(around[middle] for middle in NIGHTS):
        return None
    return (quietest - STRETCH // 2) % DAY, (quietest + STRETCH // 2) % DAY


FEW_USABLE = 0.9  # of the records: below it somebody should know why
LOST_LINES = 0.001  # of the records: letters with accents are lost together with what has them in its name
FEW_TOWERS = 0.5  # of the sites: a week of a whole city sees most of them
MANY_ONCE = 0.5  # of the identifiers: people are seen more often than once a week
FEW_HOURS = 144  # of a week, from the first to the last one with a record: six days
FEW_OF_A_DAY = 0.2  # of the records of the usual day: a Sunday has more
MANY_IN_AN_HOUR = 0.5  # of the records, in one hour of the day: dates without a time are midnight
MANY_OF_ONE = 7 * 24 * 60  # records of an identifier, on average: a phone is seen less than every minute
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
    by_hour: how many usable records lie in each hour of the week, on the city's clocks; empty where nobody counted.
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
    if usable >= FEW_RECORDS:
        found += [text for text in (_when(week), *_where_and_who(week, usable)) if text]
    return [Finding(Verdict.LOOK, text) for text in found]


def _when(week: WeekOfRecords) -> str:
    """What is odd about the hours in which records lie: the first thing, for one mistake shows in many ways."""
    by_day = [sum(week.by_hour[day : day + DAY]) for day in range(0, len(week.by_hour), DAY)]
    by_day_hour = [sum(week.by_hour[hour::DAY]) for hour in range(DAY)]
    if (hours := _hours_between(week)) < FEW_HOURS:
        return (
            f"records of this week lie in {hours} hours of it, from the first to the last: are these all files of the "
            "week?"
        )
    if max(by_day_hour) > MANY_IN_AN_HOUR * sum(by_day_hour):
        hour = by_day_hour.index(max(by_day_hour))
        return (
            f"{max(by_day_hour):,} of {sum(by_day_hour):,} records lie in one hour of the day, that from {hour}h: a "
            "date without a time of day is midnight: look at city.visit_time, and at city.visit_date for dates apart"
        )
    if thin := [name for name, number in zip(day_name, by_day, strict=False) if number < FEW_OF_A_DAY * median(by_day)]:
        return f"few or no records lie on {', '.join(thin)}: are these all files of the week, and are they whole?"
    if sum(by_day) and (quiet := quieter_than_night(by_day_hour)):
        return (
            f"fewest records lie from {quiet[0]}h to {quiet[1]}h on the city's clocks, fewer than in any hours of the "
            "night: look at city.timezone, at city.visit_timezone where times carry no zone, and at city.visit_time"
        )
    return ""


def _where_and_who(week: WeekOfRecords, usable: int) -> Iterator[str]:
    """What is odd about sites and identifiers."""
    if week.towers < FEW_TOWERS * week.sites:
        yield (
            f"usable records are at {week.towers:,} of {week.sites:,} sites only: are these all files of the week, and "
            "is the antenna list of this city?"
        )
    if week.once > MANY_ONCE * week.identifiers:
        yield (
            f"{week.once:,} of {week.identifiers:,} identifiers are seen once: a column that is no subscriber, or "
            "pseudonyms that change, would promise less than one person's week: look at city.visit_user"
        )
    if usable > MANY_OF_ONE * week.identifiers:
        yield (
            f"each of {week.identifiers:,} identifiers has more than a record a minute, on average: a column that is "
            "no subscriber would make many people one: look at city.visit_user"
        )


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


def findings_of_files(files: Sequence[Description], city: CitySettings) -> list[Finding]:
    """What speaks against how files are described, with what to write into the settings."""
    wanted: dict[str, str] = {}  # by what to write: said of the first file that needs it
    for file in files:
        for line in suggestions(file, city):
            wanted.setdefault(line.partition("  #")[0], line)
    said = [f"the settings may have to say: {line}" for line in sorted(wanted.values())]
    spoiled = [text for file in files if (text := _spoiled(file))]
    return [Finding(Verdict.LOOK, text) for text in (*spoiled[:1], *said)]


def _spoiled(file: Description) -> str:
    """What an export did to the lines or identifiers of a file, if it is most of them."""
    if file.unreadable > (1 - FEW_USABLE) * file.sampled:
        return (
            f"{file.unreadable:,} of {file.sampled:,} lines looked at in {file.file} are no UTF-8, or have more or "
            "fewer fields than line 1 names: look at the delimiters of both"
        )
    if "date" not in file.roles and _mostly_of_day(file):
        return (
            f"times in {file.file} are times of day and no column seems to have their day: name it by city.visit_date, "
            "or write it into the files: none is read off a path"
        )
    if 2 * file.identifiers.get("rounded", 0) > sum(file.identifiers.values()):
        return (
            f"identifiers in {file.file} are written as 4.9E+11: a spreadsheet rounded them, and many people are one: "
            "export them again as text, without a spreadsheet"
        )
    return ""


def suggestions(file: Description, city: CitySettings) -> list[str]:
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
    return [*said, *_suggest_date(file, city), *_formats(file, city), *_spellings(file, city), *_zones(file, city)]


def _suggest_date(file: Description, city: CitySettings) -> Iterator[str]:
    """Where the day of a time of day stands, if settings do not say."""
    if city.visit_date is None and "date" in file.roles and _mostly_of_day(file):
        yield f'visit_date = "{file.roles["date"]}"  # times are times of day'


def _mostly_of_day(file: Description) -> bool:
    return 2 * file.times.get("time of day", 0) > file.sampled


def time_format(file: Description) -> str | None:
    """How times seem to be written, where the year comes last: which only settings can tell."""
    wanted = ("date", "time") if "time of day" in file.times else ("time",)
    columns = [file.roles[role] for role in wanted if role in file.roles]
    return year_last([" ".join(row.get(column, "") for column in columns) for row in file.rows])


def _formats(file: Description, city: CitySettings) -> Iterator[str]:
    if city.visit_time_format is None and (pattern := time_format(file)):
        other = "" if "." in pattern else ", or the month before it?"
        yield f'visit_time_format = "{pattern}"  # the year comes last: is the day first{other or "?"}'


def _spellings(file: Description, city: CitySettings) -> Iterator[str]:
    """What to say where one identifier may be spelled in several ways; of text that is no number nobody can tell."""
    forms, numbers = file.distinct, file.identifiers.get("digits", 0) + file.identifiers.get("integer", 0)
    if city.user_form != "as is" or 2 * numbers < sum(file.identifiers.values()) or forms["digits"] == forms["as is"]:
        return
    form = "trimmed" if forms["trimmed"] == forms["digits"] else "digits only"
    fewer = forms["as is"] - forms["digits"]
    yield f'user_form = "{form}"  # {fewer:,} of {forms["as is"]:,} identifiers looked at seem to be other spellings'


def _zones(file: Description, city: CitySettings) -> Iterator[str]:
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
