"""Reading the SQL files: dependencies, descriptions, origins, and what may be added up."""

import pytest
from engines import MODELS

from resources.sql.models import PROVIDED, model, parse


@pytest.mark.parametrize("name", MODELS)
def test_every_model_and_each_of_its_columns_is_described(name):
    it = model(name)
    assert it.description
    assert all(it.columns.values()), it.columns


@pytest.mark.parametrize("name", MODELS)
def test_every_model_reads_models_or_provided_tables_only(name):
    assert set(model(name).reads) <= {*MODELS, *PROVIDED}


def test_dependencies_are_the_tables_in_from_and_not_the_ctes():
    assert model("tower_series").reads == ("hours", "towers", "truncated_visits", "visits")
    assert model("truncated_visits").reads == ("towers", "visits")


def test_column_origins_follow_the_query():
    assert model("visits").origins["hour"] == (("events", "hour"),)
    assert ("antennas", "tower_id") in model("events").origins["tower_id"]
    assert set(model("truncated_visits").origins["hour"]) == {("visits", "hour")}


def test_sums_are_recognised():
    it = model("tower_series")
    assert it.keys == ("tower_id", "hour")
    assert it.summed == ("original", "truncated", "weighted")
    assert model("visit_total").summed == ("visits",)
    assert model("truncated_visits").summed == ()


@pytest.mark.parametrize("measure", ["avg(hour)", "max(hour)", "count(*) / sum(hour)"])
def test_an_aggregate_whose_parts_do_not_add_up_is_refused(measure):
    with pytest.raises(ValueError, match=r"bad.sql: m must be one sum or count"):
        parse("bad", f"select tower_id, {measure} as m from visits group by tower_id")


def test_a_file_that_is_no_select_is_refused():
    with pytest.raises(ValueError, match=r"bad.sql must hold one SELECT, got Drop"):
        parse("bad", "drop table visits")
