"""The attack's scores are logarithms of likelihood ratios: they average to one where they must, for every scheme."""

from pathlib import Path

import numpy as np
import pytest

from density_assets.privacy.noise import SimulatedNoise
from density_assets.research.promise.epsilon_study import point_settings, scores
from density_assets.research.promise.likelihood import Attack, MatchedFilter, strongest
from density_assets.research.promise.town import CANARIES, EMPTY, VISITS_PER_USER, Neighbours, neighbours
from density_assets.schemes import SCHEMES
from density_assets.schemes.run import Drawn, draw
from density_assets.schemes.scheme import SERIES, TOTALS

FILTERED = ("threshold", "static_hybrid", "dynamic_hybrid")
SOUND = [
    (name, "sound") for name in SCHEMES if name not in ("lpa", *FILTERED)
]  # lpa, whose doors are the same in both calibrations
PUBLISHED = [(name, "published") for name in ("lpa", "fpa", "efpa", "efpag", "efpag_iris")]


@pytest.fixture(scope="module")
def weeks(tmp_path_factory) -> Neighbours:
    folder: Path = tmp_path_factory.mktemp("town")
    return neighbours(folder, crowd=40, canaries={"spread": CANARIES["spread"]})


def point(scheme: str, calibration: str = "sound", epsilon: float = 4.0) -> dict:
    return {"scheme": scheme, "calibration": calibration, "epsilon": epsilon, "runs": 0}


@pytest.mark.parametrize(("name", "calibration"), SOUND + PUBLISHED)
def test_a_likelihood_ratio_averages_to_one_under_the_other_hypothesis(weeks, name, calibration):
    """E[p1/p0] = 1 under p0 and E[p0/p1] = 1 under p1: any wrong density, scale or choice would show."""
    scheme, plan = SCHEMES[name], SCHEMES[name].plan(point_settings(point(name, calibration)))
    ((_, (present, absent)),) = scores(weeks, scheme, plan, 300, SimulatedNoise)
    for ratio in (np.exp(absent), np.exp(-present)):
        assert abs(ratio.mean() - 1) < 4 * ratio.std() / np.sqrt(len(ratio))
    assert present.mean() > 0 > absent.mean()


def test_the_score_of_gaussian_noise_is_the_projection_on_what_the_newcomer_changes(weeks):
    scheme, plan = SCHEMES["gpa"], SCHEMES["gpa"].plan(point_settings(point("gpa")))
    absent, present = (week.counts(scheme).series for week in (weeks.absent, weeks.present["spread"]))
    attack = Attack(scheme, plan, weeks.absent.counts(scheme), weeks.present["spread"].counts(scheme))
    release = draw(scheme, plan, weeks.absent.counts(scheme), weeks.absent.places, SimulatedNoise(1))
    change = present - absent
    assert (change**2).sum() == VISITS_PER_USER  # one visit each in different hours
    projected = (change * release.series["series"]).sum() - (change * (absent + present)).sum() / 2
    assert attack.score(release) == pytest.approx(projected / plan[SERIES][0].sigma ** 2)


@pytest.mark.parametrize("name", SCHEMES)
def test_streams_that_depend_on_comparisons_are_searched_for_the_newcomer_and_others_by_likelihood(weeks, name):
    scheme, plan = SCHEMES[name], SCHEMES[name].plan(point_settings(point(name)))
    absent, present = weeks.absent.counts(scheme), weeks.present["spread"].counts(scheme)
    attack = strongest(scheme, plan, absent, present)
    assert isinstance(attack, MatchedFilter if name in FILTERED else Attack)
    if name in FILTERED:
        with_newcomer, without = (
            attack.score(Drawn({}, np.arange(EMPTY + 1), {"series": counts.series})) for counts in (present, absent)
        )
        assert with_newcomer - without == VISITS_PER_USER  # one visit each, found where it is


def test_coefficients_that_were_cut_off_and_choices_count_as_they_should(weeks):
    """With the shape cut to its mean only totals and the choice of k are left to tell."""
    scheme, plan = SCHEMES["efpag_iris"], SCHEMES["efpag_iris"].plan(point_settings(point("efpag_iris")))
    absent, present = weeks.absent.counts(scheme), weeks.present["spread"].counts(scheme)
    labels = np.arange(EMPTY + 1)
    totals = {"places": absent.series.sum(axis=1)}
    flat = np.repeat(absent.series.mean(axis=1, keepdims=True), 168, axis=1)
    kept = np.full(len(labels), 1)
    score = Attack(scheme, plan, absent, present).score(Drawn(totals, labels, {"series": flat, "kept": kept}))
    # one or two visits at each of 15 towers, in hours of their own
    visits = (present.series - absent.series).sum(axis=1)
    by_totals = -(visits**2).sum() / (2 * plan[TOTALS][0].sigma ** 2)
    by_mean = -(visits**2).sum() / 168 / (2 * plan[SERIES][-1].sigma ** 2)
    # the crowd has no tail, the newcomer has
    tails = np.sqrt(
        [[(waves[k:] ** 2).sum() for k in range(1, 169)] for waves in map(dct, present.series - absent.series)]
    )
    noise, step = np.sqrt(np.arange(1, 169)) * plan[SERIES][-1].sigma, plan[SERIES][0].scale
    with_user, without = (np.exp((u[:, :1] - u) / step).sum(axis=1) for u in (tails + noise, noise + 0 * tails))
    by_choice = np.log(without / with_user).sum()
    assert score == pytest.approx(by_totals + by_mean + by_choice)


def dct(series: np.ndarray) -> np.ndarray:
    """The orthonormal cosine transform by its definition."""
    n = np.arange(len(series))
    waves = np.cos(np.pi * (2 * n[None, :] + 1) * n[:, None] / (2 * len(series))) * np.sqrt(2 / len(series))
    waves[0] /= np.sqrt(2)
    return waves @ series
