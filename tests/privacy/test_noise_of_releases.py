"""What leaves the doors, drawn from OpenDP: every count has noise of the charged scale, of its own, people or not."""

import numpy as np
import pytest
from goodness import fits, shared

from density_assets.estimation.rhythm import coefficients
from density_assets.privacy.noise import OpenDpNoise
from density_assets.privacy.sensitivity import WEIGHT_UNIT
from density_assets.schemes import SCHEMES
from density_assets.schemes.scheme import SERIES, TOTALS, Counts
from density_assets.settings import SchemeSettings, Settings

PLACES = 300  # times 168 hours: as many values as a wrong scale of Laplace noise needs to show


def counted(places: int = PLACES) -> np.ndarray:
    """Counts that change from hour to hour; every fifth place and many an hour without anybody."""
    counts = np.random.default_rng(1).integers(0, 4, (places, 168)) * 10_000
    counts[::5] = 0
    return counts


def drawn(name: str, counts: np.ndarray, improved: bool = True):
    """The series that leave the second door, their plan, and how many coefficients were kept."""
    plan = SCHEMES[name].plan(Settings(scheme=SchemeSettings(name=name, improved=improved)))
    values = SCHEMES[name].series(plan, Counts(series=counts), np.arange(len(counts)), OpenDpNoise())
    return values["series"], plan[SERIES], values["kept"]


@pytest.mark.parametrize("name", ["lpa", "gpa", "direct"])
def test_every_count_has_noise_of_its_own(name):
    counts = counted(150 if name == "gpa" else PLACES).astype(float)
    series, (event,), _ = drawn(name, counts)
    noise = series - counts
    assert fits(noise, event)
    assert fits(noise[counts == 0], event)
    assert not shared(noise, event)


def test_every_weighted_count_has_whole_noise_of_its_own():
    counts = counted(150) * WEIGHT_UNIT
    series, (event,), _ = drawn("lowrank", counts)
    noise = series * WEIGHT_UNIT - counts
    np.testing.assert_array_equal(noise, np.rint(noise))
    noise += np.random.default_rng(2).uniform(-0.5, 0.5, noise.shape)  # whole numbers repeat, and sigma is millions
    assert fits(noise, event)
    assert fits(noise[counts == 0], event)
    assert not shared(noise, event)


@pytest.mark.parametrize("name", ["efpag", "efpa", "fpa"])
def test_every_coefficient_that_is_kept_has_noise_of_its_own(name):
    counts = counted(150 if name == "efpag" else PLACES).astype(float)
    series, events, kept = drawn(name, counts)
    noise = coefficients(series) - coefficients(counts)
    inside = np.arange(168) < kept[:, None]
    assert fits(noise[inside], events[-1])
    assert fits(noise[::5][inside[::5]], events[-1])  # of places without anybody
    np.testing.assert_allclose(coefficients(series)[~inside], 0, atol=1e-6)  # what has no noise does not leave
    rich = kept >= 50
    assert rich.sum() > len(counts) / 2
    assert not shared(noise[rich, :50], events[-1])


@pytest.mark.parametrize("name", ["efpag", "efpa"])
def test_every_total_has_noise_of_its_own(name):
    towers, scheme = 2_000, SCHEMES[name]
    plan = scheme.plan(Settings(scheme=SchemeSettings(name=name)))
    counts = Counts(series=np.zeros((3, 168)), sampled=np.arange(towers) % 3, visit_total=0)
    first, second = (scheme.totals(plan, counts, OpenDpNoise()) for _ in range(2))
    for drawn in (first, second):
        assert fits(drawn["sampled"] - counts.sampled, plan[TOTALS][0])
    numbers = [float(drawn[name][0]) for drawn in (first, second) for name in ("visits", "truncated")]
    assert len({*numbers, 0.0}) == 5


def test_every_total_of_a_tower_has_whole_noise_of_its_own():
    scheme, exact = SCHEMES["lowrank"], np.arange(2_000) % 3 * WEIGHT_UNIT
    plan = scheme.plan(Settings())
    first, second = (scheme.totals(plan, Counts(visit_total=0, tower_totals=exact), OpenDpNoise()) for _ in range(2))
    for drawn in (first, second):
        noise = drawn["towers"] - exact
        assert fits(noise + np.random.default_rng(2).uniform(-0.5, 0.5, noise.shape), plan[TOTALS][1])
    assert not (first["towers"] == second["towers"]).any()


def test_hours_drawn_afresh_have_noise_of_their_own():
    """Counts that jump in every hour: the stream is drawn afresh until its releases are used up."""
    counts = np.zeros((2_000, 168))
    counts[:, ::2] = 1e9
    series, (event,), _ = drawn("threshold", counts)
    fresh = np.flatnonzero((np.diff(series, axis=1, prepend=np.nan) != 0).any(axis=0))
    assert len(fresh) == event.releases
    noise = (series - counts)[:, fresh]
    assert fits(noise, event.release_noise)
    assert not shared(noise.T, event.release_noise)
