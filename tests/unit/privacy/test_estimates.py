"""Which draws an estimate is made of follows from the ledger alone; its key follows from them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from door import REQUEST, Door

from density_assets.errors import BadInput
from density_assets.privacy.estimates import (
    DoorDraw,
    DrawUsed,
    Estimated,
    estimated_with_all_weeks,
    estimated_with_earlier_weeks,
)
from density_assets.privacy.release import Release

WEEKS = ("2007-09-10", "2007-09-17", "2007-09-24")
BASE = replace(REQUEST, parameters={"weight_l": 20, "tower_l": 400})


def week(number: int, **changed) -> Release:
    return replace(BASE, week=WEEKS[number], **changed)


@pytest.fixture
def door(tmp_path: Path) -> Door:
    return Door(tmp_path, budget=9.0)


def draw(door: Door, *releases: Release) -> None:
    for release in releases:
        for name in release.doors:
            door(release, name)


def made_of(door: Door, release: Release) -> Estimated:
    return estimated_with_earlier_weeks(door.ledger.accounts(), release)


def weeks_of(estimated: Estimated) -> list[tuple[str, int]]:
    return [(draw.week, draw.revision) for draw in estimated.used]


def reasons_of(estimated: Estimated) -> dict[str, str]:
    return {week.week: week.reason for week in estimated.left_out}


def test_a_week_uses_all_earlier_weeks_and_no_later_one(door):
    draw(door, week(0), week(1), week(2))
    assert [weeks_of(made_of(door, week(number))) for number in range(3)] == [
        [],
        [(WEEKS[0], 1)],
        [(WEEKS[0], 1), (WEEKS[1], 1)],
    ]
    assert made_of(door, week(2)).own.week == WEEKS[2]


def test_a_missing_week_is_a_gap_even_if_it_is_drawn_later(door):
    draw(door, week(0), week(2))
    before = made_of(door, week(2))
    draw(door, week(1))
    assert weeks_of(before) == [(WEEKS[0], 1)]
    assert made_of(door, week(2)) == before


def test_a_revision_enters_weeks_that_are_drawn_after_it_and_no_others(door):
    draw(door, week(0), week(1), week(0, revision=2), week(2))
    assert weeks_of(made_of(door, week(1))) == [(WEEKS[0], 1)]
    assert weeks_of(made_of(door, week(2))) == [(WEEKS[0], 2), (WEEKS[1], 1)]


def test_a_revision_of_which_one_door_is_not_drawn_yet_does_not_enter(door):
    draw(door, week(0))
    door(week(0, revision=2), "noisy_totals")
    draw(door, week(1))
    assert weeks_of(made_of(door, week(1))) == [(WEEKS[0], 1)]
    door(week(0, revision=2), "noisy_series")  # finished after the later week
    assert weeks_of(made_of(door, week(1))) == [(WEEKS[0], 1)]


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"scheme": "gpa"}, "it was drawn by gpa"),
        ({"geography": "def"}, "its cells or towers were others"),
        ({"parameters": {"weight_l": 10, "tower_l": 400}}, "weight_l was 10"),
        ({"parameters": {"weight_l": 10, "tower_l": 100}}, "weight_l was 10, tower_l was 100"),
        ({"parameters": {"weight_l": 20, "tower_l": 400, "visits_clamp": 8}}, "visits_clamp was 8"),
        ({"parameters": {"weight_l": 20, "tower_l": 400, "timezone": "Asia/Tokyo"}}, "timezone was Asia/Tokyo"),
    ],
)
def test_a_week_that_does_not_fit_is_left_out_and_named(door, other, reason):
    draw(door, week(0, **other), week(1), week(2))
    estimated = made_of(door, week(2))
    assert weeks_of(estimated) == [(WEEKS[1], 1)]
    assert reasons_of(estimated) == {WEEKS[0]: reason}


@pytest.mark.parametrize(
    "other", [{"epsilon": 0.1}, {"delta": 1e-7}, {"parameters": {**BASE.parameters, "split": 0.1}}]
)
def test_a_week_of_another_promise_is_used(door, other):
    draw(door, week(0, **other), week(1))
    assert weeks_of(made_of(door, week(1))) == [(WEEKS[0], 1)]


def test_other_cities_and_populations_are_neither_used_nor_named(door):
    village = week(0, city="village")
    for name in village.doors:
        door(village, name)
    draw(door, week(1))
    assert (made_of(door, week(1)).used, made_of(door, week(1)).left_out) == ((), ())


def test_a_week_that_is_not_drawn_has_no_estimate(door):
    draw(door, week(0))
    with pytest.raises(BadInput, match=f"the week of {WEEKS[1]} must be drawn before it is estimated"):
        made_of(door, week(1))


def test_the_key_follows_from_draws_and_what_shapes_the_estimate(door):
    draw(door, week(0), week(1))
    estimated, release = made_of(door, week(1)), week(1)
    key = estimated.key(release)
    assert replace(estimated, used=()).key(release) != key
    assert estimated.key(replace(release, geography="def")) != key
    assert estimated.key(replace(release, parameters={"weight_l": 10, "tower_l": 400})) != key
    assert estimated.key(replace(release, parameters={**release.parameters, "split": 0.5}, epsilon=0.1)) == key
    assert release.key("noisy_series") == week(1).key("noisy_series")


def test_the_key_of_an_estimate_is_pinned():
    """Whoever has a statement makes it again."""
    own, used = (
        DrawUsed(week, 1, {"noisy_series": DoorDraw("c", "m", digest * 64)})
        for week, digest in ((WEEKS[1], "d"), (WEEKS[0], "e"))
    )
    estimated = Estimated("provisional", own, (used,))
    assert estimated.digests == ("e" * 64, "d" * 64)
    assert estimated.key(BASE) == "d5f8cb731a6654d675938f37859d0d247ccb0f8a711f0112b3953fa44d5bdfcb"


def test_every_draw_that_enters_has_its_charge(door):
    draw(door, week(0), week(1))
    rows = made_of(door, week(1)).rows(door.ledger.accounts())
    assert [row.charge.week for row in rows] == [WEEKS[0], WEEKS[0], WEEKS[1], WEEKS[1]]
    assert np.unique([row.hash for row in rows]).size == 4


# --- final estimates --------------------------------------------------------------------------------------------------


def final_of(door: Door, release: Release) -> Estimated:
    return estimated_with_all_weeks(door.ledger.accounts(), release)


def test_a_final_estimate_uses_the_newest_revision_of_every_other_week_that_is_drawn_by_now(door):
    draw(door, week(0), week(1), week(2), week(0, revision=2), week(2, revision=2))
    final = final_of(door, week(1))
    assert (final.vintage, weeks_of(final)) == ("final", [(WEEKS[0], 2), (WEEKS[2], 2)])
    assert [[draw.week for draw in side] for side in (final.earlier, final.later)] == [[WEEKS[0]], [WEEKS[2]]]
    assert final.charges == {row.hash for row in final.rows(door.ledger.accounts())}
    assert final.key(week(1)) != made_of(door, week(1)).key(week(1))


def test_a_final_estimate_of_a_revision_does_not_use_the_other_revisions_of_its_week(door):
    draw(door, week(0), week(0, revision=2), week(1))
    final = final_of(door, week(0, revision=2))
    assert (final.own.revision, weeks_of(final)) == (2, [(WEEKS[1], 1)])


def test_a_final_estimate_needs_a_later_week(door):
    draw(door, week(0), week(1))
    with pytest.raises(BadInput, match=f"of the week of {WEEKS[1]} must use a later week, but none is drawn"):
        final_of(door, week(1))
    draw(door, week(2, geography="def"))
    with pytest.raises(BadInput, match=f"{WEEKS[2]} cannot be used: its cells or towers were others"):
        final_of(door, week(1))
    assert reasons_of(final_of(door, week(0))) == {WEEKS[2]: "its cells or towers were others"}
