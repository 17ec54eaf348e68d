"""What released assets and their checks may know besides tables: gathered here, from ledger, draws and instance.

Their functions run without a way to the city (`worker.py`), so whatever they need of it is asked for by name and handed
over as plain values. This is the one place that looks on their behalf, and it reads no table of records.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import dagster as dg

from density_assets.city import City
from density_assets.graph.acting import act_of_run, asks_anew
from density_assets.graph.automation import FINAL_ESTIMATE, REBUILD
from density_assets.graph.catalogue import Catalogue, outcomes
from density_assets.graph.naming import own
from density_assets.privacy.acts import Act
from density_assets.release.compose import Terms
from density_assets.release.manifest import Seal
from density_assets.release.sign import stated_today, stated_when_published


@dataclass(frozen=True)
class Asked:
    """Where to look, and for whom.

    run: whose step it is. act: who started it, and why; none if nobody said.
    anew: whether a person asked for published weeks to be published anew.
    """

    city: City
    week: date | None
    instance: dg.DagsterInstance
    catalogue: Catalogue
    run: str = ""
    act: Act | None = None
    anew: bool = False


def asked_by(context: dg.AssetExecutionContext, city: City, week: date | None, catalogue: Catalogue) -> Asked:
    """Return where a step of a run looks, and for whom."""
    run, jobs = context.run, (own(city, REBUILD), own(city, FINAL_ESTIMATE))
    act, anew = act_of_run(run.tags, city.settings), run.job_name in jobs and asks_anew(run.tags)
    return Asked(city, week, context.instance, catalogue, context.run_id, act, anew)


def gather(names: Iterable[str], asked: Asked) -> dict[str, Any]:
    """What was asked for, by name."""
    return {name: GIVEN[name](asked) for name in names}


def _terms(asked: Asked) -> Terms:
    """What a week is composed under; a published one keeps what was stated, unless it is published anew."""
    assert asked.week is not None  # asked for by weekly assets
    city, week = asked.city, asked.week
    release = city.release(week)
    paid_by = frozenset(city.measurements.stored(release, door).charge for door in release.doors)
    stated = stated_today(city) if asked.anew else stated_when_published(city, city.files(week), release)
    return Terms(asked.run, city.ledger.accounts(), paid_by, city.estimated(week), stated)


def _final_terms(asked: Asked) -> Terms:
    """What a final estimate is composed under, as of today; regions and factors are those of its week."""
    assert asked.week is not None  # asked for by weekly assets
    final = asked.city.estimated_finally(asked.week)  # says first why there can be none
    return replace(_terms(replace(asked, anew=False)), final=final)


def _fingerprint(asked: Asked) -> str:
    """Of the key that the release of the week is signed with."""
    terms = _terms(asked)
    return Seal.at(terms.accounts, terms.accounts.end_of(terms.paid_by)).fingerprint


GIVEN: dict[str, Callable[[Asked], Any]] = {
    "accounts": lambda asked: asked.city.ledger.accounts(),
    "terms": _terms,
    "final_terms": _final_terms,
    "run": lambda asked: asked.run,
    "fingerprint": _fingerprint,
    "problem": lambda asked: asked.city.ledger.problem(asked.city.measurements.witnesses()),
    "plan": lambda asked: asked.city.plan,
    "nodes": lambda asked: asked.catalogue.nodes,
    "checks": lambda asked: outcomes(asked.catalogue, asked.instance, asked.city),
}
