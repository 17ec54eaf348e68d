"""Asset checks: what must hold of a materialised asset, and which of it stops a run.

A check blocks where a bad value must not go on. On records of real people only a fault of the software may block, and
nothing that depends on what the records say is shown (docs/decisions/0007): see `outcomes`.
"""

from collections.abc import Sequence

import dagster as dg

from density_assets.graph.checks import attack_tests as audits
from density_assets.graph.checks import confidential, ledger, public, release


def all_checks(assets: Sequence[dg.AssetsDefinition]) -> list[dg.AssetChecksDefinition]:
    """Every check of the graph."""
    found = dg.load_asset_checks_from_modules([public, confidential, release, ledger, audits])
    return [*found, release.zone_rule_check(assets)]
