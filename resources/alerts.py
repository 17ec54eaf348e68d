"""Telling somebody that a run has failed, without telling them anything about people.

Whoever receives an alert may not be allowed to read records. So an alert quotes only errors whose words are ours: of
any other, which may quote a value, it gives the name. Delivery never raises: what cannot be delivered is kept.
"""

import json
import os
import urllib.request
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

from density_assets.errors import BadInput, PublishedStays
from density_assets.privacy.charges import BudgetRefused
from density_assets.privacy.policy import PolicyRefused
from density_assets.settings import Settings
from resources.ledger.book import LedgerError
from resources.measurements import NotReleasable
from resources.tables.files import make_folder

# Errors whose words are ours: they quote no record.
WORDED = (BadInput, BudgetRefused, LedgerError, NotReleasable, PolicyRefused)
OURS = {error.__name__ for error in (*WORDED, PublishedStays)}
LONGEST = 500  # characters of an error
PATIENCE = 10  # seconds


@dataclass(frozen=True)
class Alert:
    """What failed; everything in it may be known."""

    at: str
    city: str
    job: str
    week: str | None
    run: str
    step: str | None
    error: str


def quotable(error: str | None, message: str) -> str:
    """The first line of an error of ours; the name of any other.

    error: name of its class.
    message: its text, which starts with the class as Python prints it.
    """
    if error not in OURS:
        return f"{error or 'error'}: see the page of the run"
    first = message.strip().split("\n", 1)[0]
    return first.split(f"{error}: ", 1)[-1][:LONGEST]


def deliver(alert: Alert, settings: Settings, undelivered: Path) -> list[str]:
    """Send an alert to wherever the settings say; returns what went wrong.

    undelivered: file that keeps alerts which could not be sent.
    """
    record = json.dumps(asdict(alert))
    problems = list(_attempts(record, settings))
    if problems:
        problems += _tried("undelivered alerts", lambda: _append(undelivered, record))
    return problems


def _attempts(record: str, settings: Settings) -> Iterator[str]:
    file, webhook = settings.alerts.file, settings.alerts.webhook
    if file is not None:
        yield from _tried("alerts.file", lambda: _append(settings.path(file), record))
    if webhook is not None:
        # The address may hold a token, so problems name the host only.
        yield from _tried(f"alerts.webhook ({urlsplit(webhook).hostname})", lambda: _post(webhook, record))


def _tried(where: str, send: object) -> list[str]:
    assert callable(send)
    try:
        send()
    except Exception as problem:  # an alert that fails must not fail the daemon
        return [f"{where} could not be reached: {type(problem).__name__}"]
    return []


def _append(file: Path, record: str) -> None:
    """Add one line, whole even while others add theirs."""
    make_folder(file.parent)
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(handle, f"{record}\n".encode())
    finally:
        os.close(handle)


def _post(webhook: str, record: str) -> None:
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(webhook, record.encode(), headers, method="POST")
    with urllib.request.urlopen(request, timeout=PATIENCE):
        pass
