"""Measurements: drawn once, paid first, kept apart by everything a person decides and nothing else."""

import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from door import EVENT, REQUEST, Door
from ledgers import order

from density_assets.errors import BadInput
from density_assets.privacy.charges import BudgetRefused
from density_assets.privacy.estimates import estimated_with_earlier_weeks
from density_assets.privacy.events import Gaussian
from density_assets.privacy.noise import OpenDpNoise, SimulatedNoise
from density_assets.publication.files import draw_file
from resources.draws import used_draw
from resources.ledger.book import LedgerError
from resources.ledger.witnesses import NOTHING
from resources.measurements import NotReleasable


@pytest.fixture
def door(tmp_path):
    return Door(tmp_path)


def test_the_same_release_is_drawn_and_charged_once(door):
    first, again = door(), door()
    np.testing.assert_array_equal(first.values["weighted"], again.values["weighted"])
    assert door.drawn == 1
    assert [row.charge.door for row in door.ledger.rows()] == ["noisy_totals", "noisy_series"]
    assert first.charge == again.charge == door.ledger.rows()[1].hash


def test_the_whole_release_is_reserved_before_its_first_draw_and_each_door_has_one_row(door):
    door(door="noisy_totals")
    assert [row.drawn for row in door.ledger.rows()] == [True, False]
    door(door="noisy_series")
    assert [row.drawn for row in door.ledger.rows()] == [True, True]


def test_changed_records_keep_the_draw_and_leave_an_alert_among_the_confidential(door):
    first = door()
    again = door(inputs="changed", counts=np.ones(50) * 1e6)
    np.testing.assert_array_equal(first.values["weighted"], again.values["weighted"])
    assert door.drawn == 1
    assert len(door.ledger.rows()) == 2
    (alert,) = (door.store.confidential / "alerts").iterdir()
    assert alert.name == "2007-09-10_noisy_series.json"
    assert "have changed since noisy_series was drawn" in json.loads(alert.read_text())["what"]
    assert alert.stat().st_mode & 0o077 == 0


def test_purged_records_are_no_change(door):
    first = door()
    assert door(inputs=None).charge == first.charge
    assert not (door.store.confidential / "alerts").exists()


@pytest.mark.parametrize("changed", [{"revision": 2}, {"week": "2007-09-17"}, {"population": "others"}])
def test_another_week_revision_or_population_is_another_measurement_and_is_paid_for(door, changed):
    first, other = door(), door(replace(REQUEST, **changed))
    assert not np.array_equal(first.values["weighted"], other.values["weighted"])
    assert door.drawn == 2
    assert len(door.ledger.rows()) == 4


@pytest.mark.parametrize(
    "changed",
    [
        {"epsilon": 0.2},
        {"delta": 1e-6},
        {"geography": "xyz"},
        {"parameters": {"weight_l": 2}},
        {"scheme": "efpag"},
    ],
)
def test_a_revision_of_a_week_is_drawn_once_whatever_else_a_person_decides(door, changed):
    """Two requests for one undrawn week, made under different settings: the second finds what the first drew."""
    door()
    with pytest.raises(LedgerError, match="is drawn once"):
        door(replace(REQUEST, **changed))
    assert (door.drawn, len(door.ledger.rows())) == (1, 2)


def test_a_charge_that_was_reserved_before_somebody_else_drew_does_not_draw_too(door):
    other = replace(REQUEST, epsilon=0.29)
    charges = [other.charge(name) for name in other.doors]
    door.ledger.reserve(charges, order(release=other.record()), NOTHING)
    door()
    with pytest.raises(LedgerError, match="is drawn once"):
        door(other)
    assert door.drawn == 1


def test_a_finished_draw_that_is_lost_is_not_made_again(door):
    door()
    for file in door.store.release.glob("measurements/*.npz"):
        file.unlink()
    with pytest.raises(LedgerError, match="restore its draw"):
        door()
    assert (door.drawn, len(door.ledger.rows())) == (1, 2)


