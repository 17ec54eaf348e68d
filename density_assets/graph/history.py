"""Where Dagster keeps the history of a city: files beside its tables, or a PostgreSQL database of the city's own.

The address may hold a password, so it goes to Dagster by the environment and into no file. Whatever one machine does
alone by a lock of a file, machines that share a database do by a lock there.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.resources import files

import dagster as dg

from density_assets.city import City
from density_assets.errors import BadInput
from density_assets.graph.worker import STORAGE_VARIABLE

DRIVER = "postgresql+psycopg2://"  # by the plain name SQLAlchemy takes psycopg 3, with which Dagster cannot listen
CITY = "density/city"  # under which a database says whose history it keeps
SEVERAL = "several cities"  # under which name no city can be
_SHARED = f"storage:\n  postgres:\n    postgres_url:\n      env: {STORAGE_VARIABLE}\n"


def instance_settings(city: City) -> bytes:
    """What stands in `dagster.yaml`; whoever reads it learns no password."""
    plain = files("density_assets.graph").joinpath("dagster.yaml").read_bytes()
    return plain + _SHARED.encode() if city.settings.dagster.storage else plain


def name_database(city: City) -> None:
    """Let Dagster, in this process and those it starts, find the database that the settings name."""
    os.environ.pop(STORAGE_VARIABLE, None)
    if url := _address(city):
        _refuse_without_driver()
        os.environ[STORAGE_VARIABLE] = url.replace("postgresql://", DRIVER, 1)


def refuse_other_city(instance: dg.DagsterInstance, city: City) -> None:
    """Raise if a database keeps the history of another city: asset keys are the same, so the two would mix."""
    if not city.settings.dagster.storage:
        return
    known, own = instance.run_storage.get_cursor_values({CITY}).get(CITY), SEVERAL if city.others else city.name
    if known not in (None, own):
        raise BadInput(
            f"each city must have a database of its own for Dagster, or share one with those of its instance; the one "
            f"that [dagster] storage names is that of {known!r} and this is {own!r}: name another"
        )
    instance.run_storage.set_cursor_values({CITY: own})


@contextmanager
def alone(city: City, name: str, *, waiting: bool = True) -> Iterator[bool]:
    """One machine at a time; whether this is the one.

    waiting: whether to wait until it is. Without a shared database there is nobody to wait for.
    """
    url = _address(city)
    if not url:
        yield True
        return
    from resources.postgres import connected, shown_address, take_lock, try_lock

    def fault(said: str, problem: Exception) -> BadInput:
        return BadInput(
            f"Dagster's database must answer, but {shown_address(url)} did not ({said}): bring it back, or mend "
            "[dagster] storage"
        )

    with ExitStack() as held:
        connection = held.enter_context(connected(url, fault))
        if waiting:
            take_lock(connection, f"dagster {name}")
        yield waiting or try_lock(connection, f"dagster {name}")


def _address(city: City) -> str:
    url = city.settings.dagster.storage
    return url.get_secret_value() if url else ""


def _refuse_without_driver() -> None:
    try:
        import dagster_postgres  # noqa: F401
        import psycopg  # noqa: F401
        import psycopg2  # noqa: F401  # Dagster imports it
    except ImportError as lacking:
        raise BadInput(
            f"Dagster's history in PostgreSQL needs dagster-postgres, which is not here ({lacking}): "
            "pip install 'density-assets[postgres]'"
        ) from None
