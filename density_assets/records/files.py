"""Files of records: where a week's files are, and where files of a person's own may not lie.

Finding a week's files of records: on this machine by a pattern of paths, elsewhere by a pattern of a URL.

`{week}` in a pattern stands for the Monday, `{year}`, `{month}` and `{day}` for each day of the week: those on which
any of its moments fall, in the zone of the records. Months and days may be written with or without a zero before them.

Where files of a person's own may lie: anywhere but among what this software keeps.

Read back as an input, a confidential table would pass for a public list, or one population's records for another's:
ways around the doors that the asset graph cannot see. Written to as a file of alerts, the ledger would be no more.
"""

import glob
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from pathlib import Path

from fsspec import AbstractFileSystem
from fsspec.core import url_to_fs

from density_assets.calendar import week_clock
from density_assets.errors import BadInput, some
from density_assets.geography.lists import public_files
from density_assets.settings import Settings
from density_assets.settings.environment import SHARED_INSTANCE
from density_assets.settings.values import is_url

RecordFile = Path | str  # of this machine, or the URL of one elsewhere
OF_DAYS = ("{year}", "{month}", "{day}")
WILD = {  # what they stand for in any week, as a pattern of paths
    "{week}": "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]",
    "{year}": "[0-9][0-9][0-9][0-9]",
    "{month}": "[0-9]*",
    "{day}": "[0-9]*",
}


def record_files(settings: Settings, week: date) -> list[RecordFile]:
    """The files of a week, in order; none for a week or a day only if it is known to be complete."""
    visits, missing = settings.city.visits or "", []
    of_days = any(mark in visits for mark in OF_DAYS)
    found: dict[RecordFile, None] = {}
    for day in _days(visits, settings, week):
        files = [file for named in _named(visits, week, day) for file in _found(named, settings.folder)]
        found.update(dict.fromkeys(files))
        if not files and not (_complete(settings, week, day) if of_days else is_complete(settings, week)):
            missing.append(day)
    if missing:
        days = f" for {some(missing)}" if of_days else ""
        raise BadInput(
            f"the week of {week} must have visit files{days}; found none at "
            f"{_first_name(visits, settings, week, missing[0])}: check city.visits, or, if there is nothing to find, "
            f"{how_to_complete(settings, week, missing if of_days else ())}"
        )
    return list(found)


def of_any_week(visits: str) -> str:
    """The pattern of all files that records are ever read from, whichever week or day."""
    for mark, any_of_them in WILD.items():
        visits = visits.replace(mark, any_of_them)
    return visits


def is_complete(settings: Settings, week: date) -> bool:
    """Whether the file that says so is there: for the week, or for each of its days."""
    visits = settings.city.visits or ""
    marker = visits + settings.city.visits_complete
    return all(_complete(settings, week, day) for day in _days(marker, settings, week))


def says_which_week(settings: Settings) -> bool:
    """Whether the file that says complete says so of one week, or of a day of one: of no other month or year."""
    marker = _marker(settings.city.visits or "", settings.city.visits_complete)
    return "{week}" in marker or all(mark in marker for mark in OF_DAYS)


def how_to_complete(settings: Settings, week: date, days: Sequence[date] = ()) -> str:
    """What to do to say that a week is complete, for people.

    days: those without files, if it is about them; else all that are not known to be complete.
    """
    visits, complete = settings.city.visits or "", settings.city.visits_complete
    if _speaks_of_all(settings):
        return f"name a city.visits_complete such as done/{{week}}, for {complete} speaks of other weeks too"
    meant = days or [day for day in _days(visits + complete, settings, week) if not _complete(settings, week, day)]
    files = list(dict.fromkeys(_first_name(_marker(visits, complete), settings, week, day) for day in meant))
    more = f" and the like for {len(files) - 1} more days" if len(files) > 1 else ""
    return f"make the empty file {files[0]}{more}"


def _speaks_of_all(settings: Settings) -> bool:
    """Whether one file would call several weeks complete, though each has files of its own: it is not believed."""
    visits = settings.city.visits or ""
    return of_any_week(visits) != visits and not says_which_week(settings)


def _days(pattern: str, settings: Settings, week: date) -> list[date]:
    """The days that a pattern names; a pattern that names none is looked for once."""
    if not any(mark in pattern for mark in OF_DAYS):
        return [week]
    zone = settings.city.zone
    return week_clock(week, zone).days(settings.city.visit_zone or zone)


def _complete(settings: Settings, week: date, day: date) -> bool:
    marker = _marker(settings.city.visits or "", settings.city.visits_complete)
    if _speaks_of_all(settings):
        return False
    return any(_marked(named, settings.folder) for named in _named(marker, week, day))


def _marker(visits: str, complete: str) -> str:
    """The path of the file that says complete: as it is given, or beside the visit files if it is a mere name."""
    if "/" in complete:
        return complete
    folder, slash, _ = visits.rpartition("/")
    return f"{folder}{slash}{complete}"


