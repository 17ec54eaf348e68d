"""What the UI shows of a table: what its columns mean and where they come from, its pictures and facts.

The web UI shows descriptions and no column lineage, so every origin stands in the description too. Pictures and facts
of real people's tables become files in the confidential folder, because whoever opens the UI reads what is shown
there.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import dagster as dg

from density_assets.city import City
from density_assets.graph.naming import key
from density_assets.privacy.zones import Zone
from resources.sql.models import Model
from resources.tables.files import private_files, write_durably

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


# --- shown -----------------------------------------------------------------------------------------------------------


def shown(
    city: City, zone: Zone, asset: str, week: date | None, pictures: Mapping[str, bytes], facts: Mapping[str, Any]
) -> dict[str, Any]:
    """Everything where everybody may know it, else only where to find it.

    zone: of the asset. pictures: PNG or SVG, by title.
    """
    if zone.open or city.synthetic:
        return {**facts, **{title: inline_picture(picture) for title, picture in pictures.items()}}
    folder = city.store.confidential / "about" / asset
    with private_files():
        folder.mkdir(parents=True, exist_ok=True)
        write_durably(folder / f"{week}.json", json.dumps(facts, indent=2).encode())
        for title, picture in pictures.items():
            write_durably(folder / f"{week}_{title}.{_kind(picture)}", picture)
    return {"details": f"confidential: {folder.relative_to(city.store.folder)}/{week}*"}


def inline_picture(picture: bytes) -> dg.MetadataValue[Any]:
    """A PNG or SVG as the UI shows it."""
    mime = {"png": "image/png", "svg": "image/svg+xml"}[_kind(picture)]
    return dg.MetadataValue.md(f"![picture](data:{mime};base64,{base64.b64encode(picture).decode()})")


def _kind(picture: bytes) -> str:
    """What a picture is, by its first bytes."""
    return "svg" if picture.startswith(b"<svg") else "png"
