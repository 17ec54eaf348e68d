"""What every test may use."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Test workers use all cores already; before numpy is imported, and for every process a test starts.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Who asks for releases of real people, and why.
os.environ.update(DENSITY_BY="tester", DENSITY_REASON="a test")

from town import Town, make_town

settings.register_profile("any machine", deadline=None)  # how long an example takes says nothing of what it shows
settings.load_profile("any machine")


@pytest.fixture
def town(tmp_path: Path) -> Town:
    """A town of one's own."""
    return make_town(tmp_path)
