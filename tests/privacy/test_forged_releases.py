"""Forged and damaged releases: whoever lacks the key never gets "verified", and nothing ends in a traceback.

Two attackers. One changes what was published and signs nothing. One has a key of their own and signs everything anew.
What the operator, who has the key, can do is in `test_contradicting_releases.py` and `test_release_anchors.py`.
"""

import json
import os
import shutil
from collections.abc import Callable

import pytest
from forging import FORGER, LATER, OFFICER, OPERATOR, alike, asked, changed, others, places, wrong
from signed_release import DAY, WEEK, Release, make_release, note_published, open_book

from density_assets.publication.verify import signature_holds, verify
from resources.anchors import signed_head
from resources.signing import public_pem


@pytest.fixture
def release(tmp_path) -> Release:
    """A release that holds."""
    return make_release(tmp_path / "release", OPERATOR)


# --- without a key: whatever is changed on disk -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["privacy_statement", "ledger", "manifest"])
def test_every_field_that_is_changed_removed_or_retyped_is_found(release, name):
    """The bytes are signed, so each of these must be status 1, by a finding."""
    file, tried = release.file(name), 0
    said = json.loads(file.read_text())
    for path in places(said):
        value = said
        for step in path:
            value = value[step]
        # All kinds of values at one place of each kind are enough: the digests see the rest.
        candidates = [... if path else None, *others(value)][tried % 3 :: 6]
        for new in candidates:
            if new is not ... and alike(new, value):
                continue
            file.write_text(json.dumps(changed(said, path, new)))
            result = asked(release)
            assert result.status == 1, (path, new)
            assert wrong(result), (path, new)
            tried += 1
    assert tried > 100


