"""How the lines of a CSV are cut into fields: by a delimiter and names of columns that its first line tells.

Every line is cut by itself (RFC 4180, but for line breaks in fields). A field that begins with a quote ends at the
quote that a delimiter or the end of the line follows, and may hold delimiters and doubled quotes until there. A quote
anywhere else, or one that is never closed, is a character like any other: it reaches no further than its field.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from density_assets.geography.lists import refuse_line_above
from density_assets.records.text_files import first_line
from density_assets.sql_names import literal

MARKS = {",": ",", ";": ";", "\t": r"\t", "|": r"\|"}  # delimiters, and how patterns write them
COMPRESSED = (".gz", ".zst")
TEXT = (".csv", ".txt", ".tsv")


@dataclass(frozen=True)
class Layout:
    """How lines are cut: the mark between fields, and the columns in order."""

    delimiter: str
    columns: tuple[str, ...]

    @property
    def pattern(self) -> str:
        """A field and the delimiter after it, as a regular expression of Python, DuckDB and Spark."""
        return _pattern(self.delimiter)

    def cut(self, line: str) -> list[str]:
        """The fields of a line, without the quotes around them."""
        return _cut(line, self.delimiter)

    @property
    def fields(self) -> str:
        """SQL for the fields of `line`, of a line that has as many as there are columns; else null."""
        simple = f"string_split(line, {literal(self.delimiter)})"
        found = f"regexp_extract_all(line || {literal(self.delimiter)}, {literal(self.pattern)}, 1)"
        return f"case when contains(line, '\"') then {found} else {simple} end"

    def field(self, column: str) -> str:
        """SQL for a column of `field`, without the quotes around it; null if nothing stands there."""
        value = f"field[{self.columns.index(column) + 1}]"
        return (
            f"case when length({value}) > 1 and starts_with({value}, '\"') and ends_with({value}, '\"') "
            f"then replace(substr({value}, 2, length({value}) - 2), '\"\"', '\"') else nullif({value}, '') end"
        )


def layout(file: Path, names: Collection[str] = ()) -> Layout:
    """The layout that the first line of a file tells.

    names: columns that are looked for; the delimiter is the one between most of them, then the one between most fields.
    """
    header = first_line(file)
    refuse_line_above(header, file)
    by_mark = {mark: tuple(field.strip() for field in _cut(header, mark)) for mark in MARKS}
    delimiter = max(MARKS, key=lambda mark: (len({*names} & {*by_mark[mark]}), len(by_mark[mark])))
    return Layout(delimiter, by_mark[delimiter])


def text_ending(file: Path) -> str:
    """The end of the name of a text file, without that of its compression; empty if it is another kind of file."""
    plain = file.with_suffix("") if file.suffix.lower() in COMPRESSED else file
    return plain.suffix.lower() if plain.suffix.lower() in TEXT else ""


def _pattern(delimiter: str) -> str:
    mark = MARKS[delimiter]
    return rf'("(?:[^"]|"")*"|[^{mark}]*){mark}'


def _cut(line: str, delimiter: str) -> list[str]:
    return [_unquoted(field) for field in re.findall(_pattern(delimiter), line + delimiter)]


def _unquoted(field: str) -> str:
    bare = field.strip()
    quotes = len(bare) > 1 and bare.startswith('"') and bare.endswith('"')
    return bare[1:-1].replace('""', '"') if quotes else field
