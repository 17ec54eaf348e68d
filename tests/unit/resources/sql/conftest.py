"""The store that event files are ingested into."""

from pathlib import Path

import pytest
from ingested import town_store

from resources.tables.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """One that knows the antennas of a town, and holds no week."""
    return town_store(tmp_path)
