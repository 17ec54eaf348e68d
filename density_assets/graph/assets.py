"""How a function becomes an asset: zone, group, owners, inputs, schema, pictures and data version, in one place.

An asset is its docstring and its lines of work. `@asset` turns the function into a `Blueprint`, which knows no city;
`Blueprint.build` makes the Dagster asset of one city, because partitions, edges and columns may depend on its settings.
The function gets a `Step` and the tables of its inputs, and returns `Made`. What it makes is stored here: confidential
tables and released ones each where their zone says. Pictures and facts are shown in the UI where everybody may know
them; of real people's tables they become files in the confidential folder, because whoever opens the UI reads what is
shown there.
"""

import base64
import hashlib
import inspect
import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from types import ModuleType
from typing import Any

import dagster as dg

from density_assets.city import City
from density_assets.graph import sealed
from density_assets.graph.catalogue import Catalogue
from density_assets.graph.columns import Columns, lineage, schema
from density_assets.graph.jobs import REBUILD
from density_assets.graph.partitions import weekly_partitions
from density_assets.graph.step import Made, Reader, SecretStep, Shelf, Step
from density_assets.graph.zones import GROUPS, OWNERS, WRITER
from density_assets.privacy.zones import Zone
from resources.faults import in_clear_words
from resources.sql.models import Model
from resources.tables.content import column_types, fingerprint
from resources.tables.files import private_files, write_durably
from resources.tables.released import ReleasedTables

# Data versions are what auditors follow; Dagster calls their parameter beta and says so on every run.
warnings.filterwarnings("ignore", category=dg.BetaWarning, message=".*data_version.*")

Names = tuple[str, ...]
Context = dg.AssetExecutionContext


@dataclass(frozen=True)
class Blueprint:
    """An asset of any city.

    function: does the work.
    columns, deps: those of its table, and its inputs that are not arguments of the function; both may depend on the
        city's scheme.
    table: the name of its table.
    weekly: whether there is one table per week, or one for all.
    given: what the function gets besides step and tables, gathered from ledger or instance before it starts.
    """

    name: str
    function: Callable[..., Made]
    zone: Zone
    columns: Callable[[City], Columns]
    deps: Callable[[City], Names]
    table: str
    weekly: bool
    kinds: Names
    code_version: str
    group: str
    op_tags: Mapping[str, str]
    given: Callable[[City, Context, Catalogue], dict[str, Any]]

    @property
    def shelf(self) -> Shelf:
        """Where its table is kept."""
        return Shelf(self.table, self.zone, self.weekly)

    @property
    def arguments(self) -> Names:
        """The inputs whose tables the function takes as arguments."""
        parameters = inspect.signature(self.function).parameters.values()
        return tuple(p.name for p in parameters if "DataFrame" in str(p.annotation))

    def inputs(self, city: City) -> Names:
        """All assets it reads."""
        return tuple(dict.fromkeys((*self.arguments, *self.deps(city))))

    def build(self, city: City, catalogue: Catalogue) -> dg.AssetsDefinition:
        """The asset of one city."""

        def run(context: Context, city: dg.ResourceParam[City]) -> dg.MaterializeResult[None]:
            with in_clear_words(city.store.folder):
                return self._run(context, city, catalogue)

        return dg.asset(
            name=self.name,
            description=inspect.getdoc(self.function),
            group_name=self.group,
            owners=[OWNERS[self.zone]],
            tags={"zone": self.zone.value},
            kinds=set(self.kinds),
            code_version=self.code_version,
            metadata={"zone": self.zone.value, "table": self.table},
            partitions_def=weekly_partitions(city) if self.weekly else None,
            deps=list(self.inputs(city)),
            op_tags=dict(self.op_tags),
            pool=WRITER,
        )(run)

    def _run(self, context: Context, city: City, catalogue: Catalogue) -> dg.MaterializeResult[None]:
        week = date.fromisoformat(context.partition_key) if self.weekly else None
        columns = self.columns(city)
        made = self._made(context, city, week, catalogue)
        if made.table is not None:
            if made.table.columns != list(columns):
                raise ValueError(f"{self.name} must have the columns {list(columns)}, got {made.table.columns}")
            self._keep(city, week, made)
        rows, types = self._shape(city, week, made)
        metadata = {
            "dagster/column_schema": schema(columns, types),
            "dagster/column_lineage": lineage(columns),
            **self._shown(city, week, made.pictures, {"rows": rows} | made.facts),
        }
        version = dg.DataVersion(self._version(context, city, week, made))
        return dg.MaterializeResult(metadata=metadata, data_version=version)

    def _made(self, context: Context, city: City, week: date | None, catalogue: Catalogue) -> Made:
        """Do the work: secret steps and doors here, released ones behind a wall."""
        release = city.release(week) if week and self.zone is not Zone.CONFIDENTIAL else None
        tables = ReleasedTables(city.store.folder) if self.zone.free else city.store
        inputs = {name: catalogue.shelves[name] for name in self.inputs(city)}
        read = Reader(self.name, self.zone, inputs, tables, week, release.name if release else "")
        given = {**{name: read(name) for name in self.arguments}, **self.given(city, context, catalogue)}
        known = (self.name, city.settings, read, release, context.log.info, context.log.warning)
        if not self.zone.free:
            return self.function(SecretStep(*known, city, context.run.job_name == REBUILD), **given)
        if self.zone is Zone.PUBLIC or not city.sealed:
            return self.function(Step(*known), **given)
        hidden = sealed.hidden_from_releases(city)
        return sealed.perform(self.function.__module__, self.name, Step(*known), given, hidden)

    def _keep(self, city: City, week: date | None, made: Made) -> None:
        assert made.table is not None  # looked at before
        if week is None:
            city.store.write_public(self.table, made.table)
        elif self.zone.secret:
            city.store.write_week(self.table, week, made.table)
        else:
            city.store.write_release_week(self.table, week, made.table, city.release(week).name)

    def _shape(self, city: City, week: date | None, made: Made) -> tuple[int, dict[str, str]]:
        if made.table is not None:
            return len(made.table), column_types(made.table.to_arrow().schema)
        assert week is not None  # only weeks of confidential tables are stored by SQL
        return city.store.week_shape(self.table, week)

    def _version(self, context: Context, city: City, week: date | None, made: Made) -> str:
        """A content hash: plain where everybody may know the content, else keyed.

        Not of real people's tables: equal versions of two runs would tell everybody that no record changed in between,
        so theirs are bound to the run.
        """
        if self.zone.secret and not city.synthetic:
            return city.store.keyed(f"{context.run_id} {self.name}")
        if made.table is None:
            assert week is not None  # only weeks of confidential tables are stored by SQL
            return city.store.week_fingerprint(self.table, week)
        plain = fingerprint(made.table)
        return city.store.keyed(plain) if self.zone.secret else plain

    def _shown(
        self, city: City, week: date | None, pictures: dict[str, bytes], facts: dict[str, Any]
    ) -> dict[str, Any]:
        """What the UI shows: everything where everybody may know it, else only where to find it."""
        if self.zone.open or city.synthetic:
            return {**facts, **{title: inline_picture(picture) for title, picture in pictures.items()}}
        folder = city.store.confidential / "about" / self.name
        with private_files():
            folder.mkdir(parents=True, exist_ok=True)
            write_durably(folder / f"{week}.json", json.dumps(facts, indent=2).encode())
            for title, picture in pictures.items():
                write_durably(folder / f"{week}_{title}.{_kind(picture)}", picture)
        return {"details": f"confidential: {folder.relative_to(city.store.folder)}/{week}*"}


