"""What is mutated, and which tests must notice: those that are about it, quick ones first.

Not mutated, because no release depends on it: what a scheme makes of noisy numbers (`estimate` and what only it calls),
and the plans of schemes under published calibrations, which the doors refuse. The formulas of these calibrations
(`privacy/published.py`) are mutated: comparisons with papers depend on them.
"""

from dataclasses import dataclass, field
from pathlib import Path

PRIVACY, SCHEMES, MOVING = "density_assets/privacy", "density_assets/schemes", "density_assets/schemes/moving"
ESTIMATION = (
    *("estimate", "_standard_error", "place_totals", "deviation", "mapped_error", "CONSISTENCY_SEED"),
    *("_denoised", "_scale", "WEIGHS_MOST"),
)
PUBLISHED = ("published", "_published", "published_utility", "published_sensitivity", "published_plan", "PureBudget")

UNIT = "tests/unit/privacy"
OF_SCHEMES = (
    "tests/unit/schemes/test_plans.py",
    "tests/unit/schemes/test_contract.py",
    "tests/unit/schemes/test_fourier_scheme.py",
    "tests/unit/schemes/test_doors_of_schemes.py",
)
OF_MOVING = (
    "tests/unit/schemes/test_plans.py",
    "tests/unit/schemes/test_perturbation.py",
    "tests/unit/schemes/test_windows.py",
    "tests/unit/schemes/test_moving_scheme.py",
    "tests/privacy/test_moving_draws.py",
    "tests/unit/schemes/test_doors_of_schemes.py",
)
OF_SQL = (
    "tests/unit/resources/sql/test_engine.py",
    "tests/privacy/test_sensitivity.py::test_adversaries_stay_within_the_bounds",
    "tests/privacy/test_sensitivity.py::test_an_hour_that_happens_twice_counts_once",
)
OF_DOORS = ("tests/graph/test_doors.py", "tests/privacy/test_neighbours_in_the_graph.py")
OF_LEDGER = (
    *(f"tests/unit/resources/ledger/test_{what}.py" for what in ("opening", "paying", "tampering")),
    "tests/unit/resources/test_measurements.py",
)
OF_ANCHORS = (
    "tests/unit/resources/test_anchors.py",
    "tests/privacy/test_release_anchors.py",
)
OF_DECISIONS = ("tests/unit/resources/ledger/test_deciding.py", *OF_LEDGER)
OF_CHAINS = (f"{UNIT}/test_accounts.py", "tests/privacy/test_two_readers.py")
OF_VERIFIER = (
    "tests/unit/publication/test_verify.py",
    "tests/unit/publication/test_verify_costs.py",
    "tests/unit/publication/test_verify_signature.py",
    "tests/unit/publication/test_verify_command.py",
    "tests/privacy/test_two_readers.py",
    "tests/privacy/test_contradicting_releases.py",
    "tests/privacy/test_release_anchors.py",
    "tests/privacy/test_forged_releases.py",
)


@dataclass(frozen=True)
class Target:
    """A file, what in it is left alone, and the tests that must notice."""

    file: str
    tests: tuple[str, ...]
    skip: frozenset[str] = field(default_factory=frozenset)

    @property
    def sql(self) -> bool:
        """Whether it is a model."""
        return Path(self.file).suffix == ".sql"


def _of(folder: str, names: str, tests: tuple[str, ...], skip: tuple[str, ...] = ()) -> list[Target]:
    return [Target(f"{folder}/{name}.py", tests, frozenset(skip)) for name in names.split()]


def _models(names: str, *tests: str) -> list[Target]:
    return [Target(f"dbt_like_sql/{name}.sql", tests) for name in names.split()]


TARGETS = [
    *_of(PRIVACY, "events", (f"{UNIT}/test_events.py", "tests/unit/schemes/test_moving_scheme.py")),
    *_of(PRIVACY, "noise", (f"{UNIT}/test_noise.py",)),
    *_of(PRIVACY, "calibration published", (f"{UNIT}/test_calibration.py", "-k", "not with_laplace")),
    *_of(PRIVACY, "sensitivity", (f"{UNIT}/test_calibration.py",)),
    *_of(PRIVACY, "release", ("tests/unit/schemes/test_measurement_keys.py",)),
    *_of(PRIVACY, "zones", (f"{UNIT}/test_zones.py",)),
    *_of(PRIVACY, "composition", (f"{UNIT}/test_composition.py",)),
    *_of(PRIVACY, "periods", (f"{UNIT}/test_periods.py", f"{UNIT}/test_charges.py")),
    *_of(PRIVACY, "charges", (f"{UNIT}/test_charges.py", f"{UNIT}/test_periods.py", *OF_LEDGER)),
    *_of(PRIVACY, "promise", (f"{UNIT}/test_what_charges_mean.py",)),
    *_of(PRIVACY, "accounts", (*OF_CHAINS, *OF_DECISIONS)),
    *_of(PRIVACY, "acts policy", OF_DECISIONS),
    *_of(SCHEMES, "__init__ additive fourier lowrank scheme run", OF_SCHEMES, (*ESTIMATION, *PUBLISHED)),
    *_of(SCHEMES, "drawn_tables", ("tests/unit/schemes/test_drawn_tables.py",)),
    *_of(MOVING, "budgets perturbation schemes windows", OF_MOVING, (*ESTIMATION, *PUBLISHED)),
    *_models("events visits", "tests/unit/resources/sql/test_ingest.py", *OF_SQL[1:]),
    *_models("truncated_visits tower_series tower_totals one_visit_histogram visit_total", *OF_SQL),
    *_models("kept_per_user visits_per_user squares_per_user", "tests/unit/resources/sql/test_engine.py"),
    *_of("resources", "measurements", (*OF_LEDGER, "tests/privacy/test_drawn_once.py")),
    *_of("resources", "draws", (*OF_LEDGER, "tests/privacy/test_drawn_once.py")),
    *_of("resources/ledger", "ledger opening sqlite deciding", OF_DECISIONS),
    *_of("resources/ledger", "witnesses", (*OF_LEDGER, "tests/privacy/test_second_draw.py")),
    *_of("resources", "signing", ("tests/unit/resources/test_signing.py",)),
    *_of("resources", "anchors", OF_ANCHORS),
    *_of("density_assets/publication", "verify", OF_VERIFIER),
    *_of("density_assets/release", "sign", ("tests/unit/release/test_sign.py", "tests/privacy/test_what_is_signed.py")),
    *_of("density_assets/release", "compose estimate manifest", ("tests/graph/test_release.py",)),
    *_of("density_assets/publication", "statement", ("tests/graph/test_release.py",)),
    *_of("density_assets/graph", "doors", OF_DOORS),
]
