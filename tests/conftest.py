"""What every test may use, and which modules one worker runs, so that what they share is made once."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

# Test workers use all cores already; before numpy is imported, and for every process a test starts.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Spark's queries on a few rows take Java less time to run than to compile well.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
# Who asks for releases of real people, and why.
os.environ.update(DENSITY_BY="tester", DENSITY_REASON="a test")

from postgres import Server, served, unavailable
from shelves import PostgresShelf, Shelf, SqliteShelf
from town import Town, make_town
from warm import fork_worker

from density_assets.graph import worker

# How long an example takes says nothing of what it shows. A change is judged by the same examples each time; those of a
# night are new.
settings.register_profile("every change", deadline=None, derandomize=True)
settings.register_profile("nightly", deadline=None)


worker.start_process = fork_worker  # each run of a test has one

SHARING = {  # modules by what takes long to make and none of them changes
    "three weeks of a town": (
        "graph/test_weeks_in_turn",
        "graph/test_final",
        "graph/test_final_asked",
        "graph/test_errors_of_sums",
        "graph/test_release_as_read",
    ),
    "a released week of simulated people": ("graph/test_audit", "graph/test_release", "graph/test_release_files"),
    "a small city": ("research/test_density_studies", "research/test_weeks_studies"),
    "a Spark": (
        "unit/resources/sql/test_engines_agree",
        "unit/resources/sql/test_random_records",
        "unit/resources/sql/test_spark",
    ),
    "an object store": ("unit/resources/tables/test_weeks_elsewhere", "unit/resources/tables/test_weeks_of_others"),
}
TOGETHER = {f"tests/{module}.py": shared for shared, modules in SHARING.items() for module in modules}


class WholeModules(LoadScopeScheduling):
    """One worker runs a module whole, and with it those that share something."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False  # modules of few tests are the long ones: they must not come last

    def _split_scope(self, nodeid: str) -> str:
        module = super()._split_scope(nodeid)
        return TOGETHER.get(module, module)


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("nightly" if config.option.markexpr == "nightly" else "every change")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put tests of single units last: they are short, and fill what the others leave of the workers' time."""
    items.sort(key=lambda item: item.nodeid.startswith("tests/unit/"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> WholeModules | None:
    return WholeModules(config, log) if config.option.dist == "loadscope" else None


@pytest.fixture
def town(tmp_path: Path) -> Town:
    """A town of one's own."""
    return make_town(tmp_path)


@pytest.fixture(scope="session")
def released_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Town, Path, Any]:
    """The small town, its home with one released week, and that run: to look at, not to change."""
    return _released_in(tmp_path_factory.mktemp("released"))


@pytest.fixture(scope="session")
def simulated_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Town, Path, Any]:
    """The same of simulated people, whose publisher is named: to look at, not to change.

    There are so few that, whatever is drawn, the city is too small for its promise.
    """
    publisher = 'publisher = "Office of the Town"\nlicence = "CC-BY-4.0"\ncontact = "data@town.example"\n'
    changed = {
        'visits = "visits/{week}/*.csv"': "users = 1000\npopulation = 300000",
        "[engine]": f"[publication]\n{publisher}[engine]",
    }
    return _released_in(tmp_path_factory.mktemp("simulated"), **changed)


def _released_in(folder: Path, **changed: str) -> tuple[Town, Path, Any]:
    from runs import materialise  # imports the whole graph

    town = make_town(folder)
    for old, new in changed.items():
        town.set(old, new)
    result = materialise(town.settings, folder / "home")
    assert result.success
    return town, folder / "home", result


@pytest.fixture
def released_town(released_once: tuple[Town, Path, Any], tmp_path: Path) -> tuple[Town, Path]:
    """The small town and its home with one released week, to do anything with."""
    from runs import copied

    return copied(*released_once[:2], tmp_path)


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
