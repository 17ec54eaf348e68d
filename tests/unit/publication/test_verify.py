"""The verifier for outsiders: what it accepts, and what it says of keys and fingerprints."""

import json

import pytest
from forging import FORGER, OFFICER, OPERATOR, wrong
from signed_release import WEEK, Release, make_release, note_published, open_book, sha256

from density_assets.publication.verify import Misuse, Result, verify


@pytest.fixture
def release(tmp_path) -> Release:
    """A release that holds."""
    return make_release(tmp_path / "release", OPERATOR)


def texts(result: Result) -> list[str]:
    return [text for _, text in result.findings]


# --- verdicts ---------------------------------------------------------------------------------------------------------


def test_a_signed_release_is_verified_for_whoever_knows_the_fingerprint(release):
    result = verify(release.folder, OPERATOR.fingerprint)
    assert wrong(result) == []
    assert result.status == 0
    assert result.verdict == f"verified: signed by {OPERATOR.fingerprint} (town, {WEEK})"
    assert result.notes == []
    for text in (
        "the manifest is signed by the key it names",
        "the ledger's chain is whole",
        "every draw was begun once and paid for before",
        "it ends with the head the manifest names",
        "the manifest's key is the ledger's newest",
        "statement and manifest are those of one release",
        "every door is paid for once",
        "the draw of noisy_series is the one paid for",
        "the events cost epsilon 0.2991 at delta 2e-06, promised 0.3",
        "the key is the one whose fingerprint was given",
    ):
        assert any(found.startswith(text) for found in texts(result)), text
    assert sum(found.endswith("is the file that was signed") for found in texts(result)) == len(release.contents)


def test_without_a_fingerprint_nobody_vouches_for_it(release):
    result = verify(release.folder)
    assert (wrong(result), result.status) == ([], 3)
    assert result.verdict.startswith("consistent, signer unknown: get the key's fingerprint from elsewhere")


@pytest.mark.parametrize("name", ["privacy_statement", "manifest"])
def test_statement_and_manifest_name_the_same_release(release, name):
    assert verify(release.file(name), OPERATOR.fingerprint) == verify(release.folder, OPERATOR.fingerprint)


@pytest.mark.parametrize(
    "written",
    [
        OPERATOR.fingerprint,
        OPERATOR.fingerprint[:32],
        OPERATOR.fingerprint.upper(),
        ":".join(OPERATOR.fingerprint[at : at + 2] for at in range(0, 64, 2)),
        " ".join(OPERATOR.fingerprint[at : at + 8] for at in range(0, 40, 8)),
    ],
)
def test_a_fingerprint_may_be_written_as_people_write_it(release, written):
    assert verify(release.folder, written).status == 0


@pytest.mark.parametrize(
    "written", ["", "abc", OPERATOR.fingerprint[:31], OPERATOR.fingerprint + "0", "g" * 64, "٣" * 64]
)
def test_half_a_fingerprint_is_the_least_that_is_taken(release, written):
    for asked in ({"key": written}, {"second": written}):
        with pytest.raises(Misuse, match="32 to 64 hexadecimal digits"):
            verify(release.folder, **asked)


def test_another_signer_is_not_the_one_asked_for(release):
    result = verify(release.folder, FORGER.fingerprint)
    assert result.status == 1
    assert wrong(result) == [f"the key is the one whose fingerprint was given: it is {OPERATOR.fingerprint}"]


