"""What changed between two vintages of a week, in numbers that can be checked by hand."""

import polars as pl

from density_assets.publication.vintages import Changed


def counted(counts: list[int], error: float) -> pl.DataFrame:
    return pl.DataFrame({"count": counts, "standard_error": [error] * len(counts)})


def test_changes_are_told_in_visits_and_in_standard_errors():
    changed = Changed.between(counted([10, 20, 30, 40], 2.0), counted([12, 20, 29, 31], 1.5))
    assert (changed.visits, changed.share, changed.mean, changed.errors) == (12, 0.12, 3.0, 1.5)
    assert (changed.beyond, changed.smaller) == (0.25, 0.25)  # the last one left 40 ± 3.92, by more than rounding
    assert "changed by 12 visits in all (12.0% of them), by 3.00 on average, which is 1.50 of" in changed.words
    assert changed.words.endswith("25.0% of them left their 95 % interval. Standard errors are now 25% smaller.")


def test_errors_that_grew_are_told_with_the_reason():
    changed = Changed.between(counted([10, 20], 2.0), counted([10, 20], 4.42))
    assert changed.words.endswith("now 121% larger: the later weeks showed that weeks vary more than was known.")


def test_errors_that_stayed_are_neither_smaller_nor_larger():
    changed = Changed.between(counted([10, 20], 2.0), counted([10, 20], 2.001))
    assert changed.words.endswith("Standard errors are about as large as they were.")


def test_an_empty_city_changes_by_nothing():
    changed = Changed.between(counted([0, 0], 0.0), counted([0, 0], 0.0))
    assert (changed.visits, changed.share, changed.errors, changed.beyond) == (0, 0.0, 0.0, 0.0)
