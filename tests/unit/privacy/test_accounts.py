"""What a ledger says is believed whole or not at all, and refused in one way."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from signed_release import EVENTS, WEEK, Book, key, open_book

from density_assets.privacy.accounts import NotWhole, read_accounts

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
