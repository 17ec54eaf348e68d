"""Studies and attack tests by name, studies in the order of the results page; one is loaded when it is run."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from density_assets.errors import BadInput, nearest

if TYPE_CHECKING:
    from density_assets.research.study import Study

STUDIES = {  # name: module and variable in it
    "schemes": ("density.releases", "SCHEME_TABLE"),
    "cell_series": ("density.parts", "CELL_SERIES"),
    "totals": ("density.truncation", "TOTALS_STUDY"),
    "caps": ("density.truncation", "CAPS"),
    "improvements": ("density.truncation", "IMPROVEMENTS"),
    "hours": ("density.parts", "HOURS_STUDY"),
    "cells": ("density.parts", "CELLS_STUDY"),
    "chapter": ("density.parts", "CHAPTER_STUDY"),
    "weeks": ("weeks.weeks_study", "WEEKS_STUDY"),
    "changes": ("weeks.changes_study", "CHANGES_STUDY"),
    "sums": ("weeks.sums_study", "SUMS_STUDY"),
    "sizes": ("weeks.sizes_study", "SIZES_STUDY"),
    "approaches": ("approaches.approaches_study", "APPROACHES_STUDY"),
    "moving_characteristics": ("moving.characteristics", "MOVING_CHARACTERISTICS"),
    "recovery": ("moving.recovery", "RECOVERY"),
    "hybrid_threshold": ("moving.hybrid", "HYBRID_THRESHOLD"),
    "hybrid_epsilon": ("moving.hybrid", "HYBRID_EPSILON"),
    "membership": ("membership.exposure", "MEMBERSHIP"),
    "defenses": ("membership.defense_studies", "DEFENSE_TABLES"),
    "privacy_gain": ("membership.defense_studies", "PRIVACY_GAIN"),
    "epsilon_audit": ("promise.epsilon_study", "EPSILON_TEST"),
    "recovery_audit": ("moving.recovery_of_releases", "RECOVERY_TEST"),
    "membership_audit": ("membership.own_releases", "MEMBERSHIP_TEST"),
}


def study_named(name: str) -> "Study[Any]":
    """Return the study or attack test of a name; raises `BadInput` with all names if there is none."""
    if name not in STUDIES:
        raise BadInput(f"a study must be one of {', '.join(STUDIES)}; got {name!r}{nearest(name, STUDIES)}")
    module, variable = STUDIES[name]
    study: Study[Any] = getattr(import_module(f"density_assets.research.{module}"), variable)
    return study
