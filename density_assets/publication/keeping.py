"""What is published stays: whether a week may be made again, decided by settings and statements alone.

A release that readers may have must not be replaced by another draw. Nothing here is computed from records, so a
refusal tells nobody anything; it can be asked for before anything runs.
"""

from density_assets.errors import BadInput
from density_assets.privacy.release import Release
from density_assets.publication.files import Naming
from density_assets.publication.verification import stated_measurements


class PublishedStays(BadInput):
    """A published week would be replaced, so nothing is charged, drawn or written: the week itself is well."""


def refuse_to_overwrite(files: Naming, release: Release, geography: str) -> None:
    """Raise if this week and revision are drawn for other places, or published with other draws.

    files: where its published files lie, if it is published.
    release: what it was drawn for, or would be. geography: the hash of today's.
    """
    which = f"revision {release.revision} of the week of {release.week}"
    again = (
        f"or declare revision {release.revision + 1} of this week in [revisions], which is charged. Nothing was "
        "charged and nothing drawn"
    )
    if release.geography != geography:
        raise PublishedStays(
            f"{which} must keep the geography it was drawn under, but the cells or towers have changed: restore them, "
            f"{again}"
        )
    published = stated_measurements(files.file("privacy_statement", "json"))
    if published and published != {release.key(door) for door in release.doors}:
        raise PublishedStays(
            f"{which} must keep the draws it is published with, but others would be made now: the ledger was lost or, "
            "for a week of version 1, its settings, cells or towers have changed. Restore what it was drawn under, "
            f"{again}"
        )
