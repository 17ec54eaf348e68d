"""Studies and audits: one line each, studies in the order of the results page."""

from typing import Any

from density_assets.studies.cell_series import CELL_SERIES
from density_assets.studies.cells import CELLS_STUDY, CHAPTER_STUDY
from density_assets.studies.defenses import DEFENSE_TABLES
from density_assets.studies.epsilon_audit import EPSILON_AUDIT
from density_assets.studies.hours import HOURS_STUDY
from density_assets.studies.hybrid import HYBRID_EPSILON, HYBRID_THRESHOLD
from density_assets.studies.membership import MEMBERSHIP
from density_assets.studies.membership_audit import MEMBERSHIP_AUDIT
from density_assets.studies.moving_characteristics import MOVING_CHARACTERISTICS
from density_assets.studies.privacy_gain import PRIVACY_GAIN
from density_assets.studies.recovery import RECOVERY
from density_assets.studies.recovery_audit import RECOVERY_AUDIT
from density_assets.studies.schemes import SCHEME_TABLE
from density_assets.studies.study import Study
from density_assets.studies.totals import TOTALS_STUDY
from density_assets.studies.truncation import CAPS, IMPROVEMENTS

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
        MOVING_CHARACTERISTICS,
        RECOVERY,
        HYBRID_THRESHOLD,
        HYBRID_EPSILON,
        MEMBERSHIP,
        DEFENSE_TABLES,
        PRIVACY_GAIN,
        EPSILON_AUDIT,
        RECOVERY_AUDIT,
        MEMBERSHIP_AUDIT,
    )
}
