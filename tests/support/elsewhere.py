"""What lies at a path or URL where weeks are kept, seen past the store."""

from datetime import date
from pathlib import Path

import fsspec
import polars as pl

from resources.tables.store import Store

WEEK, NEXT = date(2007, 9, 10), date(2007, 9, 17)
FRAME = pl.DataFrame({"user_id": [1, 2], "hour": [3, 4]})
STAMP = {"population": "people", "visits_per_user": 30}


def week_file(store: Store, table: str, week: date = WEEK) -> Path:
    """The one file of a week that is kept on this machine."""
    (file,) = store.weeks.look(table, week).files
    return Path(file)


def objects(root: str) -> list[str]:
    """Everything that lies there, seen from there."""
    system, inside = fsspec.core.url_to_fs(f"{root}/town", use_listings_cache=False, skip_instance_cache=True)
    return sorted(name.removeprefix(inside).strip("/") for name in system.find(inside))


def change(root: str, name: str, content: bytes) -> None:
    system, inside = fsspec.core.url_to_fs(f"{root}/town", use_listings_cache=False, skip_instance_cache=True)
    system.pipe_file(f"{inside}/{name}", content)


def read(root: str, name: str) -> bytes:
    system, inside = fsspec.core.url_to_fs(f"{root}/town", use_listings_cache=False, skip_instance_cache=True)
    return system.cat_file(f"{inside}/{name}")


def current(root: str, table: str = "visits", week: date = WEEK) -> str:
    return f"{table}/{week}/CURRENT"


def part(root: str) -> str:
    (found,) = [name for name in objects(root) if name.endswith(".parquet")]
    return found
