"""Spark as an engine: what it refuses, leaves behind and says when it goes away."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pyarrow as pa
import pytest
from engines import CITY, PARAMETERS, SETTINGS, WEEK, ZONE, moments, needs_java, some_records, store_at, towers, write

from density_assets.calendar import week_clock
from density_assets.errors import BadInput
from density_assets.settings.city import CitySettings
from resources.sql import spark_session
from resources.sql.spark_engine import SparkEngine
from resources.sql.spark_session import refuse_without_java

GONE = r"visits.sql must run to its end, Spark gave .* Stored weeks are as they were"


@needs_java
def test_a_week_made_twice_has_the_same_fingerprint_and_another_one_has_another(tmp_path):
    store = store_at(tmp_path / "spark", str(tmp_path / "weeks"))
    engine, rng = SparkEngine(store, SETTINGS), np.random.default_rng(7)
    records = [
        write(
            tmp_path / f"{i}.parquet",
            pa.array(rng.integers(0, 50, 500)),
            pa.array(moments(WEEK, 500, rng)),
            towers(500, rng),
        )
        for i in range(3)
    ]
    seen = []
    for files in (records, records[::-1], records[:2]):
        engine.ingest(week_clock(WEEK, ZONE), files, CITY, lambda _: None)
        seen.append(store.week_fingerprint("visits", WEEK))
    assert seen[0] == seen[1] != seen[2]
    assert len(list((tmp_path / "weeks" / "town" / "visits" / str(WEEK)).iterdir())) == 2  # the week and what names it


@needs_java
def test_nobody_looks_on_and_what_is_spilled_stays_in_the_confidential_zone(tmp_path, monkeypatch, capfd):
    aside = tmp_path / "aside"
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(aside))
    store = store_at(tmp_path / "spark", str(tmp_path / "weeks"))
    engine, rng = SparkEngine(store, SETTINGS), np.random.default_rng(10)
    file = some_records(tmp_path / "r.parquet", rng.integers(0, 9, 99), rng)
    engine.ingest(week_clock(WEEK, ZONE), [file], CITY, lambda _: None)
    ((_, confidential), session) = next(iter(spark_session._started.items()))
    assert confidential == store.confidential  # and not that of the city before it
    assert session.sparkContext.uiWebUrl is None
    assert not aside.exists()
    assert list((store.confidential / "spill").rglob("shuffle_*"))
    with pytest.raises(BadInput) as caught, spark_session.clearly("it"):
        session.sql("select cast(concat('secret', id) as int) from range(3)").collect()
    assert "secret" not in str(caught.value) + "".join(capfd.readouterr())


def refused(tmp_path: Path, files: list[Path], city: CitySettings = CITY) -> str:
    store = store_at(tmp_path / "spark", str(tmp_path / "weeks"))
    with pytest.raises(BadInput) as caught:
        SparkEngine(store, SETTINGS).ingest(week_clock(WEEK, ZONE), files, city, lambda _: None)
    assert not store.has_week("visits", WEEK)
    return str(caught.value)


@needs_java
def test_what_spark_does_not_read_is_refused_and_says_what_to_do(tmp_path):
    one = pa.array(["ann"])
    text = write(tmp_path / "text.parquet", one, pa.array(["2007-09-10 08:00"]), pa.array(["A"]))
    assert "times must be timestamps or seconds since 1970, column 'time' is string: convert it" in refused(
        tmp_path, [text]
    )
    (tmp_path / "r.csv").write_text("user_id,time,tower_id\n")
    assert "must be .parquet, got r.csv: convert it, or use DuckDB" in refused(tmp_path, [tmp_path / "r.csv"])
    old = pa.array([0]).cast(pa.timestamp("ns"))
    int96 = write(tmp_path / "old.parquet", one, old, pa.array(["A"]), use_deprecated_int96_timestamps=True)
    assert "must not be stored as INT96, column 'time' is" in refused(tmp_path, [int96])
    pattern = write(tmp_path / "r[1].parquet", one, pa.array([0]), pa.array(["A"]))
    assert "names of files must hold none of *?[]{}" in refused(tmp_path, [pattern])
    for setting in ("visit_date", "visit_time_format"):
        said = refused(tmp_path, [int96], CitySettings.model_construct(**{setting: "%Y%m%d %H"}))
        assert f"city.{setting} is for text: convert it, or use DuckDB" in said
    float_users = write(tmp_path / "float.parquet", pa.array([1.5], pa.float32()), pa.array([0]), pa.array(["A"]))
    assert "is float, which keeps seven digits, so that many people are one" in refused(tmp_path, [float_users])
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(b"PAR1" * 10)
    assert "visit files must be readable, damaged.parquet gave" in refused(tmp_path, [damaged])


@needs_java
def test_damage_inside_a_file_is_told_without_a_value(tmp_path):
    rng, size = np.random.default_rng(8), 50_000
    users = pa.array([f"secret{number}" for number in rng.integers(0, 500, size)])
    file = write(tmp_path / "r.parquet", users, pa.array(moments(WEEK, size, rng)), towers(size, rng))
    content = bytearray(file.read_bytes())
    content[1_000:3_000] = bytes(2_000)
    file.write_bytes(content)
    said = refused(tmp_path, [file])
    assert "must run to its end, Spark gave" in said
    assert "secret" not in said


@needs_java
def test_spark_that_goes_away_leaves_the_old_week(tmp_path):
    rng = np.random.default_rng(9)
    file = write(
        tmp_path / "r.parquet", pa.array(rng.integers(0, 9, 99)), pa.array(moments(WEEK, 99, rng)), towers(99, rng)
    )
    store = store_at(tmp_path / "spark", str(tmp_path / "weeks"))
    engine = SparkEngine(store, SETTINGS)
    engine.ingest(week_clock(WEEK, ZONE), [file], CITY, lambda _: None)
    before = store.read_week("visits", WEEK)
    (session,) = spark_session._started.values()
    with pytest.raises(BadInput, match=GONE):
        stopped_within(engine, session, file)
    assert store.read_week("visits", WEEK).equals(before)
    engine.materialise("truncated_visits", WEEK, PARAMETERS, lambda _: None)  # Spark is started anew


@needs_java
def test_spark_that_is_killed_between_steps_is_started_anew(tmp_path):
    """As where a machine lacks memory; the process that runs the steps lives on."""
    rng = np.random.default_rng(9)
    users = pa.array(rng.integers(0, 9, 99))
    file = write(tmp_path / "r.parquet", users, pa.array(moments(WEEK, 99, rng)), towers(99, rng))
    store = store_at(tmp_path / "spark", str(tmp_path / "weeks"))
    engine = SparkEngine(store, SETTINGS)
    engine.ingest(week_clock(WEEK, ZONE), [file], CITY, lambda _: None)
    before = store.read_week("visits", WEEK)
    from pyspark import SparkContext  # an extra

    java = SparkContext._gateway.proc
    java.kill()
    java.wait()
    engine.materialise("truncated_visits", WEEK, PARAMETERS, lambda _: None)
    assert SparkContext._gateway.proc.pid != java.pid
    assert store.read_week("visits", WEEK).equals(before)


@needs_java
def test_spark_that_is_killed_while_it_writes_leaves_the_old_week_alone(tmp_path):
    rng = np.random.default_rng(9)
    small, large = (
        some_records(tmp_path / f"{size}.parquet", rng.integers(0, size, size), rng) for size in (99, 100_000)
    )
    weeks = tmp_path / "weeks"
    store = store_at(tmp_path / "spark", str(weeks))
    engine = SparkEngine(store, SETTINGS)
    engine.ingest(week_clock(WEEK, ZONE), [small], CITY, lambda _: None)
    before, there = store.read_week("visits", WEEK), files_under(weeks)
    with killed_at_the_first_file(weeks) as seen:
        with pytest.raises(BadInput, match=GONE):
            engine.ingest(week_clock(WEEK, ZONE), [large], CITY, lambda _: None)
        assert seen  # it was writing
    assert files_under(weeks) == there
    assert store.read_week("visits", WEEK).equals(before)
    engine.ingest(week_clock(WEEK, ZONE), [large], CITY, lambda _: None)
    assert len(store.read_week("visits", WEEK)) > 50_000
    assert len(list((weeks / "town" / "visits" / str(WEEK)).iterdir())) == 2


def files_under(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


@contextmanager
def killed_at_the_first_file(weeks: Path) -> Iterator[list[Path]]:
    """Kill Java as soon as a Parquet file is there that was not there before; yields what was seen of it."""
    from pyspark import SparkContext  # an extra

    java, there, seen, done = SparkContext._gateway.proc, files_under(weeks), [], Event()

    def watch() -> None:
        while not (seen or done.wait(0.001)):
            with suppress(FileNotFoundError):  # a folder that was there a moment ago
                seen.extend(path for path in weeks.rglob("part-*.parquet") if path not in there)
        java.kill()

    watcher = Thread(target=watch)
    watcher.start()
    try:
        yield seen
    finally:
        done.set()
        watcher.join()
        java.wait()


def stopped_within(engine: SparkEngine, session: object, file: Path) -> None:
    """Ingest a week while Spark is stopped under it."""
    kept = engine._store_rows

    def stop_first(*given: object) -> None:
        session.stop()
        kept(*given)

    engine._store_rows = stop_first
    try:
        engine.ingest(week_clock(WEEK, ZONE), [file], CITY, lambda _: None)
    finally:
        engine._store_rows = kept


def java_that_says(version: str, home: Path) -> None:
    java = home / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{version}\nEND\n")
    java.chmod(0o755)


def test_without_java_or_pyspark_it_is_said_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(spark_session, "_started", {})
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(BadInput, match=r"needs Java 17 or newer, JAVA_HOME=.* has none: install it \(Debian: openjdk"):
        spark_session.spark_session(SETTINGS, tmp_path, lambda _: None)
    java_that_says('openjdk version "11.0.29" 2025-10-21', tmp_path)
    with pytest.raises(BadInput, match=r"needs Java 17 or newer, .*/bin/java is Java 11: install it"):
        spark_session.spark_session(SETTINGS, tmp_path, lambda _: None)
    monkeypatch.setitem(__import__("sys").modules, "pyspark.sql", None)
    with pytest.raises(BadInput, match=r"needs PySpark, which is not installed: `pip install density-assets\[spark\]`"):
        spark_session.spark_session(SETTINGS, tmp_path, lambda _: None)


@pytest.mark.parametrize(
    ("said", "enough"),
    [
        ('java version "1.8.0_392"', False),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "16.0.2" 2021-07-20', False),
        ('openjdk version "17" 2021-09-14', True),
        ('openjdk version "21.0.9" 2025-10-21 LTS', True),
        ('openjdk version "26-ea" 2026-03-17', True),
        ("anything else", True),  # Spark finds out
    ],
)
def test_java_must_be_new_enough(tmp_path, monkeypatch, said, enough):
    java_that_says(said, tmp_path)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with nullcontext() if enough else pytest.raises(BadInput, match=r"is Java (8|16): install it"):
        refuse_without_java()
