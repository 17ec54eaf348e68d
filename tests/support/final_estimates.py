"""Final estimates of weeks of a town: how they are asked for, and what is published of them."""

import json
from pathlib import Path

import dagster as dg
import polars as pl
from runs import failures, only, opened
from town import Town
from weeks import folder_of

from density_assets import definitions
from density_assets.graph.automation import FINAL_ESTIMATE


def final(town: Town, home: Path, week: str, **options) -> dg.ExecuteInProcessResult:
    defs = definitions.build(opened(town.settings, home))
    with dg.DagsterInstance.ephemeral() as instance:
        job = defs.resolve_job_def(FINAL_ESTIMATE)
        return job.execute_in_process(instance=instance, partition_key=week, **options)


def refused(town: Town, home: Path, week: str) -> str:
    return " ".join(failures(final(town, home, week, raise_on_error=False)))


def name_of(week: str, upto: str) -> str:
    return f"final_{week}_to_{upto}"


def counts(home: Path, name: str) -> pl.DataFrame:
    return pl.read_csv(folder_of(home) / f"density_{name}.csv")


def said_finally(home: Path, week: str, upto: str) -> dict:
    return json.loads((folder_of(home) / f"privacy_statement_{name_of(week, upto)}.json").read_text())


def materialise_final(town: Town, home: Path, week: str, *assets: str, **options) -> dg.ExecuteInProcessResult:
    return final(town, home, week, asset_selection=only(*assets), **options)


def add_a_visit(file: Path) -> None:
    """To the first count of a CSV file, which otherwise stays byte by byte."""
    header, first, others = file.read_text().split("\n", 2)
    values = dict(zip(header.split(","), first.split(","), strict=True))
    values["count"] = str(int(values["count"]) + 1)
    file.write_text("\n".join((header, ",".join(values.values()), others)))
