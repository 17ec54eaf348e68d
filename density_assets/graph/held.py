"""Files held still while they are compared and listed.

What is signed was compared with what draws and ledger give. Files lie in a folder that people can write to, and between
the two somebody could put another in the place of one that was compared. So they are copied aside first, where only
the owner of the records can write, and the copy is both compared and listed.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from density_assets.city import City
from density_assets.graph.step import Step
from density_assets.publication.files import draw_file
from resources.tables.files import private_files, spill_folder
from resources.tables.released import ReleasedTables


@contextmanager
def held_still(city: City, step: Step) -> Iterator[Step]:
    """The step on a copy of its files: those of its week, the tables they are made of, and all draws."""
    with spill_folder(city.store.confidential) as folder:
        held = ReleasedTables(folder)
        with private_files():
            for file in _read_for(step):
                copy = held.release / file.relative_to(step.folder)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)
        yield replace(step, read=replace(step.read, tables=held))


def _read_for(step: Step) -> set[Path]:
    """Whatever of the release folder is read to compare and list the files of a week.

    Of states after earlier weeks the newest is enough: where it is not believed, all are made again from draws.
    """
    week = f"{step.week}.parquet"
    patterns = (f"*_{step.week}*", draw_file("*"), "tables/*.parquet", f"tables/*/{week}")
    found = {file for pattern in patterns for file in step.folder.glob(pattern) if file.is_file()}
    states = sorted(file for file in step.folder.glob("tables/usual_week/*.parquet") if file.name < week)
    return found | set(states[-1:])
