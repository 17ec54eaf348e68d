"""Released assets for tests of the process they run in; looked up there by name, so they stand in a module."""

import os
import socket
import stat

import polars as pl

from density_assets.errors import BadInput
from density_assets.graph.assets import asset
from density_assets.graph.columns import SETTINGS, column
from density_assets.graph.step import Made, Step
from density_assets.privacy.zones import Zone

COLUMNS = {"process": column("the process that made it", SETTINGS)}


class Unportable(Exception):
    """An error that cannot be made again from its arguments, as those of some libraries."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what}: {why}")


@asset(Zone.RELEASE, COLUMNS)
def talking(step: Step, line: str) -> Made:
    """Says what it is told to, warns, and names its process."""
    step.say(line)
    step.warn(f"mind: {line}")
    return Made(pl.DataFrame({"process": [os.getpid()]}), facts={"line": line})


@asset(Zone.RELEASE, COLUMNS)
def refusing(step: Step) -> Made:
    """Fails with an error of ours."""
    raise BadInput("a city must have cells")


@asset(Zone.RELEASE, COLUMNS)
def failing(step: Step) -> Made:
    """Fails with an error of others."""
    raise Unportable("the table", "it is empty")


@asset(Zone.RELEASE, COLUMNS)
def dying(step: Step) -> Made:
    """Ends without a word, as a process does that the kernel kills for want of memory."""
    os._exit(9)


class Lazy:
    """Whoever unpickles it makes a file."""

    def __init__(self, mark: str) -> None:
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (self.mark,)


class LazyError(Exception):
    """An error that carries one."""

    def __reduce__(self):
        return self.args[0].__reduce__()


@asset(Zone.RELEASE, COLUMNS)
def smuggling(step: Step, place: str, mark: str) -> Made:
    """Sends something that would do harm where it is unpickled."""
    lazy = Lazy(mark)
    if place == "line":
        step.say(lazy)
    if place == "error":
        raise LazyError(lazy)
    table = lazy if place == "table" else pl.DataFrame({"process": [0]})
    return Made(table, {"p": lazy} if place == "picture" else {}, {"f": lazy} if place == "facts" else {})


@asset(Zone.RELEASE, COLUMNS)
def listing(step: Step) -> Made:
    """Every socket it holds, and that of its orders among them."""
    links = [os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if _is_open(name)]
    sockets = [link for link in links if link.startswith("socket:")]
    orders = [int(link.removeprefix("socket:[").rstrip("]")) for link in sockets[:1]]
    return Made(pl.DataFrame({"descriptor": sockets}), facts={"orders": orders})


def _is_open(name: str) -> bool:
    return os.path.lexists(f"/proc/self/fd/{name}")


@asset(Zone.RELEASE, COLUMNS)
def prying(step: Step, started_by: int) -> Made:
    """The names of its variables, and whose it can read of the processes that started it."""
    others = (os.getppid(), started_by)
    readable = [f"/proc/{process}/environ" for process in others if _is_readable(f"/proc/{process}/environ")]
    return Made(pl.DataFrame({"process": [os.getpid()]}), facts={"variables": sorted(os.environ), "readable": readable})


@asset(Zone.RELEASE, COLUMNS)
def reaching(step: Step, port: int) -> Made:
    """What it can open of disks and devices, and whether a server hears it."""
    files = [os.path.join(folder, name) for folder, _, names in os.walk("/dev") for name in names]
    disks = [file for file in files if stat.S_ISBLK(os.lstat(file).st_mode) and _is_openable(file, os.O_RDONLY)]
    devices = [file for file in ("/dev/null", "/dev/kmsg", "/dev/mem") if _is_openable(file, os.O_WRONLY)]
    with socket.socket() as client:
        connected = client.connect_ex(("127.0.0.1", port)) == 0
    facts = {"disks": disks, "devices": devices, "connected": connected}
    return Made(pl.DataFrame({"process": [os.getpid()]}), facts=facts)


@asset(Zone.RELEASE, COLUMNS)
def filing(step: Step) -> Made:
    """Makes files and no table."""
    return Made(None, files={"a.csv": b"1,2", "b.bin": bytes(range(256))})


def _is_openable(file: str, how: int) -> bool:
    try:
        os.close(os.open(file, how))
    except OSError:
        return False
    return True


def _is_readable(file: str) -> bool:
    try:
        with open(file, "rb") as content:
            return bool(content.read())
    except PermissionError:
        return False
