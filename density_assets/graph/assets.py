"""How a function becomes an asset: zone, group, owners, inputs, schema, pictures and data version, in one place.

An asset is its docstring and its lines of work. `@asset` turns the function into a `Blueprint`, which knows no city;
`Blueprint.build` makes the Dagster asset of one city, because partitions, edges and columns may depend on its settings.
The function gets a `Step` and the tables of its inputs, and returns `Made`. What it makes is stored here: confidential
tables and released ones each where their zone says. What the UI shows of it is in `columns.py`.
"""

import hashlib
import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from types import ModuleType
from typing import Any

import dagster as dg
import polars as pl

from density_assets.city import City
from density_assets.graph.acting import called_off_where_published_stays, unquoted_errors
from density_assets.graph.catalogue import Catalogue
from density_assets.graph.columns import Columns, lineage, schema, shown
from density_assets.graph.given import Asked, asked_by, gather
from density_assets.graph.naming import GROUPS, LAST_WEEK, OWNERS, WRITER, key, own, week_of, weekly_partitions
from density_assets.graph.step import Made, Reader, Shelf, Step, step_for
from density_assets.graph.worker import Wall, perform
from density_assets.privacy.zones import Zone
from density_assets.release.sign import refuse_other_draws
from resources.faults import in_clear_words
from resources.sql.models import Model
from resources.tables.files import column_types, fingerprint

# Data versions are what auditors follow; Dagster calls their parameter beta and says so on every run.
warnings.filterwarnings("ignore", category=dg.BetaWarning, message=".*data_version.*")

Names = tuple[str, ...]
Context = dg.AssetExecutionContext


@dataclass(frozen=True)
class Stored:
    """A table as it is kept: its size, the types of its columns, and a version that follows its content."""

    rows: int
    types: dict[str, str]
    version: str


