"""The audit of epsilon keeps quiet about what is sound, and each planted bug makes it exceed the claim."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from planting import planted

from density_assets.privacy.noise import SimulatedNoise
from density_assets.privacy.sensitivity import (
    clamped_total,
    one_visit,
    tower_totals_l2,
    truncated_l1,
    truncated_l2,
    weighted_l2,
)
from density_assets.research.promise.epsilon_study import (
    ALPHA,
    EPSILON_TEST,
    GRID,
    HYBRID_RUNS,
    RUNS,
    broken_promises,
    once,
    point_settings,
    scores,
    summary,
)
from density_assets.research.promise.epsilon_study import bounds_of as found
from density_assets.research.promise.town import CANARIES, PARAMETERS, VISITS_PER_USER, Neighbours, neighbours
from density_assets.schemes import SCHEMES
from density_assets.schemes.scheme import SERIES, TOTALS
from density_assets.settings import Settings

EPSILON = 4.0
QUERIES = ("truncated", "weighted", "sampled", "tower_totals")
FEW = 3_000  # runs: enough for the bugs planted here
ONE = {"concentrated": CANARIES["concentrated"]}


def point(scheme: str, runs: int = FEW) -> dict:
    return {"scheme": scheme, "calibration": "sound", "epsilon": EPSILON, "runs": runs}


def town(folder, canaries=ONE) -> Neighbours:
    return neighbours(folder, crowd=1, canaries=canaries)


@pytest.fixture(scope="module")
def weeks(tmp_path_factory) -> Neighbours:
    return town(tmp_path_factory.mktemp("town"))


def papers(point: dict) -> Settings:
    """Settings with the papers' delta: a smaller one leaves an attack of so few runs less to show."""
    return point_settings(point).with_privacy(delta=2e-6)


def audit(weeks: Neighbours, scheme: str, *, plan=None, noise=SimulatedNoise, draws: int = 1, runs: int = FEW) -> dict:
    """What the audit finds; with several draws the attacker sees the same week released so many times."""
    settings = papers(point(scheme))
    plan = plan or SCHEMES[scheme].plan(settings)
    ((_, sides),) = scores(weeks, SCHEMES[scheme], plan, runs * draws, noise)
    together = [side.reshape(runs, draws).sum(axis=1) for side in sides]
    return found(plan, *together, settings.privacy.delta)


class HalfTheNoise(SimulatedNoise):
    """Every scale cut in half between the plan and the draw."""

    def gaussian(self, values, event):
        return super().gaussian(values, replace(event, sigma=event.sigma / 2))

    def laplace(self, values, event):
        return super().laplace(values, replace(event, scale=event.scale / 2))

    def discrete_gaussian(self, values, event):
        return super().discrete_gaussian(values, replace(event, sigma=event.sigma / 2))


# --- sound schemes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["gpa", "lowrank"])
def test_sound_noise_is_found_to_cost_something_and_not_too_much(weeks, scheme):
    row = audit(weeks, scheme)
    assert 0.3 < row["bound"] < EPSILON
    assert 2.0 < row["gaussian_bound"] < EPSILON
    assert row["highest"] > EPSILON


def test_the_canaries_reach_every_bound(tmp_path):
    """A canary that changed less than the noise is made for would let bugs pass."""
    weeks = town(tmp_path, CANARIES)
    change = {
        name: [getattr(week, query) - getattr(weeks.absent, query) for query in QUERIES]
        for name, week in weeks.present.items()
    }
    for truncated, weighted, sampled, _ in change.values():
        assert np.abs(truncated).sum() == pytest.approx(truncated_l1(VISITS_PER_USER), rel=1e-5)
        assert np.sqrt((truncated**2).sum()) == pytest.approx(truncated_l2(VISITS_PER_USER), rel=1e-5)
        assert np.sqrt((weighted.astype(float) ** 2).sum()) == pytest.approx(weighted_l2(20), rel=1e-4)
        assert np.abs(sampled).sum() == one_visit()
    for canary in ("concentrated", "over the cap", "sparsest cell"):
        norm = np.linalg.norm(change[canary][3].astype(float))
        assert (1 - 1 / 1_950) * tower_totals_l2(400) < norm <= tower_totals_l2(400)  # the smallest weight, cut to 1950
    assert weeks.present["over the cap"].visit_total - weeks.absent.visit_total == clamped_total(732)
    assert np.count_nonzero(change["concentrated"][0].sum(axis=1)) == 1
    assert np.count_nonzero(change["spread"][0].sum(axis=1)) == 15
    empty = weeks.absent.truncated.sum(axis=1) == 0
    np.testing.assert_array_equal(empty, change["sparsest cell"][0].sum(axis=1) > 0)


def test_a_repetition_tells_bound_claim_and_what_could_be_shown(weeks):
    loud = point("gpa", runs=200) | {"epsilon": 12.0}
    (row,) = once(weeks, loud, seed=0)
    assert row["canary"] == "concentrated"
    assert row["delta"] == point_settings(loud).privacy.delta
    assert 0 < row["bound"] <= row["highest"]
    assert row["alpha"] == ALPHA
    assert once(weeks, loud, seed=0) == [row]
    assert once(weeks, loud, seed=1) != [row]


