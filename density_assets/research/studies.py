"""Studies and attack tests: one line each, studies in the order of the results page."""

from typing import Any

from density_assets.research.approaches.approaches_study import APPROACHES_STUDY
from density_assets.research.density.cell_series import CELL_SERIES
from density_assets.research.density.cells import CELLS_STUDY, CHAPTER_STUDY
from density_assets.research.density.hours import HOURS_STUDY
from density_assets.research.density.scheme_table import SCHEME_TABLE
from density_assets.research.density.totals import TOTALS_STUDY
from density_assets.research.density.truncation import CAPS, IMPROVEMENTS
from density_assets.research.membership.defense_utility import DEFENSE_TABLES
from density_assets.research.membership.exposure import MEMBERSHIP
from density_assets.research.membership.membership_test import MEMBERSHIP_TEST
from density_assets.research.membership.privacy_gain import PRIVACY_GAIN
from density_assets.research.moving.characteristics import MOVING_CHARACTERISTICS
from density_assets.research.moving.hybrid import HYBRID_EPSILON, HYBRID_THRESHOLD
from density_assets.research.moving.recovery import RECOVERY
from density_assets.research.moving.recovery_test import RECOVERY_TEST
from density_assets.research.promise.epsilon_test import EPSILON_TEST
from density_assets.research.study import Study
from density_assets.research.weeks.changes_study import CHANGES_STUDY
from density_assets.research.weeks.sizes_study import SIZES_STUDY
from density_assets.research.weeks.sums_study import SUMS_STUDY
from density_assets.research.weeks.weeks_study import WEEKS_STUDY

STUDIES: dict[str, Study[Any]] = {
    study.name: study
    for study in (
        SCHEME_TABLE,
        CELL_SERIES,
        TOTALS_STUDY,
        CAPS,
        IMPROVEMENTS,
        HOURS_STUDY,
        CELLS_STUDY,
        CHAPTER_STUDY,
        WEEKS_STUDY,
        CHANGES_STUDY,
        SUMS_STUDY,
        SIZES_STUDY,
        APPROACHES_STUDY,
        MOVING_CHARACTERISTICS,
        RECOVERY,
        HYBRID_THRESHOLD,
        HYBRID_EPSILON,
        MEMBERSHIP,
        DEFENSE_TABLES,
        PRIVACY_GAIN,
        EPSILON_TEST,
        RECOVERY_TEST,
        MEMBERSHIP_TEST,
    )
}
