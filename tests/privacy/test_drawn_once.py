"""kill -9 between any two steps, and two runs at once: never a second draw that is not paid for, nothing lost."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ledgers import opened_ledger

from resources.ledger.ledger import Ledger

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
measured = Door(home)(REQUEST, door)
sys.stdout.write(measured.values["weighted"].tobytes().hex())
"""
HERE = str(Path(__file__).parents[1] / "support")


def run(home: Path, step: str = "none", moment: str = "before", door: str = "noisy_series") -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CHILD, HERE, str(home), step, moment, door]
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
def test_a_killed_run_is_charged_again_exactly_if_noise_may_have_been_drawn(tmp_path, step, moment, charges):
    killed = run(tmp_path, step, moment)
    killed.communicate(timeout=600)
    assert killed.returncode == -signal.SIGKILL
    first, second = finished(run(tmp_path)), finished(run(tmp_path))
    np.testing.assert_array_equal(first, second)
    rows = Ledger(tmp_path).rows()
    assert sum(row.charge.door == "noisy_series" for row in rows) == charges
    assert sum(row.charge.door == "noisy_totals" for row in rows) == 1
    assert len(rows) == charges + 1


def test_a_draw_saved_before_the_kill_is_the_draw(tmp_path):
    """Killed after the file is in place, the stored noise is what later runs return."""
    run(tmp_path, "save", "after").communicate(timeout=600)
    stored = list((tmp_path / "town/release/measurements").glob("*.npz"))
    assert len(stored) == 1
    with np.load(stored[0]) as archive:
        np.testing.assert_array_equal(finished(run(tmp_path)), archive["weighted"])


def test_runs_at_the_same_time_get_the_same_draw_for_one_charge_per_door(tmp_path):
    opened_ledger(tmp_path)
    series = [run(tmp_path, door="noisy_series") for _ in range(3)]
    totals = [run(tmp_path, door="noisy_totals") for _ in range(3)]
    for draws in ([finished(p) for p in series], [finished(p) for p in totals]):
        for other in draws[1:]:
            np.testing.assert_array_equal(draws[0], other)
    assert sorted(row.charge.door for row in Ledger(tmp_path).rows()) == ["noisy_series", "noisy_totals"]
