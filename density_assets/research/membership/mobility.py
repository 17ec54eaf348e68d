"""What makes a victim easy: characteristics of traces, and which of them separate the most from the least exposed.

Pyrgelis et al., §3.1 (list of characteristics), tables 2 and 3.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from density_assets.calendar import HOURS
from density_assets.research.traces.matrix import Traces

Floats = NDArray[np.float64]
EXTREME = 0.1  # the top and bottom share of victims that are compared
WEEKEND_STARTS = 120  # hour of the week
DAYS = {"weekday": 5, "weekend": 2}


def volume(traces: Traces) -> dict[str, Floats]:
    """How much there is of each user: events (points), unique locations and active slots."""
    user, roi, hour = traces.points()
    users = len(traces.users)
    return {
        "total events": _per_user(user, users),
        "unique locations": _per_user(np.unique(user * traces.rois + roi) // traces.rois, users),
        "active slots": _per_user(np.unique(user * traces.hours + hour) // traces.hours, users),
    }


def characteristics(traces: Traces) -> dict[str, Floats]:
    """One number per user for each characteristic; means per weekday and per weekend day are over whole weeks."""
    user, roi, hour = traces.points()
    users, weeks = len(traces.users), max(traces.weeks, 1)
    slot_user, slot_hour = np.divmod(np.unique(user * traces.hours + hour), traces.hours)
    found = volume(traces)
    found["locations per slot"] = found["total events"] / np.maximum(found["active slots"], 1.0)
    for part, days in DAYS.items():
        mine = slot_hour % HOURS >= WEEKEND_STARTS if part == "weekend" else slot_hour % HOURS < WEEKEND_STARTS
        points = hour % HOURS >= WEEKEND_STARTS if part == "weekend" else hour % HOURS < WEEKEND_STARTS
        found[f"active slots/{part}"] = _per_user(slot_user[mine], users) / (weeks * days)
        found[f"events/{part}"] = _per_user(user[points], users) / (weeks * days)
    found["spatial entropy"] = _entropy(user, roi, traces.rois, users)
    found["temporal entropy"] = _entropy(user, hour, traces.hours, users)
    found["unicity"] = unicity(traces)
    return found


def unicity(traces: Traces) -> Floats:
    """Share of slots in which nobody else was in the same set of regions of interest (ROIs).

    Sets are compared by the sum of random 64-bit numbers of their ROIs: two different sets among millions collide with
    chance below one in a million. Slots without a point are not unique.
    """
    user, roi, hour = traces.points()
    mark = np.random.default_rng(0).integers(0, 2**63, traces.rois, dtype=np.uint64)
    slots, where = np.unique(user * traces.hours + hour, return_inverse=True)
    key = np.zeros(len(slots), dtype=np.uint64)
    np.add.at(key, where, mark[roi])
    pair = np.stack([(slots % traces.hours).astype(np.uint64), key], axis=1)
    _, which, count = np.unique(pair, axis=0, return_inverse=True, return_counts=True)
    alone = count[which.ravel()] == 1
    return _per_user(slots[alone] // traces.hours, len(traces.users)) / traces.hours


def extremes(score: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of the most and of the least exposed: a tenth each, at least two."""
    order = np.argsort(-score, kind="stable")
    size = max(2, round(EXTREME * len(order)))
    return order[:size], order[-size:]


def importances(table: dict[str, Floats], score: Floats) -> dict[str, float]:
    """Importance of each characteristic for a random forest that tells top from bottom victims (table 2).

    score: AUC of each victim; the table has their characteristics.
    """
    from sklearn.ensemble import RandomForestClassifier  # a second, which every start would pay for

    x, hidden = _top_and_bottom(table, score)
    forest = RandomForestClassifier(100, random_state=0).fit(x, hidden)
    return dict(zip(table, map(float, forest.feature_importances_), strict=True))


def coefficients(table: dict[str, Floats], score: Floats) -> dict[str, float]:
    """Logistic coefficients of characteristics, top against bottom victims; negative: exposed, as in table 3."""
    from sklearn.linear_model import LogisticRegression

    x, hidden = _top_and_bottom(table, score)
    line = LogisticRegression(max_iter=1_000).fit(x, hidden)
    return dict(zip(table, map(float, line.coef_[0]), strict=True))


def _top_and_bottom(table: dict[str, Floats], score: Floats) -> tuple[Any, NDArray[np.bool_]]:
    """Standardised characteristics of the extreme victims, and which of them are hard to find."""
    from sklearn.preprocessing import StandardScaler

    top, bottom = extremes(score)
    rows = np.concatenate([top, bottom])
    x = StandardScaler().fit_transform(np.stack([values[rows] for values in table.values()], axis=1))
    return x, np.arange(len(rows)) >= len(top)


def _per_user(user: NDArray[np.int64], users: int) -> Floats:
    return np.bincount(user, minlength=users).astype(np.float64)


def _entropy(user: NDArray[np.int64], kind: NDArray[np.int64], kinds: int, users: int) -> Floats:
    """Entropy in nats of how a user's points spread over ROIs or hours."""
    pair, count = np.unique(user * kinds + kind, return_counts=True)
    share = count / _per_user(user, users)[pair // kinds]
    return np.asarray(np.bincount(pair // kinds, weights=-share * np.log(share), minlength=users), np.float64)
