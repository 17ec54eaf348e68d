"""The comparison with peers: what it installs, what it shows, and how it watches; nobody is asked here."""

import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from bench.peers import environments
from bench.peers.compare import OURS, PEERS, PeerAnswer, chance, growth, limit, table
from bench.peers.environments import NotInstalled, interpreter, requirements
from bench.peers.question import PeerQuestion
from bench.peers.watch import Failed, Watched, watch


def answer(who: str, rows: int, seconds: float, mae: float, epsilon: float = 1.0) -> PeerAnswer:
    return PeerAnswer(who, rows, epsilon, Watched(seconds + 2, 2 * seconds, 300.0), seconds, mae, mre=0.5, pc=0.9)


@pytest.mark.parametrize("peer", PEERS.values())
def test_everything_a_peer_needs_is_pinned(peer: str) -> None:
    lines = requirements(peer).read_text(encoding="utf-8").splitlines()
    assert lines
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []


def test_ratios_are_to_ours_at_the_same_rows_and_epsilon() -> None:
    first = [answer(OURS, 100, 3.0, 1.0), answer("them", 100, 6.0, 9.0)]
    second = [answer(OURS, 100, 3.0, 4.5, epsilon=0.3), answer("them", 100, 6.0, 9.0, epsilon=0.3)]
    *_, us, them, _, them_again = table([*first, *second])
    assert us == "| 100 | 1 | ours, lowrank | 5.0 | 3.0 | 1.0 | 6.0 | 1.0 | 300 | 1.00 | 1.0 | 0.50 | 0.900 |"
    assert them == "| 100 | 1 | them | 8.0 | 6.0 | 2.0 | 12.0 | 2.0 | 300 | 9.00 | 9.0 | 0.50 | 0.900 |"
    assert them_again == "| 100 | 0.3 | them | 8.0 | 6.0 | 2.0 | 12.0 | 2.0 | 300 | 9.00 | 2.0 | 0.50 | 0.900 |"


def test_a_peer_is_shown_without_ratios_where_we_have_no_answer() -> None:
    *_, them = table([answer(OURS, 10, 1.0, 1.0), answer("them", 100, 6.0, 9.0)])
    assert them == "| 100 | 1 | them | 8.0 | 6.0 |  | 12.0 |  | 300 | 9.00 |  | 0.50 | 0.900 |"


def test_growth_is_between_the_fastest_answers_of_the_fewest_and_the_most_rows() -> None:
    slower = answer("them", 1_000, 90.0, 1.0, epsilon=0.3)
    them = [answer("them", 100, 2.0, 1.0), slower, answer("them", 1_000, 20.0, 1.0)]
    once = answer("once", 100, 1.0, 1.0)
    assert list(growth([*them, once])) == ["- them, 100 to 1,000 rows: seconds grow with power 1.00"]


def test_chance_alone_is_what_draws_of_known_rates_are_off_by() -> None:
    rates = np.array([0, 1, 9, 400])
    drawn = np.random.default_rng(1).poisson(rates, (200_000, 4))
    assert chance(rates) == pytest.approx(np.abs(drawn - rates).mean(axis=0), rel=0.01)
    assert limit(rates) == "- 410 rows: who knew the rate of every cell would have an MAE of 4.77"


def test_a_peer_that_cannot_be_installed_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(environments, "ENVIRONMENTS", tmp_path)
    monkeypatch.setattr(environments.sys, "executable", "/bin/false")
    with pytest.raises(NotInstalled, match="/bin/false ended with 1"):
        interpreter("opendp")


def test_a_question_is_the_same_after_its_way_through_a_command() -> None:
    asked = PeerQuestion("visits.parquet", cells=168, cap=30, epsilon=0.3, delta=2e-6, rho=0.03)
    assert PeerQuestion.of(str(asked)) == asked


def test_what_a_child_of_a_command_uses_is_counted(tmp_path: Path) -> None:
    child = "held = bytearray(200_000_000); sum(memoryview(held)[:20_000_000])"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}], check=True)"
    assert watch([sys.executable, "-c", parent], os.environ, tmp_path).peak_mb > 200


def test_a_command_that_fails_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="no such thing"):
        watch([sys.executable, "-c", "raise SystemExit('no such thing')"], os.environ, tmp_path)