@pytest.mark.parametrize("name", ["privacy_statement", "ledger", "manifest"])
def test_a_file_that_is_no_json_is_found(release, name):
    file = release.file(name)
    whole = file.read_bytes()
    cut = [whole[: len(whole) * part // 20] for part in range(20)]
    odd = [
        whole[:-2] + b', "week": "2007-09-10"}',  # a name twice
        whole.replace(b'"week"', b'"city": "town", "week"', 1),
        whole.replace(b"0.3", b"NaN", 1) if b"0.3" in whole else b"NaN",
        whole.replace(b"2e-06", b"1e999") if b"2e-06" in whole else b"-Infinity",
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b"\xff" + whole,
        whole.replace(b"town", b"t\xf8wn") if b"town" in whole else b"\xc3",
        b"\xef\xbb\xbf" + whole,
        whole + whole,
        b"1" * 10_000,
        b'{"x": ' + b"9" * 5000 + b"}",
        b"",
        b"null",
        b"\x00" * 100,
    ]
    for content in cut + odd:
        if content == whole:  # nothing of the kind stands in this file
            continue
        file.write_bytes(content)
        result = asked(release)
        assert result.status == 1, content[:80]
        assert wrong(result)


def test_every_flipped_byte_is_found(release):
    for file in sorted(release.folder.rglob("*")):
        if file.is_dir():
            continue
        whole = file.read_bytes()
        step = max(1, len(whole) // 12)
        for at in range(0, len(whole), step):
            file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            assert asked(release).status == 1, (file.name, at)
        file.write_bytes(whole + b"\n")
        assert asked(release).status == 1, file.name
        file.write_bytes(whole)
    assert asked(release).status == 0


def test_every_missing_file_is_found(release):
    for file in sorted(release.folder.rglob("*")):
        if file.is_dir():
            continue
        content = file.read_bytes()
        file.unlink()
        for path in (release.folder, release.file("privacy_statement")):
            if path.exists():
                result = verify(path, OPERATOR.fingerprint)
                assert (result.status, bool(wrong(result))) == (1, True), file.name
        file.write_bytes(content)
    assert asked(release).status == 0


def test_what_stands_in_place_of_a_file_is_found_at_once(release, tmp_path):
    """A folder, a pipe that nobody writes to, a device, a link to nowhere or to something else."""
    for name in (f"density_{WEEK}.csv", f"ledger_{WEEK}.json", f"manifest_{WEEK}.sig", f"manifest_{WEEK}.json"):
        file = release.folder / name
        content = file.read_bytes()
        for put in (
            file.mkdir,
            lambda file=file: os.mkfifo(file),
            lambda file=file: file.symlink_to("/dev/zero"),
            lambda file=file: file.symlink_to(tmp_path / "nowhere"),
            lambda file=file: file.symlink_to(release.file("report", "html")),
        ):
            file.unlink()
            put()
            assert asked(release).status == 1, name
            file.rmdir() if file.is_dir() else file.unlink()
            file.write_bytes(content)


def test_tables_and_database_are_said_to_be_signed_by_nobody(release):
    for name in ("release.duckdb", "tables/cells.parquet", f"tables/density/{WEEK}.parquet"):
        (release.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (release.folder / name).touch()
    (note,) = verify(release.folder, OPERATOR.fingerprint, around=True).notes
    assert note.startswith("3 files are signed by nobody: release.duckdb and tables/")


def test_files_that_nobody_signed_are_named(release):
    assert verify(release.folder, OPERATOR.fingerprint, around=True).notes == []
    for name in ("density_2007-09-10_corrected.csv", "measurements/more.npz", "readme.txt", "density_2007-09-17.csv"):
        (release.folder / name).write_text("forged")
    (release.folder / "manifest_forged.json").write_text("{}")
    result = verify(release.folder / f"manifest_{WEEK}.json", OPERATOR.fingerprint, around=True)
    assert result.status == 0
    (note,) = result.notes
    assert note.startswith("not covered by any manifest: density_2007-09-10_corrected.csv, ")
    assert "measurements/more.npz" in note
    assert "readme.txt" in note
    assert LATER not in note  # belongs to another week, whose own manifest speaks for it


def test_a_stripped_signature_is_never_verified(release):
    """With the manifest gone, statement and files alone must not pass for an old release either."""
    release.file("manifest", "sig").unlink()
    assert asked(release).status == 1
    assert verify(release.folder).status == 1
    release.file("manifest").unlink()
    assert asked(release).status == 1
    assert verify(release.folder).status == 1


def test_two_weeks_cannot_be_swapped(tmp_path):
    book = open_book(OPERATOR)
    first = make_release(tmp_path / "release", OPERATOR, book)
    note_published(first)
    later = make_release(tmp_path / "release", OPERATOR, book, LATER)
    for release in (first, later):
        assert verify(release.file("manifest"), OPERATOR.fingerprint).status == 0
    files = {file.name: file.read_bytes() for file in first.folder.iterdir() if file.is_file()}

    def swap(names: Callable[[str], bool], *, inside: bool = False) -> None:
        for name, content in files.items():
            other = name.replace(WEEK, "X").replace(LATER, WEEK).replace("X", LATER)
            if names(name):
                if inside:
                    content = content.replace(WEEK.encode(), b"X").replace(LATER.encode(), WEEK.encode())
                    content = content.replace(b"X", LATER.encode())
                (first.folder / other).write_bytes(content)

    def statuses() -> set[int]:
        return {verify(release.file("manifest"), OPERATOR.fingerprint).status for release in (first, later)}

    for names in (
        lambda name: name.startswith("density_2"),
        lambda name: name.startswith("privacy_statement"),
        lambda name: name.startswith("ledger"),
        lambda name: name.endswith(".sig"),
        lambda name: name.startswith("manifest"),
        lambda name: True,
    ):
        for inside in (False, True):
            swap(names, inside=inside)
            assert statuses() == {1}
            for name, content in files.items():
                (first.folder / name).write_bytes(content)
    assert statuses() == {0}


def test_a_revision_cannot_pass_for_another(tmp_path):
    book = open_book(OPERATOR)
    first = make_release(tmp_path / "release", OPERATOR, book)
    note_published(first)
    second = make_release(tmp_path / "release", OPERATOR, book, revision=2)
    for stem, kind in (("manifest", "json"), ("manifest", "sig")):
        shutil.copy(second.file(stem, kind), first.file(stem, kind))
    result = verify(first.file("manifest"), OPERATOR.fingerprint)
    assert result.status == 1
    assert any("named after its week and revision" in text for text in wrong(result))


# --- with a key of their own ------------------------------------------------------------------------------------------


def test_a_release_that_somebody_else_made_is_consistent_but_not_verified(tmp_path):
    forged = make_release(tmp_path / "release", FORGER)
    assert verify(forged.folder).status == 3
    assert asked(forged).status == 1


def test_a_forger_cannot_put_the_operators_key_beside_their_signature(release):
    """Whichever of the places for a key is the operator's and whichever the forger's."""
    for signer in (OPERATOR, FORGER):
        for named in (OPERATOR, FORGER):
            for printed in (OPERATOR, FORGER):
                for pem in (OPERATOR, FORGER):
                    release.write_contents()
                    names = ("density_key.pem", *(f"key_{one.fingerprint[:16]}.pem" for one in (OPERATOR, FORGER)))
                    for name in names:
                        release.contents[name] = public_pem(pem.public)
                        (release.folder / name).write_bytes(public_pem(pem.public))
                    release.list_contents()
                    release.manifest["key"] = {"public": named.public.hex(), "fingerprint": printed.fingerprint}
                    release.signer = signer
                    release.sign()
                    honest = all(one is OPERATOR for one in (signer, named, printed, pem))
                    assert (asked(release).status == 0) == honest


def test_a_forger_cannot_take_the_ledger_over(tmp_path):
    """Their key in the ledger's chain, with or without a signature that would have let it in."""
    for signed in (True, False):
        book = open_book(OPERATOR)
        book.rotate(OPERATOR, FORGER, signed=False)
        if signed:
            body = json.loads(book.entries[-1]["body"])
            body["signed"] = FORGER.sign(b"density key 1\n" + FORGER.public).hex()
            book.entries.pop()
            book.add("key", body)
        forged = make_release(tmp_path / str(signed), FORGER, book)
        assert asked(forged).status == 1


def test_an_agreement_to_one_key_is_none_to_another(tmp_path):
    book = open_book(OPERATOR)
    book.rotate(OPERATOR, OFFICER)
    body = json.loads(book.entries.pop()["body"])
    book.add("key", {**body, "public": FORGER.public.hex()})
    assert asked(make_release(tmp_path / "release", FORGER, book)).status == 1


def test_a_signature_for_something_else_is_none_for_a_manifest(release):
    """What the operator has signed elsewhere (a key, a head, another manifest) does not help."""
    head = signed_head(OPERATOR, release.book.identity, 3, release.book.entries[2]["hash"], DAY)
    for content in (bytes.fromhex(head["signature"]), OPERATOR.sign(b"density key 1\n" + FORGER.public)):
        release.file("manifest", "sig").write_bytes(content)
        assert asked(release).status == 1
    manifest = release.file("manifest").read_bytes()
    assert signature_holds(OPERATOR.public, manifest, OPERATOR.sign(manifest))
