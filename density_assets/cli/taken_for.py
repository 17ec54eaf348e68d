"""What the first files of a week are taken for, in lines for whoever may read their records."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from os.path import commonpath, relpath
from pathlib import Path
from typing import Any

from density_assets.records.understood import ON_CLOCKS, Understood, understood
from density_assets.settings.city import CitySettings

MOST_FILES = 24  # whose first records are looked at


def first_files(files: Sequence[Path], city: CitySettings) -> list[Understood]:
    """What the first files are taken for, named from the folder on in which all lie: parts of days are named alike."""
    names = {file: relpath(file, commonpath([each.parent for each in files])) for file in files[:MOST_FILES]}
    return [replace(understood(file, city), file=name) for file, name in names.items()]


def said_of(files: Sequence[Understood], of_week: int, city: CitySettings) -> Iterator[tuple[str, str]]:
    """Said once for files that are alike; no identifier is repeated.

    of_week: how many files there are, of which some may not have been looked at.
    """
    if of_week > len(files):
        yield "", f"first {len(files)} of {of_week:,} files looked at for what they are; records of all are counted"
    for _, alike in groupby(sorted(files, key=_layout_of), key=_layout_of):
        file, *others = alike
        yield "file", f"{file.file}{f' and {len(others):,} more of its kind' if others else ''}: {_kind(file)}"
        yield "columns", ", ".join(f"{name} ({kind})" for name, kind in file.columns)
        yield "taken for", ", ".join(f"{role}: {column}" for role, column in file.roles.items()) or "nothing known"
        yield "first", f"{file.sampled:,} records, {file.unreadable:,} of them not readable"
        yield (
            "",
            f"identifiers: {_forms(file.identifiers)}; {file.distinct['as is']:,} different, {file.once:,} seen once",
        )
        yield "", f"times: {_times(file, city)}"
        known = {*file.roles.values()} - {file.roles.get("user")}
        forms = {name for name, _ in file.columns if name != file.roles.get("user")}  # said once: there may be hundreds
        yield from (("", _row(row, known if number else forms)) for number, row in enumerate(file.rows))


def _layout_of(file: Understood) -> str:
    return f"{file.kind} {file.compression} {file.delimiter} {file.encoding} {file.columns}"


def _kind(file: Understood) -> str:
    mark = f", delimiter {file.delimiter!r}, {file.encoding}" if file.delimiter else ""
    return f"{file.kind}{f' ({file.compression})' if file.compression else ''}{mark}"


def _forms(forms: Mapping[Any, int]) -> str:
    return ", ".join(f"{number:,} {form}" for form, number in forms.items()) or "none"


def _times(file: Understood, city: CitySettings) -> str:
    """Their forms, and on which clocks those are read that carry no zone."""
    pattern = city.visit_time_format
    forms = _forms(file.times) if pattern is None else f"written as {pattern} (city.visit_time_format), without a zone"
    if pattern is None and not {*ON_CLOCKS} & file.times.keys():
        return forms
    if city.visit_timezone is not None:
        return f"{forms}, read as {city.visit_timezone} (city.visit_timezone)"
    return (
        f"{forms}, read as {city.timezone} (city.timezone): if they are others', such as UTC, set city.visit_timezone"
    )


def _row(row: Mapping[str, str], columns: Collection[str]) -> str:
    shown = {name: value if value == value.strip() else repr(value) for name, value in row.items() if name in columns}
    return "  ".join(f"{name}={value}" for name, value in shown.items())