# --- planted bugs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["gpa", "lowrank"])
def test_half_the_noise_exceeds_the_claim(weeks, scheme):
    assert audit(weeks, scheme, noise=HalfTheNoise)["gaussian_bound"] > EPSILON


@pytest.mark.parametrize(("scheme", "calibration"), [("gpa", "sound"), ("lowrank", "sound"), ("lpa", "published")])
def test_noise_for_one_record_instead_of_a_user_exceeds_the_claim(weeks, scheme, calibration):
    settings = papers(point(scheme) | {"calibration": calibration})
    one = settings.privacy.model_copy(update={"visits_per_user": 1, "epsilon": 1.0})
    record = settings.model_copy(update={"privacy": one, "scheme": settings.scheme.model_copy(update={"weight_l": 1})})
    assert audit(weeks, scheme, plan=SCHEMES[scheme].plan(record))["bound"] > 1.0


class ForgottenNoise(SimulatedNoise):
    """Laplace noise that nobody adds."""

    def laplace(self, values, event):
        return np.array(values, dtype=np.float64)


def test_noise_that_is_forgotten_exceeds_the_claim_also_where_the_likelihood_is_not_computed(weeks):
    assert audit(weeks, "threshold", noise=ForgottenNoise, runs=2_000)["bound"] > EPSILON
    assert audit(weeks, "threshold", runs=2_000)["bound"] < EPSILON


def test_a_cap_that_is_not_enforced_exceeds_the_claim(monkeypatch, tmp_path):
    planted(monkeypatch, "truncated_visits", "where place <= $visits_per_user", "where place <= 6 * $visits_per_user")
    assert audit(town(tmp_path), "gpa")["gaussian_bound"] > EPSILON


def test_weights_that_ignore_activity_exceed_the_claim(monkeypatch, tmp_path):
    planted(monkeypatch, "tower_series", "// count(*)", "// 1")
    assert audit(town(tmp_path), "lowrank")["gaussian_bound"] > EPSILON


def test_totals_of_towers_that_ignore_activity_exceed_the_claim(monkeypatch, tmp_path):
    """Fifty times each visit: 168 at one tower, where 20 are allowed, are too few to show, so little is spent."""
    planted(monkeypatch, "tower_totals", "weight * visits as", "65536 * 50 * visits + 0 * weight as")
    assert audit(town(tmp_path), "lowrank")["bound"] > EPSILON


def test_a_total_that_counts_a_user_far_beyond_the_clamp_exceeds_the_claim(monkeypatch, tmp_path):
    """Fifty times each visit: merely unclamped, 2,688 visits are too few to show, so little is spent on totals."""
    planted(monkeypatch, "visit_total", "least(count(*), $visits_clamp)", "50 * count(*) + 0 * $visits_clamp")
    weeks = town(tmp_path, {"over the cap": CANARIES["over the cap"]})
    assert audit(weeks, "lowrank")["bound"] > EPSILON


def test_a_fresh_draw_on_rematerialisation_exceeds_the_claim(weeks):
    """A door without memory gives a new draw each time it is materialised, and draws average."""
    assert audit(weeks, "gpa", draws=4, runs=FEW // 2)["gaussian_bound"] > EPSILON


# --- what is said about it ----------------------------------------------------------------------------------


def rows(**changes) -> pl.DataFrame:
    sound = {"calibration": "sound", "epsilon": 1.0, "scheme": "gpa", "runs": 100, "seed": 0}
    found = {"bound": 0.4, "gaussian_bound": 0.9, "highest": 3.0, "delta": 2e-6, "alpha": 1e-4}
    return pl.DataFrame([sound | {"canary": canary} | found for canary in CANARIES]).with_columns(**changes)


def test_a_bound_above_the_claim_is_said_for_sound_schemes_only():
    assert broken_promises(rows()) == []
    assert "No bound of a sound scheme" in summary(rows())
    over = rows(gaussian_bound=pl.when(canary="spread").then(1.25).otherwise(0.9))
    assert broken_promises(over) == ["gpa promises epsilon 1 and gives at least 1.25 (canary: spread)"]
    assert "gives at least 1.25" in summary(over)
    assert broken_promises(over.with_columns(calibration=pl.lit("published"))) == []
    unknown = rows(gaussian_bound=pl.lit(None), bound=pl.lit(2.0))
    assert len(broken_promises(unknown)) == len(CANARIES)


def test_the_grid_has_every_scheme_at_every_epsilon_but_hybrids_at_the_telling_one():
    sound = {(point["scheme"], point["epsilon"]) for point in GRID if point["calibration"] == "sound"}
    hybrids = {"static_hybrid", "dynamic_hybrid"}
    fast = {(scheme, epsilon) for scheme in SCHEMES.keys() - hybrids for epsilon in RUNS}
    assert sound == fast | {(scheme, max(RUNS)) for scheme in hybrids}
    assert list(HYBRID_RUNS) == [max(RUNS)]
    published = {point["scheme"] for point in GRID if point["calibration"] == "published"}
    assert published == SCHEMES.keys() - hybrids - {"lowrank"}
    assert EPSILON_TEST.asset_name == "epsilon_audit"
    assert PARAMETERS["visits_per_user"] == VISITS_PER_USER
    assert {TOTALS, SERIES} == set(SCHEMES["lowrank"].plan(point_settings(point("lowrank"))))
