"""Releases that the operator signed, and that contradict themselves: a signature says who, not whether it is right."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from contradictions import LEDGERS
from forging import LATER, OFFICER, OPERATOR, asked, changed, edited, others, places, wrong
from signed_release import EVENTS, WEEK, Release, make_release, note_published, open_book

from density_assets.publication.verify import verify


@pytest.fixture
def release(tmp_path) -> Release:
    """A release that holds."""
    return make_release(tmp_path / "release", OPERATOR)


@pytest.mark.parametrize("what", LEDGERS)
def test_a_ledger_that_contradicts_itself_is_found_though_it_is_signed(release, what):
    LEDGERS[what](release)
    result = asked(release)
    assert result.status == 1, result.verdict
    assert wrong(result)
    assert "the manifest is signed" not in " ".join(wrong(result))


OF_A_CHARGE: dict[str, Any] = {
    "population": "others",
    "city": "village",
    "week": LATER,
    "revision": 2,
    "door": "noisy_series",
    "measurement": "0" * 64,
    "epsilon": 0.1,
    "delta": 1e-9,
    "events": [],
    "at": "2020-01-01",
    "hash": "0" * 64,
    "nonce": "0" * 32,
    "by": "somebody",
    "reason": "none",
    "how": "magic",
    "draw": "0" * 64,
    "more": "than was charged",
}
STATEMENTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "another city": lambda said: said.update(city="village"),
    "another week": lambda said: said.update(week=LATER),
    "another revision": lambda said: said.update(revision=2),
    "a smaller epsilon": lambda said: said.update(epsilon=0.1),
    "a larger epsilon": lambda said: said.update(epsilon=0.4),
    "a smaller delta": lambda said: said.update(delta=1e-9),
    "a true epsilon": lambda said: said.update(epsilon=True),
    "no epsilon": lambda said: said.pop("epsilon"),
    "published calibration": lambda said: said.update(calibration="published"),
    "another format": lambda said: said.update(format="density statement 3"),
    "no format": lambda said: said.pop("format"),
    "no charges": lambda said: said.update(charges=[]),
    "a charge less": lambda said: said["charges"].pop(),
    "a charge twice": lambda said: said["charges"].append(said["charges"][0]),
    "a charge for a door that is none": lambda said: said["doors"].pop(),
    "one charge for both doors": lambda said: said["charges"].__setitem__(1, {**said["charges"][0]}),
    "another file for the chain": lambda said: said["ledger"].update(file=f"density_{WEEK}.csv"),
    "another head": lambda said: said["ledger"].update(head="0" * 64),
    "another row": lambda said: said["ledger"].update(row=1),
    "another identity": lambda said: said["ledger"].update(identity="0" * 32),
    "no ledger": lambda said: said.pop("ledger"),
    "digests of other files": lambda said: said.update(files={f"density_{WEEK}.csv": "0" * 64}),
    "files as a list": lambda said: said.update(files=[]),
    "a digest of a file that is not listed": lambda said: said.update(files={"more.csv": "0" * 64}),
    **{
        f"of a charge, another {name}": lambda said, name=name, new=new: said["charges"][0].update({name: new})
        for name, new in OF_A_CHARGE.items()
    },
    **{
        f"of a charge, no {name}": lambda said, name=name: said["charges"][0].pop(name)
        for name in sorted(OF_A_CHARGE.keys() - {"how", "more"})
    },
}


@pytest.mark.parametrize("what", STATEMENTS)
def test_a_statement_that_contradicts_the_ledger_is_found_though_it_is_signed(release, what):
    STATEMENTS[what](release.statement)
    result = asked(release.seal())
    assert result.status == 1, result.verdict
    assert wrong(result)


MANIFESTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "another city": lambda said: said.update(city="village"),
    "another week": lambda said: said.update(week=LATER),
    "another revision": lambda said: said.update(revision=2),
    "another statement": lambda said: said.update(statement=f"privacy_statement_{LATER}.json"),
    "another head": lambda said: said["ledger"].update(head="0" * 64),
    "another row": lambda said: said["ledger"].update(row=3),
    "a true row": lambda said: said["ledger"].update(row=True),
    "another identity": lambda said: said["ledger"].update(identity="0" * 32),
    "another fingerprint": lambda said: said["key"].update(fingerprint="0" * 64),
    "another format": lambda said: said.update(format="density release 2"),
    "the register's format": lambda said: said.update(format="density register 1"),
    "another size": lambda said: said["files"][f"density_{WEEK}.csv"].update(bytes=1),
    "another digest": lambda said: said["files"][f"density_{WEEK}.csv"].update(sha256="0" * 64),
    "no size": lambda said: said["files"][f"density_{WEEK}.csv"].pop("bytes"),
    "files as a list": lambda said: said.update(files=list(said["files"])),
    "a file above": lambda said: said["files"].update({"../x": {"sha256": "0" * 64, "bytes": 1}}),
    "an absolute file": lambda said: said["files"].update({"/etc/passwd": {"sha256": "0" * 64, "bytes": 1}}),
    "a file above a folder": lambda said: said["files"].update({"a/../../x": {"sha256": "0" * 64, "bytes": 1}}),
    "a hidden file": lambda said: said["files"].update({".x": {"sha256": "0" * 64, "bytes": 1}}),
    "a file for Windows": lambda said: said["files"].update({"..\\x": {"sha256": "0" * 64, "bytes": 1}}),
    "a file without a name": lambda said: said["files"].update({"": {"sha256": "0" * 64, "bytes": 1}}),
    "a folder": lambda said: said["files"].update({"measurements": {"sha256": "0" * 64, "bytes": 1}}),
    "a long name": lambda said: said["files"].update({"x" * 5000: {"sha256": "0" * 64, "bytes": 1}}),
}


@pytest.mark.parametrize("what", MANIFESTS)
def test_a_manifest_that_contradicts_the_release_is_found_though_it_is_signed(release, what):
    MANIFESTS[what](release.manifest)
    release.sign()
    result = asked(release)
    assert result.status == 1, result.verdict
    assert wrong(result)


def test_every_file_of_a_release_must_be_listed(release):
    needed = [name for name in release.manifest["files"] if not name.startswith("measurements/")]
    assert len(needed) == 16
    for name in needed:
        listed = release.manifest["files"].pop(name)
        release.sign()
        result = asked(release)
        assert result.status == 1, name
        assert any(f"{name} is one of the files" in text for text in wrong(result))
        release.manifest["files"][name] = listed
    release.sign()
    assert asked(release).status == 0


def test_no_value_of_a_signed_file_ends_in_a_traceback(release):
    """The operator's own software may be wrong in any way; the verifier answers all the same."""
    bodies = [json.loads(entry["body"]) for entry in release.book.entries]
    tried = 0
    for number, body in enumerate(bodies):
        for path in places(body):
            if not path:
                continue
            for new in [..., *others(0)][tried % 9 :: 9]:
                fresh = copy.deepcopy(release)
                fresh.book.entries[number]["body"] = json.dumps(
                    changed(body, path, new), sort_keys=True, separators=(",", ":")
                )
                result = asked(fresh.reseal())
                assert result.status in (0, 1)
                assert not any("damaged (" in text for text in wrong(result)), (path, new, wrong(result))
                tried += 1
    statement = release.statement
    for path in places(statement):
        for new in [... if path else 0, *others(0)][tried % 9 :: 9]:
            fresh = copy.deepcopy(release)
            fresh.statement = changed(statement, path, new)
            fresh.seal()
            result = asked(fresh)
            assert result.status in (0, 1)
            assert not any("damaged (" in text for text in wrong(result)), (path, new, wrong(result))
            tried += 1
    assert tried > 250


