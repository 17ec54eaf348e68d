"""What every asset has in common, derived in one place: zone, group, owners, schema, pictures, data version.

An asset is then its docstring and its lines of work. It returns `Made`: a table, and pictures and facts about
it. For public and released tables these are shown in the UI. For confidential ones they are shown only if the
city is synthetic; otherwise they become files in the confidential folder, because whoever opens the UI reads
what is shown there.
"""

import base64
import functools
import hashlib
import inspect
import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Any

import dagster as dg
import polars as pl

from density_assets.graph.partitions import WEEKS
from density_assets.settings import Settings
from resources.faults import in_clear_words
from resources.sql.models import Model
from resources.tables.store import Store, column_types, fingerprint, private_files

# Data versions are what auditors follow; Dagster calls their parameter beta and says so on every run.
warnings.filterwarnings("ignore", category=dg.BetaWarning, message=".*data_version.*")


class Zone(StrEnum):
    """Who may read a table."""

    PUBLIC = "public"  # geometry: free for everybody
    CONFIDENTIAL = "confidential"  # touches personal data
    MECHANISM = "mechanism"  # the doors
    RELEASE = "release"  # safe to hand out
    EVALUATION = "evaluation"  # compares with the truth: confidential


OPEN = (Zone.PUBLIC, Zone.MECHANISM, Zone.RELEASE)  # what leaves a door may be known

GROUPS = {
    Zone.PUBLIC: "1_public",
    Zone.CONFIDENTIAL: "2_confidential",
    Zone.MECHANISM: "3_mechanisms",
    Zone.RELEASE: "4_release",
    Zone.EVALUATION: "5_evaluation",
}
STUDY_GROUPS = {"study": "6_studies", "audit": "7_audits"}
WRITER = "tables"  # pool of runs that write tables: they queue, see resources/dagster.yaml
OWNERS = {
    Zone.PUBLIC: "team:geography",
    Zone.CONFIDENTIAL: "team:data-protection",
    Zone.MECHANISM: "team:data-protection",
    Zone.RELEASE: "team:publication",
    Zone.EVALUATION: "team:data-protection",
}


@dataclass(frozen=True)
class Column:
    """What a column says and which columns (`asset.column`) it is computed from."""

    description: str
    origins: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return f"{self.description} ← {', '.join(self.origins)}" if self.origins else self.description


def column(description: str, *origins: str) -> Column:
    """A column and where it comes from."""
    return Column(description, origins)


def upstream(model: Model) -> tuple[str, ...]:
    """The assets a model reads; `hours` is no asset but the numbers 0 to 167."""
    return tuple(table for table in model.reads if table != "hours")


def model_columns(model: Model) -> dict[str, Column]:
    """The columns of a SQL model; a pure count comes from the rows of what the model reads."""
    rows = tuple(f"rows of {table}" for table in upstream(model))
    return {
        name: Column(text, tuple(f"{t}.{c}" for t, c in model.origins[name] if t in upstream(model)) or rows)
        for name, text in model.columns.items()
    }


@dataclass(frozen=True)
class Made:
    """What an asset made: its table (none if it is stored already), pictures (PNG or SVG) and facts."""

    table: pl.DataFrame | None
    pictures: dict[str, bytes] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)


