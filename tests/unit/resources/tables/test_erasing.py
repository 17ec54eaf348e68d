"""Erasing a week that was never released: only if a person insists."""

import json
from datetime import date

import duckdb
import polars as pl
import pytest
from elsewhere import week_file

from density_assets.errors import BadInput
from resources.tables.retention import purge
from resources.tables.store import Store

WEEK, OTHER = date(2007, 9, 10), date(2007, 9, 17)


def weeks(store: Store) -> list[str]:
    """The weeks that the view of visits shows; none if there is no view."""
    with duckdb.connect(str(store.confidential / "confidential.duckdb"), read_only=True) as connection:
        if not connection.sql("show tables").fetchall():
            return []
        return [str(week) for (week,) in connection.sql("select distinct week from visits order by week").fetchall()]


def test_an_unreleased_week_goes_only_by_force_and_takes_no_other_with_it(tmp_path):
    store = Store(tmp_path, "town")
    for week in (WEEK, OTHER):
        store.write_week("visits", week, pl.DataFrame({"user_id": ["ann"]}))
    with pytest.raises(BadInput, match="revision 1 has no privacy statement: release it first, or force the purge"):
        purge(store, WEEK, 1)
    assert weeks(store) == [str(WEEK), str(OTHER)]
    week = week_file(store, "visits", WEEK)
    assert str(week) in purge(store, WEEK, 1, force=True)
    assert not week.parent.parent.exists()
    assert weeks(store) == [str(OTHER)]
    assert json.loads(store.purge_note(WEEK).read_text())["forced"] is True
    with pytest.raises(BadInput, match="its confidential zone was erased"):
        store.read_week("visits", WEEK)
    purge(store, OTHER, 1, force=True)
    assert weeks(store) == []
