"""Ledgers that contradict themselves though every row is chained and the operator has signed: what each does wrong."""

import json
from collections.abc import Callable
from typing import Any

from forging import FORGER, LATER, edited, kinds
from signed_release import EVENTS, Release, note_published


def drop(release: Release, kind: str) -> None:
    release.book.entries.remove(kinds(release, kind)[-1])
    release.reseal()


def twice(release: Release, kind: str) -> None:
    entry = kinds(release, kind)[0]
    release.book.add(kind, json.loads(entry["body"]))
    release.reseal()


def last_first(release: Release) -> None:
    entries = release.book.entries
    entries[0], entries[1] = entries[1], entries[0]
    release.reseal()


LEDGERS: dict[str, Callable[[Release], Any]] = {
    "a draw without a beginning": lambda release: drop(release, "begun"),
    "no draw": lambda release: drop(release, "drawn"),
    "a charge that is gone": lambda release: drop(release, "charge"),
    "a draw twice": lambda release: twice(release, "drawn"),
    "begun twice": lambda release: twice(release, "begun"),
    "a nonce twice": lambda release: edited(
        release, "charge", 1, nonce=json.loads(kinds(release, "charge")[0]["body"])["nonce"]
    ),
    "no nonce": lambda release: edited(release, "charge", nonce=...),
    "a short nonce": lambda release: edited(release, "charge", nonce="1"),
    "another digest": lambda release: edited(release, "drawn", digest="0" * 64),
    "another measurement": lambda release: edited(release, "drawn", measurement="0" * 64),
    "another week": lambda release: edited(release, "charge", week=LATER),
    "another city": lambda release: edited(release, "charge", city="village"),
    "another revision": lambda release: edited(release, "charge", revision=2),
    "another population": lambda release: edited(release, "charge", population="others"),
    "another door": lambda release: edited(release, "charge", door="noisy_window"),
    "another epsilon": lambda release: edited(release, "charge", epsilon=0.1),
    "another delta": lambda release: edited(release, "charge", delta=1e-9),
    "other events": lambda release: edited(release, "charge", events=[EVENTS["noisy_series"]]),
    "another name": lambda release: edited(release, "charge", by="somebody"),
    "another reason": lambda release: edited(release, "charge", reason="none"),
    "another policy": lambda release: edited(release, "policy", text="epsilon = 9\n"),
    "a budget of text": lambda release: edited(release, "budget", epsilon="3"),
    "a budget of nobody": lambda release: edited(release, "budget", by=...),
    "opened twice": lambda release: twice(release, "opened"),
    "never opened": lambda release: drop(release, "opened"),
    "opened later": lambda release: last_first(release),
    "another key": lambda release: edited(release, "opened", key=FORGER.public.hex()),
    "another identity": lambda release: (
        edited(release, "opened", ledger="0" * 32),
        release.manifest["ledger"].update(identity="1" * 32),
        release.sign(),
    ),
    "another format": lambda release: (release.book.entries[2].update(format=2), release.reseal()),
    "a true format": lambda release: (release.book.entries[2].update(format=True), release.reseal()),
    "no day": lambda release: (release.book.entries[2].update(at="2026-02-30"), release.reseal()),
    "a time": lambda release: (release.book.entries[2].update(at="2026-11-16T10:00:00"), release.reseal()),
    "a column more": lambda release: (release.book.entries[2].update(note="x"), release.reseal()),
    "a column less": lambda release: (release.book.entries[2].pop("at"), release.reseal()),
    "a body as a record": lambda release: (release.book.entries[2].update(body={"by": "x"}), release.reseal()),
    "a body with blanks": lambda release: (
        release.book.entries[2].update(body=release.book.entries[2]["body"].replace(",", ", ")),
        release.reseal(),
    ),
    "a name twice in a body": lambda release: (
        release.book.entries[2].update(body='{"by":"a",' + release.book.entries[2]["body"][1:]),
        release.reseal(),
    ),
    "a body that is a list": lambda release: (release.book.entries[2].update(body="[]"), release.reseal()),
    "a deep body": lambda release: (release.book.entries[2].update(body="[" * 10**5 + "]" * 10**5), release.reseal()),
    "published under another key": lambda release: (
        note_published(release),
        edited(release, "published", key="0" * 64),
    ),
    "published what was not drawn": lambda release: (
        note_published(release),
        edited(release, "published", charges=["0" * 64]),
    ),
    "published nothing": lambda release: (note_published(release), edited(release, "published", charges=[])),
}
