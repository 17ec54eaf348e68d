"""Towns whose weeks are released once, for all tests that go on from there."""

import shutil
from pathlib import Path

import pytest
from final_estimates import final
from runs import density
from town import Town
from weeks import WEEKS, town_of


@pytest.fixture(scope="session")
def three_weeks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Town, Path]:
    """A town and its home, with three weeks released one after another by one command: to look at, not to change."""
    folder = tmp_path_factory.mktemp("weeks")
    town, home = town_of(folder), folder / "home"
    done = density(home, "backfill", "--settings", str(town.settings), "--from", WEEKS[0], "--to", WEEKS[-1])
    assert done.returncode == 0, done.stderr[-3000:]
    assert f"done: {', '.join(WEEKS)}" in done.stdout
    return town, home


@pytest.fixture(scope="session")
def finally_estimated(three_weeks: tuple[Town, Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Town, Path]:
    """The same three weeks, and a final estimate of the first: to look at, not to change."""
    town, home = three_weeks[0], shutil.copytree(three_weeks[1], tmp_path_factory.mktemp("final") / "home")
    assert final(town, home, WEEKS[0]).success
    return town, home
