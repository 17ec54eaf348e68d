"""What the verifier for outsiders finds of an estimate that names draws of earlier weeks; all is signed again."""

from collections.abc import Callable
from typing import Any

import pytest
from forging import OPERATOR, asked, wrong
from signed_release import EVENTS, Release, canonical, make_release, open_book, sha256

WEEKS = ("2007-09-10", "2007-09-17", "2007-09-24")
DOORS = sorted(EVENTS)
TOGETHER = 0.5477  # a little above what the Gaussians of three weeks cost together


@pytest.fixture
def release(tmp_path) -> Release:
    """The third of three weeks, which is estimated with the two before it."""
    book = open_book(OPERATOR)
    earlier = [make_release(tmp_path / week, OPERATOR, book, week) for week in WEEKS[:2]]
    made = make_release(tmp_path / "release", OPERATOR, book, WEEKS[2])
    made.statement |= {"geography": "abc", "parameters": {"weight_l": 20, "tower_l": 400, "split": None}}
    made.statement["estimate"] = {
        "estimator": 2,
        "vintage": "provisional",
        "alone": None,
        "weeks": [{"week": one.week, "revision": 1, "draws": draws(one)} for one in earlier],
        "left_out": [{"week": "2007-09-03", "revision": 1, "reason": "it was drawn by gpa"}],
        "own": {"epsilon": 0.2991, "delta": 2e-6, "accountant": "analytic Gaussian"},
        "together": {"epsilon": TOGETHER, "delta": 2e-6, "accountant": "exact Gaussian"},
    }
    return rekey(made).seal()


def draws(release: Release) -> dict[str, Any]:
    return {
        charge["door"]: {"charge": charge["hash"], "measurement": charge["measurement"], "draw": charge["draw"]}
        for charge in release.statement["charges"]
    }


def rekey(release: Release) -> Release:
    """The key as it is documented: everything that decides the estimate, in the one canonical way."""
    said, estimate = release.statement, release.statement["estimate"]
    own = {charge["door"]: charge["draw"] for charge in said["charges"]}
    digests = [week["draws"][door]["draw"] for week in estimate["weeks"] for door in sorted(week["draws"])]
    decided = {
        "estimator": estimate["estimator"],
        "draws": [*digests, *(own[door] for door in DOORS)],
        **{name: said[name] for name in ("scheme", "geography")},
        "format": 1,
        "parameters": {"weight_l": 20, "tower_l": 400},
    }
    estimate["key"] = sha256(canonical(decided).encode())
    return release


def test_an_estimate_whose_draws_are_paid_for_is_verified(release):
    result = asked(release)
    assert (wrong(result), result.status) == ([], 0)
    texts = [text for _, text in result.findings]
    for week in WEEKS[:2]:
        assert f"noisy_series of the week of {week}, which the estimate uses, was paid for and drawn" in texts
    assert "the key of the estimate is that of its draws" in texts
    assert any(text.startswith("all draws of the estimate, of 3 weeks, cost epsilon 0.5") for text in texts)


def test_an_estimate_of_one_week_is_of_one_week(release):
    release.statement["estimate"]["weeks"] = []
    texts = [text for _, text in asked(rekey(release).seal()).findings]
    assert any(text.startswith("all draws of the estimate, of 1 week, cost epsilon 0.") for text in texts)


def week_of(release: Release, number: int = 0) -> dict[str, Any]:
    return release.statement["estimate"]["weeks"][number]


def draw_of(release: Release) -> dict[str, Any]:
    return week_of(release)["draws"]["noisy_series"]


FORGED: dict[str, tuple[Callable[[Release], Any], str]] = {
    "a changed digest": (lambda it: draw_of(it).update(draw="0" * 64), "was paid for and drawn"),
    "a draw that nobody paid for": (lambda it: draw_of(it).update(charge="0" * 64), "was paid for and drawn"),
    "another measurement": (lambda it: draw_of(it).update(measurement="0" * 64), "was paid for and drawn"),
    "another week": (lambda it: week_of(it).update(week="2007-09-03"), "was paid for and drawn"),
    "another revision": (lambda it: week_of(it).update(revision=2), "was paid for and drawn"),
    "the draws of another week": (lambda it: week_of(it).update(draws=week_of(it, 1)["draws"]), "was paid for"),
    "a week twice": (lambda it: it.statement["estimate"]["weeks"].insert(0, week_of(it)), "earlier weeks, each once"),
    "a later week": (lambda it: week_of(it, 1).update(week="2007-10-01"), "earlier weeks, each once"),
    "less cost": (lambda it: it.statement["estimate"]["together"].update(epsilon=0.3), "cost epsilon 0.5"),
    "another delta": (lambda it: it.statement["estimate"]["together"].update(delta=1e-3), "cost epsilon"),
    "no weeks": (lambda it: it.statement["estimate"].pop("weeks"), "must have a field 'weeks'"),
    "draws as a list": (lambda it: week_of(it).update(draws=[]), "must be a record"),
    "an estimate as text": (lambda it: it.statement.update(estimate="yes"), "must be a record"),
    "no reason": (lambda it: it.statement["estimate"]["left_out"][0].pop("reason"), "must have a field 'reason'"),
}


@pytest.mark.parametrize("what", FORGED)
def test_what_is_wrong_with_an_estimate_is_found_though_the_operator_signed_it(release, what):
    change, words = FORGED[what]
    change(release)
    if isinstance(release.statement["estimate"], dict) and "weeks" in release.statement["estimate"]:
        rekey(release)
    result = asked(release.seal())
    assert result.status == 1
    assert any(words in text for text in wrong(result)), wrong(result)


@pytest.mark.parametrize("what", ["a week less", "another estimator", "other parameters"])
def test_the_key_is_that_of_what_is_stated(release, what):
    if what == "a week less":
        del release.statement["estimate"]["weeks"][0]
    elif what == "another estimator":
        release.statement["estimate"]["estimator"] = 3
    else:
        release.statement["parameters"]["weight_l"] = 10
    assert wrong(asked(release.seal())) == ["the key of the estimate is that of its draws"]


def test_a_statement_without_an_estimate_is_verified_as_before(release):
    del release.statement["estimate"]
    assert asked(release.seal()).status == 0


def test_only_a_manifest_of_a_final_estimate_makes_later_weeks_right(release):
    """Else a week could be published again with other numbers, under its first name."""
    release.statement["estimate"]["vintage"] = "final"
    assert "the estimate is provisional, as its manifest says" in wrong(asked(rekey(release).seal()))
