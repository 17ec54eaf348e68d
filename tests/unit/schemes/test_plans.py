"""Plans of all schemes: which queries they pay for, by which bound, and how they share the budget."""

import pytest

from density_assets.errors import BadInput
from density_assets.privacy.events import Gaussian, Laplace, LaplaceVector, Selection
from density_assets.schemes import SCHEMES
from density_assets.schemes.scheme import SERIES, TOTALS
from density_assets.settings import SchemeSettings, Settings

L1, L2, WEIGHTED = 30 * 1.000001, 30**0.5 * 1.000001, 20**0.5 * 65_536
TOTALS_OF = {kind: [(kind, 1), (kind, 732), (kind, L1)] for kind in (Laplace, Gaussian)}


def plan(name, **changed):
    return SCHEMES[name].plan(Settings(scheme=SchemeSettings(name=name, **changed)))


def rho(event) -> float:
    """What an event costs in zCDP."""
    if isinstance(event, Gaussian):
        return (event.sensitivity / event.sigma) ** 2 / 2
    if isinstance(event, Laplace | LaplaceVector):
        return (event.sensitivity / event.scale) ** 2 / 2
    return event.epsilon**2 / 8 if isinstance(event, Selection) else event.rho


def shares(name, **changed) -> list[float]:
    costs = [rho(event) for door in (TOTALS, SERIES) for event in plan(name, **changed).get(door, ())]
    return [cost / sum(costs) for cost in costs]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("lpa", {SERIES: [(Laplace, L1)]}),
        ("gpa", {SERIES: [(Gaussian, L2)]}),
        ("fpa", {TOTALS: TOTALS_OF[Laplace], SERIES: [(LaplaceVector, L2)]}),
        ("efpa", {TOTALS: TOTALS_OF[Laplace], SERIES: [(Selection, L2), (LaplaceVector, L2)]}),
        ("efpag", {TOTALS: TOTALS_OF[Gaussian], SERIES: [(Selection, L2), (Gaussian, L2)]}),
        ("efpag_iris", {TOTALS: [(Gaussian, L1)], SERIES: [(Selection, L2), (Gaussian, L2)]}),
        ("lowrank", {TOTALS: [(Gaussian, 732), (Gaussian, 20 * 65_536)], SERIES: [(Gaussian, WEIGHTED)]}),
        ("direct", {SERIES: [(LaplaceVector, L2)]}),
    ],
)
def test_queries_are_paid_for_by_the_bounds_of_the_documentation(name, expected):
    found = {door: [(type(event), event.sensitivity) for event in events] for door, events in plan(name).items()}
    assert found.keys() == expected.keys()
    for door, events in expected.items():
        assert [kind for kind, _ in found[door]] == [kind for kind, _ in events]
        assert [bound for _, bound in found[door]] == pytest.approx([bound for _, bound in events], rel=1e-12)


def test_the_budget_is_shared_as_documented():
    assert shares("lowrank") == pytest.approx([0.03, 0.05, 0.92])
    assert shares("lowrank", split=0.2, tower_share=0.1) == pytest.approx([0.2, 0.1, 0.7])
    assert shares("efpag") == pytest.approx([0.08, 0.01, 0.01, 0.15 * 0.9, 0.85 * 0.9])
    assert shares("efpa", split=0.5) == pytest.approx([0.4, 0.05, 0.05, 0.15 * 0.5, 0.85 * 0.5])
    assert shares("efpag", improved=False) == shares("efpag_iris") == pytest.approx([0.1, 0.15 * 0.9, 0.85 * 0.9])
    assert shares("fpa", improved=False) == pytest.approx([0.1, 0.9])
    assert shares("static_hybrid") == pytest.approx([0.05, 0.75 * 0.95, 0.25 * 0.95])
    assert shares("dynamic_hybrid", selecting_share=0.1, moving_share=0.5) == pytest.approx([0.1, 0.45, 0.45])


def test_totals_that_leave_nothing_to_the_matrix_are_refused():
    with pytest.raises(BadInput, match=r"leave -0.05 of 1: lower them"):
        plan("lowrank", split=0.55, tower_share=0.5)


def test_basic_totals_may_all_fall_in_one_place():
    (totals,) = plan("efpag", improved=False)[TOTALS]
    assert totals.sensitivity == pytest.approx(L1, rel=1e-12)
