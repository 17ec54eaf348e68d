"""Values are bound to SQL, never written into it; what is written in is quoted, or one of our own names.

Every string with something interpolated that ends up in a call that runs SQL is looked at: calls on a connection or
relation, and the texts they are made of. Whoever interpolates something new has to add it here, with the reason.
"""

import ast
from pathlib import Path

import pytest

import density_assets
import resources

RUNS_SQL = {"execute", "executemany", "executescript", "sql", "query", "project", "filter", "aggregate", "order"}
QUOTES = {"quoted", "literal"}  # density_assets.sql_names
OURS = {
    "resources/ledger/sqlite.py": {
        "action": "update or delete",
        "names": "columns of ours",
        "marks": "named parameters",
    },
    "resources/ledger/postgres.py": {
        "names": "columns of ours, as identifiers of psycopg",
        "marks": "named parameters",
        "WAITING": "a constant, as a literal of psycopg",
    },
    "resources/tables/release_database.py": {},  # quoted names only
    "density_assets/publication/geopackage.py": {
        **dict.fromkeys(("START", "END", "DESCRIPTIONS_AND_STYLES"), "constants"),
        **dict.fromkeys(("chosen", "typed"), "made of quoted names and types of ours"),
        "values": "marks of parameters",
    },
    "density_assets/records/csv_files.py": dict.fromkeys(
        ("how.fields", "how.field(name)", "len(how.columns)"), "made of numbers and one of four marks"
    ),
    "density_assets/records/event_files.py": {
        **dict.fromkeys(("user", "tower", "_time(types, file, city)"), "made of quoted names"),
        **dict.fromkeys(("moment", "wall_clock"), "made of a constant name and a literal"),
        "wanted": "made of quoted names and literals",
    },
    "density_assets/research/traces/trace_records.py": {
        **dict.fromkeys(("recipe.rows", "recipe.columns"), "a number, validated"),
        **dict.fromkeys(("recipe.north - recipe.south", "recipe.east - recipe.west"), "numbers, validated"),
        **dict.fromkeys(("south", "west", "inside", "reason"), "made of numbers"),
        **dict.fromkeys(("local_second(recipe)", "hour_of('second')"), "made of numbers"),
        **dict.fromkeys(("len(columns)", "at"), "a number of ours"),
        **dict.fromkeys(("user", "name", "DATE"), "constants"),
        **dict.fromkeys(("moment", "wall_clock"), "made of a quoted name"),
    },
}
SOURCES = sorted(
    file
    for package in (density_assets, resources)
    for file in Path(package.__file__).parent.rglob("*.py")
    if {"duckdb", "sqlite3", "psycopg"} & set(file.read_text().replace(".", " ").split())
)


def named(file: Path) -> str:
    return str(file.relative_to(Path(resources.__file__).parents[1]))


def texts(tree: ast.AST, file: str) -> list[str]:
    """What is interpolated into SQL and is neither quoted nor listed as ours, as source."""
    return sorted(written_in(tree) - OURS.get(file, {}).keys())


def written_in(tree: ast.AST) -> set[str]:
    """What is interpolated into SQL and not quoted: directly, or through a name assigned in the same function."""
    found: list[str] = []
    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Module)]:
        made = {
            target.id: node.value
            for node in ast.walk(function)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for call in [node for node in ast.walk(function) if isinstance(node, ast.Call)]:
            if isinstance(call.func, ast.Attribute) and call.func.attr in RUNS_SQL and call.args:
                found += interpolated(call.args[0], made)
    return set(found)


def interpolated(text: ast.AST, made: dict[str, ast.expr]) -> list[str]:
    """Expressions in braces, and whatever is joined by + or %."""
    if isinstance(text, ast.Name) and text.id in made:
        return interpolated(made[text.id], {name: value for name, value in made.items() if name != text.id})
    if isinstance(text, ast.BinOp) and isinstance(text.op, ast.Add | ast.Mod):
        return [f"{ast.unparse(text)} (joined)"] if not constant(text) else []
    if isinstance(text, ast.JoinedStr):
        values = [part.value for part in text.values if isinstance(part, ast.FormattedValue)]
        return [ast.unparse(value) for value in values if not is_quoted(value)]
    if isinstance(text, ast.Call) and isinstance(text.func, ast.Attribute) and text.func.attr in ("format", "join"):
        return [name for argument in text.args for name in comprehended(argument)]
    return []


def comprehended(argument: ast.AST) -> list[str]:
    return interpolated(argument.elt, {}) if isinstance(argument, ast.GeneratorExp) else [ast.unparse(argument)]


def constant(text: ast.AST) -> bool:
    return all(isinstance(node, ast.BinOp | ast.Constant | ast.operator) for node in ast.walk(text))


def is_quoted(value: ast.AST) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in QUOTES


def test_nothing_but_quoted_names_and_our_own_is_written_into_sql():
    found = {named(file): texts(ast.parse(file.read_text()), named(file)) for file in SOURCES}
    assert found.keys() >= OURS.keys() | {"resources/sql/duckdb_engine.py", "resources/sql/ingest.py"}
    assert {name: names for name, names in found.items() if names} == {}


def test_what_is_listed_as_ours_is_there():
    interpolates = {named(file): written_in(ast.parse(file.read_text())) for file in SOURCES}
    assert {
        file: ours.keys() - interpolates[file] for file, ours in OURS.items() if ours.keys() - interpolates[file]
    } == {}


@pytest.mark.parametrize(
    "line",
    [
        'c.execute(f"delete from t where id = {user}")',
        'c.sql("select * from " + user)',
        'c.sql("select %s" % user)',
        'c.sql("select {}".format(user))',
        'q = f"select {user}"; c.execute(q)',
        'r.project(f"{user} as u")',
        'r.filter(", ".join(f"{user}" for user in users))',
    ],
)
def test_this_test_sees_a_value_in_sql(line):
    assert texts(ast.parse(f"def f():\n    {line}"), "new.py") != []


def test_bound_values_and_quoted_names_pass():
    good = 'c.execute(f"delete from {quoted(name)} where id = $id", {"id": user}); c.sql("select 1" + " union all")'
    assert texts(ast.parse(f"def f():\n    {good}"), "new.py") == []
