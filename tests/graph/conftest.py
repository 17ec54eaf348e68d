"""A town whose weeks are released once, for all tests of weeks that learn from weeks."""

from pathlib import Path

import pytest
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
