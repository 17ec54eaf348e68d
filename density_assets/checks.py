"""Asset checks: what must hold of a materialised asset."""

import dagster as dg

from resources.ledger import LedgerError


@dg.asset_check(
    asset="ledger",
    description="Every row of the ledger is as it was written, and none that a stored measurement names is missing.",
    required_resource_keys={"ledger", "measurements"},
)
def ledger_is_whole(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
    """Verify the ledger's chain."""
    try:
        charges = context.resources.ledger.verify(context.resources.measurements.witnesses())
    except LedgerError as problem:
        return dg.AssetCheckResult(passed=False, severity=dg.AssetCheckSeverity.ERROR, description=str(problem))
    return dg.AssetCheckResult(passed=True, metadata={"charges": charges})
