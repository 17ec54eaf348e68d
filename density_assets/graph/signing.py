"""Signing: what is handed out is listed with its digests, and the list is signed.

The list is made like everything else that may be handed out, in a process that can reach neither records nor keys. It
is signed outside, by the key that the ledger names, and the ledger notes that it was. Who makes a list again that was
signed before gets the signature it had then.
"""

import hashlib
import json
from importlib.resources import files
from pathlib import Path

import dagster as dg
import polars as pl

from density_assets.city import City
from density_assets.graph.assets import asset
from density_assets.graph.columns import SETTINGS, Columns, column
from density_assets.graph.step import Made, Step
from density_assets.privacy.accounts import Accounts
from density_assets.privacy.acts import Act, needed
from density_assets.privacy.zones import Zone
from density_assets.publication.files import draw_file
from density_assets.publication.manifest import (
    REGISTER_FILE,
    VERIFIER,
    Seal,
    register_manifest,
    release_manifest,
)
from resources.signing import public_pem
from resources.tables.files import write_durably


def _covering(*origins: str) -> Columns:
    return {
        "file": column("file that is covered", SETTINGS),
        "sha256": column("its digest", *origins),
        "bytes": column("its size", *origins),
    }


def _sign_week(city: City, step: Step, act: Act | None) -> None:
    """Sign the list of a week, unless it is the one that was signed before, and note it in the ledger."""
    manifest, release = step.files.file("manifest", "json"), step.release
    content, accounts = manifest.read_bytes(), city.ledger.accounts()
    digest, said = hashlib.sha256(content).hexdigest(), json.loads(content)
    signed = accounts.publications(release.which)
    known = [entry.body["signature"] for entry in signed if entry.body["manifest"] == digest]
    if known:
        signature = bytes.fromhex(known[-1])
    else:
        asked = needed(act, "publishing a release")
        signature = city.signer(said["key"]["public"]).sign(content)
        charges = sorted(city.measurements.stored(release, door).charge for door in release.doors)
        city.ledger.publish(
            {
                **release.which,
                "charges": charges,
                "row": said["ledger"]["row"],
                "manifest": digest,
                "key": said["key"]["fingerprint"],
                "signature": signature.hex(),
                **({"estimate": estimated.key(release)} if (estimated := city.estimated(step.week)) else {}),
            },
            asked,
        )
    # Noted first, as draws are: a run that is killed here finds the signature in the ledger and writes that.
    write_durably(manifest.with_suffix(".sig"), signature)
    city.anchor_head()  # what is published from here on can be told from what a later ledger says


def _sign_register(city: City, step: Step, act: Act | None) -> None:
    if not city.ledger.accounts().opened:  # of version 1: it names no key, and nothing was listed
        return
    manifest = step.folder / REGISTER_FILE
    content = manifest.read_bytes()
    write_durably(manifest.with_suffix(".sig"), city.signer(json.loads(content)["key"]["public"]).sign(content))


@asset(
    Zone.RELEASE,
    _covering("published_counts.sha256", "privacy_statement.sha256", "density_report.bytes"),
    deps=("published_counts", "privacy_statement", "density_report"),
    kinds=("json",),
    given=("accounts", "paid_by"),
    after=_sign_week,
)
def signed_release(step: Step, accounts: Accounts, paid_by: frozenset[str]) -> Made:
    """Every published file of the week with its digest, signed: `verify.py` and the key's fingerprint check them all.

    The fingerprint must come from elsewhere than the release: whoever forges the one can forge the other.
    """
    release, seal = step.release, Seal.at(accounts, accounts.end_of(paid_by))
    _write_tools(step.folder, seal)
    draws = (draw_file(release.key(door)) for door in release.doors)
    manifest = release_manifest(step.files, release.which, draws, seal)
    return _covered(step.files.file("manifest", "json"), manifest, seal)


@asset(
    Zone.RELEASE,
    _covering("audit_page.sha256", "release_database.bytes"),
    deps=("audit_page", "release_database"),
    kinds=("json",),
    weekly=False,
    op_tags={"dagster/priority": "-3"},  # after everything it covers
    given=("accounts",),
    after=_sign_register,
)
def signed_register(step: Step, accounts: Accounts) -> Made:
    """The audit page, the database and all released tables with their digests, signed like a week."""
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
