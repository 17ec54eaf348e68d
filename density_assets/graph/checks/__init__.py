"""Asset checks: what must hold of a materialised asset, and which of it stops a run.

A check blocks where a bad value must not go on. On records of real people only a fault of the software may block, and
nothing that depends on what the records say is shown (docs/decisions/0007): see `outcomes`.
"""

from density_assets.graph.checks import confidential, release
from density_assets.graph.checks.outcomes import Check

CHECKS = [value for module in (confidential, release) for value in vars(module).values() if isinstance(value, Check)]
