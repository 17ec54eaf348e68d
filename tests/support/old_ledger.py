"""Rows of a ledger of version 1, made by hand: two chains without identity, nonce or digests."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from signed_release import DAY, EVENTS, NOBODY, WEEK, row_hash, sha256


def chained(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of version 1, numbered and hashed."""
    previous = NOBODY
    for number, row in enumerate(rows, start=1):
        row.update(row=number, previous=previous)
        previous = row["hash"] = row_hash(row)
    return rows


def old_rows(week: str = WEEK) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Charges, draws and stored draws of a ledger of version 1."""
    charges = chained(
        [
            {
                "at": DAY,
                "population": "subscribers",
                "unit": "one subscriber identifier, one week",
                "city": "town",
                "week": week,
                "revision": 1,
                "door": door,
                "measurement": sha256(f"old {week} {door}".encode()),
                "epsilon": 0.3,
                "delta": 2e-6,
                "events": json.dumps([EVENTS[door]], sort_keys=True),
            }
            for door in EVENTS
        ]
    )
    draws = chained([{"at": DAY, "charge": charge["hash"]} for charge in charges])
    stored = [
        {"measurement": charge["measurement"], "charge": charge["hash"], "digest": sha256(charge["hash"].encode())}
        for charge in charges
    ]
    return charges, draws, stored


def old_ledger(file: Path) -> None:
    """A ledger of version 1 as a file: the rows above in two tables, and nothing else."""
    charges, draws, _ = old_rows()
    with closing(sqlite3.connect(file)) as connection, connection:
        for table, rows in (("charges", charges), ("draws", draws)):
            connection.execute(f"create table {table} ({', '.join(rows[0])})")
            marks = ", ".join("?" for _ in rows[0])
            connection.executemany(f"insert into {table} values ({marks})", [tuple(row.values()) for row in rows])