@dataclass(frozen=True)
class Blueprint:
    """An asset of any city.

    function: does the work.
    columns, deps: those of its table, and its inputs that are not arguments of the function; both may depend on the
        city's scheme.
    table: the name of its table.
    weekly: whether there is one table per week, or one for all.
    given: what the function gets besides step and tables, by its name in `given.py`.
    looks_back: assets whose earlier weeks it reads, which may depend on the city's scheme. Of those that are no inputs
        as well, the lineage shows the week before.
    looks_ahead: inputs of which it reads later weeks too.
    where: whether a city has it.
    after: done here with what the function got and made, and with the city, for what a walled-off step cannot do.
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
    given: Names
    looks_back: Callable[[City], Names]
    where: Callable[[City], bool]
    after: Callable[[Asked, Step, dict[str, Any], Made], None] | None = None
    looks_ahead: Names = ()

    @property
    def shelf(self) -> Shelf:
        """Where its table is kept."""
        return Shelf(self.table, self.zone, self.weekly)

    @property
    def arguments(self) -> Names:
        """The inputs whose tables the function takes as arguments."""
        parameters = inspect.signature(self.function).parameters.values()
        return tuple(p.name for p in parameters if p.annotation is pl.DataFrame)

    def inputs(self, city: City) -> Names:
        """All assets of whose week it reads."""
        return tuple(dict.fromkeys((*self.arguments, *self.deps(city))))

    def reads(self, city: City) -> Names:
        """All assets it reads, of this week or of earlier ones."""
        return tuple(dict.fromkeys((*self.inputs(city), *self.looks_back(city))))

    def _edges(self, city: City) -> list[dg.AssetDep]:
        """What it reads as Dagster knows it."""
        inputs = self.inputs(city)
        past = (name for name in self.looks_back(city) if name not in inputs)
        return [
            *(dg.AssetDep(key(city, name)) for name in inputs),
            *(dg.AssetDep(key(city, name), partition_mapping=LAST_WEEK) for name in past),
        ]

    def build(self, city: City, catalogue: Catalogue) -> dg.AssetsDefinition:
        """The asset of one city."""

        def run(context: Context) -> dg.MaterializeResult[None]:
            touches_people = not (self.zone.free or city.synthetic)
            with (
                called_off_where_published_stays(context, lambda: self._is_out(context, city)),
                unquoted_errors(when=touches_people),
                in_clear_words(city.store.folder),
            ):
                return self._run(context, city, catalogue)

        return dg.asset(
            key=key(city, self.name),
            description=inspect.getdoc(self.function),
            group_name=own(city, self.group),
            owners=[OWNERS[self.zone]],
            tags={"zone": self.zone.value},
            kinds=self._kinds(city),
            code_version=self.code_version,
            metadata={"zone": self.zone.value, "table": self.table},
            partitions_def=weekly_partitions(city) if self.weekly else None,
            deps=self._edges(city),
            op_tags=dict(self.op_tags),
            pool=WRITER,
        )(run)

    def _run(self, context: Context, city: City, catalogue: Catalogue) -> dg.MaterializeResult[None]:
        week = week_of(city, context.partition_key) if self.weekly else None
        city = self._as_drawn(city, week, context) if week else city
        inputs = {name: catalogue.shelves[name] for name in self.inputs(city)}
        past = {name: catalogue.shelves[name] for name in self.looks_back(city)}
        future = {name: catalogue.shelves[name] for name in self.looks_ahead}
        step = step_for(self.name, self.zone, inputs, city, week, context, past, future)
        if self.weekly and self.zone in (Zone.MECHANISM, Zone.RELEASE):
            refuse_other_draws(step.files, step.release, city.geography())
        given = {name: step.read(name) for name in self.arguments}
        asked = asked_by(context, city, week, catalogue)
        given |= gather(self.given, asked)
        made, columns = self._made(context.run_id, step, given, city), self.columns(city)
        if self.after:
            self.after(asked, step, given, made)
        if made.table is not None and made.table.columns != list(columns):
            raise ValueError(f"{self.name} must have the columns {list(columns)}, got {made.table.columns}")
        stored = self._stored(city, step.read, made.table)
        # Equal versions of real people's tables in two runs would tell everybody that no record changed in between, so
        # theirs are bound to the run.
        hides = self.zone.secret and not city.synthetic
        version = city.store.keyed(f"{context.run_id} {self.name}") if hides else stored.version
        metadata = {
            "dagster/column_schema": schema(columns, stored.types),
            "dagster/column_lineage": lineage(city, columns),
            **shown(city, self.zone, self.name, week, made.pictures, {"rows": stored.rows} | made.facts),
        }
        return dg.MaterializeResult(metadata=metadata, data_version=dg.DataVersion(version))

    def _is_out(self, context: Context, city: City) -> bool:
        """Whether the week of a run is published, as its files say; the ledger may be what is wrong."""
        week = date.fromisoformat(context.partition_key) if self.weekly else None
        return week is not None and city.files(week).file("manifest", "sig").exists()

    def _as_drawn(self, city: City, week: date, context: Context) -> City:
        """The city as it was when the week was drawn; the doors say what of today's settings that leaves out."""
        drawn = city.as_drawn(week)
        if drawn is not city and self.zone is Zone.MECHANISM:
            context.log.warning(
                f"the week of {week} keeps what it was drawn under ({city.unused_settings(week)}): declare a revision "
                "of it in [revisions] to draw it anew, which is charged"
            )
        return drawn

    def _made(self, run: str, step: Step, given: dict[str, Any], city: City) -> Made:
        """Do the work: steps that may touch records here, released ones behind a wall."""
        if self.zone is Zone.RELEASE and city.sealed:
            return perform(run, Wall.of(city), self.function.__module__, step, given)
        made = self.function(step, **given)
        return replace(made, facts={**made.facts, "walled_off": False}) if self.zone is Zone.RELEASE else made

    def _kinds(self, city: City) -> set[str]:
        """What it is made with: SQL is run by the engine of the settings."""
        runs_sql = "sql" in self.kinds
        return {city.settings.engine.name if runs_sql and kind == "duckdb" else kind for kind in self.kinds}

    def _stored(self, city: City, read: Reader, table: pl.DataFrame | None) -> Stored:
        """Keep a table where its zone says, as that of the release it was made for; if SQL has not kept it already."""
        store, week = city.store, read.week
        if table is None:
            assert week is not None  # only weeks of confidential tables are kept by SQL
            return Stored(*store.week_shape(self.table, week), store.week_fingerprint(self.table, week))
        if week is None:
            store.write_public(self.table, table)
        elif self.zone.secret:
            store.write_week(self.table, week, table)
        else:
            store.write_release_week(self.table, week, table, read.known_release.name)
        plain = fingerprint(table)
        version = store.keyed(plain) if self.zone.secret else plain
        return Stored(len(table), column_types(table.to_arrow().schema), version)


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
    given: Names = (),
    looks_back: Names | Callable[[City], Names] = (),
    looks_ahead: Names = (),
    where: Callable[[City], bool] = lambda _: True,
    after: Callable[[Asked, Step, dict[str, Any], Made], None] | None = None,
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
            looks_back=looks_back if callable(looks_back) else lambda _: looks_back,
            where=where,
            after=after,
            looks_ahead=looks_ahead,
        )

    return decorate


def blueprints(*modules: ModuleType) -> list[Blueprint]:
    """Every asset that modules define, in the order in which they stand there."""
    return [value for module in modules for value in vars(module).values() if isinstance(value, Blueprint)]


def sql_version(model: Model) -> str:
    """The code version of an asset that a model describes: it changes with the SQL."""
    return hashlib.sha256(model.sql.encode()).hexdigest()[:12]
