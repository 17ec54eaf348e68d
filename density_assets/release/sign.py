"""Signing: the list of what was composed is signed, the ledger notes it, and then the files are written.

What is signed is what was computed; nothing is read back. The key that the ledger names signs the list of a week once:
whoever composes the same files again writes them under the signature that the ledger keeps, which makes a damaged file
whole. "A published week stays" is decided here: `refuse_other_draws` before anything is made, `_refuse_other_files` of
what was composed. Files that come out otherwise, because the software was mended or people state something else, are
published anew only where a person asks for it by name and with a reason; the ledger keeps both, and what it replaces.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from density_assets.city import City
from density_assets.errors import PublishedStays, some
from density_assets.geography.regions import city_regions
from density_assets.privacy.accounts import Entry
from density_assets.privacy.acts import Act, needed
from density_assets.privacy.release import Release
from density_assets.publication.files import ERRORS_OF_SUMS, Naming
from density_assets.publication.people import city_factors
from density_assets.publication.public_inputs import INPUTS_FILE, PublicInputs, written
from density_assets.publication.sums import REGION_FILES
from density_assets.publication.verification import content_of, digests_in, stated_measurements, statement_in
from density_assets.release.compose import Files, Stated, sha256
from density_assets.settings.people import PublicationSettings
from resources.tables.files import write_durably

OPTIONAL = (ERRORS_OF_SUMS, *REGION_FILES, INPUTS_FILE)  # what one composition of a week may have and another not


@dataclass(frozen=True)
class Publication:
    """What is to be signed and noted.

    files: how they are called. contents: the files, their list last. charges: hashes of those that paid for its draws.
    about: what the ledger notes of the estimate. anew: whether a person asked for a published week anew.
    """

    release: Release
    files: Naming
    contents: Files
    charges: frozenset[str]
    about: Mapping[str, str]
    act: Act | None
    anew: bool

    @property
    def manifest(self) -> Path:
        """The list of its files."""
        return self.files.file("manifest", "json")


def refuse_other_draws(files: Naming, release: Release, geography: str) -> None:
    """Raise if a week would be made of other places than it was drawn for, or of other draws than are published.

    files: where its published files lie, if it is published. geography: the hash of today's.
    """
    if release.geography != geography:
        changed = "cells or towers changed since it was drawn"
    elif stated_measurements(files.file("privacy_statement", "json")) - {release.key(door) for door in release.doors}:
        changed = "it is published with other draws, so its ledger or settings were lost"
    else:
        return
    again = f"restore them, or declare revision {release.revision + 1} in [revisions], which is charged"
    raise PublishedStays(f"the week of {release.week} (revision {release.revision}) stays: {changed}; {again}")


def sign_release(city: City, asked: Publication, say: Callable[[str], None]) -> None:
    """Sign what was composed, note it in the ledger and write it; one run at a time works on one revision of a week.

    Guarantees: the ledger notes a signature before any file of it is written, so a run that is killed in between is
    finished by the next; the list is the last to be written, and its signature after it.
    """
    name = f"signing-{asked.release.week}-{asked.release.revision}"
    with city.store.locked(name), city.ledger.book.alone(f"{city.population} {city.name} {name}"):
        signature = _sign(city, asked, say)
        for file_name, content in asked.contents.items():
            write_durably(asked.files.folder / file_name, content)
        write_durably(asked.manifest.with_suffix(".sig"), signature)
        for file in (asked.files.file(*optional) for optional in OPTIONAL):
            if file.name not in asked.contents and file.exists():  # of what this publication replaces
                file.unlink()
                say(f"removed {file.name}: what is signed now does not name it")
    city.anchor_head()  # what is published from here on can be told from what a later ledger says


def sign_register(city: City, manifest: Path, contents: Files) -> None:
    """Sign the list of the register, the last of its files, and write all of them."""
    content = contents[manifest.name]
    signature = city.keys.signer(json.loads(content)["key"]["public"]).sign(content)
    for name, of_file in contents.items():
        write_durably(manifest.with_name(name), of_file)
    write_durably(manifest.with_suffix(".sig"), signature)


def _sign(city: City, asked: Publication, say: Callable[[str], None]) -> bytes:
    """The signature of the list: the one that the ledger keeps of this very list, or a new one that it notes."""
    content = asked.contents[asked.manifest.name]
    digest, listed = sha256(content), json.loads(content)
    signed = city.ledger.accounts().publications(asked.release.which, asked.files.upto)
    if signed and signed[-1].body["manifest"] == digest:
        if asked.anew:
            say(f"{asked.manifest.name}: every file is as it was published")
        return bytes.fromhex(signed[-1].body["signature"])
    if signed:
        _refuse_other_files(asked, listed, signed[-1])
    act = needed(asked.act, "publishing a release")
    signature = city.keys.signer(listed["key"]["public"]).sign(content)
    city.ledger.publish(
        {
            **asked.release.which,
            **({"upto": asked.files.upto} if asked.files.upto else {}),
            "charges": sorted(asked.charges),
            "row": listed["ledger"]["row"],
            "manifest": digest,
            "key": listed["key"]["fingerprint"],
            "signature": signature.hex(),
            **asked.about,
            **({"replaces": signed[-1].body["manifest"]} if signed else {}),
        },
        act,
    )
    if signed:
        say(f"published anew: {some(_other_names(asked, listed))}; this replaces {signed[-1].body['manifest'][:16]}")
    return signature


def _refuse_other_files(asked: Publication, listed: Mapping[str, Any], signed: Entry) -> None:
    """Raise unless a person asked for other files of the same estimate."""
    week = asked.release.week
    if asked.files.upto and signed.body["estimate"] != asked.about["estimate"]:
        raise PublishedStays(
            f"the final estimate of {week} up to {asked.files.upto} is published and stays, but a week between was "
            "drawn or revised; ask again once a later week is drawn"
        )
    if not asked.anew:
        command = f"final --week {week}" if asked.files.upto else f"rebuild --from {week}"
        raise PublishedStays(
            f"the week of {week} is published, but {some(_other_names(asked, listed))} would differ; to publish it "
            f"anew: `density {command} --by NAME --reason WHY`"
        )


def _other_names(asked: Publication, listed: Mapping[str, Any]) -> list[str]:
    """The files that are not as they were listed last, or not listed any more."""
    before = digests_in(content_of(asked.manifest))
    after = {name: of["sha256"] for name, of in listed["files"].items()}
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name)) or ["its list"]


# --- what people state beside the counts ------------------------------------------------------------------------------


def stated_today(city: City) -> Stated:
    """Return what settings state today; the lists that they name are read, not the tables that were made of them."""
    cells = city.store.read_public("cells")["cell_id"].to_list()
    regions = city_regions(city.settings, cells)
    inputs = PublicInputs(regions, city_factors(city.settings, cells, regions))
    return Stated(written(inputs, cells), city.settings.publication)


def stated_when_published(city: City, files: Naming, release: Release) -> Stated:
    """Return what was stated when a week was published last; what is lost of it, or was never published, as of today.

    Regions, factors, the publisher's words and warnings may change from week to week, and a published week keeps its
    own. Who can write a file can write a list too, so only the list that the ledger knows is used.
    """
    today, manifest = stated_today(city), content_of(files.file("manifest", "json"))
    published = city.ledger.accounts().publications(release.which, files.upto)
    if not published or published[-1].body["manifest"] != sha256(manifest):
        return today
    listed = digests_in(manifest)

    def read(stem: str, suffix: str) -> bytes | None:
        file = files.file(stem, suffix)
        content = content_of(file)
        return content if sha256(content) == listed.get(file.name) else None

    inputs = read(*INPUTS_FILE) if files.file(*INPUTS_FILE).name in listed else b""
    warnings = statement_in(read("privacy_statement", "json") or b"").get("warnings")
    return Stated(
        today.inputs if inputs is None else inputs,
        _publication(statement_in(read("datapackage", "json") or b"").get("publication")) or today.publication,
        None if warnings is None else tuple(warnings),
    )


def _publication(words: Any) -> PublicationSettings | None:
    try:
        return None if words is None else PublicationSettings.model_validate(words)
    except ValidationError:  # of a newer version
        return None