def test_a_register_is_verified_by_its_files_and_signature(release):
    files = {"audit.html": b"page", "release.duckdb": b"tables", "tables/density/2007-09-10.parquet": b"rows"}
    files[release.key_file] = release.contents[release.key_file]
    for name, content in files.items():
        (release.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (release.folder / name).write_bytes(content)
    said = {name: release.manifest[name] for name in ("city", "ledger", "key")}
    listed = {name: {"sha256": sha256(content), "bytes": len(content)} for name, content in files.items()}
    content = json.dumps({"format": "density register 1", **said, "files": listed}).encode()
    file = release.folder / "manifest_register.json"
    file.write_bytes(content)
    file.with_suffix(".sig").write_bytes(OPERATOR.sign(content))
    result = verify(file, OPERATOR.fingerprint)
    assert (wrong(result), result.status) == ([], 0)
    assert "holds no chain" in result.notes[0]
    week = verify(release.folder, OPERATOR.fingerprint, around=True)  # the folder means its one week
    assert week.status == 0
    assert week.notes == ["3 files are listed by other manifests of the folder only: verify those as well"]
    (release.folder / "audit.html").write_bytes(b"pagE")
    assert verify(file, OPERATOR.fingerprint).status == 1


def test_later_weeks_and_unknown_kinds_are_fine_but_reported(tmp_path):
    first = make_release(tmp_path / "first", OPERATOR)
    note_published(first)
    first.book.add("weather", {"sunny": True})
    later = make_release(tmp_path / "later", OPERATOR, first.book, "2007-09-17")
    result = verify(later.folder, OPERATOR.fingerprint)
    assert (wrong(result), result.status) == ([], 0)
    assert any("of a kind that is unknown here: weather" in note for note in result.notes)


def test_a_killed_run_is_no_fault_but_noted(tmp_path):
    book = open_book(OPERATOR)
    book.add("begun", {"charge": book.pay(WEEK, 1, "noisy_totals")})
    result = verify(make_release(tmp_path, OPERATOR, book).folder, OPERATOR.fingerprint)
    assert result.status == 0
    assert result.notes == ["1 more charges for this week and revision were begun: they count against the budget"]


# --- keys over time ---------------------------------------------------------------------------------------------------


def test_a_key_that_was_replaced_vouches_for_the_one_after_it_if_it_agreed(tmp_path):
    book = open_book(OPERATOR)
    book.rotate(OPERATOR, OFFICER)
    release = make_release(tmp_path, OFFICER, book)
    assert verify(release.folder, OFFICER.fingerprint).status == 0
    result = verify(release.folder, OPERATOR.fingerprint)
    assert result.status == 0
    assert "the key whose fingerprint was given agreed to be replaced by this one (rows 5)" in texts(result)
    assert result.verdict.startswith(f"verified: signed by {OFFICER.fingerprint}")


def test_a_lost_key_vouches_for_nothing(tmp_path):
    book = open_book(OPERATOR)
    book.rotate(OPERATOR, OFFICER, signed=False)
    release = make_release(tmp_path, OFFICER, book)
    result = verify(release.folder, OFFICER.fingerprint)
    assert result.status == 0
    assert any("replaced the key without a signature" in note for note in result.notes)
    assert verify(release.folder, OPERATOR.fingerprint).status == 1


def test_a_key_is_replaced_by_itself_only(tmp_path):
    book = open_book(OPERATOR)
    book.rotate(FORGER, OFFICER)  # signed by somebody else, replacing somebody else
    result = verify(make_release(tmp_path, OFFICER, book).folder, OFFICER.fingerprint)
    assert result.status == 1
    assert any("replaces a key that was not the newest" in text for text in wrong(result))
    assert any("the signature of the one before does not hold" in text for text in wrong(result))


def test_an_old_key_signs_no_new_release(tmp_path):
    book = open_book(OPERATOR)
    book.rotate(OPERATOR, OFFICER)
    result = verify(make_release(tmp_path, OPERATOR, book).folder, OPERATOR.fingerprint)
    assert (result.status, wrong(result)) == (1, ["the manifest's key is the ledger's newest"])


def test_a_second_person_may_have_to_sign(release):
    asked = {"key": OPERATOR.fingerprint, "second": OFFICER.fingerprint}
    assert verify(release.folder, **asked).status == 1
    release.countersign(OFFICER)
    result = verify(release.folder, **asked)
    signers = f"{OPERATOR.fingerprint} and {OFFICER.fingerprint}"
    assert (result.status, result.verdict) == (0, f"verified: signed by {signers} (town, {WEEK})")
    assert verify(release.folder, second=OFFICER.fingerprint).status == 3  # who the first is nobody asked
    assert "1 more signatures" in verify(release.folder, OPERATOR.fingerprint).notes[0]


@pytest.mark.parametrize("second", [OPERATOR, FORGER])
def test_a_second_person_is_not_the_first_and_not_anybody(release, second):
    release.countersign(OFFICER)
    short = OFFICER.fingerprint[:16]
    forged = second.sign(release.file("manifest").read_bytes())
    release.file("manifest", f"{short}.sig").write_bytes(forged)
    assert verify(release.folder, OPERATOR.fingerprint, OFFICER.fingerprint).status == 1
    release.countersign(second)
    assert verify(release.folder, OPERATOR.fingerprint, OPERATOR.fingerprint).status == 1
