"""Two programs read the ledger's chain: the one that charges, and the one that outsiders run. They refuse the same.

Each is written for itself, so that a mistake in one shows in the other. Where they differ on purpose, it is listed here
with the reason, and nowhere else.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest
from contradictions import LEDGERS
from forging import FORGER, OFFICER, OPERATOR
from signed_release import WEEK, WHO, Book, Release, make_release, open_book

from density_assets.privacy import accounts
from density_assets.privacy.accounts import NotWhole, read_accounts
from density_assets.privacy.policy import acknowledgement
from density_assets.publication import verify
from density_assets.publication.verify import Chain, Damaged
from density_assets.settings import Settings

# Refused by outsiders only: the software never writes it, and charges are safe whether or not it stands there.
ONLY_OUTSIDERS = {
    "no day": "days are for people; nothing is decided by them",
    "a time": "days are for people; nothing is decided by them",
    "a short nonce": "the payer asks only that no two are equal",
    "a body with blanks": "the payer hashes the text as it stands, and nothing is written that way",
    "a name twice in a body": "the payer hashes the text as it stands, and nothing is written that way",
    "another policy": "the text decides, not its digest",
    "published under another key": "the payer asks what was published, not how",
    "published what was not drawn": "the payer asks what was published, not how",
    "published nothing": "the payer asks what was published, not how",
    "a key that replaces another": "handing over keys is for whoever trusts a fingerprint",
    "a key without the old one's word for it": "handing over keys is for whoever trusts a fingerprint",
}
ONLY_THE_PAYER = {
    "an unknown kind": "a newer ledger may not be added to by older software; an outsider can still read the rest",
    "other noise": "an outsider adds events up when the statement names them",
}


def paid(*, week: str = WEEK, **changed: Any) -> Book:
    book = open_book(OPERATOR)
    book.draw(book.pay(week, 1, "noisy_series", **changed))
    return book


def with_entry(kind: str, body: dict[str, Any]) -> Book:
    book = paid()
    book.add(kind, body)
    return book


def handed_over(**changed: Any) -> Book:
    book = open_book(OPERATOR)
    book.rotate(OPERATOR, OFFICER)
    body = json.loads(book.entries.pop()["body"])
    book.add("key", {**body, **changed})
    return book


BOOKS: dict[str, Callable[[], Book]] = {
    "nothing wrong": paid,
    "an acknowledgement of input": lambda: with_entry("approval", {**acknowledgement(Settings()), **WHO}),
    "an acknowledgement by nobody": lambda: with_entry("approval", acknowledgement(Settings())),
    "an unknown kind": lambda: with_entry("gift", {"to": "nobody"}),
    "other noise": lambda: paid(events=[{"kind": "magic", "query": "x"}]),
    "a week that is none": lambda: paid(week="soon"),
    "a key that replaces another": lambda: handed_over(replaces=FORGER.public.hex()),
    "a key without the old one's word for it": lambda: handed_over(signed="00" * 64),
    "a key that is handed over": handed_over,
}


def refused_by_payer(book: Book) -> bool:
    try:
        read_accounts(book.entries)
    except NotWhole:
        return True
    return False


def refused_by_outsiders(book: Book) -> bool:
    try:
        return bool(Chain(json.loads(json.dumps(book.published()))).wrong)
    except Damaged:
        return True


def expected(what: str, *, by_outsiders: bool) -> bool:
    """What the payer must say, given what outsiders say."""
    if what in ONLY_OUTSIDERS:
        assert by_outsiders
        return False
    if what in ONLY_THE_PAYER:
        assert not by_outsiders
        return True
    return by_outsiders


@pytest.mark.parametrize("what", BOOKS)
def test_both_readers_say_the_same_of_a_ledger(what):
    book = BOOKS[what]()
    assert refused_by_payer(book) == expected(what, by_outsiders=refused_by_outsiders(book))


@pytest.mark.parametrize("what", LEDGERS)
def test_both_readers_say_the_same_of_a_ledger_that_contradicts_itself(tmp_path, what):
    release: Release = make_release(tmp_path / "release", OPERATOR)
    LEDGERS[what](release)
    assert refused_by_payer(release.book) == expected(what, by_outsiders=refused_by_outsiders(release.book))


def test_every_listed_difference_is_tried():
    assert {*ONLY_OUTSIDERS, *ONLY_THE_PAYER} <= {*BOOKS, *LEDGERS}


def test_both_readers_know_the_same_kinds_of_entries():
    assert accounts.BODIES.keys() == verify.BODIES.keys()
