"""The SQL on small weeks: against naive references, whatever the buckets, threads and row order."""

import itertools
import math
from collections import Counter
from datetime import date
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from elsewhere import week_file
from scipy.stats import chisquare

from density_assets.settings import EngineSettings
from resources.sql.duckdb_engine import DuckdbEngine, buckets
from resources.sql.engine import KEYS
from resources.tables import week_writer
from resources.tables.store import Store

WEEK = date(2007, 9, 10)
PARAMETERS = {
    "visits_per_user": 5,
    "visits_clamp": 20,
    "weight_l": 3,
    "tower_l": 16,
    "site_salt": 12_345,
    "hour_salt": 678_901,
    "visit_salt": 2_345_678,
}
TOWERS = pl.DataFrame({"tower_id": ["A", "B", "C", "D"], "site": [0, 1, 2, 3]})


def week(store: Store, rows: list[tuple[int, int, str]], towers: pl.DataFrame = TOWERS) -> None:
    """Store visits given as (user, hour, tower)."""
    store.write_public("towers", towers)
    schema = {"user_id": pl.Int64, "hour": pl.Int64, "tower_id": towers["tower_id"].dtype}
    frame = pl.DataFrame(sorted(set(rows)), schema=schema, orient="row")
    store.write_week("visits", WEEK, frame.with_columns(user_key=pl.col("user_id")))


def run(store: Store, name: str, **changed: int | str) -> pl.DataFrame:
    asked = {name: changed.pop(name) for name in ("threads", "rows_per_bucket", "memory") if name in changed}
    settings = EngineSettings(**{"threads": 2, "rows_per_bucket": 10**6, **asked})
    DuckdbEngine(store, settings).materialise(name, WEEK, PARAMETERS | changed, lambda _: None)
    return store.read_week(name, WEEK)


