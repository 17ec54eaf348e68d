"""What is published stays: whether a week may be made again, decided by settings and statements alone.

A release that readers may have must not be replaced by another draw. Nothing here is computed from records, so a
refusal tells nobody anything; it can be asked for before anything runs.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from density_assets.errors import BadInput, some
from density_assets.privacy.accounts import Entry
from density_assets.privacy.release import Release
from density_assets.publication.files import Naming
from density_assets.publication.verification import (
    content_of,
    digests_in,
    listed_digests,
    not_as_listed,
    stated_measurements,
    statement_in,
)


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
            f"{which} must keep the draws it is published with, but others would be made now: the ledger was "
            "lost. Restore what it was drawn under, "
            f"{again}"
        )


def refuse_other_files(files: Naming, contents: Mapping[Path, bytes]) -> None:
    """Raise if contents differ from those that the week's manifest lists; what it does not list may be anything."""
    listed = listed_digests(files.file("manifest", "json"))
    for file, content in contents.items():
        if listed.get(file.name) not in (None, hashlib.sha256(content).hexdigest()):
            raise PublishedStays(published_otherwise(files, file.name))


def published_statement(files: Naming, publications: Sequence[Entry]) -> dict[str, Any]:
    """The statement that a week was last published with; nothing if it is not there, or is another by now.

    publications: what the ledger notes of them, oldest first. Whoever can write a statement can write a manifest that
    lists it, so only the one that the ledger knows is believed. Each file is read once: what is checked is used.
    """
    return published_record(files, publications, ("privacy_statement", "json"))


def published_record(files: Naming, publications: Sequence[Entry], name: tuple[str, str]) -> dict[str, Any]:
    """The same of any JSON file of a week."""
    file = files.file(*name)
    listed, said = content_of(files.file("manifest", "json")), content_of(file)
    known = bool(publications) and publications[-1].body["manifest"] == hashlib.sha256(listed).hexdigest()
    signed = known and digests_in(listed).get(file.name) == hashlib.sha256(said).hexdigest()
    return statement_in(said) if signed else {}


def published_otherwise(files: Naming, name: str) -> str:
    """Why a week is not published with other files than it was, and how a person does it all the same."""
    if files.upto:
        return (
            f"a final estimate of revision {files.revision} of the week of {files.week} with weeks up to {files.upto} "
            f"is published, so its files must stay as they were signed, but {name} would be another, because the "
            "software or a draw is. Nothing was signed; another one can be made once a later week is drawn"
        )
    return (
        f"revision {files.revision} of the week of {files.week} is published, so its files must stay as they were "
        f"signed, but {name} would be another. If readers should get other files of the same draws, because a newer "
        f"software writes them otherwise, say so: `density rebuild --again --from {files.week} --by NAME --reason "
        f"WHY`, which is recorded. Nothing was signed, {_as_signed(files)}"
    )


def _as_signed(files: Naming) -> str:
    """Whether what lies there of a published week is what was signed, and the way back if it is not."""
    other = not_as_listed(files.file("manifest", "json"))
    if not other:
        return "and what was published is as it was"
    return (
        f"but not all of what lies there is what was signed ({some(other)}): so a run with --again leaves it that was "
        "killed, and `density verify` says so to readers. That command ends what it began; or restore these files from "
        "a backup of the release folder, or from a copy that was handed out"
    )
