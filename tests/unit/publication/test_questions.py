"""Questions to a release: sums and intervals from published files alone."""

from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array

from density_assets.calendar import HOURS
from density_assets.errors import BadInput
from density_assets.estimation.weeks.summary import Kind, Summary
from density_assets.geography.regions import regions_named
from density_assets.publication.people import Factor, PeopleFactors
from density_assets.publication.public_inputs import PublicInputs, written
from density_assets.publication.questions import Released, answer, newest_counts, parse_question, read_released
from density_assets.publication.sum_errors import WeekCounts, errors_table

CELLS = pl.Series(["A", "B 2", "C"])
COUNTS = np.arange(3 * HOURS).reshape(3, HOURS)
NO_SUMS = WeekCounts(COUNTS.astype(float), np.ones(COUNTS.shape), None, np.ones(HOURS, bool))
SHARED = np.array([3.0, 4.0, 0.0])  # one error that A and B share in every hour


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    """A release of three cells without errors of sums."""
    table = pl.DataFrame(
        {
            "cell_id": np.repeat(CELLS.to_numpy(), HOURS),
            "hour": np.tile(np.arange(HOURS), 3),
            "count": COUNTS.ravel(),
            "standard_error": np.repeat(np.hypot(SHARED, 1.0), HOURS),
        }
    )
    file = tmp_path / "density_2007-09-10.parquet"
    table.sample(fraction=1.0, shuffle=True, seed=1).write_parquet(file)
    return file


@pytest.fixture
def with_sums(counts: Path) -> Path:
    """The same with the file of errors of sums beside it."""
    kind = Kind("places", csr_array(SHARED[:, None]), np.ones((HOURS, 1)))
    summary = Summary((kind,), np.full((HOURS, 1), 1e-12))
    errors_table(summary, CELLS).write_parquet(counts.with_name("errors_of_sums_2007-09-10.parquet"))
    return counts


def told(file: Path, question: str) -> tuple[int, float | None]:
    """Visits and error of a question."""
    released = read_released(file)
    found = answer(released, parse_question(question, released))
    return found.visits, found.error


def test_a_sum_is_that_of_its_cells_and_hours(counts: Path) -> None:
    assert told(counts, "cells=A,C hours=0,5-6")[0] == COUNTS[np.ix_([0, 2], [0, 5, 6])].sum()
    assert told(counts, "cells=B 2 hours=sat:18-23")[0] == COUNTS[1, 138:144].sum()
    assert told(counts, "hours=weekdays:7")[0] == COUNTS[:, [7, 31, 55, 79, 103]].sum()
    assert told(counts, "cells=all")[0] == COUNTS.sum()
    assert told(counts, "hours=weekend cells=A,A")[0] == COUNTS[0, 120:].sum()


def test_errors_that_are_shared_add_up_and_others_in_squares(with_sums: Path) -> None:
    assert told(with_sums, "cells=A hours=3")[1] == pytest.approx(np.hypot(3, 1))
    assert told(with_sums, "cells=A,B 2 hours=3,4")[1] == pytest.approx(np.hypot(14, 2))
    assert told(with_sums, "cells=C hours=0-3")[1] == pytest.approx(2)


def test_without_errors_of_sums_only_a_single_count_has_an_interval(counts: Path) -> None:
    assert told(counts, "cells=A hours=3")[1] == pytest.approx(np.hypot(3, 1))
    assert told(counts, "cells=A hours=3,4")[1] is None


