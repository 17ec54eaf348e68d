"""Small faults in SQL, one at a time, on the tree that sqlglot reads."""

from collections.abc import Callable, Iterator

import sqlglot
from sqlglot import exp

from tests.mutation.python_mutants import Mutant

COMPARISONS = {
    exp.LT: (exp.LTE, exp.GTE),
    exp.LTE: (exp.LT, exp.GT),
    exp.GT: (exp.GTE, exp.LTE),
    exp.GTE: (exp.GT, exp.LT),
    exp.EQ: (exp.NEQ,),
    exp.NEQ: (exp.EQ,),
}
ARITHMETIC = {
    exp.Add: (exp.Sub,),
    exp.Sub: (exp.Add,),
    exp.Mul: (exp.Add,),
    exp.Div: (exp.Mul,),
    exp.IntDiv: (exp.Mul, exp.Div),
    exp.Mod: (exp.Add,),
    exp.And: (exp.Or,),
    exp.Or: (exp.And,),
    exp.ArgMin: (exp.ArgMax,),
    exp.Min: (exp.Max,),
    exp.Max: (exp.Min,),
    exp.Least: (exp.Greatest,),
    exp.Greatest: (exp.Least,),
}
TRANSPARENT = (exp.Cast, exp.TryCast, exp.Floor, exp.Sqrt, exp.Coalesce)  # replaced by what is in them


def mutants(source: str) -> Iterator[Mutant]:
    """Every mutant of a model."""
    tree = _parsed(source)
    seen: dict[tuple[str, str], int] = {}
    for position, node in enumerate(tree.walk()):
        for change in _changes(node):
            copy = _parsed(source)
            twin = next(other for i, other in enumerate(copy.walk()) if i == position)
            before = _short(twin)
            after = change(twin)
            place = _place(node)
            nth = seen[place, f"{before}{after}"] = seen.get((place, f"{before}{after}"), 0) + 1
            yield Mutant(place, 0, before, after, nth, _written(copy))


def unchanged(source: str) -> str:
    """The model as it is written when nothing is changed: tests must pass on this one."""
    return _written(_parsed(source))


def _parsed(source: str) -> exp.Expression:
    return sqlglot.parse_one(source, dialect="duckdb")


def _written(tree: exp.Expression) -> str:
    """With a heading, which the models have, and comments, which describe their columns."""
    return f"-- a model\n{tree.sql(dialect='duckdb', pretty=True)}\n"


def _place(node: exp.Expression) -> str:
    part = node.find_ancestor(exp.CTE)
    return part.alias if part else "select"


def _short(node: exp.Expression) -> str:
    text = " ".join(node.sql(dialect="duckdb", comments=False).split())
    return text if len(text) <= 110 else f"{text[:107]}..."


Change = Callable[[exp.Expression], str]


def _changes(node: exp.Expression) -> Iterator[Change]:
    """Functions that change this node in place and say what became of it."""
    for kind in (*COMPARISONS.get(type(node), ()), *ARITHMETIC.get(type(node), ())):
        yield lambda twin, kind=kind: _replaced(twin, kind(**twin.args))
    if isinstance(node, exp.Literal) and not node.is_string:
        for step in (1, -1):
            yield lambda twin, step=step: _replaced(twin, exp.Literal.number(int(twin.name) + step))
    if isinstance(node, exp.Literal) and node.is_string and " " not in node.name:
        yield lambda twin: _replaced(twin, exp.Literal.string(f"{twin.name}_"))
    if isinstance(node, TRANSPARENT):
        yield lambda twin: _replaced(twin, twin.this)
    if isinstance(node, exp.Distinct) or (isinstance(node, exp.Union) and not node.args.get("distinct")):
        yield _less_distinct if isinstance(node, exp.Distinct) else _more_distinct
    if isinstance(node, exp.Where | exp.Having | exp.Order):
        yield _removed
    if isinstance(node, exp.Group):
        yield from (lambda twin, i=i: _without(twin, "expressions", i) for i in range(len(node.expressions)))
    if isinstance(node, exp.Window) and node.args.get("partition_by"):
        yield lambda twin: _without(twin, "partition_by", 0)
    if isinstance(node, exp.Ordered):
        yield lambda twin: _set(twin, "desc", not twin.args.get("desc"))
    if isinstance(node, exp.Join):
        yield from _joins(node)
    if isinstance(node, exp.Case):
        yield from (lambda twin, i=i: _without(twin, "ifs", i) for i in range(len(node.args["ifs"])))
    if isinstance(node, exp.Is):
        yield lambda twin: _replaced(twin, exp.Not(this=twin.copy()))
    if isinstance(node, exp.Placeholder | exp.Parameter):
        yield lambda twin: _replaced(twin, exp.Add(this=twin.copy(), expression=exp.Literal.number(1)))


def _replaced(twin: exp.Expression, other: exp.Expression) -> str:
    twin.replace(other.copy())
    return _short(other)


def _removed(twin: exp.Expression) -> str:
    twin.pop()
    return "nothing"


def _without(twin: exp.Expression, part: str, position: int) -> str:
    parts = twin.args[part]
    removed = parts.pop(position)
    if not parts:
        twin.set(part, None)
        if isinstance(twin, exp.Group):
            twin.pop()
    return f"without {_short(removed)}"


def _set(twin: exp.Expression, part: str, value: object) -> str:
    twin.set(part, value)
    return _short(twin)


def _less_distinct(twin: exp.Expression) -> str:
    twin.pop()
    return "not distinct"


def _more_distinct(twin: exp.Expression) -> str:
    twin.set("distinct", True)
    return "union without all"


def _joins(node: exp.Join) -> Iterator[Change]:
    """Another kind of join."""
    other = {"SEMI": "ANTI", "ANTI": "SEMI"}.get(node.kind)
    if other:
        yield lambda twin: _set(twin, "kind", other)
    elif node.side == "LEFT":
        yield lambda twin: _set(twin, "side", None)
    elif node.kind != "CROSS":
        yield lambda twin: _set(twin, "side", "LEFT")
