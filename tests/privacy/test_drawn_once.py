"""kill -9 between any two steps, and two runs at once: never a second draw that is not paid for, nothing lost."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ledgers import opened_ledger
from shelves import PostgresShelf, Shelf

# One materialisation of a door, killed right before or after the named step.
CHILD = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import numpy as np
import resources.measurements as module
from resources.ledger.ledger import Ledger
from door import Door, REQUEST

home, step, moment, door = Path(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5]

def dying(owner, name):
    whole = getattr(owner, name)
    def wrapped(*args, **kwargs):
        if moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = whole(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGKILL)
        return result
    setattr(owner, name, wrapped)

steps = {
    "reserve": (Ledger, "reserve"),
    "begin_draw": (Ledger, "begin_draw"),
    "finish_draw": (Ledger, "finish_draw"),
    "set_aside": (module.Measurements, "_set_aside"),
    "save": (module.Measurements, "_put_in_place"),
    "remember": (module.Measurements, "_remember_inputs"),
}
if step in steps:
    dying(*steps[step])
measured = Door(home, url=sys.argv[6])(REQUEST, door)
sys.stdout.write(measured.values["weighted"].tobytes().hex())
"""
HERE = str(Path(__file__).parents[1] / "support")


def run(
    shelf: Shelf, step: str = "none", moment: str = "before", door: str = "noisy_series", home: Path | None = None
) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CHILD, HERE, str(home or shelf.home), step, moment, door, shelf.url]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def finished(process: subprocess.Popen[str]) -> np.ndarray:
    out, _ = process.communicate(timeout=600)
    assert process.returncode == 0
    return np.frombuffer(bytes.fromhex(out))


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
def test_a_killed_run_is_charged_again_exactly_if_noise_may_have_been_drawn(shelf, step, moment, charges):
    killed = run(shelf, step, moment)
    killed.communicate(timeout=600)
    assert killed.returncode == -signal.SIGKILL
    first, second = finished(run(shelf)), finished(run(shelf))
    np.testing.assert_array_equal(first, second)
    rows = shelf.ledger.rows()
    assert sum(row.charge.door == "noisy_series" for row in rows) == charges
    assert sum(row.charge.door == "noisy_totals" for row in rows) == 1
    assert len(rows) == charges + 1


def test_a_draw_saved_before_the_kill_is_the_draw(shelf):
    """Killed after the file is in place, the stored noise is what later runs return."""
    run(shelf, "save", "after").communicate(timeout=600)
    stored = list((shelf.home / "town/release/measurements").glob("*.npz"))
    assert len(stored) == 1
    with np.load(stored[0]) as archive:
        np.testing.assert_array_equal(finished(run(shelf)), archive["weighted"])


def test_runs_at_the_same_time_get_the_same_draw_for_one_charge_per_door(shelf):
    opened_ledger(shelf.home, shelf.url)
    series = [run(shelf, door="noisy_series") for _ in range(3)]
    totals = [run(shelf, door="noisy_totals") for _ in range(3)]
    for draws in ([finished(p) for p in series], [finished(p) for p in totals]):
        for other in draws[1:]:
            np.testing.assert_array_equal(draws[0], other)
    assert sorted(row.charge.door for row in shelf.ledger.rows()) == ["noisy_series", "noisy_totals"]


@pytest.fixture
def machines(postgres, tmp_path):
    """Two machines with one ledger: a home each."""
    return PostgresShelf(postgres.new_ledger(), tmp_path / "one"), tmp_path / "other"


def test_a_machine_finds_what_another_drew(machines):
    shelf, other = machines
    first, second = finished(run(shelf)), finished(run(shelf, home=other))
    np.testing.assert_array_equal(first, second)
    (one,), (two,) = ((home / "town/release/measurements").glob("*.npz") for home in (shelf.home, other))
    assert (one.name, one.read_bytes()) == (two.name, two.read_bytes())
    assert [row.charge.door for row in shelf.ledger.rows()] == ["noisy_totals", "noisy_series"]


def test_machines_at_the_same_time_get_the_same_draw_for_one_charge_per_door(machines):
    shelf, other = machines
    opened_ledger(shelf.home, shelf.url)
    first, second = run(shelf), run(shelf, home=other)
    np.testing.assert_array_equal(finished(first), finished(second))
    assert sorted(row.charge.door for row in shelf.ledger.rows()) == ["noisy_series", "noisy_totals"]


@pytest.mark.parametrize(("step", "moment", "charges"), [("begin_draw", "after", 2), ("finish_draw", "after", 1)])
def test_a_machine_goes_on_where_another_died(machines, step, moment, charges):
    """What was finished is kept with the note of it, though the dead machine's disk is out of reach."""
    shelf, other = machines
    run(shelf, step, moment).communicate(timeout=600)
    drawn = finished(run(shelf, home=other))
    np.testing.assert_array_equal(drawn, finished(run(shelf)))
    assert sum(row.charge.door == "noisy_series" for row in shelf.ledger.rows()) == charges
