"""Whether the records of a week are worth releasing, by how many of them can be used.

The answer depends on records. It is for whoever may read them, and stops no release: that it was stopped would tell
everybody. A release of records that cannot be used is noise, and is paid for all the same.
"""

from collections.abc import Mapping

from density_assets.geography.lists import TO_UTF8

USABLE, LEFT_OUT = "usable", "left out by visit_where"
# What to look at, by the reason that records are not used.
SETTINGS = {
    "no user": "city.visit_user",
    "time not readable": "city.visit_time, city.visit_date and city.visit_time_format",
    "hour that does not exist": "city.visit_timezone",
    "outside the week": "city.visit_time, city.visit_timezone, city.timezone and the files of the week",
    "unknown tower": "city.visit_tower and city.tower_id, which must spell antennas alike, with blanks and zeros",
    "tower outside the city": "city.cells and city.tower_crs",
    "line not readable": f"the files, which must be UTF-8: {TO_UTF8}",
}


def mostly_unusable(records: Mapping[str, int]) -> str:
    """What to look at if most records of a week cannot be used, or there are none; else nothing.

    records: how many are usable, and how many are not by reason.
    """
    asked = {why: n for why, n in records.items() if why != LEFT_OUT}
    total, usable = sum(asked.values()), asked.get(USABLE, 0)
    if not total and records.get(LEFT_OUT):
        return f"some records must be wanted, {records[LEFT_OUT]:,} of them are {LEFT_OUT}: look at city.visit_where"
    if not total:
        return "there must be records to release, found none: look at city.visits"
    if 2 * usable >= total:
        return ""
    reason, count = max(((why, n) for why, n in asked.items() if why != USABLE), key=lambda item: item[1])
    return (
        f"most records must be usable, {usable:,} of {total:,} are ({count:,} {reason}): look at "
        f"{SETTINGS.get(reason, 'the files')}. A release of them would be noise, and would be charged"
    )
