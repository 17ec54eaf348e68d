"""What learns from aggregates: the classifiers of scikit-learn, by the names of `attack.READINGS`."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from density_assets.research.membership.attack import Floats, Holds, Learner

TREES, NEIGHBOURS = 30, 5
STRONG = 1e-4  # the inverse of the penalty, against 1 by default

CLASSIFIERS: dict[Learner, Callable[[], Any]] = {
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000)),
    "unscaled": LogisticRegression,
    "regularised": lambda: make_pipeline(StandardScaler(), LogisticRegression(C=STRONG, max_iter=1_000)),
    "forest": lambda: RandomForestClassifier(TREES, random_state=0),
    "neighbours": lambda: KNeighborsClassifier(NEIGHBOURS),
}


def scores(learner: Learner, seen: Floats, holds: Holds, asked: Floats) -> Floats:
    """How sure a classifier that learnt from what was seen is that the victim is in what is asked."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of columns that nobody scaled: that is a reading
        learnt = CLASSIFIERS[learner]().fit(seen, holds)
    if hasattr(learnt, "decision_function"):
        return np.asarray(learnt.decision_function(asked))
    return np.asarray(learnt.predict_proba(asked)[:, 1])
