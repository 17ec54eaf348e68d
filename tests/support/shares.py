"""Which modules one worker runs, so that what they share is made once and long ones do not come last."""

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

SHARING = {  # modules by what takes long to make and none of them changes
    "three weeks of a town": (
        "graph/test_weeks_in_turn",
        "graph/test_final",
        "graph/test_final_asked",
        "graph/test_errors_of_sums",
        "graph/test_release_as_read",
    ),
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


def long_ones_first(items: list[pytest.Item]) -> None:
    """Order tests so that those of single units, which are short, fill what the others leave of the workers' time."""
    items.sort(key=lambda item: item.nodeid.startswith("tests/unit/"))
