"""Generalised records for tests: hierarchies by names, and the definitions of anonymity by counting."""

import numpy as np

from density_assets.research.traces.matrix import Matrix
from density_assets.research.trajectories.hierarchy import Hierarchy
from density_assets.research.trajectories.km_anonymity import rare_sets


def named_hierarchy(names) -> Hierarchy:
    """A hierarchy from nested names: a name is an item, a pair of a name and parts is an inner node."""
    leaves = _leaf_names(names)
    parent, labels = [-1] * len(leaves), list(leaves)

    def attach(part) -> int:
        """Number a node after everything below it, so that the root comes last."""
        if isinstance(part, str):
            return leaves.index(part)
        below = [attach(one) for one in part[1]]
        parent.append(-1)
        labels.append(part[0])
        for node in below:
            parent[node] = len(parent) - 1
        return len(parent) - 1

    attach(names)
    return Hierarchy(np.array(parent), len(leaves), tuple(labels))


def _leaf_names(names) -> list[str]:
    return [names] if isinstance(names, str) else [leaf for part in names[1] for leaf in _leaf_names(part)]


def is_k_anonymous(records: Matrix, k: int) -> bool:
    """Whether every record is there at least k times."""
    return bool((np.unique(records.toarray(), axis=0, return_counts=True)[1] >= k).all())


def is_km_anonymous(records: Matrix, k: int, m: int) -> bool:
    """Whether any set of up to m items is in no record or in at least k."""
    return not any(any(True for _ in rare_sets(records, size, k)) for size in range(1, m + 1))
