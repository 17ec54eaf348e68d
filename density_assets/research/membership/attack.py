"""The attack: learn to tell aggregates with the victim from those without, and say how well it works.

Pyrgelis et al., §3.1: principal components of the aggregates, then logistic regression; before them, the same group
regressed on seven statistics of each series. The score is the area under the ROC curve (AUC): 0.5 is guessing.

The older attack is printed in one sentence, so what components gain over it depends on how that is read. `READINGS`
names the readings, all of the same seven statistics: of which series, on which scale, with which classifier.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from density_assets.series import Flags

Numbers = NDArray[Any]
Of = Callable[[Numbers], Numbers]
How = Literal[
    "pca",
    "features",
    "features_unscaled",
    "features_regularised",
    "features_forest",
    "features_neighbours",
    "features_averaged",
    "features_pooled",
]
Learner = Literal["logistic", "unscaled", "regularised", "forest", "neighbours"]
STATISTICS = 7
TREES, NEIGHBOURS = 30, 5
STRONG = 1e-4  # the inverse of the penalty, against 1 by default


@dataclass(frozen=True)
class Components:
    """Principal components of training aggregates. directions: one row each, of norm 1. variance: along each."""

    mean: Numbers
    directions: Numbers
    variance: Numbers

    def of(self, aggregates: Numbers) -> Numbers:
        """Aggregates, one per row, in coordinates of the components."""
        return np.asarray((aggregates - self.mean) @ self.directions.T)


def principal_components(aggregates: Numbers, most: int | None = None) -> Components:
    """Exact components of few rows with many columns, from the products of rows; none where nothing varies.

    most: how many of the largest; all by default. The victim's own direction is one of the small ones: with 20 of 300
    the attack lost half of its advantage on generated cities.
    """
    mean = aggregates.mean(axis=0, dtype=np.float64).astype(aggregates.dtype)
    centred = aggregates - mean
    squares, left = np.linalg.eigh((centred @ centred.T).astype(np.float64))
    order = np.argsort(-squares)[:most]
    order = order[squares[order] > max(squares.max(initial=0.0), 1.0) * 1e-6]
    directions = (left[:, order] / np.sqrt(squares[order])).T.astype(aggregates.dtype) @ centred
    return Components(mean, directions, squares[order] / max(len(aggregates) - 1, 1))


def statistics(aggregates: Numbers) -> Numbers:
    """Mean, median, maximum, minimum, variance, deviation and sum of each series: (groups, rois, hours) to rows."""
    found = (
        aggregates.mean(axis=2),
        np.median(aggregates, axis=2),
        aggregates.max(axis=2),
        aggregates.min(axis=2),
        aggregates.var(axis=2),
        aggregates.std(axis=2),
        aggregates.sum(axis=2),
    )
    return np.concatenate(found, axis=1)


def averaged_statistics(aggregates: Numbers) -> Numbers:
    """The seven statistics, each a mean over the ROIs: the classifier does not learn which ROI they are of."""
    return np.asarray(statistics(aggregates).reshape(len(aggregates), STATISTICS, -1).mean(axis=2))


def pooled_statistics(aggregates: Numbers) -> Numbers:
    """The seven statistics of all counts of an aggregate as if they were one series."""
    return statistics(aggregates.reshape(len(aggregates), 1, -1))


# The statistics that are taken, and what learns from them (`classifiers.py`).
READINGS: dict[How, tuple[Of, Learner]] = {
    "features": (statistics, "logistic"),
    "features_unscaled": (statistics, "unscaled"),
    "features_regularised": (statistics, "regularised"),
    "features_forest": (statistics, "forest"),
    "features_neighbours": (statistics, "neighbours"),
    "features_averaged": (averaged_statistics, "logistic"),
    "features_pooled": (pooled_statistics, "logistic"),
}
ATTACKS: tuple[How, ...] = (*READINGS, "pca")


def attack_auc(training: Numbers, holds: Flags, challenge: Numbers, truth: Flags, how: How = "pca") -> float:
    """AUC of the attack on the challenge; aggregates are (groups, rois, hours)."""
    of, learner = READINGS.get(how) or (_components(training), "logistic")
    seen, asked = of(training), of(challenge)
    if seen.shape[1] == 0:  # every aggregate is the same: nothing to learn
        return 0.5
    return auc(truth, _scores(learner, seen, holds, asked))


def _components(training: Numbers) -> Of:
    found = principal_components(training.reshape(len(training), -1))
    return lambda aggregates: found.of(aggregates.reshape(len(aggregates), -1))


def auc(truth: Flags, score: Numbers) -> float:
    """Chance that a group with the victim scores above one without; ties count half."""
    _, place, count = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place]
    held, others = int(truth.sum()), int((~truth).sum())
    return float((rank[truth].sum() - held * (held + 1) / 2) / (held * others))


def privacy_loss(score: float) -> float:
    """What the attack adds to guessing."""
    return score - 0.5


def privacy_gain(undefended: float, defended: float) -> float:
    """The part of the adversary's advantage that a defense takes away (Pyrgelis et al., eq. 1).

    (AUC − AUC') / (AUC − 0.5) if AUC > AUC' ≥ 0.5; an AUC' below 0.5 is no better than chance: 1; a defense that does
    not lower the AUC gains nothing: 0. Without an advantage to begin with there is nothing to gain: 0.
    """
    if undefended <= 0.5 or defended >= undefended:
        return 0.0
    return 1.0 if defended < 0.5 else (undefended - defended) / (undefended - 0.5)


def _scores(learner: Learner, seen: Numbers, holds: Flags, asked: Numbers) -> Numbers:
    """Return how sure a classifier that learnt from what was seen is that the victim is in what is asked."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of columns that nobody scaled: that is a reading
        learnt = _classifier(learner).fit(seen, holds)
    if hasattr(learnt, "decision_function"):
        return np.asarray(learnt.decision_function(asked))
    return np.asarray(learnt.predict_proba(asked)[:, 1])


def _classifier(learner: Learner) -> Any:
    """Return a classifier of scikit-learn, which takes a second to load and is an extra."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    match learner:
        case "logistic":
            return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000))
        case "unscaled":
            return LogisticRegression()
        case "regularised":
            return make_pipeline(StandardScaler(), LogisticRegression(C=STRONG, max_iter=1_000))
        case "forest":
            return RandomForestClassifier(TREES, random_state=0)
        case "neighbours":
            return KNeighborsClassifier(NEIGHBOURS)
