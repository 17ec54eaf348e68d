"""Records of real people: finding a week's files and reading them as (user, time, tower).

A record is one event of one device at one antenna. Nothing is filtered here; `events.sql` decides what can be
used. Column types come from the files' own schema (CSV is text), never from their content: were they guessed
from values, one person's odd identifier could change how everybody else's are read.
"""

import glob
from datetime import date
from pathlib import Path

import duckdb

from density_assets.errors import BadInput, missing_column

INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")

# Seconds of UTC where the record says so, else the wall clock as seconds; exactly one of the two is set.
MOMENT = {
    "TIMESTAMP WITH TIME ZONE": "epoch({time})",
    "NUMBER": "case when {time} >= 100000000000 then {time} / 1000 else {time} end",
    "VARCHAR": """case
        when {time} like '%:%' and (right({time}, 1) = 'Z' or substr({time}, -6, 1) in ('+', '-')
            or substr({time}, -5, 1) in ('+', '-') or substr({time}, -3, 1) in ('+', '-'))
            then epoch(try_cast({time} as timestamptz))
        when length({time}) between 9 and 11 then try_cast({time} as double)
        when length({time}) between 12 and 14 then try_cast({time} as double) / 1000
    end""",
}
WALL_CLOCK = {
    "TIMESTAMP": "epoch({time})",
    "DATE": "epoch({time})",
    "VARCHAR": "epoch(try_cast({time} as timestamp))",
}


def record_files(pattern: str, week: date, folder: Path) -> list[Path]:
    """The files of a week, in order; none only if `_SUCCESS` says that the empty week is complete."""
    path = str(folder / pattern.replace("{week}", str(week)))
    files = sorted(Path(name) for name in glob.glob(path, recursive=True))
    files = [file for file in files if file.is_file() and not file.name.startswith(("_", "."))]
    if not files and not is_complete(pattern, week, folder):
        raise BadInput(
            f"the week of {week} must have visit files (or _SUCCESS beside none, for an empty week); "
            f"found none at {path}: check city.visits"
        )
    return files


def is_complete(pattern: str, week: date, folder: Path) -> bool:
    """Whether `_SUCCESS` lies beside the files of a week."""
    parent = str((folder / pattern.replace("{week}", str(week))).parent)
    folders = glob.glob(parent, recursive=True)
    return bool(folders) and all((Path(name) / "_SUCCESS").exists() for name in folders)


def open_records(
    connection: duckdb.DuckDBPyConnection, files: list[Path], *, user: str, time: str, tower: str
) -> duckdb.DuckDBPyRelation:
    """Records with columns record_user (integer or text), moment, wall_clock and record_tower (text)."""
    raw = _read(connection, files)
    types = dict(zip(raw.columns, map(str, raw.types), strict=True))
    for key, column in {"visit_user": user, "visit_time": time, "visit_tower": tower}.items():
        if column not in types:
            raise missing_column(files[0], f"city.{key}", column, types)
    if types[user] not in (*INTEGERS, "VARCHAR"):
        raise BadInput(f"user identifiers must be integers or text, column {user!r} of {files[0]} is {types[user]}")
    moment, wall_clock = _time_expressions(time, types[time], files[0])
    user_type = "varchar" if types[user] == "VARCHAR" else "bigint"
    return raw.project(
        f"cast({_quoted(user)} as {user_type}) as record_user, {moment} as moment, "
        f"{wall_clock} as wall_clock, cast({_quoted(tower)} as varchar) as record_tower"
    )


def no_records(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
    """The records of an empty week."""
    return connection.sql(
        "select ''::varchar as record_user, 0.0::double as moment, 0.0::double as wall_clock, "
        "''::varchar as record_tower where false"
    )


def _read(connection: duckdb.DuckDBPyConnection, files: list[Path]) -> duckdb.DuckDBPyRelation:
    names = [str(file) for file in files]
    suffixes = {"".join(file.suffixes[-2:]) if file.suffix == ".gz" else file.suffix for file in files}
    try:
        if suffixes <= {".parquet"}:
            return connection.sql("from read_parquet($files, union_by_name = true)", params={"files": names})
        if suffixes <= {".csv", ".csv.gz", ".txt", ".tsv"}:
            csv = "from read_csv($files, header = true, all_varchar = true, union_by_name = true)"
            return connection.sql(csv, params={"files": names})
    except duckdb.Error as error:
        raise BadInput(f"visit files must be readable: {_brief(error)} (among {names[0]} …)") from None
    raise BadInput(f"visit files must all be .parquet or all .csv, got {', '.join(sorted(suffixes))} (in {names[0]})")


def _time_expressions(column: str, kind: str, file: Path) -> tuple[str, str]:
    kind = "TIMESTAMP" if kind.startswith("TIMESTAMP_") else kind
    kind = "NUMBER" if kind in (*INTEGERS, "DOUBLE", "UBIGINT") else kind
    if kind not in MOMENT.keys() | WALL_CLOCK.keys():
        raise BadInput(f"times must be timestamps, text or seconds since 1970, column {column!r} of {file} is {kind}")
    nothing = "cast(null as double)"
    time = _quoted(column)
    return MOMENT.get(kind, nothing).format(time=time), WALL_CLOCK.get(kind, nothing).format(time=time)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _brief(error: Exception) -> str:
    return str(error).splitlines()[0]
