"""The SELECTs of `dbt_like_sql/` as values: text, description, columns, and what they read.

sqlglot reads each file once; from the parse come the tables it depends on, where every column comes from,
and whether parts computed for disjoint sets of users may be added up.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import sqlglot
from sqlglot import exp
from sqlglot.lineage import Node, lineage

MERGEABLE = (exp.Sum, exp.Count)

# Tables that are not models: the adapters and the public graph provide them.
PROVIDED = {
    "records": ("record_user", "moment", "wall_clock", "record_tower"),
    "antennas": ("antenna_id", "tower_id"),
    "towers": ("tower_id", "site", "x", "y"),
    "hours": ("hour",),
}


@dataclass(frozen=True)
class Model:
    """One SELECT of `dbt_like_sql/`.

    reads: tables named in FROM that the file does not define itself, in alphabetical order.
    columns: description of each column, in order.
    origins: for each column the (table, column) pairs its values come from.
    keys: columns of the top-level GROUP BY.
    summed: columns added up over those groups; empty for a model that returns rows rather than sums.
    """

    name: str
    sql: str
    description: str
    reads: tuple[str, ...]
    columns: dict[str, str]
    origins: dict[str, tuple[tuple[str, str], ...]]
    keys: tuple[str, ...]
    summed: tuple[str, ...]


@cache
def model(name: str) -> Model:
    """The model in `dbt_like_sql/<name>.sql`."""
    return parse(name, files("dbt_like_sql").joinpath(f"{name}.sql").read_text(encoding="utf-8"))


def parse(name: str, sql: str) -> Model:
    """Read one SELECT; comments at its top describe the table, comments beside columns describe them."""
    select = sqlglot.parse_one(sql, dialect="duckdb")
    if not isinstance(select, exp.Select):
        raise ValueError(f"{name}.sql must hold one SELECT, got {type(select).__name__}")
    keys = tuple(key.name for key in group.expressions) if (group := select.args.get("group")) else ()
    columns = {column.alias_or_name: " ".join(_comments(column)) for column in select.selects}
    reads = _reads(select)
    return Model(
        name=name,
        sql=sql,
        description=_heading(sql),
        reads=reads,
        columns=columns,
        origins=_origins(sql, reads),
        keys=keys,
        summed=_summed(name, select, keys),
    )


def _heading(sql: str) -> str:
    lines = sql.splitlines()
    top = next(i for i, line in enumerate(lines) if not line.startswith("--"))
    return " ".join(line.removeprefix("--").strip() for line in lines[:top])


def _comments(column: exp.Expr) -> Iterator[str]:
    for node in column.walk():
        yield from (comment.strip() for comment in node.comments or [])


def _reads(select: exp.Select) -> tuple[str, ...]:
    defined = {cte.alias for cte in select.find_all(exp.CTE)}
    return tuple(sorted({table.name for table in select.find_all(exp.Table)} - defined))


def _origins(sql: str, reads: tuple[str, ...]) -> dict[str, tuple[tuple[str, str], ...]]:
    schema = {table: dict.fromkeys(PROVIDED.get(table) or model(table).columns, "int") for table in reads}
    nodes = lineage(None, sql, schema, dialect="duckdb")
    assert isinstance(nodes, dict)  # asked for all columns at once
    parts = {cte.alias: cte.this for cte in sqlglot.parse_one(sql, dialect="duckdb").find_all(exp.CTE)}
    rows = {(table, column) for table in reads for column in schema[table]}  # of ones that are added up
    return {
        column: tuple(sorted({*_leaves(node), *_counted_rows(node, parts, schema)} or rows))
        for column, node in nodes.items()
    }


def _leaves(root: Node) -> Iterator[tuple[str, str]]:
    for node in root.walk():
        if isinstance(node.expression, exp.Table) and not node.downstream:
            yield node.expression.name, node.name.split(".")[-1].strip('"')


def _counted_rows(
    root: Node, parts: Mapping[str, exp.Expr], schema: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[str, str]]:
    """A number of rows comes from all that makes a row: from every column of the tables whose rows are counted."""
    for node in root.walk():
        if any(isinstance(count.this, exp.Star) for count in node.expression.find_all(exp.Count)):
            yield from ((table, column) for table in _tables(node.source, parts) for column in schema[table])


def _tables(query: exp.Expr, parts: Mapping[str, exp.Expr]) -> Iterator[str]:
    """The tables that a query reads, also through parts that the file defines itself."""
    for table in query.find_all(exp.Table):
        if table.name in parts:
            yield from _tables(parts[table.name], {name: part for name, part in parts.items() if name != table.name})
        else:
            yield table.name


def _summed(name: str, select: exp.Select, keys: tuple[str, ...]) -> tuple[str, ...]:
    measures = [column for column in select.selects if column.alias_or_name not in keys]
    if not keys and not any(column.find(exp.AggFunc) for column in measures):
        return ()
    for column in measures:
        aggregates = list(column.find_all(exp.AggFunc))
        if len(aggregates) != 1 or not isinstance(aggregates[0], MERGEABLE):
            raise ValueError(f"{name}.sql: {column.alias_or_name} must be one sum or count, so that parts add up")
    return tuple(column.alias_or_name for column in measures)