def asset(
    zone: Zone,
    columns: Columns | Callable[[City], Columns],
    *,
    table: str | None = None,
    deps: Names | Callable[[City], Names] = (),
    kinds: Names = ("python", "duckdb"),
    code_version: str = "1",
    weekly: bool = True,
    group: str | None = None,
    op_tags: Mapping[str, str] | None = None,
    given: Callable[[City, Context, Catalogue], dict[str, Any]] = lambda city, context, catalogue: {},
) -> Callable[[Callable[..., Made]], Blueprint]:
    """Turn a function that returns `Made` into the blueprint of an asset; see there.

    table: the name of its table where it differs from the function's.
    group: where the lineage page shows it, if not with its zone.
    """

    def decorate(function: Callable[..., Made]) -> Blueprint:
        name = function.__name__
        if zone.secret and not weekly:
            raise ValueError(f"{name} is confidential, so it must have one file per week: only these can be erased")
        return Blueprint(
            name=name,
            function=function,
            zone=zone,
            columns=columns if callable(columns) else lambda _: columns,
            deps=deps if callable(deps) else lambda _: deps,
            table=table or name,
            weekly=weekly and zone is not Zone.PUBLIC,
            kinds=kinds,
            code_version=code_version,
            group=group or GROUPS[zone],
            op_tags=op_tags or {},
            given=given,
        )

    return decorate


def blueprints(*modules: ModuleType) -> list[Blueprint]:
    """Every asset that modules define, in the order in which they stand there."""
    return [value for module in modules for value in vars(module).values() if isinstance(value, Blueprint)]


def sql_version(model: Model) -> str:
    """The code version of an asset that a model describes: it changes with the SQL."""
    return hashlib.sha256(model.sql.encode()).hexdigest()[:12]


def inline_picture(picture: bytes) -> dg.MetadataValue[Any]:
    """A PNG or SVG as the UI shows it."""
    mime = {"png": "image/png", "svg": "image/svg+xml"}[_kind(picture)]
    return dg.MetadataValue.md(f"![picture](data:{mime};base64,{base64.b64encode(picture).decode()})")


def _kind(picture: bytes) -> str:
    """What a picture is, by its first bytes."""
    return "svg" if picture.startswith(b"<svg") else "png"
