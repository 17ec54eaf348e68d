"""What every test may use."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Test workers use all cores already; before numpy is imported, and for every process a test starts.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Spark's queries on a few rows take Java less time to run than to compile well.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
# Who asks for releases of real people, and why.
os.environ.update(DENSITY_BY="tester", DENSITY_REASON="a test")

from postgres import Server, served, unavailable
from shares import WholeModules, long_ones_first
from shelves import PostgresShelf, Shelf, SqliteShelf
from town import Town, make_town
from warm import fork_worker

from density_assets.graph import worker

# How long an example takes says nothing of what it shows. A change is judged by the same examples each time; those of a
# night are new.
settings.register_profile("every change", deadline=None, derandomize=True)
settings.register_profile("nightly", deadline=None)


worker.start_process = fork_worker  # each run of a test has one


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("nightly" if config.option.markexpr == "nightly" else "every change")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    long_ones_first(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> WholeModules | None:
    return WholeModules(config, log) if config.option.dist == "loadscope" else None


@pytest.fixture
def town(tmp_path: Path) -> Town:
    """A town of one's own."""
    return make_town(tmp_path)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server for all tests of this process; skips, with the reason, where none can be started."""
    if reason := unavailable():
        pytest.skip(reason)
    with served() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Shelf:
    """Where a ledger is kept: what is asked of one holds of both."""
    if request.param == "sqlite":
        return SqliteShelf(tmp_path)
    return PostgresShelf(request.getfixturevalue("postgres").new_ledger(), tmp_path)
