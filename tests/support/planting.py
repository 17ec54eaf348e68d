"""Bugs planted in the SQL, for the tests of the tests."""

from dataclasses import replace

from resources.sql import models


def planted(monkeypatch, name: str, old: str, new: str) -> None:
    """Change one line of a model's SQL."""
    whole = models.model(name)
    assert old in whole.sql
    bugged = replace(whole, sql=whole.sql.replace(old, new))
    for module in ("duckdb_engine", "ingest"):
        monkeypatch.setattr(
            f"resources.sql.{module}.model", lambda wanted: bugged if wanted == name else models.model(wanted)
        )