def test_an_interval_holds_whole_visits_and_is_never_negative(with_sums: Path) -> None:
    released = read_released(with_sums)
    assert answer(released, parse_question("cells=A hours=1", released)).interval == (0, 8)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("", "must name cells and hours"),
        ("what is where", "must name cells and hours"),
        ("cells=A cells=B 2", "each once"),
        ("cells=A region=A", "each once"),
        ("region=A", "published without"),
        ("cells=D", "cells of the release, got 'D'"),
        ("cells=", "cells of the release"),
        ("hours=168", "known hours, got '168'"),
        ("hours=9-8", "known hours, got '9-8'"),
        ("hours=sat:24", "known hours, got 'sat:24'"),
        ("hours=-1", "known hours"),
        ("hours=someday", "known hours"),
        ("hours=5-", "known hours, got '5-'"),
        ("hours=sat:", "known hours, got 'sat:'"),
        ("hours=sat:18-", "known hours, got 'sat:18-'"),
    ],
)
def test_unknown_cells_and_hours_are_named(question: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        parse_question(question, Released(CELLS, NO_SUMS, PublicInputs()))


@pytest.fixture
def with_inputs(with_sums: Path) -> Path:
    """The same with regions and factors beside it: two people behind each visit, in C four at most."""
    share = np.array([0.5, 0.5, 0.5])
    factors = PeopleFactors(Factor(share, share / [1, 1, 2], share), *(ones(size) for size in (3, HOURS)))
    inputs = PublicInputs(regions_named(["N", "S", "S"], ["North", "the South", "the South"]), factors)
    with_sums.with_name("public_inputs_2007-09-10.json").write_bytes(written(inputs, CELLS.to_list()))
    table = pl.read_parquet(with_sums).with_columns(people=pl.col("count") * 2)
    table.write_parquet(with_sums)
    return with_sums


def ones(size: int) -> Factor:
    return Factor(*(np.ones(size) for _ in range(3)))


def test_a_region_is_its_cells(with_inputs: Path) -> None:
    for question in ("region=S hours=3", "region=the South hours=3", "region=S,S hours=3"):
        assert told(with_inputs, question) == told(with_inputs, "cells=B 2,C hours=3")
    assert told(with_inputs, "region=S, North")[0] == COUNTS.sum()
    released = read_released(with_inputs)
    with pytest.raises(BadInput, match="got 'Soth'; did you mean 'North'"):
        parse_question("region=Soth", released)


def test_people_are_those_of_the_file_with_the_noise_and_the_bounds(with_inputs: Path) -> None:
    released = read_released(with_inputs)
    found = answer(released, parse_question("cells=C hours=10", released))
    count = int(COUNTS[2, 10])
    assert found.people == (2 * count, np.floor(2 * (count - 1.96)), np.ceil(4 * (count + 1.96)))
    number, low, high = answer(released, parse_question("cells=A,B 2 hours=10,11", released)).people
    visits = COUNTS[:2, 10:12].sum()
    half = 1.96 * np.hypot(2 * 7, 2)  # two hours of what two cells share, and of what each has by itself
    assert (number, low, high) == (2 * visits, max(0, np.floor(2 * (visits - half))), np.ceil(2 * (visits + half)))


def test_without_factors_nobody_is_told_of_people(with_sums: Path) -> None:
    released = read_released(with_sums)
    assert answer(released, parse_question("cells=C hours=10", released)).people is None


def test_an_hour_that_clocks_leave_out_is_not_counted(counts: Path, tmp_path: Path) -> None:
    stamps = pl.when(pl.col("hour") == 146).then(None).otherwise(pl.lit("a time")).alias("timestamp")
    spring = tmp_path / "density_2007-03-19.parquet"
    pl.read_parquet(counts).with_columns(stamps).write_parquet(spring)
    assert told(spring, "cells=A hours=145-147")[0] == COUNTS[0, [145, 147]].sum()
    with pytest.raises(BadInput, match="that clocks leave out"):
        told(spring, "cells=A hours=sun:2")


def test_a_copy_under_another_name_has_no_interval_of_sums(with_sums: Path, tmp_path: Path) -> None:
    copy = tmp_path / "counts.parquet"
    copy.write_bytes(with_sums.read_bytes())
    assert told(copy, "cells=A hours=3,4")[1] is None


def test_spaces_after_commas_are_forgiven(counts: Path) -> None:
    assert told(counts, "cells=A, B 2 hours=1, 2")[0] == COUNTS[np.ix_([0, 1], [1, 2])].sum()


def test_the_newest_estimate_of_a_week_is_asked(tmp_path: Path) -> None:
    names = (
        "density_2007-09-10.parquet",
        "density_final_2007-09-10_to_2007-09-24.parquet",
        "density_final_2007-09-10_r2_to_2007-09-17.parquet",
        "density_2007-09-17.parquet",
        "density_2007-09-24_x.parquet",
    )
    for name in names:
        (tmp_path / name).touch()
    assert newest_counts(tmp_path).name == "density_2007-09-17.parquet"
    assert newest_counts(tmp_path, date(2007, 9, 10)).name == "density_final_2007-09-10_r2_to_2007-09-17.parquet"
    with pytest.raises(BadInput, match="released week of 2007-09-24"):
        newest_counts(tmp_path, date(2007, 9, 24))


def test_a_file_that_is_no_release_is_refused(counts: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="could not be read"):
        read_released(tmp_path / "density_2001-01-01.parquet")
    pl.read_parquet(counts).head(100).write_parquet(tmp_path / "cut.parquet")
    with pytest.raises(BadInput, match="168 hours of every cell"):
        read_released(tmp_path / "cut.parquet")
    doubled = pl.when(pl.col("hour") == 3).then(4).otherwise(pl.col("hour")).alias("hour")
    pl.read_parquet(counts).with_columns(doubled).write_parquet(tmp_path / "doubled.parquet")
    with pytest.raises(BadInput, match="every hour of every cell once"):
        read_released(tmp_path / "doubled.parquet")
    pl.read_parquet(counts).drop("count").write_parquet(tmp_path / "other.parquet")
    with pytest.raises(BadInput, match="without count"):
        read_released(tmp_path / "other.parquet")
