"""A Spark session, one for each process, on this machine or on others; and the Java that it would be started with.

What Spark writes on its way (shuffles, what does not fit memory) is confidential. On this machine it goes into the
confidential folder, and there are no pages to look at; of a cluster its owner decides (`docs/scale.md`). Spark's log is
silenced: it quotes values of records. A Java that is missing or too old is named before Spark fails without naming it.
"""

import atexit
import logging
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, Any

from density_assets.errors import BadInput
from density_assets.settings import EngineSettings
from resources.tables.files import private_files, spill_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEAST = 17
STARTING = 60  # seconds; it takes a tenth of one


def refuse_without_java() -> None:
    """Raise unless there is a Java that is new enough. One that does not say how old it is may be tried."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home, "bin")) if home else None)
    if not java:
        found = f"JAVA_HOME={home} has none" if home else "there is none on the path"
    elif (version := _version(java)) and version < LEAST:
        found = f"{java} is Java {version}"
    else:
        return
    raise BadInput(
        f'engine.name = "spark" needs Java {LEAST} or newer, {found}: install it (Debian: '
        f"openjdk-{LEAST}-jre-headless), or set JAVA_HOME"
    )


def _version(java: str) -> int | None:
    """The first number of a version; up to 8 it was the second, after a 1."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=STARTING, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    said = re.search(r'version "(?:1\.)?(\d+)', done.stderr)
    return int(said[1]) if said else None


CONNECT = "sc://"
LEAST_HEAP = 10**9  # bytes; Spark does not start with much less
# What a query means must not depend on where it runs.
MEANING = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.compression.codec": "zstd",
}

# Its pages show counts of records and the salts of the sample to whoever reaches the machine, and to every step on it.
UNSEEN = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.authenticate": "true"}
SPILL_VARIABLES = ("SPARK_LOCAL_DIRS", "SPARK_EXECUTOR_DIRS", "LOCAL_DIRS")  # would win over `spark.local.dir`
MOST_CAUSES = 10  # of an error; causes may go in a circle
QUOTING = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")  # loggers of PySpark that repeat an error's values

_started: dict[tuple[str, Path], "SparkSession"] = {}  # at most one
_until_the_end = ExitStack()
atexit.register(_until_the_end.close)


def spark_session(settings: EngineSettings, confidential: Path, say: Callable[[str], None]) -> "SparkSession":
    """A session of one's own on the Spark of this process, which is started if it must be.

    say: told where Spark shows what it does.
    """
    master = settings.master or f"local[{settings.threads}]"
    which = (master, confidential)
    with clearly():
        if which not in _started or _stopped(_started[which]):
            _end()
            _started[which] = _start(master, settings, confidential)
            if address := _address(_started[which]):
                say(f"Spark shows what it does at {address}")
        session = _started[which].newSession()
        for name, value in MEANING.items():
            session.conf.set(name, value)
        return session


def _start(master: str, settings: EngineSettings, confidential: Path) -> "SparkSession":
    try:
        from pyspark.sql import SparkSession  # an extra
    except ImportError:
        raise BadInput(
            'engine.name = "spark" needs PySpark, which is not installed: `pip install density-assets[spark]`, or '
            'use DuckDB (engine.name = "duckdb")'
        ) from None
    for name in QUOTING:
        logging.getLogger(name).disabled = True
    if master.startswith(CONNECT):
        return SparkSession.builder.remote(master).getOrCreate()
    refuse_without_java()
    builder = SparkSession.builder.appName("density").master(master)
    if master.startswith("local"):
        spill = _until_the_end.enter_context(spill_folder(confidential))
        for name, value in _on_this_machine(settings, spill).items():
            builder = builder.config(name, value)
    with private_files(), _without(SPILL_VARIABLES if master.startswith("local") else ()):
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


@contextmanager
def _without(variables: Sequence[str]) -> Iterator[None]:
    """An environment that lacks some variables; what is started in it inherits it."""
    taken = {name: os.environ.pop(name) for name in variables if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(taken)


def _end() -> None:
    """Stop what was started for others: a process has one Spark, and what it spills belongs to one city."""
    for session in _started.values():
        with suppress(Exception):  # it may be gone already
            session.stop()
    _drop()


def _drop() -> None:
    """Let the next step start anew."""
    _started.clear()
    if _java_ended():  # PySpark holds on to what it had there for good, and would start nothing in its place
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
        SparkSession._instantiatedSession = SparkSession._activeSession = None


def _java_ended() -> bool:
    """Whether the process of Java that PySpark started here is gone: killed by a person, or for its memory."""
    context = sys.modules.get("pyspark.core.context")
    process = getattr(getattr(context and context.SparkContext, "_gateway", None), "proc", None)
    return process is not None and process.poll() is not None


def _on_this_machine(settings: EngineSettings, spill: Path) -> dict[str, str]:
    return {
        **UNSEEN,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": f"{max(settings.memory_bytes, LEAST_HEAP) >> 20}m",
        "spark.hadoop.fs.permissions.umask-mode": "077",
        "spark.local.dir": str(spill),
        "spark.sql.shuffle.partitions": str(4 * settings.threads),
        "spark.sql.warehouse.dir": str(spill / "warehouse"),
    }


def _stopped(session: "SparkSession") -> bool:
    """Whether a session cannot be used any more; of Spark Connect the next query tells."""
    context = getattr(session, "_sc", None)
    return context is not None and (context._jsc is None or _java_ended())


def _address(session: "SparkSession") -> str | None:
    context = getattr(session, "_sc", None)
    return context.uiWebUrl if context is not None else None


@contextmanager
def clearly(what: str = "Spark") -> Iterator[None]:
    """Say of an error of Spark what to do; its message and its cause may quote a record.

    what: what was asked of it.
    """
    try:
        yield
    except (BadInput, KeyboardInterrupt):
        raise
    except Exception as error:
        if not (isinstance(error, OSError) or _raised_in(error) in ("pyspark", "py4j", "grpc")):
            raise
        _forget()
        kind = _kind(error)
        raise BadInput(
            f"{what} must run to its end, Spark gave {kind}: {_jars(kind)}look whether it is there and has memory "
            "and room (its own pages and logs say more, to those who may read records), and materialise again. Stored "
            "weeks are as they were, and noise that was stored is not drawn again"
        ) from None


def _jars(kind: str) -> str:
    """What to do about a class that Java did not find."""
    missing = "ClassNotFoundException" in kind or "NoClassDefFoundError" in kind
    return "give Spark the jars that it lacks (for s3:// those of hadoop-aws), or " if missing else ""


def _raised_in(error: Exception) -> str:
    """The package whose code raised an error: without a session, PySpark fails an assertion of its own."""
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    return str(frames[-1].f_globals.get("__name__", "")).split(".")[0] if frames else ""


def _forget() -> None:
    """Drop a session that does not answer any more."""
    for session in list(_started.values()):
        try:
            session.sql("select 1").collect()
        except Exception:
            _drop()


def _kind(error: Exception) -> str:
    """The name of an error, and its class of errors or Java's classes where Spark says them; never a value."""
    condition = getattr(error, "getCondition", lambda: None)()
    said = condition or ", caused by ".join(_classes(getattr(error, "java_exception", None)))
    return f"{type(error).__name__} ({said})" if said else type(error).__name__


def _classes(thrown: Any) -> Iterator[str]:
    """The classes of a Java exception and of what caused it; the process of Spark may be gone."""
    with suppress(Exception):
        for _ in range(MOST_CAUSES):
            if thrown is not None:
                yield str(thrown.getClass().getName())
                thrown = thrown.getCause()
