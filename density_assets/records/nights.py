"""Whether people are asleep when the city's clocks say that it is night.

Records of a city are fewest some hours after midnight, whoever sends them. Where some other stretch of the day has
clearly fewer, times were read off other clocks than those they were written by: a zone off by five hours or more. One
that is off by less moves the quietest hours within the night, and nothing is said of it.
"""

from collections.abc import Sequence

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