def crowd(users: int, seed: int = 1) -> list[tuple[int, int, str]]:
    """Users with 1 to 40 visits, often at several towers in one hour."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(1, users + 1), rng.integers(1, 41, users))
    hour, tower = rng.integers(0, 12, len(user)), rng.choice(list("ABCD"), len(user))
    return list(zip(user.tolist(), hour.tolist(), tower.tolist(), strict=True))


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path, "town")


def test_truncation_keeps_one_visit_per_hour_and_at_most_l_hours(store):
    week(store, crowd(200))
    visits, kept = store.read_week("visits", WEEK), run(store, "truncated_visits")
    assert kept.join(visits, on=["user_id", "hour", "tower_id"], how="anti").is_empty()
    assert kept.group_by("user_id", "hour").len()["len"].max() == 1
    hours = visits.group_by("user_id").agg(pl.col("hour").n_unique())
    expected = hours.with_columns(kept=pl.min_horizontal("hour", 5)).select("user_id", "kept").sort("user_id")
    assert (
        kept.group_by("user_id")
        .agg(kept=pl.len())
        .sort("user_id")
        .select("user_id", "kept")
        .equals(expected.cast({"kept": pl.UInt32}))
    )


def test_buckets_and_threads_do_not_change_a_byte(tmp_path, monkeypatch):
    monkeypatch.setattr(week_writer, "ROW_GROUP", 500)
    written = []
    by_sql = {"memory": "300MB"}  # too little to use the order of visits
    ways = [{"threads": 1}, {"threads": 2}, by_sql, {**by_sql, "threads": 1}, {**by_sql, "rows_per_bucket": 1_000}]
    for i, changed in enumerate(ways):
        store = Store(tmp_path, f"town{i}")
        week(store, crowd(300))
        for name in ("truncated_visits", "tower_series", "tower_totals", "one_visit_histogram", "visit_total"):
            run(store, name, **changed)
            written.append((name, week_file(store, name, WEEK).read_bytes()))
    assert len(buckets(store.current_week("visits", WEEK), 1_000)) > 3
    assert len({content for name, content in written}) == 5


def test_buckets_hold_whole_users_and_together_all_keys(store, monkeypatch):
    monkeypatch.setattr(week_writer, "ROW_GROUP", 100)
    week(store, crowd(200))
    ranges = buckets(store.current_week("visits", WEEK), 1_000)
    assert ranges[0][0] == -1
    assert ranges[-1][1] == KEYS
    assert all(upto == above for (_, upto), (above, _) in pairwise(ranges))


@pytest.mark.parametrize("spread", [1, 700_000])
def test_buckets_are_smaller_than_a_row_group_where_they_must_be(store, spread):
    """Whether keys are the numbers of users or spread over all there are."""
    people = [(user * spread, hour, "A") for user in range(3_000) for hour in range(10)]
    week(store, people)
    ranges = buckets(store.current_week("visits", WEEK), 2_000)
    keys = store.read_week("visits", WEEK)["user_key"]
    sizes = [keys.is_between(above, upto, closed="right").sum() for above, upto in ranges]
    assert len(sizes) == 15
    assert sum(sizes) == 30_000
    assert max(sizes) <= 2_020


@pytest.mark.parametrize(("memory", "most"), [("800MB", 3_000_000), ("4GB", 3_000_000), ("32MB", 100_000)])
def test_buckets_fit_the_memory(store, memory, most):
    engine = DuckdbEngine(store, EngineSettings(memory=memory))
    assert 0.9 * most <= engine.rows_per_bucket <= most


PRIME = 2_147_483_579


def keyed(x: int) -> int:
    """The number that orders draws: the ninth power, as two cubings, modulo the prime."""
    return pow(x % PRIME, 9, PRIME)


def at_visit(user: int, hour: int, tower: str, salt: str) -> int:
    site = "ABCD".index(tower)
    return keyed(user * 1_226_874_159 + (site * 168 + hour) * 1_597_334_677 + PARAMETERS[salt])


def at_hour(user: int, hour: int) -> int:
    return keyed(user * 1_226_874_159 + hour * 1_597_334_677 + PARAMETERS["hour_salt"])


def test_draws_are_the_order_of_keyed_numbers_of_the_users_own_rows(store):
    """A second implementation: whoever changes the order draws other samples of weeks that are released already."""
    rows = [(user * 7_158_278, hour, tower) for user, hour, tower in crowd(300)]  # keys as large as they get
    week(store, rows)
    kept, drawn = set(), dict.fromkeys("ABCD", 0)
    for user, visits in itertools.groupby(sorted(set(rows)), key=lambda row: row[0]):
        seen = list(visits)
        hourly = {hour: [t for _, h, t in seen if h == hour] for _, hour, _ in seen}
        sites = {hour: min(ts, key=lambda t: at_visit(user, hour, t, "site_salt")) for hour, ts in hourly.items()}
        chosen = sorted(sites, key=lambda hour: at_hour(user, hour))[: PARAMETERS["visits_per_user"]]
        kept |= {(user, hour, sites[hour]) for hour in chosen}
        drawn[min(seen, key=lambda row: at_visit(*row, "visit_salt"))[2]] += 1
    found = run(store, "truncated_visits")
    assert set(found.select("user_id", "hour", "tower_id").rows()) == kept
    assert found.equals(found.sort("user_key", "user_id", "hour"))  # buckets of users are ranges of the file
    assert dict(run(store, "one_visit_histogram").rows()) == drawn


def test_users_with_one_key_are_still_two(store):
    """Keys are hashes, so two identifiers may share one: neither may lose visits to the other."""
    store.write_public("towers", TOWERS)
    people = [("ann", hour, "A") for hour in range(9)] + [("bob", hour, "B") for hour in range(9)]
    frame = pl.DataFrame(people, schema=["user_id", "hour", "tower_id"], orient="row").with_columns(user_key=pl.lit(7))
    store.write_week("visits", WEEK, frame)
    kept = run(store, "truncated_visits")
    assert kept["user_id"].value_counts(sort=True)["count"].to_list() == [5, 5]
    assert run(store, "one_visit_histogram")["users"].to_list() == [1, 1, 0, 0]
    weighted = run(store, "tower_series").group_by("tower_id").agg(pl.col("weighted").max()).sort("tower_id")
    assert weighted["weighted"].to_list() == [math.isqrt(3 * 2**32 // 9)] * 2 + [0, 0]
    assert run(store, "tower_totals")["weighted"].to_list() == [9 * math.isqrt(16 * 2**32 // 81)] * 2 + [0, 0]
    assert run(store, "visit_total")["visits"].to_list() == [18]


def test_the_checks_read_how_many_users_have_how_many_visits(store):
    week(store, [(1, 0, "A"), (1, 0, "B"), (1, 1, "A"), (2, 5, "C"), (3, 5, "D")])
    engine = DuckdbEngine(store, EngineSettings())
    counted = {name: engine.counted(name, WEEK, {}, lambda _: None) for name in ("visits_per_user", "squares_per_user")}
    assert counted["visits_per_user"].rows() == [(1, 2), (3, 1)]
    assert counted["squares_per_user"].rows() == [(1, 1, 2), (3, 5, 1)]  # two visits at A and one at B: 4 + 1
    kept = [(1, 3, "A"), (1, 3, "B"), (2, 5, "C"), (3, 5, "D")]  # two visits of one hour: a fault, and it shows
    schema = ["user_id", "hour", "tower_id"]
    frame = pl.DataFrame(kept, schema=schema, orient="row").with_columns(user_key=pl.col("user_id"))
    store.write_week("truncated_visits", WEEK, frame)
    assert engine.counted("kept_per_user", WEEK, {}, lambda _: None).rows() == [(1, 1, 2), (2, 1, 1)]


def test_the_check_of_the_cap_tells_every_hour_of_the_week_from_every_other(store):
    """An hour twice, and one that is none of the week, leave fewer hours than visits: the check fails."""
    edges = [0, 55, 56, 111, 112, 167]
    kept = {1: range(168), 2: edges, 3: [*edges, 167], 4: [0, 56], 5: [5, 168], 6: [5, -1]}
    rows = [(user, hour, "A", user) for user, hours in kept.items() for hour in hours]
    frame = pl.DataFrame(rows, schema=["user_id", "hour", "tower_id", "user_key"], orient="row")
    week(store, [(user, 0, "A") for user in kept])
    store.write_week("truncated_visits", WEEK, frame)
    counted = DuckdbEngine(store, EngineSettings()).counted("kept_per_user", WEEK, {}, lambda _: None)
    assert counted.rows() == [(2, 1, 2), (2, 2, 1), (6, 6, 1), (7, 6, 1), (168, 168, 1)]


def test_towers_of_an_hour_and_hours_of_a_week_are_drawn_uniformly(store):
    """Hours seen at three towers are kept as often as hours seen at one."""
    people = 6_000
    rows = [(u, hour, tower) for u in range(people) for hour in range(4) for tower in "ABC"]
    rows += [(u, hour, "A") for u in range(people) for hour in range(4, 10)]
    week(store, rows)
    kept = run(store, "truncated_visits")
    assert chisquare(kept.filter(pl.col("hour") < 4)["tower_id"].value_counts()["count"]).pvalue > 1e-4
    assert chisquare(kept["hour"].value_counts()["count"]).pvalue > 1e-4
    drawn = run(store, "one_visit_histogram")["users"]
    assert drawn.sum() == people
    assert chisquare(drawn[:3], np.array([10, 4, 4]) / 18 * people).pvalue > 1e-4
    assert drawn[3] == 0


def test_another_salt_draws_another_sample(store):
    week(store, crowd(100))
    first = run(store, "truncated_visits")
    assert not first.equals(run(store, "truncated_visits", site_salt=1))
    assert not first.equals(run(store, "truncated_visits", hour_salt=1))


def test_series_count_visits_densely_and_weigh_them_exactly(store):
    rows = crowd(60)
    week(store, rows)
    kept, series = run(store, "truncated_visits"), run(store, "tower_series")
    assert len(series) == 4 * 168
    visits = set(rows)
    n = {user: sum(1 for v in visits if v[0] == user) for user, _, _ in visits}
    weight = {user: min(65536, math.isqrt(3 * 2**32 // count)) for user, count in n.items()}
    for row in series.filter(pl.col("hour") < 12).iter_rows(named=True):
        here = [user for user, hour, tower in visits if (hour, tower) == (row["hour"], row["tower_id"])]
        assert row["original"] == len(here)
        assert row["weighted"] == sum(weight[user] for user in here)
    assert series["truncated"].sum() == len(kept)
    assert series.filter(pl.col("hour") >= 12).select("original", "truncated", "weighted").sum().row(0) == (0, 0, 0)


def test_the_integer_weight_is_the_floor_of_the_root_and_bounds_the_norm(store):
    counts = range(1, 401)
    rows = [(n, i % 168, f"T{i // 168}") for n in counts for i in range(n)]
    towers = pl.DataFrame({"tower_id": ["T0", "T1", "T2"], "site": [0, 1, 2]})
    week(store, rows, towers)
    run(store, "truncated_visits")
    for l in (1, 10, 30):
        weighted = run(store, "tower_series", weight_l=l)["weighted"].to_list()
        weights = [weighted[n - 1] - weighted[n] for n in counts]  # visit i is one of everybody who has more than i
        assert weights == [min(2**16, math.isqrt(l * 2**32 // n)) for n in counts]
        assert all(n * w * w <= l * 2**32 for n, w in zip(counts, weights, strict=True))


def test_totals_of_towers_weigh_each_user_by_the_squares_of_visits_exactly(store):
    rows = crowd(60)
    week(store, rows)
    at_sites = Counter((user, tower) for user, _, tower in set(rows))
    squares = {user: sum(n * n for (other, _), n in at_sites.items() if other == user) for user, _ in at_sites}
    weight = {user: min(65536, math.isqrt(16 * 2**32 // count)) for user, count in squares.items()}
    expected = {tower: sum(weight[user] * n for (user, at), n in at_sites.items() if at == tower) for tower in "ABCD"}
    assert dict(run(store, "tower_totals").rows()) == expected
    assert min(weight.values()) < 65536 == max(weight.values())


def test_the_weight_of_totals_is_the_floor_of_the_root_and_bounds_the_norm(store):
    """One user after another with n visits at one site: squares of every n up to a whole week."""
    counts = range(1, 169)
    towers = pl.DataFrame({"tower_id": [f"T{n:03}" for n in counts], "site": list(counts)})
    week(store, [(n, hour, f"T{n:03}") for n in counts for hour in range(n)], towers)
    for l in (1, 400, 10**6):
        totals = run(store, "tower_totals", tower_l=l)["weighted"].to_list()
        assert totals == [n * min(2**16, math.isqrt(l * 2**32 // n**2)) for n in counts]
        assert all(total * total <= l * 2**32 for total in totals)


def test_the_total_counts_each_user_up_to_the_clamp(store):
    week(store, [(1, h, "A") for h in range(100)] + [(2, 0, "A"), (2, 0, "B")])
    assert run(store, "visit_total")["visits"].to_list() == [20 + 2]


def test_an_empty_week_is_all_zeros(store):
    week(store, [])
    assert run(store, "truncated_visits").is_empty()
    assert run(store, "tower_series").select("original", "truncated", "weighted").sum().row(0) == (0, 0, 0)
    assert len(store.read_week("tower_series", WEEK)) == 4 * 168
    assert run(store, "one_visit_histogram")["users"].to_list() == [0, 0, 0, 0]
    assert run(store, "tower_totals")["weighted"].to_list() == [0, 0, 0, 0]
    assert run(store, "visit_total")["visits"].to_list() == [0]
