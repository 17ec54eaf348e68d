"""How a check answers: openly of public and released values, with pass or fail alone of real people's.

Two kinds of question may be asked of confidential tables. A **fault** can only be found if the software is wrong,
whatever the records say: its answer is shown, and stops the run. A **finding** depends on the records: of real people
its answer is a file in the confidential folder, and what is shown is always the same.
"""

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import dagster as dg

from density_assets.city import City
from density_assets.graph.acting import unquoted_errors
from density_assets.graph.catalogue import Catalogue, KnownCheck
from density_assets.graph.given import Asked, gather
from density_assets.graph.naming import key
from density_assets.graph.step import RecordStep, Shelf, Step, step_for
from resources.faults import in_clear_words
from resources.tables.files import private_files, write_durably

Context = dg.AssetCheckExecutionContext


@dataclass(frozen=True)
class Check:
    """A check of any city.

    asset: what is checked; reads: further assets it compares with.
    function: gives the answer; of a check that does not block none, where there was nothing to look at.
    given: what its function gets besides the step, by its name in `given.py`.
    looks_back: assets whose earlier weeks it compares with.
    """

    name: str
    asset: str
    function: Callable[..., dg.AssetCheckResult | None]
    reads: tuple[str, ...]
    blocking: bool
    given: tuple[str, ...]
    looks_back: tuple[str, ...]

    @property
    def about(self) -> str:
        """What must hold, which is what the UI shows."""
        return inspect.getdoc(self.function) or ""

    def known(self, shelves: Mapping[str, Shelf]) -> KnownCheck:
        """The check as the audit page knows it."""
        free = all(shelves[name].zone.free for name in (self.asset, *self.reads))
        return KnownCheck(self.asset, self.name, self.about, free)

    def build(self, city: City, catalogue: Catalogue) -> dg.AssetChecksDefinition:
        """The check as Dagster runs it: without an answer it counts as skipped, neither passed nor failed."""

        def run(context: Context) -> Iterator[dg.AssetCheckResult]:
            week = date.fromisoformat(context.partition_key) if context.has_partition_key else None
            drawn = city.as_drawn(week) if week else city
            given = gather(self.given, Asked(drawn, week, context.instance, catalogue))
            step = self._step(context, drawn, week, catalogue.shelves)
            with unquoted_errors(when=not (step.read.zone.free or city.synthetic)), in_clear_words(city.store.folder):
                answer = self.function(step, **given)
            if answer:
                yield answer

        spec = dg.AssetCheckSpec(self.name, asset=key(city, self.asset), description=self.about, blocking=self.blocking)
        # Only Dagster's check of several things may leave some of them unanswered; ours has one.
        of_one = dg.multi_asset_check(name=spec.get_python_identifier(), specs=[spec], can_subset=not self.blocking)
        return of_one(run)

    def _step(self, context: Context, city: City, week: date | None, shelves: Mapping[str, Shelf]) -> Step:
        """What the check gets: it reads what it declares, and secrets only if its asset is one."""
        inputs = {name: shelves[name] for name in (self.asset, *self.reads)}
        past = {name: shelves[name] for name in self.looks_back}
        return step_for(self.name, shelves[self.asset].zone, inputs, city, week, context, past)


def check(
    asset: str,
    *reads: str,
    blocking: bool = False,
    given: tuple[str, ...] = (),
    looks_back: tuple[str, ...] = (),
) -> Callable[[Callable[..., dg.AssetCheckResult | None]], Check]:
    """A check of one asset, which may compare it with others; its docstring is what the UI shows."""

    def decorate(function: Callable[..., dg.AssetCheckResult | None]) -> Check:
        return Check(function.__name__, asset, function, reads, blocking, given, looks_back)

    return decorate


def open_answer(problems: list[str], *, warn: bool = False, **facts: Any) -> dg.AssetCheckResult:
    """The answer of a check that reads public or released values only."""
    severity = dg.AssetCheckSeverity.WARN if warn else dg.AssetCheckSeverity.ERROR
    said = "; ".join(problems) or None
    return dg.AssetCheckResult(passed=not problems, severity=severity, description=said, metadata=facts)


def fault_answer(step: RecordStep, table: str, faults: list[str]) -> dg.AssetCheckResult:
    """The answer of a check that only a fault of the software can fail; a faulty week is refused to every reader."""
    if faults:
        step.city.store.refuse_week(table, step.week)
    return open_answer([f"{fault}: this is a fault of the software, so nothing may read the table" for fault in faults])


def finding_answer(step: RecordStep, asset: str, answer: dict[str, Any], *, good: bool) -> dg.AssetCheckResult:
    """The answer of a check that depends on what the records say; of real people, for the confidential zone only."""
    if step.city.synthetic:
        return open_answer([] if good else [json.dumps(answer)], warn=True, **answer)
    store = step.city.store
    folder = store.confidential / "about" / asset
    file = folder / f"{step.week}_{step.name}.json"
    with private_files():
        folder.mkdir(parents=True, exist_ok=True)
        write_durably(file, json.dumps({"passed": good, **answer}, indent=2).encode())
    where = file.relative_to(store.folder)
    return dg.AssetCheckResult(
        passed=True, description=f"Looked at; what was found is confidential, whatever it is: {where}"
    )
