"""Exact answers under an auditor, and what leaves all the same.

The density is asked for place by place and hour by hour. A query counts all users, who are exchangeable, so a single
visit is disclosed by a count of nobody or of everybody alone. The auditor denies these, by looking at the answer; and a
reader reads every denial, since a count of everybody does not happen: nothing is hidden.

Queries about some users tell more. Users are put in a row along the Hilbert curve of the places where they are most,
and ranges of them are asked how many were at the busiest place. What all answers determine together, how many an
auditor must deny so that they determine nothing, and what its denials tell, is in the facts.
"""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from density_assets.errors import BadInput
from density_assets.research.approaches.technique import Parameters, Published, Technique
from density_assets.research.queries.full_disclosure import OPEN
from density_assets.research.queries.hilbert import hilbert_order
from density_assets.research.queries.online_ranges import audited_online
from density_assets.research.queries.query import was_at
from density_assets.research.queries.ranges import audit_ranges, disclosed_by_ranges
from density_assets.research.queries.simulatable import NaiveAuditor, bits_from_denials
from density_assets.research.study import Row
from density_assets.research.traces.matrix import Traces

Ints = NDArray[np.int64]
ATTACKED = 16  # users whose visits are learnt from denials


class AuditedParameters(Parameters):
    """ranges: how many random ranges of users are asked about the busiest place."""

    ranges: Annotated[int, Field(ge=1, le=10_000)] = 200


def publish(traces: Traces, parameters: AuditedParameters, seed: int) -> Published:
    """The counts as a reader of answers and denials knows them."""
    if not traces.matrix.nnz:
        raise BadInput("there must be visits to ask for, got traces without any")
    counts = traces.aggregate().astype(np.float64)
    denied = (counts == 0) | (counts == len(traces.users))
    facts = {"queries": counts.size, "denied": int(denied.sum()), **of_ranges(traces, parameters.ranges, seed)}
    return Published(np.where(denied, 0.0, counts), facts=facts)


def of_ranges(traces: Traces, ranges: int, seed: int) -> Row:
    """What ranges of users disclose, what an auditor denies, and what its denials tell."""
    bits, rng = users_in_a_row(traces), np.random.default_rng(seed)
    first, last = np.sort(rng.integers(len(bits), size=(ranges, 2)), axis=1).T
    sums = np.concatenate([[0], np.cumsum(bits)])
    audit = audit_ranges(len(bits), first, last + 1, sums[last + 1] - sums[first])
    online = audited_online(bits, first, last + 1)
    some = bits[rng.permutation(len(bits))[:ATTACKED]]
    learnt = bits_from_denials(NaiveAuditor.of(some).ask, len(some))
    return {
        "disclosed_by_ranges": float((disclosed_by_ranges(audit) != OPEN).mean()),
        "ranges_denied": float(np.mean([answer is None for answer in online])),
        "learnt_from_denials": 0.0 if learnt is None else float((learnt == some).mean()),
    }


def users_in_a_row(traces: Traces) -> Ints:
    """Whether each user was at the busiest place, in the order of the places where users are most."""
    user, place, _ = traces.points()
    visits = np.zeros((len(traces.users), traces.rois))
    np.add.at(visits, (user, place), 1)
    along = np.argsort(hilbert_order(traces.positions))[visits.argmax(axis=1)]
    return was_at(traces, [int(visits.sum(axis=0).argmax())])[np.argsort(along, kind="stable")].astype(np.int64)


AUDITED_ANSWERS = Technique(
    name="audited_answers",
    approach="queries",
    protects="nobody",
    promise="no answer, nor all of them together, determines a visit; denials do",
    source="Kleinberg, Papadimitriou & Raghavan 2000; Kenthapadi, Mishra & Nissim 2005",
    parameters=AuditedParameters,
    publish=publish,
)