def test_a_file_that_claims_to_be_huge_is_damaged(door):
    door()
    (file,) = door.store.release.glob("measurements/*.npz")
    with zipfile.ZipFile(file, "w") as archive:
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000,), }"
        header += b" " * (117 - len(header)) + b"\n"
        archive.writestr("about.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    with pytest.raises(BadInput, match="is damaged"):
        door()


def test_scales_that_move_with_a_library_are_not_part_of_the_key(door):
    first = door()
    finer = replace(REQUEST, doors={name: (Gaussian("series", 17.0000001, 1.0),) for name in REQUEST.doors})
    assert door(finer).charge == first.charge


def test_over_budget_nothing_is_drawn(tmp_path):
    door = Door(tmp_path, budget=0.4)
    door()
    with pytest.raises(BudgetRefused):
        door(replace(REQUEST, revision=2))
    assert door.drawn == 1
    assert len(door.ledger.rows()) == 2


@pytest.mark.parametrize(
    ("request_", "noise", "words"),
    [
        (
            replace(REQUEST, calibration="published"),
            OpenDpNoise(),
            "got scheme.calibration = 'published'",
        ),
        (REQUEST, SimulatedNoise(1), "must draw from OpenDP, got a seeded generator"),
    ],
)
def test_published_scales_and_seeded_noise_never_pass(tmp_path, request_, noise, words):
    door = Door(tmp_path, noise=noise)
    with pytest.raises(NotReleasable, match=words):
        door(request_)
    assert door.drawn == 0
    assert door.ledger.rows() == []


def test_an_error_before_the_draw_costs_nothing_and_one_after_it_is_charged_again(door):
    def refuse():
        raise ValueError("counts must be finite")

    with pytest.raises(ValueError, match="finite"):
        door.measure(REQUEST, "noisy_series", refuse)
    assert door.ledger.rows() == []

    def dies(noise):
        noise.gaussian(np.zeros(3), EVENT)
        raise MemoryError

    with pytest.raises(MemoryError):
        door.measure(REQUEST, "noisy_series", lambda: dies)
    door()
    assert [(row.charge.door, row.drawn) for row in door.ledger.rows()] == [
        ("noisy_totals", False),
        ("noisy_series", True),
        ("noisy_series", True),
    ]


def test_a_lost_ledger_stops_everything(door):
    """A stored draw is believed only if the ledger knows it, and nothing new is drawn beside it."""
    door()
    for file in door.ledger.file.parent.glob("ledger.sqlite*"):
        file.unlink()
    with pytest.raises(BadInput, match="it is another draw"):
        door()
    with pytest.raises(LedgerError, match="restore a newer backup"):
        door(replace(REQUEST, week="2007-09-17"))
    assert door.drawn == 1


def test_measurements_hold_noisy_values_and_public_facts_only(door):
    door(counts=np.full(50, 123456.0))
    (file,) = (door.store.release / "measurements").glob("*.npz")
    with np.load(file) as archive:
        assert set(archive.files) == {"about", "weighted"}
        about = json.loads(str(archive["about"]))
    assert set(about) == {"events", "charge", "format", "key"}


def test_the_cost_is_said_after_it_is_charged_and_before_it_is_drawn_and_only_then(door):
    happened = []

    def draw(noise):
        happened.append(f"drawn under {len(door.ledger.rows())} charges")
        return {"weighted": noise.gaussian(np.zeros(5), EVENT)}

    def measure(request=REQUEST):
        door.measure(request, "noisy_series", lambda: draw, "a", happened.append)

    measure()
    said, drawn = happened
    assert drawn == "drawn under 2 charges"
    assert said.startswith("revision 1 of the week of 2007-09-10 costs epsilon 0.")
    assert "subscribers: 0." in said
    measure()
    assert len(happened) == 2
    measure(replace(REQUEST, revision=2))
    assert happened[2].startswith("revision 2 of the week of 2007-09-10 costs")


# --- draws of earlier weeks, which an estimate uses -----------------------------------------------------------------


def drawn_week(door, release=REQUEST):
    """A week whose doors are drawn, as an estimate of a later one names it."""
    for name in release.doors:
        door(release, name)
    return estimated_with_earlier_weeks(door.ledger.accounts(), release).own


def read_used(door, used, name="noisy_series"):
    return used_draw(door.store.release, used, name, door.ledger.accounts())


def test_a_draw_that_an_estimate_uses_is_read_as_it_was_drawn(tmp_path):
    door = Door(tmp_path)
    used = drawn_week(door)
    np.testing.assert_array_equal(read_used(door, used)["weighted"], door().values["weighted"])


def test_a_used_draw_that_is_lost_or_damaged_is_refused_by_name(tmp_path):
    door = Door(tmp_path)
    used = drawn_week(door)
    file = door.store.release / draw_file(used.doors["noisy_series"].measurement)
    other = door.store.release / draw_file(used.doors["noisy_totals"].measurement)
    named = r"noisy_series of the week of 2007-09-10 \(revision 1\)"
    whole = file.read_bytes()
    file.write_bytes(other.read_bytes())
    with pytest.raises(BadInput, match=f"{named}.*is damaged \\(it is another draw\\)"):
        read_used(door, used)
    file.write_bytes(whole[:100])
    with pytest.raises(BadInput, match=f"{named}.*is damaged"):
        read_used(door, used)
    file.unlink()
    with pytest.raises(BadInput, match=f"{named}.*is lost: restore it"):
        read_used(door, used)


def test_a_used_draw_that_the_ledger_does_not_know_is_refused_by_name(tmp_path):
    door = Door(tmp_path)
    used = drawn_week(door)
    paid = used.doors["noisy_series"]
    for changed in ({"charge": "0" * 64}, {"digest": "0" * 64}):
        forged = replace(used, doors={"noisy_series": replace(paid, **changed)})
        with pytest.raises(BadInput, match=r"the ledger knows no such draw of noisy_series of the week of 2007-09-10"):
            read_used(door, forged)
