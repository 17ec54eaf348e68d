"""Putting folders out of a process's reach, for good and without being root (Linux, Landlock; kernel 5.13 or newer).

A process that has confined itself cannot open what is hidden nor list it, by whatever library or path it tries, cannot
change, move or remove anything but what it may write, and neither can any process it starts. Landlock knows only what
is allowed: so everything beside the hidden folders may be read, which is on the way from the root to each of them every
neighbour, but no disk as a device. It does not hide that a file whose name is known is there, nor its size and times.
Nor can such a process read the memory or the variables of one that is not as confined, whoever it runs as. Where the
kernel knows how, it reaches no TCP port and no abstract socket either (6.7 and 6.12).

This module imports nothing but the standard library: a process must confine itself before it imports anything that
starts threads, for these would stay free.
"""

import ctypes
import json
import os
import stat
import traceback
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # numbers of the system calls, the same on all processors
NO_NEW_PRIVILEGES = 38  # of prctl
PATH_BENEATH = 1
# Rights of linux/landlock.h. Those on files can be given for a single file, the others for a folder only.
WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE = 1 << 1, 1 << 2, 1 << 3, 1 << 14
REMOVE_AND_MAKE = sum(1 << bit for bit in range(4, 13))
MAKE_DEVICES = 1 << 6 | 1 << 11  # by characters and by blocks: root would make itself the disk that all of it lies on
REFER = 1 << 13  # moving and linking between folders
REFER_SINCE, TRUNCATE_SINCE, NETWORK_SINCE, SCOPE_SINCE = 2, 3, 4, 6  # versions of the interface
BIND_AND_CONNECT = 1 << 0 | 1 << 1  # of TCP; no port is allowed
ABSTRACT_SOCKETS_AND_SIGNALS = 1 << 0 | 1 << 1  # of processes that are not as confined
CAPABILITIES = 0x20080522  # version of linux/capability.h: effective, permitted, inheritable, of 32 bits each, twice
# All that root keeps, to write files of others: CHOWN, DAC_OVERRIDE, FOWNER. With others it reads variables of every
# process past Landlock (SYS_PTRACE, SYS_ADMIN, PERFMON), or memory and disks (SYS_RAWIO, DAC_READ_SEARCH).
CAPABILITIES_KEPT = 1 << 0 | 1 << 1 | 1 << 3


class _Ruleset(ctypes.Structure):  # an older kernel takes a longer one, as long as what it does not know is zero
    _fields_ = [(name, ctypes.c_uint64) for name in ("handled_access_fs", "handled_access_net", "scoped")]


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32)]


def available() -> bool:
    """Whether this kernel can."""
    return _version() > 0


def enter(orders: Connection) -> bool:
    """Put this process behind the wall that the first order describes; whether this kernel can.

    Where the wall cannot be put up, whoever sent the order is told, and the process ends.
    """
    order = json.loads(orders.recv_bytes())
    try:
        return confine(map(Path, order["hidden"]), map(Path, order["writable"]))
    except Exception as error:
        tell_failure(orders, error)
        raise SystemExit(1) from None


def tell_failure(orders: Connection, error: BaseException) -> None:
    """Send the name and words of an error, and its stack as it would have been printed here."""
    failure = {"kind": "failed", "name": type(error).__name__, "words": str(error), "printed": traceback.format_exc()}
    orders.send_bytes(json.dumps(failure).encode())


def confine(hidden: Iterable[Path], writable: Iterable[Path]) -> bool:
    """Hide folders and files from this process, and let it write below some folders only; whether this kernel can.

    For good: nothing takes it back. Files that are made later beside the way to a hidden folder cannot be opened
    either, only those below neighbours that are there now.
    """
    secret, free = {path.resolve() for path in hidden}, [path.resolve() for path in writable]
    for path in free:
        if below := [it for it in secret if it.is_relative_to(path)]:
            raise ValueError(f"what may be written must not hold what is hidden, {path} holds {below[0]}")
    if not available():
        return False
    secret |= _disks()
    if (threads := len(os.listdir("/proc/self/task"))) > 1:
        raise RuntimeError(f"a process must confine itself while it has one thread, it has {threads}: others stay free")
    version = _version()
    reading = READ_FILE | READ_DIR
    writing = WRITE_FILE | REMOVE_AND_MAKE
    writing |= (REFER if version >= REFER_SINCE else 0) | (TRUNCATE if version >= TRUNCATE_SINCE else 0)
    network = BIND_AND_CONNECT if version >= NETWORK_SINCE else 0
    rules = _Ruleset(reading | writing, network, ABSTRACT_SOCKETS_AND_SIGNALS if version >= SCOPE_SINCE else 0)
    ruleset = _called(CREATE_RULESET, ctypes.byref(rules), ctypes.sizeof(rules), 0)
    try:
        for path in _beside(Path("/"), secret):
            _allow(ruleset, path, reading)
        for path in free:
            _allow(ruleset, path, reading | writing & ~MAKE_DEVICES)
        if ctypes.CDLL(None, use_errno=True).prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")
        _renounce()
        _called(RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    return True


def _disks() -> set[Path]:
    """Devices that hold file systems, hidden files among them: root may read them."""
    devices = (Path(folder, name) for folder, _, names in os.walk("/dev") for name in names)
    return {path for path in devices if not path.is_symlink() and path.is_block_device()}


def _beside(folder: Path, hidden: set[Path]) -> Iterator[Path]:
    """Everything in a folder but what is hidden, and on the way to that everything beside the way."""
    for entry in os.scandir(folder):
        path = Path(entry.path)
        if path in hidden or entry.is_symlink():  # a link is followed to a path with rules of its own
            continue
        if any(path in secret.parents for secret in hidden):
            yield from _beside(path, hidden)
        else:
            yield path


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return  # gone meanwhile
    try:
        folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        rule = _PathBeneath(rights if folder else rights & (READ_FILE | WRITE_FILE | TRUNCATE), handle)
        _called(ADD_RULE, ruleset, PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(handle)


def _renounce() -> None:
    """Give up, for good, what lets root look into other processes and at disks."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, sets = (ctypes.c_uint32 * 2)(CAPABILITIES, 0), (ctypes.c_uint32 * 6)()
    if libc.capget(header, sets):
        raise OSError(ctypes.get_errno(), "capget")
    for i in range(6):
        sets[i] &= CAPABILITIES_KEPT if i < 3 else 0  # capabilities from 32 on are in the second half
    if libc.capset(header, sets):
        raise OSError(ctypes.get_errno(), "capset")


def _version() -> int:
    try:
        return _called(CREATE_RULESET, None, 0, 1)
    except OSError:
        return 0


def _called(number: int, *arguments: object) -> int:
    result: int = ctypes.CDLL(None, use_errno=True).syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"system call {number}")
    return result
