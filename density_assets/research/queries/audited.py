"""Exact answers under an auditor: every place and hour is asked for, and what would disclose a visit is denied.

A query counts all users, who are exchangeable, so a single visit is disclosed by a count of nobody or of everybody
alone. The auditor denies these, by looking at the answer; and a reader reads every denial, since a count of everybody
does not happen: nothing is hidden. An auditor that does not look at answers would have to deny everything
(`simulatable.py`).
"""

import numpy as np

from density_assets.errors import BadInput
from density_assets.research.approaches.technique import Parameters, Published, Technique
from density_assets.research.traces.matrix import Traces


def publish(traces: Traces, parameters: Parameters, seed: int) -> Published:
    """The counts as a reader of answers and denials knows them."""
    if not traces.matrix.nnz:
        raise BadInput("there must be visits to ask for, got traces without any")
    counts = traces.aggregate().astype(np.float64)
    denied = (counts == 0) | (counts == len(traces.users))
    return Published(np.where(denied, 0.0, counts), facts={"queries": counts.size, "denied": int(denied.sum())})


AUDITED_ANSWERS = Technique(
    name="audited_answers",
    approach="queries",
    protects="nobody",
    promise="no answer, nor all of them together, determines a visit; denials do",
    source="Kleinberg, Papadimitriou & Raghavan 2000",
    parameters=Parameters,
    publish=publish,
)
