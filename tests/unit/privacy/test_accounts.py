"""What a ledger says is believed whole or not at all, and refused in one way."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from signed_release import EVENTS, WEEK, Book, key, open_book

from density_assets.privacy.accounts import GENESIS, NotWhole, first_broken, read_accounts, row_hash

OPERATOR = key("operator")


def paid(*, week: Any = WEEK, **changed: Any) -> Book:
    book = open_book(OPERATOR)
    book.pay(week, 1, "noisy_series", **changed)
    return book


def no_json(book: Book) -> Book:
    book.entries[-1]["body"] = "{"
    book.rechain()
    return book


UNREADABLE: dict[str, Callable[[], Book]] = {
    "an unknown mechanism": lambda: paid(events=[{**EVENTS["noisy_series"], "kind": "magic"}]),
    "noise below zero": lambda: paid(events=[{**EVENTS["noisy_series"], "sigma": -1.0}]),
    "a week that is none": lambda: paid(week="soon"),
    "a week that is a number": lambda: paid(week=36),
    "no events": lambda: paid(events=None),
    "a body that is no JSON": lambda: no_json(paid()),
}


def test_a_chain_that_holds_is_read():
    (row,) = read_accounts(paid().entries).rows
    assert json.loads(paid().entries[-1]["body"])["nonce"] == row.nonce


@pytest.mark.parametrize("what", UNREADABLE)
def test_a_chained_entry_that_makes_no_sense_is_not_whole(what):
    """Whoever writes it hashes it rightly, so the chain alone does not tell."""
    with pytest.raises(NotWhole, match=r"cannot be read|is none"):
        read_accounts(UNREADABLE[what]().entries)


def chain(*contents: str) -> list[dict]:
    rows, previous = [], GENESIS
    for number, content in enumerate(contents, start=1):
        row = {"row": number, "content": content, "previous": previous}
        previous = row_hash(row)
        rows.append({**row, "hash": previous})
    return rows


def test_the_hash_is_that_of_everything_but_number_and_hash_in_the_order_of_names():
    text = '{"a": "x", "previous": "' + GENESIS + '"}'
    row = {"row": 9, "previous": GENESIS, "hash": "whatever", "a": "x"}
    assert row_hash(row) == hashlib.sha256(text.encode()).hexdigest()
    assert GENESIS == 64 * "0"


def test_a_whole_chain_has_no_broken_row():
    assert first_broken([]) is None
    assert first_broken(chain("a", "b", "c")) is None


@pytest.mark.parametrize("column", ["row", "content", "previous", "hash"])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_changed_value_breaks_its_row(column, number):
    rows = chain("a", "b", "c")
    rows[number - 1][column] = 7 if column == "row" else "else"
    assert first_broken(rows) == number


def test_rows_that_are_removed_inserted_or_exchanged_break_the_first_of_them():
    whole = chain("a", "b", "c")
    assert first_broken(whole[1:]) == 1
    assert first_broken([whole[0], whole[2]]) == 2
    assert first_broken([whole[0], whole[0], *whole[1:]]) == 2
    assert first_broken([whole[0], whole[2], whole[1]]) == 2
    forged = {**whole[1], "content": "forged"}
    assert first_broken([whole[0], {**forged, "hash": row_hash(forged)}, whole[2]]) == 3  # the next one tells
