"""How a check answers: openly of public and released values, with pass or fail alone of real people's.

Two kinds of question may be asked of confidential tables. A **fault** can only be found if the software is wrong,
whatever the records say: its answer is shown, and stops the run. A **finding** depends on the records: of real people
its answer is a file in the confidential folder, and what is shown is always the same.
"""

import json
from collections.abc import Callable
from datetime import date
from typing import Any

import dagster as dg

from density_assets.errors import BadInput
from resources.tables.store import private_files, write_durably

Context = dg.AssetCheckExecutionContext
RESOURCES = frozenset({"settings", "store", "engine", "ledger", "measurements"})


def check(
    asset: str, *, blocking: bool = False, resources: frozenset[str] = RESOURCES
) -> Callable[[Callable[[Context], dg.AssetCheckResult]], dg.AssetChecksDefinition]:
    """A check of one asset; its docstring is what the UI shows."""

    def decorate(function: Callable[[Context], dg.AssetCheckResult]) -> dg.AssetChecksDefinition:
        return dg.asset_check(
            asset=asset,
            name=function.__name__,
            description=function.__doc__,
            blocking=blocking,
            required_resource_keys=set(resources),
        )(function)

    return decorate


def week_of(context: Context) -> date:
    """The week that is checked, which is that of the run."""
    if not context.has_partition_key:
        raise BadInput("a week must be given, got none: run the check with its asset, for one week")
    return date.fromisoformat(context.partition_key)


def open_answer(problems: list[str], *, warn: bool = False, **facts: Any) -> dg.AssetCheckResult:
    """The answer of a check that reads public or released values only."""
    severity = dg.AssetCheckSeverity.WARN if warn else dg.AssetCheckSeverity.ERROR
    said = "; ".join(problems) or None
    return dg.AssetCheckResult(passed=not problems, severity=severity, description=said, metadata=facts)


def fault_answer(context: Context, table: str, faults: list[str]) -> dg.AssetCheckResult:
    """The answer of a check that only a fault of the software can fail; a faulty week is refused to every reader."""
    if faults:
        context.resources.store.refuse_week(table, week_of(context))
    return open_answer([f"{fault}: this is a fault of the software, so nothing may read the table" for fault in faults])


def finding_answer(
    context: Context, asset: str, name: str, found: dict[str, Any], *, good: bool
) -> dg.AssetCheckResult:
    """The answer of a check that depends on what the records say; of real people, for the confidential zone only."""
    if context.resources.settings.city.synthetic:
        return open_answer([] if good else [json.dumps(found)], warn=True, **found)
    folder = context.resources.store.confidential / "about" / asset
    file = folder / f"{context.partition_key}_{name}.json"
    with private_files():
        folder.mkdir(parents=True, exist_ok=True)
        write_durably(file, json.dumps({"passed": good, **found}, indent=2).encode())
    where = file.relative_to(context.resources.store.folder)
    return dg.AssetCheckResult(
        passed=True, description=f"Looked at; what was found is confidential, whatever it is: {where}"
    )
