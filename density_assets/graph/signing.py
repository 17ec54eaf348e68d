"""Signing: what is handed out is listed with its digests, and the list is signed.

The list is made like everything else that may be handed out, in a process that can reach neither records nor keys. It
lies aside until it is signed outside, by the key that the ledger names, and the ledger notes that it was. Who makes
again the list that was signed last gets the signature it had then. Another list of a published week is refused, unless
a person asked for it by name and with a reason, which the ledger keeps. What is signed must follow from the stored
draws and the ledger (`following.py`): a key that signs whatever lies on a disk vouches for nothing.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl

from density_assets.city import City
from density_assets.errors import BadInput
from density_assets.graph.assets import asset
from density_assets.graph.columns import SETTINGS, Columns, column
from density_assets.graph.contents import names_of_counts, names_of_descriptions
from density_assets.graph.estimating import of_sums
from density_assets.graph.following import refuse_what_does_not_follow
from density_assets.graph.held import held_still
from density_assets.graph.past import learns, state_digest
from density_assets.graph.public_inputs import of_inputs
from density_assets.graph.step import Made, Step
from density_assets.privacy.accounts import Accounts
from density_assets.privacy.acts import Act, needed
from density_assets.privacy.release import Release
from density_assets.privacy.zones import Zone
from density_assets.publication.files import AUDIT_PAGE, draw_file
from density_assets.publication.keeping import PublishedStays, published_otherwise
from density_assets.publication.left_behind import left_behind
from density_assets.publication.manifest import (
    REGISTER_FILE,
    VERIFIER,
    Seal,
    register_manifest,
    release_manifest,
)
from density_assets.publication.verification import listed_digests
from resources.draws import read_draw, refuse_unknown
from resources.signing import public_pem
from resources.tables.files import spill_folder, write_durably


def covering(*origins: str) -> Columns:
    return {
        "file": column("file that is covered", SETTINGS),
        "sha256": column("its digest", *origins),
        "bytes": column("its size", *origins),
    }


@dataclass(frozen=True)
class Noted:
    """What the ledger notes of a publication besides its manifest: the charges behind it, and what its estimate is.

    draws: keys of the measurements it is made of, whose draws are published with it.
    """

    charges: frozenset[str]
    about: Mapping[str, str]
    draws: Sequence[str]


def _sign_week(city: City, step: Step, act: Act | None, _: Made) -> None:
    """Sign the list of a week."""
    release = step.release
    charges = frozenset(city.measurements.stored(release, door).charge for door in release.doors)
    sign(city, step, act, Noted(charges, _estimate(city, step), _draws(release)), refuse_what_does_not_follow)


def sign(city: City, step: Step, act: Act | None, noted: Noted, refuse: Callable[[City, Step], None]) -> None:
    """Sign the list of what the step publishes, one run at a time.

    refuse: raises if what is listed does not follow from draws and ledger; gets the step on files that are held still.
    """
    manifest = step.files.file("manifest", "json")
    aside = aside_of(manifest)
    name = f"signing-{step.week}-{step.release.revision}"
    with city.store.locked(name), city.ledger.book.alone(f"{city.population} {city.name} {name}"):
        # Two runs at once write the same list; the one that comes second finds it signed.
        content = (aside if aside.exists() else manifest).read_bytes()
        try:
            _sign_list(city, step, act, content, noted, refuse)
        finally:
            aside.unlink(missing_ok=True)
        for file in left_behind(step.files, content):  # a run that is killed here leaves them to the next one
            file.unlink()
            step.say(f"removed {file.name}: what is signed now does not name it")
    city.anchor_head()  # what is published from here on can be told from what a later ledger says


def _sign_list(
    city: City, step: Step, act: Act | None, content: bytes, noted: Noted, refuse: Callable[[City, Step], None]
) -> None:
    """Sign a list, unless it is the one that was signed last, and note it in the ledger."""
    manifest, release, accounts = step.files.file("manifest", "json"), step.release, city.ledger.accounts()
    digest, said = hashlib.sha256(content).hexdigest(), json.loads(content)
    signed = accounts.publications(release.which, step.upto)
    if signed and signed[-1].body["manifest"] == digest:
        signature = bytes.fromhex(signed[-1].body["signature"])
    else:
        if signed and not step.again:
            raise PublishedStays(published_otherwise(step.files, _first_other(manifest, said)))
        seal = Seal.at(accounts, accounts.end_of(noted.charges, **release.which))
        with held_still(city, step) as held:
            refuse(city, held)
            _refuse_other_list(held, content, noted.draws, accounts, seal)
        asked = needed(act, "publishing a release")
        signature = city.keys.signer(seal.key).sign(content)
        city.ledger.publish(
            {
                **release.which,
                **({"upto": step.upto} if step.upto else {}),
                "charges": sorted(noted.charges),
                "row": seal.row,
                "manifest": digest,
                "key": seal.fingerprint,
                "signature": signature.hex(),
                **noted.about,
                **({"replaces": signed[-1].body["manifest"]} if signed else {}),
            },
            asked,
        )
    # Noted first, as draws are: a run that is killed here finds the signature in the ledger and writes that.
    write_durably(manifest, content)
    write_durably(manifest.with_suffix(".sig"), signature)


def _refuse_other_list(held: Step, content: bytes, draws: Sequence[str], accounts: Accounts, seal: Seal) -> None:
    """Raise if a list is not that of the files as they were just compared: it too lay where people can write.

    held: the step on files that nobody else can change. draws: keys of those that are listed.
    """
    for key in draws:
        file = held.folder / draw_file(key)
        refuse_unknown(file, key, *read_draw(file), accounts)
    _write_tools(held.folder, seal)
    if content != _list(held, draws, seal):
        name = held.files.file("manifest", "json").name
        again = f"final --week {held.week}" if held.upto else f"rebuild --from {held.week}"
        raise BadInput(
            f"what is signed must follow from what was drawn, but the list {name} is not that of the files that do: it "
            f"or a file was changed after it was made. Nothing was signed; make them again: `density {again}`"
        )


def _estimate(city: City, step: Step) -> dict[str, str]:
    """What the ledger notes of an estimate that knows earlier weeks: its key, and the state that the next may believe.

    There is no table of a state where today's scheme knows none, and this week was drawn by another.
    """
    estimated = city.estimated(step.week, again=step.again)
    if estimated is None:
        return {}
    state = {"state": state_digest(step.read("usual_week"))} if step.read.made("usual_week") else {}
    return {"estimate": estimated.key(step.release), **state}


def aside_of(manifest: Path) -> Path:
    """Where a list lies until it is signed: what was signed before it stays whole if it is not."""
    return manifest.with_suffix(".unsigned")


def _first_other(manifest: Path, said: Mapping[str, Any]) -> str:
    """The first file of a list that is not as it was signed; the list itself if all are."""
    listed = listed_digests(manifest)
    return next((name for name, of in said["files"].items() if listed.get(name) != of["sha256"]), manifest.name)


def _sign_register(city: City, step: Step, act: Act | None, _: Made) -> None:
    """List the register once more, of files held still, and sign that: what lies there as its list may be anything."""
    accounts = city.ledger.accounts()
    if not accounts.opened:  # of version 1: it names no key, and nothing was listed
        return
    manifest, seal = step.folder / REGISTER_FILE, Seal.at(accounts, len(accounts.entries))
    with spill_folder(city.store.confidential) as held:
        shutil.copyfile(step.folder / AUDIT_PAGE, held / AUDIT_PAGE)
        _write_tools(held, seal)
        content = register_manifest(held, city.name, seal)
    write_durably(manifest, content)
    write_durably(manifest.with_suffix(".sig"), city.keys.signer(seal.key).sign(content))


@asset(
    Zone.RELEASE,
    covering("published_counts.sha256", "privacy_statement.sha256", "density_report.bytes"),
    deps=lambda city: (
        *("published_counts", "privacy_statement", "density_report"),
        *of_inputs(city),
        *(("usual_week", *of_sums(city)) if learns(city) else ()),
    ),
    kinds=("json",),
    given=("accounts", "paid_by"),
    after=_sign_week,
)
def signed_release(step: Step, accounts: Accounts, paid_by: frozenset[str]) -> Made:
    """Every published file of the week with its digest, signed: `verify.py` and the key's fingerprint check them all.

    The fingerprint must come from elsewhere than the release: whoever forges the one can forge the other.
    """
    release, seal = step.release, Seal.at(accounts, accounts.end_of(paid_by))
    return listed(step, _draws(release), seal)


def _draws(release: Release) -> list[str]:
    """Keys of the measurements of a week."""
    return [release.key(door) for door in release.doors]


def listed(step: Step, draws: Sequence[str], seal: Seal) -> Made:
    """Write the list of everything that the step publishes, to be signed.

    draws: keys of the measurements it is made of, whose draws are published too.
    """
    _write_tools(step.folder, seal)
    return _covered(aside_of(step.files.file("manifest", "json")), _list(step, draws, seal), seal)


def _list(step: Step, draws: Sequence[str], seal: Seal) -> bytes:
    """The list of everything that the step publishes."""
    files, draw_files = [*names_of_counts(step), *names_of_descriptions(step)], map(draw_file, draws)
    return release_manifest(step.files, step.release.which, files, draw_files, seal)


@asset(
    Zone.RELEASE,
    covering("audit_page.sha256"),
    deps=("audit_page",),
    kinds=("json",),
    weekly=False,
    op_tags={"dagster/priority": "-3"},  # after everything else
    given=("accounts",),
    after=_sign_register,
)
def signed_register(step: Step, accounts: Accounts) -> Made:
    """The audit page and what checks it, with their digests, signed like a week.

    Tables and database are signed by nobody: who needs to trust a number takes the files of its week.
    """
    if not accounts.opened:
        return Made(pl.DataFrame(schema={"file": pl.String, "sha256": pl.String, "bytes": pl.Int64}))
    seal = Seal.at(accounts, len(accounts.entries))
    _write_tools(step.folder, seal)
    return _covered(step.folder / REGISTER_FILE, register_manifest(step.folder, step.settings.city.name, seal), seal)


def _write_tools(folder: Path, seal: Seal) -> None:
    """What an outsider needs beside the files: the public key, and the script that checks."""
    write_durably(folder / seal.key_file, public_pem(bytes.fromhex(seal.key)))
    write_durably(folder / VERIFIER, files("density_assets.publication").joinpath(VERIFIER).read_bytes())


def _covered(file: Path, content: bytes, seal: Seal) -> Made:
    write_durably(file, content)
    described = json.loads(content)["files"]
    table = pl.DataFrame([{"file": name, **about} for name, about in described.items()])
    facts = {"manifest": dg.MetadataValue.path(str(file)), "fingerprint": seal.fingerprint}
    return Made(table, facts=facts)
