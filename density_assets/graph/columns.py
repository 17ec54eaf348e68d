"""What the columns of a table mean and where they come from, as Dagster stores it and as people read it.

The web UI shows descriptions and no column lineage, so every origin stands in the description too.
"""

from dataclasses import dataclass

import dagster as dg

from density_assets.city import City
from density_assets.graph.naming import key
from resources.sql.models import Model

SETTINGS, CALENDAR = "settings", "calendar"  # origins that are no asset: what a person chose, and what everybody knows


@dataclass(frozen=True)
class Column:
    """What a column says and what it is computed from: columns (`asset.column`), settings or the calendar."""

    description: str
    origins: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Description and origins in one line."""
        return f"{self.description} ← {', '.join(self.origins)}" if self.origins else self.description

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Its origins that are columns of assets."""
        pairs = (origin.split(".", 1) for origin in self.origins if "." in origin)
        return [(asset, name) for asset, name in pairs]


Columns = dict[str, Column]


def column(description: str, *origins: str) -> Column:
    """A column and where it comes from."""
    return Column(description, origins)


def upstream(model: Model) -> tuple[str, ...]:
    """The assets a model reads; `hours` is no asset but the numbers 0 to 167."""
    return tuple(table for table in model.reads if table != "hours")


def model_columns(model: Model) -> Columns:
    """The columns of a SQL model, with what sqlglot found them to come from."""
    assets = upstream(model)
    return {
        name: Column(text, tuple(f"{table}.{origin}" for table, origin in model.origins[name] if table in assets))
        for name, text in model.columns.items()
    }


def schema(columns: Columns, types: dict[str, str]) -> dg.TableSchema:
    """The table as the UI shows it."""
    return dg.TableSchema([dg.TableColumn(name, types[name], it.text) for name, it in columns.items()])


def lineage(city: City, columns: Columns) -> dg.TableColumnLineage:
    """The columns each column comes from, as Dagster stores it."""
    return dg.TableColumnLineage(
        {
            name: [dg.TableColumnDep(asset_key=key(city, asset), column_name=origin) for asset, origin in it.columns]
            for name, it in columns.items()
        }
    )
