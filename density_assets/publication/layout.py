"""Which files a release has and what they are like: both grew with versions of this software.

What is published stays as it was signed, so a week keeps the layout of its files until a person asks for others. The
ledger says which one it is: manifests of layout 2 name it, and so does the entry that notes them.

    1   counts as Parquet (with times as text), CSV and GeoJSON
    2   counts with real times and intervals, and the files that data packages, portals, offices and QGIS load
"""

from collections.abc import Mapping
from typing import Any

from density_assets.privacy.accounts import Accounts

FIRST, NEWEST = 1, 2


def layout_of(accounts: Accounts, which: Mapping[str, Any], upto: str | None = None, *, again: bool = False) -> int:
    """The layout of the files of one revision of a week, or of a final estimate of it.

    which: city, week and revision. upto: the last week of the final estimate. again: whether a person asked for other
    files than those that are published.
    """
    if again:
        return NEWEST
    published = accounts.publications(which, upto)
    if published:
        return int(published[-1].body.get("layout", FIRST))
    of_version_1 = any(row.entry == 0 for row in accounts.rows if row.charge.which == which)
    return FIRST if of_version_1 else NEWEST
