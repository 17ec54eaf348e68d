"""What released assets and their checks may know besides tables: gathered here, from ledger, draws and instance.

Their functions run without a way to the city (`worker.py`), so whatever they need of it is asked for by name and handed
over as plain values. This is the one place that looks on their behalf, and it reads no table of records.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any

import dagster as dg

from density_assets.city import City
from density_assets.graph.catalogue import Catalogue, outcomes
from density_assets.graph.vintages import final_of
from density_assets.privacy.estimates import Estimated
from density_assets.publication.manifest import Seal


@dataclass(frozen=True)
class Asked:
    """Where to look.

    again: whether a person asked for a published week to be published with other files.
    """

    city: City
    week: date | None
    instance: dg.DagsterInstance
    catalogue: Catalogue
    again: bool = False


def gather(names: Iterable[str], asked: Asked) -> dict[str, Any]:
    """What was asked for, by name."""
    return {name: GIVEN[name](asked) for name in names}


def _paid_by(asked: Asked) -> frozenset[str]:
    """Hashes of the charges that paid for the draws of the week."""
    assert asked.week is not None  # asked for by weekly assets
    release = asked.city.release(asked.week)
    return frozenset(asked.city.measurements.stored(release, door).charge for door in release.doors)


def _fingerprint(asked: Asked) -> str:
    """Of the key that the release of the week is signed with."""
    accounts = asked.city.ledger.accounts()
    return Seal.at(accounts, accounts.end_of(_paid_by(asked))).fingerprint


def _estimated(asked: Asked) -> Estimated | None:
    """What the estimate of the week is made of; none if it is estimated alone."""
    assert asked.week is not None  # asked for by weekly assets
    return asked.city.estimated(asked.week, again=asked.again)


def _final(asked: Asked) -> Estimated:
    """What a final estimate of the week is made of, as of today."""
    assert asked.week is not None  # asked for by weekly assets
    return final_of(asked.city, asked.week)


GIVEN: dict[str, Callable[[Asked], Any]] = {
    "accounts": lambda asked: asked.city.ledger.accounts(),
    "estimated": _estimated,
    "final": _final,
    "fingerprint": _fingerprint,
    "problem": lambda asked: asked.city.ledger.problem(asked.city.measurements.witnesses()),
    "paid_by": _paid_by,
    "plan": lambda asked: asked.city.plan,
    "nodes": lambda asked: asked.catalogue.nodes,
    "checks": lambda asked: outcomes(asked.catalogue, asked.instance, asked.city),
}
