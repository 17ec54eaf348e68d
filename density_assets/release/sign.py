"""Signing: the list of what was composed is signed, the ledger notes it, and then the files are written.

What is signed is what was computed; no file that was made along the way is read back. It is composed behind a wall, and
what the wall lets out is compared here with what was asked (`_refuse_unasked_files`). The key that the ledger names
signs the list of a week once: whoever composes the same files again writes them under the signature that the ledger
keeps, which makes a damaged file whole. "A published week stays" is decided here: `refuse_other_draws` before anything
is made, `_refuse_other_files` of what was composed. Files that come out otherwise, because the software was mended or
people state something else, are published anew only where a person asks for it by name and with a reason; the ledger
keeps both, and what it replaces.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from density_assets.city import City
from density_assets.errors import BadInput, PublishedStays, some
from density_assets.geography.regions import city_regions
from density_assets.privacy.accounts import Accounts, Entry
from density_assets.privacy.acts import Act, needed
from density_assets.privacy.estimates import DoorDraw, DrawUsed
from density_assets.privacy.release import Release
from density_assets.publication.files import (
    AUDIT_PAGE,
    COUNT_FILES,
    DESCRIPTIONS,
    ERRORS_OF_SUMS,
    FURTHER_FILES,
    Naming,
    draw_file,
)
from density_assets.publication.people import city_factors
from density_assets.publication.public_inputs import INPUTS_FILE, PublicInputs, written
from density_assets.publication.sums import REGION_FILES
from density_assets.publication.verification import content_of, digests_in, stated_measurements, statement_in
from density_assets.release.compose import Files, Stated, sha256, tools_beside
from density_assets.release.manifest import REGISTER_FILE, WEEKLY, Seal, register_manifest, release_manifest
from density_assets.settings.people import PublicationSettings
from resources.draws import used_draw_content
from resources.tables.files import write_durably

REQUIRED = (*COUNT_FILES, *FURTHER_FILES, *DESCRIPTIONS, *WEEKLY)  # what every composition of a week has
OPTIONAL = (ERRORS_OF_SUMS, *REGION_FILES, INPUTS_FILE)  # what one composition of a week may have and another not


@dataclass(frozen=True)
class Publication:
    """What is to be signed and noted.

    files: how they are called. contents: the files, their list last.
    accounts: the ledger. charges: hashes of those that paid for its draws.
    about: what the ledger notes of the estimate. anew: whether a person asked for a published week anew.
    """

    release: Release
    files: Naming
    contents: Files
    accounts: Accounts
    charges: frozenset[str]
    about: Mapping[str, str]
    act: Act | None
    anew: bool

    @property
    def manifest(self) -> Path:
        """The list of its files."""
        return self.files.file("manifest", "json")

    @property
    def seal(self) -> Seal:
        """The ledger behind it, and the key it is to be signed with."""
        return Seal.at(self.accounts, self.accounts.end_of(self.charges, **self.release.which))


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
    _refuse_unasked_files(city, asked)
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


def sign_register(city: City, folder: Path, accounts: Accounts, contents: Files) -> None:
    """Sign the list of the register, the last of its files, and write all of them; other files are refused.

    accounts: the ledger that the audit page is about.
    """
    seal = Seal.at(accounts, len(accounts.entries))
    files = {AUDIT_PAGE: contents.get(AUDIT_PAGE, b""), **tools_beside(seal)}
    files[REGISTER_FILE] = register_manifest(city.name, files, seal)
    _refuse_other_contents(contents, files, "register")
    signature = city.keys.signer(seal.key).sign(files[REGISTER_FILE])
    for name, content in files.items():
        write_durably(folder / name, content)
    write_durably((folder / REGISTER_FILE).with_suffix(".sig"), signature)


def _refuse_unasked_files(city: City, asked: Publication) -> None:
    """Raise unless files are called as those of this release are, and their list is the one that is made here.

    Files come from behind a wall, the list with them. Here it is made again of their contents, of the draws that the
    ledger says were paid for, and of what was asked; so nothing that the wall lets out chooses names, draws or key.
    """
    week, seal = asked.release.week, asked.seal
    tools = tools_beside(seal)
    composed = {name: of for name, of in asked.contents.items() if name not in {*tools, asked.manifest.name}}
    required, optional = ({asked.files.file(*name).name for name in names} for names in (REQUIRED, OPTIONAL))
    if not required <= composed.keys() <= required | optional:
        raise BadInput(f"the files must be those of the week of {week}, got others or too few: nothing was signed")
    listed = {**composed, **_draws(city, asked), seal.key_file: tools[seal.key_file]}
    manifest = release_manifest(asked.files, asked.release.which, listed, seal)
    _refuse_other_contents(asked.contents, {**composed, **tools, asked.manifest.name: manifest}, f"week of {week}")


def _draws(city: City, asked: Publication) -> Files:
    """The files of the draws that were paid for, by name; raises if one is not what the ledger says."""
    draws: Files = {}
    for row in (asked.accounts.by_hash[charge] for charge in asked.charges):
        paid = row.charge
        used = DrawUsed(paid.week, paid.revision, {paid.door: DoorDraw(row.hash, paid.measurement, row.digest or "")})
        content = used_draw_content(city.store.release, used, paid.door, asked.accounts)
        draws[draw_file(paid.measurement)] = content
    return dict(sorted(draws.items()))


def _refuse_other_contents(contents: Files, expected: Files, what: str) -> None:
    """Raise unless contents are those that are to be signed, in the order in which they are written."""
    if list(contents.items()) != list(expected.items()):
        wrong = sorted(name for name in contents.keys() | expected.keys() if contents.get(name) != expected.get(name))
        raise BadInput(f"{some(wrong or ['the order'])} of the {what} must be as asked, got others: nothing was signed")


def _sign(city: City, asked: Publication, say: Callable[[str], None]) -> bytes:
    """The signature of the list: the one that the ledger keeps of this very list, or a new one that it notes."""
    content = asked.contents[asked.manifest.name]
    digest, listed = sha256(content), json.loads(content)
    signed = city.ledger.accounts().publications(asked.release.which, asked.files.upto)
    if signed and signed[-1].body["manifest"] == digest:
        say(f"{asked.manifest.name}: every file is as it was published")
        return bytes.fromhex(signed[-1].body["signature"])
    if signed:
        _refuse_other_files(asked, listed, signed[-1])
    act = needed(asked.act, "publishing a release")
    seal = asked.seal
    signature = city.keys.signer(seal.key).sign(content)
    city.ledger.publish(
        {
            **asked.release.which,
            **({"upto": asked.files.upto} if asked.files.upto else {}),
            "charges": sorted(asked.charges),
            "row": seal.row,
            "manifest": digest,
            "key": seal.fingerprint,
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
            f"anew: `density {command} --anew --by NAME --reason WHY`"
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
