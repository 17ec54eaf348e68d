"""Putting folders out of a process's reach, for good and without being root (Linux, Landlock; kernel 5.13 or newer).

A process that has sealed itself cannot open what is hidden, by whatever library, path, link or database it tries, and
neither can any process it starts. Landlock knows only what is allowed, so everything beside the hidden folders is:
on the way from the root to each of them, every neighbour.
"""

import ctypes
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # numbers of the system calls, the same on all processors
NO_NEW_PRIVILEGES = 38  # of prctl
PATH_BENEATH = 1
WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE = 1 << 1, 1 << 2, 1 << 3, 1 << 14  # linux/landlock.h
TRUNCATE_SINCE = 3  # version of the interface


class _Ruleset(ctypes.Structure):
    _fields_ = [("handled_access_fs", ctypes.c_uint64)]


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32)]


def available() -> bool:
    """Whether this kernel can."""
    return _version() > 0


def hide(folders: Iterable[Path]) -> bool:
    """Put folders and files out of this process's reach, for good; whether this kernel can.

    To be called while the process has one thread. Files that are made later beside the way to a hidden folder cannot be
    opened either: only below the neighbours that are there now.
    """
    hidden = {folder.resolve() for folder in folders}
    if not hidden or not available():
        return not hidden
    on_files = WRITE_FILE | READ_FILE | (TRUNCATE if _version() >= TRUNCATE_SINCE else 0)
    rules = _Ruleset(on_files | READ_DIR)
    ruleset = _called(CREATE_RULESET, ctypes.byref(rules), ctypes.sizeof(rules), 0)
    try:
        for path in _beside(Path("/"), hidden):
            _allow(ruleset, path, on_files)
        if ctypes.CDLL(None, use_errno=True).prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")
        _called(RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    return True


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


def _allow(ruleset: int, path: Path, on_files: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return  # gone meanwhile
    try:
        folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        rule = _PathBeneath(on_files | (READ_DIR if folder else 0), handle)
        _called(ADD_RULE, ruleset, PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(handle)


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
