"""The Dagster instance of a city: where its history is, which runs lost their process, and serving it on this machine.

A city has an instance of its own, beside its tables, unless it shares one with cities that the environment names with
it (`naming.py`). Its history is files there, or a PostgreSQL database of the city's own, whose address may hold a
password: it goes to Dagster by the environment and into no file. Whatever one machine does alone by a lock of a file,
machines that share a database do by a lock there.

After a power cut nobody is left to say that runs failed, and the queue would wait. Runs that a server started are gone
with it, since an instance is served once. Runs from a terminal carry the process they live in. To call a living run
failed would do no harm: it keeps its locks, and its draws are stored.
"""

import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.resources import files
from pathlib import Path

import dagster as dg
from filelock import FileLock, Timeout

from density_assets.city import City
from density_assets.errors import BadInput
from density_assets.graph.naming import WRITER, instance_folder
from density_assets.graph.worker import STORAGE_VARIABLE
from resources.faults import in_clear_words
from resources.tables.files import make_folder, private_files, write_durably

PROCESS = "density/process"
IN_PROGRESS = [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING]


def this_process() -> dict[str, str]:
    """A tag that says in which process a run lives."""
    return {PROCESS: f"{os.getpid()}/{_born(os.getpid())}"}


def fail_abandoned(instance: dg.DagsterInstance) -> list[str]:
    """Mark every run that lost its process as failed; to be called before a server starts. Returns their ids."""
    runs = instance.get_runs(dg.RunsFilter(statuses=IN_PROGRESS))
    lost = [run for run in runs if not _alive(run.tags.get(PROCESS))]
    for run in lost:
        instance.report_run_failed(run, "the process of this run is gone: start it again, nothing is drawn twice")
    return [run.run_id for run in lost]


def _alive(process: str | None) -> bool:
    if process is None:
        return False
    pid, born = process.split("/")
    return _born(int(pid)) == born


def _born(pid: int) -> str | None:
    """When a process was started, in ticks since this boot: tells it from a later one of the same number."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()[:8]}-{fields[19]}"


# --- history ---------------------------------------------------------------------------------------------------------

DRIVER = "postgresql+psycopg2://"  # by the plain name SQLAlchemy takes psycopg 3, with which Dagster cannot listen
CITY = "density/city"  # under which a database says whose history it keeps
SEVERAL = "several cities"  # under which name no city can be
_SHARED = f"storage:\n  postgres:\n    postgres_url:\n      env: {STORAGE_VARIABLE}\n"


def instance_settings(city: City) -> bytes:
    """What stands in `dagster.yaml`; whoever reads it learns no password."""
    plain = files("density_assets.graph").joinpath("dagster.yaml").read_bytes()
    return plain + _SHARED.encode() if city.settings.dagster.storage else plain


def name_database(city: City) -> None:
    """Let Dagster, in this process and those it starts, find the database that the settings name."""
    os.environ.pop(STORAGE_VARIABLE, None)
    if url := _address(city):
        _refuse_without_driver()
        os.environ[STORAGE_VARIABLE] = url.replace("postgresql://", DRIVER, 1)


def refuse_other_city(instance: dg.DagsterInstance, city: City) -> None:
    """Raise if a database keeps the history of another city: asset keys are the same, so the two would mix."""
    if not city.settings.dagster.storage:
        return
    known, own = instance.run_storage.get_cursor_values({CITY}).get(CITY), SEVERAL if city.others else city.name
    if known not in (None, own):
        raise BadInput(
            f"each city must have a database of its own for Dagster, or share one with those of its instance; the one "
            f"that [dagster] storage names is that of {known!r} and this is {own!r}: name another"
        )
    instance.run_storage.set_cursor_values({CITY: own})


@contextmanager
def alone(city: City, name: str, *, waiting: bool = True) -> Iterator[bool]:
    """One machine at a time; whether this is the one.

    waiting: whether to wait until it is. Without a shared database there is nobody to wait for.
    """
    url = _address(city)
    if not url:
        yield True
        return
    from resources.postgres import connected, shown_address, take_lock, try_lock

    def fault(said: str, problem: Exception) -> BadInput:
        return BadInput(
            f"Dagster's database must answer, but {shown_address(url)} did not ({said}): bring it back, or mend "
            "[dagster] storage"
        )

    with ExitStack() as held:
        connection = held.enter_context(connected(url, fault))
        if waiting:
            take_lock(connection, f"dagster {name}")
        yield waiting or try_lock(connection, f"dagster {name}")


def _address(city: City) -> str:
    url = city.settings.dagster.storage
    return url.get_secret_value() if url else ""


def _refuse_without_driver() -> None:
    try:
        import dagster_postgres  # noqa: F401
        import psycopg  # noqa: F401
        import psycopg2  # noqa: F401  # Dagster imports it
    except ImportError as lacking:
        raise BadInput(
            f"Dagster's history in PostgreSQL needs dagster-postgres, which is not here ({lacking}): "
            "pip install 'density-assets[postgres]'"
        ) from None


# --- instance --------------------------------------------------------------------------------------------------------

LOOPBACK = "127.0.0.1"
WORKSPACE = Path(__file__).with_name("workspace.yaml")  # that of the package: here may be any folder
TOKEN = "ui_token"
LOOK_SECONDS = 0.5
PATIENCE_SECONDS = 60  # the daemon ends the step it is at


def serve(city: City, port: int, *, read_only: bool) -> int:
    """Serve the web UI on this machine only, until interrupted.

    read_only: for those who may look and not touch: no daemon, and the server refuses to start or change anything.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # being stopped is being interrupted
    called = (name for settings in (city.settings, *city.others) for name in settings.web.names)
    _refuse_taken(port)
    folder, names = open_instance(city), [f"--allowed-name={name}" for name in called]
    try:
        if read_only:
            _say_once_it_answers(port, f"to look, open http://{LOOPBACK}:{port}/")
            return together(_webserver(port, *names, "--read-only"))
        return _work(city, port, folder, names)
    except KeyboardInterrupt:
        return 0


