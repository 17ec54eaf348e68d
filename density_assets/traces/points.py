"""GPS points as one relation: text files with a line per point, CSV or Parquet with named columns.

A text line stands for itself, whatever the lines around it hold: it is split at white space, and what does not have
four fields or is no number becomes null, to be counted as unreadable. Files `new_<cab>.txt` hold one cab each, as
`lat lon occupancy unixtime` (the CRAWDAD files of San Francisco); other text files `cab lat lon unixtime`.
"""

from pathlib import Path

import duckdb

from density_assets.cities.records import INTEGERS, MOMENT, WALL_CLOCK
from density_assets.errors import BadInput, missing_column
from density_assets.sql_names import literal, quoted
from density_assets.traces.recipe import Recipe

ONE_CAB = "new_*.txt"


def gps_points(connection: duckdb.DuckDBPyConnection, data: Path, recipe: Recipe) -> duckdb.DuckDBPyRelation:
    """Columns record_user, lat, lon, moment (seconds of UTC) and wall_clock; null where a field is unreadable."""
    cabs = [data] if data.is_file() and data.match(ONE_CAB) else sorted(data.rglob(ONE_CAB))
    if cabs:
        return _lines(connection, cabs, one_cab=True)
    files = [data] if data.is_file() else sorted(file for file in data.rglob("*") if file.suffix in _READERS)
    kinds = {file.suffix for file in files}
    if len(kinds) != 1 or not kinds <= _READERS:
        raise BadInput(
            f"{data} must hold GPS points as .txt, .csv or .parquet, one kind; found {sorted(kinds) or 'none'}"
        )
    if kinds == {".txt"}:
        return _lines(connection, files, one_cab=False)
    return _columns(connection, files, recipe)


_READERS = {".txt", ".csv", ".parquet"}


def _lines(connection: duckdb.DuckDBPyConnection, files: list[Path], *, one_cab: bool) -> duckdb.DuckDBPyRelation:
    whole_lines = (
        "delim = '\x01', quote = '', escape = '', header = false, auto_detect = false, "
        "ignore_errors = true, strict_mode = false, encoding = 'latin-1'"
    )
    lines = connection.sql(
        f"from read_csv($files, {whole_lines}, columns = {{'line': 'VARCHAR'}}, filename = true)",
        params={"files": [str(file) for file in files]},
    )
    fields = lines.filter("trim(line) <> ''").project(r"filename, string_split_regex(trim(line), '\s+') as field")
    user = r"regexp_extract(filename, 'new_([^/\\]*)\.txt$', 1)" if one_cab else "field[1]"
    lat, lon = (1, 2) if one_cab else (2, 3)
    whole = "len(field) = 4"
    return fields.project(
        f"""case when {whole} then {user} end as record_user,
        case when {whole} then try_cast(field[{lat}] as double) end as lat,
        case when {whole} then try_cast(field[{lon}] as double) end as lon,
        case when {whole} then try_cast(field[4] as double) end as moment,
        cast(null as double) as wall_clock"""
    )


def _columns(connection: duckdb.DuckDBPyConnection, files: list[Path], recipe: Recipe) -> duckdb.DuckDBPyRelation:
    names = ", ".join(literal(str(file)) for file in files)
    if files[0].suffix == ".csv":
        raw = connection.sql(f"from read_csv([{names}], header = true, all_varchar = true, ignore_errors = true)")
    else:
        raw = connection.sql(f"from read_parquet([{names}], union_by_name = true)")
    for key in ("user", "lat", "lon", "time"):
        if getattr(recipe, key) not in raw.columns:
            raise missing_column(files[0], key, getattr(recipe, key), raw.columns)
    kind = dict(zip(raw.columns, map(str, raw.types), strict=True))[recipe.time]
    kind = "NUMBER" if kind in (*INTEGERS, "DOUBLE", "UBIGINT") else kind
    nothing, time = "cast(null as double)", quoted(recipe.time)
    return raw.project(
        f"""cast({quoted(recipe.user)} as varchar) as record_user,
        try_cast({quoted(recipe.lat)} as double) as lat, try_cast({quoted(recipe.lon)} as double) as lon,
        {MOMENT.get(kind, nothing).format(time=time)} as moment,
        {WALL_CLOCK.get(kind, nothing).format(time=time)} as wall_clock"""
    )