def _marked(marker: str, folder: Path) -> bool:
    """Whether the file is there, in each folder that the pattern names."""
    parent, slash, name = marker.rpartition("/")
    if is_url(marker):
        system, inside = store_of(parent)
        folders = system.glob(inside)
        return bool(folders) and all(system.glob(f"{found}/{name}") for found in folders)
    folders = glob.glob(str(_below(folder, f"{parent}{slash}")), recursive=True)
    return bool(folders) and all(glob.glob(str(Path(glob.escape(found)) / name)) for found in folders)


def _named(pattern: str, week: date, day: date) -> Iterator[str]:
    """A pattern with a week and day in place, in the ways that days are written."""
    named = pattern.replace("{week}", str(week)).replace("{year}", f"{day:%Y}")
    ways = [f"{day:%m} {day:%d}", f"{day.month} {day.day}"]
    for month, number in (way.split() for way in dict.fromkeys(ways)):
        yield named.replace("{month}", month).replace("{day}", number)


def _found(named: str, folder: Path) -> list[RecordFile]:
    return _there(named) if is_url(named) else _here(str(_below(folder, named)))


def _first_name(pattern: str, settings: Settings, week: date, day: date) -> str:
    ways = list(_named(pattern, week, day))
    named = ways[-1 if "={day}" in pattern else 0]  # Spark writes day=2, most others 02
    return named if is_url(named) else str(_below(settings.folder, named))


def _here(path: str) -> list[RecordFile]:
    files = sorted(Path(name) for name in glob.glob(path, recursive=True))
    return [file for file in files if file.is_file() and _is_data(file.name)]


def _there(url: str) -> list[RecordFile]:
    system, inside = store_of(url)
    found = system.glob(inside, detail=True)
    names = sorted(name for name, about in found.items() if about["type"] == "file")
    return [system.unstrip_protocol(name) for name in names if _is_data(name.rsplit("/", 1)[-1])]


def _is_data(name: str) -> bool:
    return not name.startswith(("_", "."))


def store_of(url: str, setting: str = "city.visits", **options: bool) -> tuple[AbstractFileSystem, str]:
    """What opens the store of a URL, and the name inside it; it remembers no listing, because others write there.

    setting: which one names the URL.
    options: those that only this kind of store knows.
    """
    try:
        system, inside = url_to_fs(url, use_listings_cache=False, skip_instance_cache=True, **options)
    except (ImportError, ValueError) as error:
        raise BadInput(
            f"{setting} must lie in a store that is known, {url} gave {type(error).__name__}: for S3 "
            "`pip install density-assets[s3]`, for others the package that fsspec names"
        ) from None
    return system, inside


def _below(folder: Path, pattern: str) -> Path:
    """Only the pattern of the settings has wildcards, not the folder they lie in."""
    return Path(glob.escape(str(folder))) / pattern


OURS = ("confidential", "release", "locks", "dagster")  # folders of a city under the home


def refuse_our_files(files: Iterable[RecordFile], home: Path, roots: Sequence[str] = ()) -> None:
    """Raise if a file, once links are followed, lies in a city's folder, is the ledger, or is a confidential week.

    roots: where confidential weeks of any city of the home are kept besides it.
    """
    here = [Path(root).resolve() for root in roots if not is_url(root)]
    for file in files:
        real = file.resolve() if isinstance(file, Path) else file
        ours = _is_ours(real, home.resolve(), here) if isinstance(real, Path) else _below_a_root(real, roots)
        if ours:
            raise BadInput(
                f"files of yours must not be what this software keeps, {str(file).rsplit('/', 1)[-1]} is {real}: "
                "point the settings at your own files"
            )


def _is_ours(file: Path, home: Path, roots: Iterable[Path]) -> bool:
    parts = file.relative_to(home).parts if file.is_relative_to(home) else ()
    ledger = any(part.startswith(("ledger.sqlite", "ledger.lock")) for part in parts[:1])
    history = parts[:1] == (SHARED_INSTANCE,)
    return bool(set(parts[1:2]) & set(OURS)) or ledger or history or any(file.is_relative_to(root) for root in roots)


def _below_a_root(file: str, roots: Iterable[str]) -> bool:
    return any(file.startswith(f"{root.rstrip('/')}/") for root in roots)


def named_files(settings: Settings) -> list[Path]:
    """The files that settings name: what the public geography and factors are read from, and where alerts go."""
    city = settings.city
    lists = [
        settings.path(file) for file in (city.cells, city.boundary, city.towers, city.footprints) if file is not None
    ]
    files = (city.regions, *settings.people.tables.values(), settings.alerts.file)
    return [*(file for path in lists for file in public_files(path)), *map(settings.path, filter(None, files))]
