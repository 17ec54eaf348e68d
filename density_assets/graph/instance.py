"""The Dagster instance of a city, and serving it on this machine.

A city has an instance of its own, beside its tables, unless it shares one with cities that the environment names with
it (`naming.py`). What it keeps may lie in a database (`history.py`).
"""

import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import dagster as dg
from filelock import FileLock, Timeout

from density_assets.city import City
from density_assets.errors import BadInput
from density_assets.graph import history
from density_assets.graph.abandoned import fail_abandoned
from density_assets.graph.naming import instance_folder
from density_assets.graph.zones import WRITER
from resources.faults import in_clear_words
from resources.tables.files import make_folder, private_files, write_durably

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
        with FileLock(folder / "serving.lock", timeout=0), history.alone(city, "serving", waiting=False) as here:
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
    history.name_database(city)
    with FileLock(folder / "opening.lock", mode=0o600), history.alone(city, "opening"):
        write_durably(folder / "dagster.yaml", history.instance_settings(city))
        with dg.DagsterInstance.get() as instance:
            _ = instance.run_storage, instance.event_log_storage, instance.schedule_storage  # made when first asked for
            history.refuse_other_city(instance, city)
    return folder
