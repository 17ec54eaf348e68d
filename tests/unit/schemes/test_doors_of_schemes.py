"""What each scheme's doors add noise to, on weeks that one user changes as much as truncation allows.

The week is made here, without database and files, so that it is quick; `test_sensitivity.py` starts at files.
"""

import numpy as np
import pytest
from scipy.fft import dct
from test_contract import PLACES
from transcripts import Recorder, asked_twice, beyond, planned

from density_assets.schemes import SCHEMES
from density_assets.schemes.scheme import SERIES, TOTALS, Counts

L, WEIGHT_L, CLAMP, TOWER_L = 24, 20, 50, 100
TOWERS = 40
VARIANTS = [*((name, True) for name in SCHEMES), ("fpa", False), ("efpa", False), ("efpag", False)]


def crowd() -> np.ndarray:
    """Visits of others: many, few, or nobody at all at a tower."""
    visits = np.random.default_rng(1).poisson(3.0, (TOWERS, 168)) * (np.arange(TOWERS)[:, None] % 4)
    return visits * np.where(np.arange(168) % 24 < 6, 0, 1)


NEWCOMERS = {
    "one tower, one day": (np.zeros(L, dtype=int), np.arange(L)),
    "one tower, all week": (np.full(L, 4), np.arange(L) * 7),
    "many towers": (np.arange(L), np.arange(L) * 7),
    "nights": (np.arange(L) % 4, np.arange(L) // 4 * 24 + np.arange(L) % 4),
}


def week(scheme, newcomer=None) -> Counts:
    """The counts of a scheme's doors with a newcomer, or without."""
    truncated, sampled, total = crowd().astype(float), crowd().sum(axis=1), int(crowd().sum())
    weighted = crowd() * 65_536
    totals = weighted.sum(axis=1)
    if newcomer is not None:
        truncated[newcomer] += 1
        weighted[newcomer] += int(np.floor(65_536 * np.sqrt(WEIGHT_L / L)))
        sampled[newcomer[0][0]] += 1
        visits = np.bincount(newcomer[0], minlength=TOWERS)
        totals = totals + visits * int(65_536 * min(1.0, np.sqrt(TOWER_L / (visits**2).sum())))
        total += CLAMP
    series = weighted if scheme.places == "towers" else PLACES.from_towers(scheme.places) @ truncated
    return Counts(series=series, sampled=sampled, visit_total=total, tower_totals=totals)


@pytest.mark.parametrize("newcomer", NEWCOMERS.values(), ids=NEWCOMERS)
@pytest.mark.parametrize(("name", "improved"), VARIANTS)
def test_one_user_changes_what_noise_is_added_to_by_no_more_than_is_charged(name, improved, newcomer):
    scheme, plan = planned(name, improved, L, WEIGHT_L, CLAMP, TOWER_L)
    weeks = week(scheme), week(scheme, newcomer)
    count = PLACES.count(scheme.places)
    for labels in (None, np.zeros(count, dtype=int), np.arange(count) % 5) if scheme.clustered else (None,):
        assert beyond(asked_twice(scheme, plan, weeks, PLACES, labels), plan) == []
        assert beyond(asked_twice(scheme, plan, weeks[::-1], PLACES, labels), plan) == []


@pytest.mark.parametrize(("name", "improved"), VARIANTS)
def test_every_event_of_the_plan_is_drawn(name, improved):
    scheme, plan = planned(name, improved, L, WEIGHT_L, CLAMP, TOWER_L)
    recorder = Recorder()
    for door, draw in ((TOTALS, scheme.totals), (SERIES, scheme.series)):
        labels = () if door == TOTALS else (np.arange(PLACES.count(scheme.places)),)
        draw(plan, week(scheme), *labels, recorder)
    drawn = {call.event for call in recorder.calls}
    simple = [event for events in plan.values() for event in events if event.kind != "sparse_vector"]
    assert {*simple} <= drawn


def test_series_are_counted_whole():
    for name in ("lpa", "gpa", "direct", "lowrank"):
        scheme, plan = planned(name, True, L, WEIGHT_L, CLAMP, TOWER_L)
        recorder, counts = Recorder(), week(scheme)
        drawn = scheme.series(plan, counts, np.arange(PLACES.count(scheme.places)), recorder)
        ((call),) = recorder.calls
        np.testing.assert_array_equal(call.values.T if name == "direct" else call.values, counts.series)
        answer = call.answer.T if name == "direct" else call.answer
        np.testing.assert_array_equal(drawn["series"], answer / 65_536 if name == "lowrank" else answer)
        assert (drawn["kept"] == 168).all()
        assert len(drawn["kept"]) == len(counts.series)


def test_totals_are_counted_whole():
    scheme, plan = planned("lowrank", True, L, WEIGHT_L, CLAMP, TOWER_L)
    recorder = Recorder()
    drawn = scheme.totals(plan, week(scheme), recorder)
    assert list(drawn) == ["visits", "towers"]
    expected = [[week(scheme).visit_total], week(scheme).tower_totals.tolist()]
    assert [(call.method, call.values.tolist()) for call in recorder.calls] == [
        ("discrete_gaussian", values) for values in expected
    ]
    assert [call.event for call in recorder.calls] == list(plan[TOTALS])
    for call, answer in zip(recorder.calls, drawn.values(), strict=True):
        np.testing.assert_array_equal(answer, call.answer)
    for improved in (True, False):
        scheme, plan = planned("efpag", improved, L, WEIGHT_L, CLAMP, TOWER_L)
        recorder, counts = Recorder(), week(scheme)
        drawn = scheme.totals(plan, counts, recorder)
        places, everything = counts.series.sum(axis=1), counts.series.sum()
        expected = [counts.sampled, [counts.visit_total], [everything]] if improved else [places]
        assert list(drawn) == (["sampled", "visits", "truncated"] if improved else ["places"])
        for call, values, answer in zip(recorder.calls, expected, drawn.values(), strict=True):
            np.testing.assert_allclose(call.values, values)
            np.testing.assert_array_equal(call.answer, answer)


@pytest.mark.parametrize("name", ["fpa", "efpa", "efpag"])
def test_coefficients_are_those_of_the_sums_of_clusters(name):
    scheme, plan = planned(name, True, L, WEIGHT_L, CLAMP, TOWER_L)
    recorder, counts = Recorder(), week(scheme)
    labels = np.arange(PLACES.count("cover")) % 3
    drawn = scheme.series(plan, counts, labels, recorder)
    sums = np.stack([counts.series[labels == label].sum(axis=0) for label in range(3)])
    exact, last = dct(sums, type=2, norm="ortho", axis=1), recorder.calls[-1]
    np.testing.assert_allclose(last.values, exact, atol=1e-9)
    kept = drawn["kept"]
    np.testing.assert_array_equal(kept, 100 if name == "fpa" else recorder.calls[0].answer + 1)
    cut = np.where(np.arange(168) < kept[:, None], last.answer, 0.0)
    np.testing.assert_allclose(drawn["series"], dct(cut, type=3, norm="ortho", axis=1), atol=1e-6)
    if name != "fpa":  # u(k) = what is cut off after k, and what the noise of k coefficients adds
        tails = np.sqrt(np.maximum(np.cumsum((exact**2)[:, ::-1], axis=1)[:, ::-1] - exact**2, 0))
        noise = np.sqrt(np.arange(1, 169)) * plan[SERIES][1].standard_deviation
        np.testing.assert_allclose(recorder.calls[0].values, tails + noise, rtol=1e-6, atol=1e-3)