def test_noise_that_is_too_small_for_the_promise_is_found_though_it_is_signed(tmp_path):
    book = open_book(OPERATOR)
    less = {**EVENTS["noisy_series"], "sigma": EVENTS["noisy_series"]["sigma"] * 0.99}
    release = Release(tmp_path, OPERATOR, book)
    charges = [book.pay(WEEK, 1, "noisy_totals"), book.pay(WEEK, 1, "noisy_series", events=[less])]
    for charge in charges:
        book.draw(charge)
    release.state([book.stated(charge) for charge in charges])
    result = asked(release.seal())
    assert [text.split(",")[0] for text in wrong(result)] == ["the events cost epsilon 0.3022 at delta 2e-06"]


def test_what_was_signed_before_a_key_was_replaced_may_be_published_after_it(tmp_path):
    """The manifest of an older week, made again, is signed by the key its chain ends with."""
    first = make_release(tmp_path / "first", OPERATOR)
    first.book.rotate(OPERATOR, OFFICER)
    note_published(first)
    later = make_release(tmp_path / "later", OFFICER, first.book, LATER)
    assert verify(later.folder, OFFICER.fingerprint).status == 0
    for row in (0, len(first.book.entries), 10**6, True, "1"):
        forged = copy.deepcopy(later)
        edited(forged, "published", row=row)
        assert verify(forged.folder, OFFICER.fingerprint).status == 1
