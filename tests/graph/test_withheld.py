"""An error nobody has worded, in a step that touches real people: its words stay inside, wherever errors are shown."""

import json

import dagster as dg
import polars as pl
import pytest
from runs import WEEK, failures, materialise, only, opened

from density_assets.definitions import build
from density_assets.graph.acting import Withheld, unquoted_errors
from density_assets.graph.checks import confidential as confidential_checks
from resources.sql.duckdb_engine import DuckdbEngine

SECRET = "zq7x_zq7x"


def quoting(*_: object) -> None:
    raise KeyError(SECRET)


def test_a_step_that_touches_people_says_where_it_failed_and_not_on_what(town, tmp_path, monkeypatch):
    monkeypatch.setattr(DuckdbEngine, "ingest", quoting)
    result = materialise(town.settings, tmp_path / "home", raise_on_error=False)
    (message,) = failures(result)
    assert "Withheld: KeyError in line" in message
    assert "of test_withheld.py" in message
    told = json.dumps([dg.serialize_value(event) for event in result.all_events])
    assert "quoting" in told  # the stack
    assert SECRET not in told


def test_so_does_a_check(town, tmp_path, monkeypatch):
    home = tmp_path / "home"
    assert materialise(town.settings, home, asset_selection=only("cells", "antennas", "towers", "visits")).success
    monkeypatch.setattr(confidential_checks, "_counted", quoting)
    job = build(opened(town.settings, home)).resolve_job_def("weekly_release")
    with dg.DagsterInstance.ephemeral() as instance:
        result = job.execute_in_process(
            instance=instance,
            partition_key=WEEK,
            asset_selection=only("truncated_visits"),
            raise_on_error=False,
        )
    assert "Withheld: KeyError in line" in failures(result)[0]
    assert SECRET not in json.dumps([dg.serialize_value(event) for event in result.all_events])


def test_what_touches_nobody_speaks_freely():
    with pytest.raises(KeyError, match=SECRET), unquoted_errors(when=False):
        raise KeyError(SECRET)


def test_a_panic_is_withheld_as_well():
    with pytest.raises(Withheld, match="PanicException in line"), unquoted_errors(when=True):
        raise pl.exceptions.PanicException(f"byte index 3 is not a char boundary of {SECRET}")
