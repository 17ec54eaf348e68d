"""A small crowd, and somebody in it who is everywhere at all times."""

import pytest
from small_crowd import HEAVY, crowd, joined, nobody

from density_assets.research.traces.matrix import Traces


@pytest.fixture
def traces() -> Traces:
    return crowd()


@pytest.fixture
def with_heavy_user(traces: Traces) -> Traces:
    return joined(traces, *HEAVY["everywhere"])


@pytest.fixture
def empty(traces: Traces) -> Traces:
    return nobody(traces)
