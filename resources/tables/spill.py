"""Where the database puts what does not fit memory: a folder per piece of work, inside the confidential zone.

The folder goes when the work ends. A killed process leaves it behind, but not its lock, so whoever tidies up can tell
what is left over from what is in use.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

IN_USE = "in_use.lock"


@contextmanager
def spill_folder(confidential: Path) -> Iterator[Path]:
    """A folder of one's own, readable by its owner only."""
    root = confidential / "spill"
    root.mkdir(mode=0o700, exist_ok=True)
    with _opening(root):
        folder = Path(tempfile.mkdtemp(dir=root))
        lock = FileLock(folder / IN_USE, mode=0o600)
        lock.acquire()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.release()


def sweep(confidential: Path) -> None:
    """Remove what killed processes left; work in progress is left alone."""
    root = confidential / "spill"
    if not root.exists():
        return
    with _opening(root):
        for folder in [entry for entry in root.iterdir() if entry.is_dir()]:
            try:
                with FileLock(folder / IN_USE, timeout=0, mode=0o600):
                    shutil.rmtree(folder, ignore_errors=True)
            except Timeout:
                continue


def _opening(root: Path) -> FileLock:
    return FileLock(root / "opening.lock", mode=0o600)