def _work(city: City, port: int, folder: Path, names: list[str]) -> int:
    """Web server and daemon: one pair per instance, because two daemons would start everything twice."""
    try:
        with FileLock(folder / "serving.lock", timeout=0), alone(city, "serving", waiting=False) as here:
            if not here:
                raise BadInput(
                    f"an instance must be served once, and another machine serves {folder.parent.name} already: use "
                    "that server, stop it, or look with READONLY=1"
                )
            with dg.DagsterInstance.get() as instance:
                # The default limit counts from the second look at the queue only: runs queued before would overlap.
                instance.event_log_storage.set_concurrency_slots(WRITER, 1)
                for run in fail_abandoned(instance):
                    print(f"run {run} had lost its process and was marked as failed: start it again", file=sys.stderr)
            token = _new_token(folder)
            _say_once_it_answers(port, f"open http://{LOOPBACK}:{port}/?token={token.read_text()}")
            server = _webserver(port, *names, f"--token-file={token}")
            return together(server, [sys.executable, "-m", "dagster._daemon", "run", "-w", str(WORKSPACE)])
    except Timeout:
        raise BadInput(
            f"an instance must be served once, and {folder} is being served already: use that server, stop it, "
            "or look with READONLY=1"
        ) from None


def _refuse_taken(port: int) -> None:
    """Raise if something else listens there: a browser would be sent to it, with our token."""
    if _answers(port):
        raise BadInput(f"a port must be free to be served on, {port} is taken on this machine: give another by --port")


def _say_once_it_answers(port: int, words: str) -> None:
    """Say where the server is as soon as a browser finds it there; nothing if it never comes up."""

    def wait() -> None:
        while not _answers(port):
            time.sleep(LOOK_SECONDS)
        print(words, flush=True)

    print("starting; the address follows as soon as the server answers", file=sys.stderr, flush=True)
    threading.Thread(target=wait, daemon=True).start()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((LOOPBACK, port)) == 0


def _new_token(folder: Path) -> Path:
    """What the server will ask for, in a file that only its owner can read: another with every start."""
    file = folder / TOKEN
    with private_files():
        write_durably(file, secrets.token_urlsafe(32).encode())
    return file


def _webserver(port: int, *options: str) -> list[str]:
    guarded = [sys.executable, "-m", "density_assets.graph.guarded_webserver"]
    return [*guarded, "--host", LOOPBACK, "--port", str(port), "-w", str(WORKSPACE), *options]


def together(*commands: list[str]) -> int:
    """Run programs side by side until one ends; then the others are ended too. Returns the exit status of the first."""
    running = [subprocess.Popen(command) for command in commands]
    try:
        while all(process.poll() is None for process in running):
            time.sleep(LOOK_SECONDS)
        return next(process.returncode for process in running if process.returncode is not None)
    finally:
        for process in running:
            process.terminate()
        for process in running:
            _wait(process)


def _wait(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def open_instance(city: City) -> Path:
    """Point Dagster at the instance of the city, with our settings in it; returns its folder.

    One process at a time makes it: Dagster's tables, made twice at once, would hold two versions of their schema, and
    no later run could open them.
    """
    folder = instance_folder(city)
    with in_clear_words(city.home):
        make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(0o700)  # who runs what when is for those who run it
    os.environ["DAGSTER_HOME"] = str(folder)
    name_database(city)
    with FileLock(folder / "opening.lock", mode=0o600), alone(city, "opening"):
        write_durably(folder / "dagster.yaml", instance_settings(city))
        with dg.DagsterInstance.get() as instance:
            _ = instance.run_storage, instance.event_log_storage, instance.schedule_storage  # made when first asked for
            refuse_other_city(instance, city)
    return folder
