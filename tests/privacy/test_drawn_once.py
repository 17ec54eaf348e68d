"""kill -9 between any two steps, and two runs at once: never a second draw that is not paid for, nothing lost."""

import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from doors_in_processes import Started, doors
from ledgers import opened_ledger
from shelves import PostgresShelf, SqliteShelf

Run = Callable[..., Started]


@pytest.fixture(scope="module")
def opened_doors(tmp_path_factory):
    with doors(tmp_path_factory.mktemp("doors")) as forking:
        yield forking


@pytest.fixture
def run(opened_doors) -> Run:
    """Opens a door in a process that is killed right before or after the named step."""

    def started(shelf, step="none", moment="before", door="noisy_series", home: Path | None = None) -> Started:
        return opened_doors.open(home or shelf.home, shelf.url, door, step, moment)

    return started


# how many charges of the killed door exist after the run is repeated: one more wherever a draw may have been lost
KILLS = [
    ("remember", "before", 1),
    ("remember", "after", 1),
    ("reserve", "before", 1),
    ("reserve", "after", 1),
    ("begin_draw", "before", 1),
    ("begin_draw", "after", 2),
    ("set_aside", "before", 2),
    ("set_aside", "after", 2),
    ("finish_draw", "before", 2),
    ("finish_draw", "after", 1),
    ("save", "before", 1),
    ("save", "after", 1),
]


@pytest.mark.parametrize(("step", "moment", "charges"), KILLS)
def test_a_killed_run_is_charged_again_exactly_if_noise_may_have_been_drawn(shelf, run, step, moment, charges):
    assert run(shelf, step, moment).status() == -signal.SIGKILL
    first, second = run(shelf).values(), run(shelf).values()
    np.testing.assert_array_equal(first, second)
    rows = shelf.ledger.rows()
    assert sum(row.charge.door == "noisy_series" for row in rows) == charges
    assert sum(row.charge.door == "noisy_totals" for row in rows) == 1
    assert len(rows) == charges + 1


def test_forked_processes_draw_noise_of_their_own(tmp_path, run):
    """Else two draws would be equal here although they are two."""
    one, other = (run(SqliteShelf(tmp_path / name)).values() for name in ("one", "other"))
    assert (one != other).any()


def test_a_draw_saved_before_the_kill_is_the_draw(shelf, run):
    """Killed after the file is in place, the stored noise is what later runs return."""
    assert run(shelf, "save", "after").status() == -signal.SIGKILL
    stored = list((shelf.home / "town/release/measurements").glob("*.npz"))
    assert len(stored) == 1
    with np.load(stored[0]) as archive:
        np.testing.assert_array_equal(run(shelf).values(), archive["weighted"])


def test_runs_at_the_same_time_get_the_same_draw_for_one_charge_per_door(shelf, run):
    opened_ledger(shelf.home, shelf.url)
    series = [run(shelf, door="noisy_series") for _ in range(3)]
    totals = [run(shelf, door="noisy_totals") for _ in range(3)]
    for draws in ([p.values() for p in series], [p.values() for p in totals]):
        for other in draws[1:]:
            np.testing.assert_array_equal(draws[0], other)
    assert sorted(row.charge.door for row in shelf.ledger.rows()) == ["noisy_series", "noisy_totals"]


@pytest.fixture
def machines(postgres, tmp_path):
    """Two machines with one ledger: a home each."""
    return PostgresShelf(postgres.new_ledger(), tmp_path / "one"), tmp_path / "other"


def test_a_machine_finds_what_another_drew(machines, run):
    shelf, other = machines
    first, second = run(shelf).values(), run(shelf, home=other).values()
    np.testing.assert_array_equal(first, second)
    (one,), (two,) = ((home / "town/release/measurements").glob("*.npz") for home in (shelf.home, other))
    assert (one.name, one.read_bytes()) == (two.name, two.read_bytes())
    assert [row.charge.door for row in shelf.ledger.rows()] == ["noisy_totals", "noisy_series"]


def test_machines_at_the_same_time_get_the_same_draw_for_one_charge_per_door(machines, run):
    shelf, other = machines
    opened_ledger(shelf.home, shelf.url)
    first, second = run(shelf), run(shelf, home=other)
    np.testing.assert_array_equal(first.values(), second.values())
    assert sorted(row.charge.door for row in shelf.ledger.rows()) == ["noisy_series", "noisy_totals"]


@pytest.mark.parametrize(("step", "moment", "charges"), [("begin_draw", "after", 2), ("finish_draw", "after", 1)])
def test_a_machine_goes_on_where_another_died(machines, run, step, moment, charges):
    """What was finished is kept with the note of it, though the dead machine's disk is out of reach."""
    shelf, other = machines
    assert run(shelf, step, moment).status() == -signal.SIGKILL
    drawn = run(shelf, home=other).values()
    np.testing.assert_array_equal(drawn, run(shelf).values())
    assert sum(row.charge.door == "noisy_series" for row in shelf.ledger.rows()) == charges
