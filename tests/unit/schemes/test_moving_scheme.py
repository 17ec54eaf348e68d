"""Weekly releases with moving characteristics: what each hour may depend on, and what the events say of it."""

import math

import numpy as np
import pytest
from pydantic import ValidationError

from density_assets.privacy.events import SparseVector, WindowSelection, from_record, to_record
from density_assets.privacy.noise import SimulatedNoise
from density_assets.privacy.promise import explain
from density_assets.publication.statement import as_markdown
from density_assets.schemes import SCHEMES
from density_assets.schemes.moving.perturbation import FIRST_DAY
from density_assets.schemes.moving.windows import Window, sound_sensitivity
from density_assets.schemes.scheme import SERIES, Counts
from density_assets.settings import SchemeSettings, Settings

PLACES = 800


def plan(name, **chosen):
    return SCHEMES[name].plan(Settings(scheme=SchemeSettings(name=name, **chosen)))


class Silence(SimulatedNoise):
    """No noise, and the best window."""

    def __init__(self):
        super().__init__(0)

    def laplace(self, values, event):
        return np.array(values, dtype=float)

    def select(self, scores, event):
        return np.argmin(scores, axis=1)


def week(moves=range(7)):
    """People who commute between two groups of places from 8:00 to 17:00, on some days, and rest otherwise."""
    series = np.full((PLACES, 168), 1000.0)
    for day in moves:
        for hour in range(8, 18):
            series[: PLACES // 2, 24 * day + hour] += 400 * (hour % 2)
    return series


def drawn(name, series, noise=None, **chosen):
    labels = np.arange(PLACES)
    return SCHEMES[name].series(plan(name, **chosen), Counts(series=series), labels, noise or Silence())["series"]


def divided(name, series):
    """The best windows of the days."""
    walk = SCHEMES[name].walk(plan(name)[SERIES], PLACES)
    return walk.windows((), np.split(series.T, 7), Silence())


def test_events_of_the_hybrids_cover_every_day_and_stream():
    static, dynamic = plan("static_hybrid")[SERIES], plan("dynamic_hybrid")[SERIES]
    one_day = sound_sensitivity(24, 0.3) * (1 + 1e-6)
    assert isinstance(static[0], WindowSelection)
    assert static[0].sensitivity == pytest.approx(math.sqrt(7) * one_day)
    assert dynamic[0].sensitivity == pytest.approx(math.sqrt(6) * one_day)
    assert isinstance(dynamic[2], SparseVector)
    assert (static[2].streams, static[2].releases) == (1, 28)
    assert (dynamic[2].streams, dynamic[2].releases) == (14, 2)


@pytest.mark.parametrize("name", ["direct", "threshold", "static_hybrid", "dynamic_hybrid"])
@pytest.mark.parametrize("calibration", ["sound", "published"])
def test_events_survive_the_ledger(name, calibration):
    for event in plan(name, calibration=calibration)[SERIES]:
        assert from_record(to_record(event)) == event


@pytest.mark.parametrize("name", ["threshold", "dynamic_hybrid"])
def test_events_can_be_read_in_the_privacy_statement(name):
    events = [to_record(event) for event in plan(name)[SERIES]]
    facts = dict.fromkeys(("city", "week", "unit", "scheme", "calibration", "revision"), "")
    numbers = {"epsilon": 0.3, "delta": 2e-6, "software": {}, "warnings": [], "files": {}}
    person = {"from": "2006-09-18", "to": "2007-09-10", **explain((), (), ())}
    year = {"epsilon": 0.3, "budget_epsilon": 3.0, "delta": 1e-5, "year": 2007, "for_a_person": person}
    ledger = {"file": "ledger_2007-09-10.json", "identity": "abc", "row": 7}
    charges = [{"door": SERIES, "hash": "abc", "events": events}]
    accounted = {"epsilon": 0.3, "accountant": "RDP"}
    paid = {"charges": charges, "accounted": accounted, "cumulative": year, "ledger": ledger, "budget": []}
    text = as_markdown(facts | numbers | paid)
    assert "28 times at most" in text
    assert all(f"| {event['kind']} |" in text for event in events)


def test_one_release_is_refused_because_nothing_would_be_compared():
    with pytest.raises(ValidationError, match="releases"):
        SchemeSettings(releases=1)


def test_a_sparse_vector_is_charged_for_all_its_steps():
    event = SparseVector("hours", epsilon=0.02, scale=20.0, sensitivity=1.0, releases=5, streams=3)
    assert event.rho == pytest.approx(15 * (0.02**2 + 0.05**2) / 2)
    pure = SparseVector("hours", epsilon=0.02, scale=20.0, sensitivity=1.0, releases=5, streams=3, pure=True)
    assert pure.pure_epsilon == pytest.approx(15 * 0.07)
    assert pure.rho == pytest.approx((15 * 0.07) ** 2 / 2)


def test_threshold_repeats_quiet_hours_and_follows_changes():
    noisy = drawn("threshold", week(), SimulatedNoise(1), releases=40)
    fresh = np.flatnonzero((np.diff(noisy, axis=1) != 0).any(axis=0)) + 1
    assert set(fresh) <= {24 * day + hour for day in range(7) for hour in range(9, 19)} | {167}
    assert len(fresh) > 20


def test_static_hybrids_draw_the_commute_and_repeat_the_night():
    series = drawn("static_hybrid", week())
    np.testing.assert_array_equal(series, week())
    windows = divided("static_hybrid", week())
    assert all(window.first >= 7 and window.last <= 18 and len(window) >= 9 for window in windows)


def test_dynamic_windows_never_look_at_their_own_day():
    usual = divided("dynamic_hybrid", week())
    other = week()
    other[:, 72:96] = np.random.default_rng(0).integers(0, 5000, (PLACES, 24))  # another Thursday
    changed = divided("dynamic_hybrid", other)
    assert usual[0] == FIRST_DAY == Window(6, 20)
    assert usual[:4] == changed[:4]
    assert usual[4:] != changed[4:]


def test_only_schemes_that_use_a_setting_have_it_in_their_key():
    own = {name: scheme.own_settings for name, scheme in SCHEMES.items() if scheme.own_settings}
    assert set(own) == {"lowrank", "threshold", "static_hybrid", "dynamic_hybrid"}
    assert own["lowrank"] == ("tower_l", "tower_share")
    assert all(set(names) <= set(SchemeSettings.model_fields) for names in own.values())
    for name, names in own.items():
        usual = SchemeSettings(name=name).model_dump()
        for key in names:
            other = usual | {key: usual[key] * (2 if isinstance(usual[key], int) else 0.5)}
            assert plan(name) != SCHEMES[name].plan(Settings(scheme=SchemeSettings(**other)))
