"""What heads that were kept elsewhere can tell of a release, and what they cannot."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from forging import FORGER, LATER, OPERATOR, asked, edited, wrong
from signed_release import DAY, Book, Release, key, make_release, note_published, open_book

from density_assets.publication.verify import Result, verify
from resources.anchors import signed_head


@pytest.fixture
def release(tmp_path) -> Release:
    """A release that holds."""
    return make_release(tmp_path / "release", OPERATOR)


def anchored(book: Book, *rows: int, at: str = DAY) -> list[dict[str, Any]]:
    return [signed_head(OPERATOR, book.identity, row, book.entries[row - 1]["hash"], at) for row in rows]


def lines(file: Path, heads: list[dict[str, Any]]) -> Path:
    file.write_text("".join(json.dumps(head) + "\n" for head in heads))
    return file


def against(release: Release, anchor: Path) -> Result:
    return verify(release.folder, OPERATOR.fingerprint, anchor=anchor)


def test_heads_that_were_kept_elsewhere_are_in_the_chain(release, tmp_path):
    anchor = lines(tmp_path / "anchor.jsonl", anchored(release.book, 1, 4, 10))
    result = against(release, anchor)
    assert (wrong(result), result.status) == ([], 0)
    assert verify(release.folder, anchor=anchor).status == 3


def test_a_rewritten_ledger_contradicts_its_anchor(release, tmp_path):
    """The operator has the key and makes everything anew; only what lies elsewhere can tell."""
    anchor = lines(tmp_path / "anchor.jsonl", anchored(release.book, 4, 10))
    edited(release, "budget", epsilon=9.0)
    assert asked(release).status == 0
    result = against(release, anchor)
    assert result.status == 1
    assert sum("names row" in text for text in wrong(result)) == 2


def test_another_ledger_is_not_in_the_anchor(tmp_path):
    first, second = (make_release(tmp_path / name, key(name)) for name in ("first", "second"))
    anchor = tmp_path / "anchor.jsonl"
    book = first.book
    lines(anchor, [signed_head(first.signer, book.identity, 4, book.entries[3]["hash"], DAY)])
    assert verify(first.folder, first.signer.fingerprint, anchor=anchor).status == 0
    assert verify(second.folder, second.signer.fingerprint, anchor=anchor).status == 1


def test_a_later_head_says_nothing_of_an_earlier_release(tmp_path):
    book = open_book(OPERATOR)
    first = make_release(tmp_path / "first", OPERATOR, copy.deepcopy(book))
    later = make_release(tmp_path / "later", OPERATOR, copy.deepcopy(first.book), LATER)
    both = lines(tmp_path / "both.jsonl", anchored(later.book, 4, 16))
    result = against(first, both)
    assert result.status == 0
    assert "1 are newer than this release and say nothing about it" in result.findings[-1][1]
    only_later = lines(tmp_path / "later.jsonl", anchored(later.book, 16))
    assert against(first, only_later).status == 1  # asked for, and not confirmed


def test_a_ledger_that_went_on_from_an_old_copy_is_found(tmp_path):
    """The anchor knows row 16 of day one; a chain of ten rows with entries of day two has forgotten six."""
    book = open_book(OPERATOR)
    known = make_release(tmp_path / "known", OPERATOR, copy.deepcopy(book), LATER)
    note_published(known)
    anchor = lines(tmp_path / "anchor.jsonl", anchored(known.book, 4, 11))
    forked = make_release(tmp_path / "forked", OPERATOR, book)
    assert against(forked, anchor).status == 0  # of the same day: nothing can be said
    forked.book.entries[-1]["at"] = "2026-11-17"
    forked.reseal()
    result = against(forked, anchor)
    assert result.status == 1
    assert any("the ledger had row 11 on 2026-11-16" in text for text in wrong(result))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda head: {**head, "signature": "0" * 128},
        lambda head: {**head, "row": head["row"] - 1},
        lambda head: {**head, "head": "0" * 64},
        lambda head: {**head, "at": "2020-01-01"},
        lambda head: {**head, "more": 1},
        lambda head: {name: value for name, value in head.items() if name != "key"},
        lambda head: {**head, "format": "density head 3"},
        lambda head: {**head, "row": True},
        lambda head: [],
        lambda head: signed_head(FORGER, head["ledger"], head["row"], head["head"], head["at"]),
    ],
)
def test_a_damaged_or_foreign_line_of_an_anchor_is_found(release, tmp_path, spoil):
    heads = anchored(release.book, 4, 10)
    anchor = lines(tmp_path / "anchor.jsonl", [heads[0], spoil(heads[1])])
    result = against(release, anchor)
    assert result.status == 1
    assert any("line 2 of the anchor" in text for text in wrong(result))


@pytest.mark.parametrize("content", [b"", b"\n\n", b"{", b"\xff\n", b"[" * 10**5, b"null\n"])
def test_an_anchor_that_holds_nothing_confirms_nothing(release, tmp_path, content):
    (tmp_path / "anchor.jsonl").write_bytes(content)
    assert against(release, tmp_path / "anchor.jsonl").status == 1
