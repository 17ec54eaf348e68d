"""Weeks as people live them: Monday 00:00 to Sunday 24:00 on the city's own clocks.

An hour of the week is read off the wall clock, so a week always has 168 slots. When clocks go back, the
repeated hour folds into one slot; when they go forward, the skipped slot stays empty. Both are facts of the
calendar, known beforehand, and reported with the week.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from density_assets.errors import BadInput

HOURS = 168
EARLIEST, LATEST = date(1970, 1, 5), date(2999, 12, 30)  # Mondays; far enough from both ends of Python's calendar


@dataclass(frozen=True)
class WeekClock:
    """How moments of one week become hours 0..167.

    monday: seconds from 1970 to Monday 00:00, both read as wall-clock time without a zone.
    change: the moment (seconds of UTC) at which the offset changes; offsets are equal in ordinary weeks.
    before, after: what to add to UTC to get local time, in seconds.
    """

    week: date
    monday: int
    change: int
    before: int
    after: int

    @property
    def first_moment(self) -> int:
        """When the week begins, in seconds of UTC."""
        return self.monday - self.before

    @property
    def end_moment(self) -> int:
        """When the next one begins."""
        return self.monday + HOURS * 3600 - self.after

    def days(self, zone: ZoneInfo) -> list[date]:
        """The days of a zone on which moments of the week fall: seven, and its neighbours where zones differ."""
        first, last = (
            datetime.fromtimestamp(moment, UTC).astimezone(zone).date()
            for moment in (self.first_moment, self.end_moment - 1)
        )
        return [first + timedelta(days=i) for i in range((last - first).days + 1)]

    @property
    def repeated(self) -> range:
        """Hours that happen twice."""
        return self._affected(self.before, self.after)

    @property
    def missing(self) -> range:
        """Hours that do not happen."""
        return self._affected(self.after, self.before)

    def _affected(self, larger: int, smaller: int) -> range:
        first, last = ((self.change + offset - self.monday) // 3600 for offset in (smaller, larger))
        return range(first, last)

    def hour(self, moment: float) -> int:
        """Hour of the week of a moment (seconds of UTC); outside 0..167 it is another week's."""
        return int((moment + (self.before if moment < self.change else self.after) - self.monday) // 3600)


def parse_week(text: str) -> date:
    """The Monday a week is named after."""
    try:
        week = date.fromisoformat(text)
    except ValueError:
        raise BadInput(f"a week is named by its Monday, as 2007-09-10; got {text!r}") from None
    if not EARLIEST <= week <= LATEST:
        raise BadInput(f"a week must lie between {EARLIEST} and {LATEST}, got {week}")
    if week.weekday() != 0:
        monday = week - timedelta(days=week.weekday())
        raise BadInput(f"a week is named by its Monday; {text} is a {week:%A}, its Monday is {monday}")
    return week


def week_clock(week: date, zone: ZoneInfo) -> WeekClock:
    """The clock of the week that starts on `week`, a Monday."""
    monday = datetime.combine(week, time(), UTC)
    start = datetime.combine(week, time(), zone).astimezone(UTC)
    end = datetime.combine(week + timedelta(days=7), time(), zone).astimezone(UTC)
    return WeekClock(week, int(monday.timestamp()), *zone_change(start, end, zone))


def zone_change(start: datetime, end: datetime, zone: ZoneInfo) -> tuple[int, int, int]:
    """When a zone's offset from UTC changes between two moments, and its seconds before and after; the end if never."""
    steps = [start + timedelta(minutes=15 * i) for i in range(int((end - start) / timedelta(minutes=15)) + 1)]
    changes = [b for a, b in pairwise(steps) if _offset(a, zone) != _offset(b, zone)]
    if len(changes) > 1:
        raise BadInput(f"{zone.key} changes its clocks {len(changes)} times from {start} to {end}: not supported")
    change = changes[0] if changes else end
    return int(change.timestamp()), _offset(start, zone), _offset(end, zone)


def zone_of_records(clock: WeekClock, zone: ZoneInfo | None) -> tuple[int, int, int]:
    """The same of the clocks that times without a zone were read off: the city's if no other zone is named."""
    if zone is None:
        return clock.change, clock.before, clock.after
    start, end = (datetime.fromtimestamp(moment, UTC) for moment in (clock.first_moment, clock.end_moment))
    return zone_change(start - timedelta(days=1), end + timedelta(days=1), zone)


def _offset(moment: datetime, zone: ZoneInfo) -> int:
    offset = moment.astimezone(zone).utcoffset()
    assert offset is not None  # a ZoneInfo always has one
    return int(offset.total_seconds())
