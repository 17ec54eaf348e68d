"""A released week that everybody attacks, made once for all tests of this process."""

from pathlib import Path

import pytest
from attacked import Attack, Released, attack_on, make_another, release


@pytest.fixture(scope="session")
def released_week(tmp_path_factory: pytest.TempPathFactory) -> Released:
    return release(tmp_path_factory.mktemp("attacked"))


@pytest.fixture(scope="session")
def unsigned_week(released_week: Released, tmp_path_factory: pytest.TempPathFactory) -> Released:
    return make_another(released_week, tmp_path_factory.mktemp("unsigned"))


@pytest.fixture
def attack(released_week: Released, tmp_path: Path) -> Attack:
    return attack_on(released_week, tmp_path)


@pytest.fixture
def made(unsigned_week: Released, tmp_path: Path) -> Attack:
    """The same of a home with a second week that is made and not yet signed."""
    return attack_on(unsigned_week, tmp_path)