def asset(
    zone: Zone,
    columns: dict[str, Column],
    *,
    table: str | None = None,
    deps: tuple[str, ...] = (),
    kinds: tuple[str, ...] = ("python", "duckdb"),
    code_version: str = "1",
    weekly: bool = True,
    group: str | None = None,
    resources: tuple[str, ...] = (),
    op_tags: dict[str, str] | None = None,
) -> Callable[[Callable[..., Made]], dg.AssetsDefinition]:
    """Turn a function that returns `Made` into an asset of a zone.

    table: the name of its table where it differs from the function's.
    deps: upstream assets that are read by SQL rather than passed as arguments.
    group: where the lineage page shows it, if not with its zone.
    weekly: whether there is one table per week (never for public assets) or one for all.
    resources: what it needs beyond what every asset gets.
    op_tags: what the executor should know.
    """

    def decorate(function: Callable[..., Made]) -> dg.AssetsDefinition:
        name = function.__name__
        partitions = WEEKS if weekly and zone is not Zone.PUBLIC else None

        @functools.wraps(function)
        def run(context: dg.AssetExecutionContext, **inputs: Any) -> dg.Output[pl.DataFrame | None]:
            settings, store = context.resources.settings, context.resources.store
            with in_clear_words(store.folder):
                made = function(context, **inputs)
                _refuse_other_columns(name, made.table, columns)
                week = date.fromisoformat(context.partition_key) if partitions else None
                rows, types = store.week_shape(table or name, week) if made.table is None else _shape(made.table)
                metadata = {
                    "dagster/column_schema": _schema(columns, types),
                    "dagster/column_lineage": _lineage(columns),
                    **_shown(made.pictures, {"rows": rows} | made.facts, name, zone, week, settings, store),
                }
                if zone not in OPEN and not settings.city.synthetic:
                    version = store.keyed(f"{context.run_id} {name}")
                else:
                    version = _content_version(made, table or name, zone, week, store)
                return dg.Output(made.table, metadata=metadata, data_version=dg.DataVersion(version))

        # Dagster reads inputs off the signature; what it gets back is decided here, not by the function.
        signature = inspect.signature(function).replace(return_annotation=inspect.Signature.empty)
        run.__signature__ = signature  # type: ignore[attr-defined]  # read by inspect, unknown to typing
        run.__annotations__ = {name: kind for name, kind in function.__annotations__.items() if name != "return"}
        return dg.asset(
            name=name,
            description=inspect.getdoc(function),
            group_name=group or GROUPS[zone],
            owners=[OWNERS[zone]],
            tags={"zone": zone.value},
            kinds=set(kinds),
            code_version=code_version,
            metadata={"zone": zone.value, "table": table or name},
            partitions_def=partitions,
            deps=list(deps),
            op_tags=op_tags,
            io_manager_key="tables",
            pool=WRITER,
            required_resource_keys={"settings", "store", "engine", "measurements", "ledger", *resources},
        )(run)

    return decorate


def sql_version(model: Model) -> str:
    """The code version of an asset that a model describes: it changes with the SQL."""
    return hashlib.sha256(model.sql.encode()).hexdigest()[:12]


def _shape(frame: pl.DataFrame) -> tuple[int, dict[str, str]]:
    return len(frame), column_types(frame.to_arrow().schema)


def _schema(columns: dict[str, Column], types: dict[str, str]) -> dg.TableSchema:
    return dg.TableSchema([dg.TableColumn(name, types[name], it.text) for name, it in columns.items()])


def _lineage(columns: dict[str, Column]) -> dg.TableColumnLineage:
    def dep(origin: str) -> dg.TableColumnDep:
        upstream, name = origin.split(".", 1)
        return dg.TableColumnDep(asset_key=upstream, column_name=name)

    named = {name: [o for o in it.origins if "." in o] for name, it in columns.items()}
    return dg.TableColumnLineage({name: [dep(o) for o in origins] for name, origins in named.items()})


def _content_version(made: Made, table: str, zone: Zone, week: date | None, store: Store) -> str:
    """A content hash: plain where everybody may know the content, else keyed.

    Not of real people's tables: equal versions of two runs would tell everybody that no record changed in between,
    so theirs are bound to the run.
    """
    if made.table is None:
        assert week is not None  # only weeks of confidential tables are stored by SQL
        return store.week_fingerprint(table, week)
    plain = fingerprint(made.table)
    return plain if zone in OPEN else store.keyed(plain)


def _shown(
    pictures: dict[str, bytes],
    facts: dict[str, Any],
    name: str,
    zone: Zone,
    week: date | None,
    settings: Settings,
    store: Store,
) -> dict[str, Any]:
    """What the UI shows: everything where everybody may know it, else only where to find it."""
    if zone in OPEN or settings.city.synthetic:
        return {**facts, **{title: inline_picture(picture) for title, picture in pictures.items()}}
    folder = store.confidential / "about" / name
    with private_files():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{week}.json").write_text(json.dumps(facts, indent=2))
        for title, picture in pictures.items():
            (folder / f"{week}_{title}.png").write_bytes(picture)
    return {"details": f"confidential: {folder.relative_to(store.folder)}/{week}*"}


def inline_picture(picture: bytes) -> dg.MetadataValue[Any]:
    """A PNG as the UI shows it."""
    return dg.MetadataValue.md(f"![picture](data:image/png;base64,{base64.b64encode(picture).decode()})")


def _refuse_other_columns(name: str, frame: pl.DataFrame | None, columns: dict[str, Column]) -> None:
    if frame is not None and frame.columns != list(columns):
        raise ValueError(f"{name} must have the columns {list(columns)} it declares, got {frame.columns}")
