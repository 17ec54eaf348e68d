"""The bounds as numbers, by hand; that they hold is shown on neighbouring weeks in `test_sensitivity.py`."""

import pytest

from density_assets.privacy import sensitivity


def test_bounds_of_the_defaults():
    """Of 30 visits per user, weight_l 20, tower_l 400, clamp 732; a millionth more where rounding precedes noise."""
    assert sensitivity.truncated_l1(30) == pytest.approx(30.00003, rel=1e-12)
    assert sensitivity.truncated_l2(30) == pytest.approx(5.477225575 * 1.000001, rel=1e-9)
    assert sensitivity.weighted_l2(20) == pytest.approx(4.472135955 * 65_536, rel=1e-9)
    assert sensitivity.tower_totals_l2(400) == 20 * 65_536
    assert sensitivity.one_visit() == 1
    assert sensitivity.clamped_total(732) == 732


def test_a_weight_of_one_is_a_power_of_two():
    assert sensitivity.WEIGHT_UNIT == 65_536
