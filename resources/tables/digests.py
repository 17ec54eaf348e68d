"""Is a file still what was written? Damage that Parquet itself does not notice.

Every other flipped byte of a Parquet file is read as if nothing had happened: the database and polars look at no
checksum of a page, and what says where pages lie, and which keys they hold, has none. So beside every week lies a file
with the digest of the whole of it, keyed with the installation's secret because a plain one would confirm a guess. To
compare costs one more read, 0.2 s for 300 MB; to scan as much with page checksums takes thirty times that.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path

from resources.tables.files import write_durably

SUFFIX = ".digest"

Keyed = Callable[[str], str]  # makes of a digest one that only this installation can make


def digest(file: Path, keyed: Keyed) -> str:
    """The digest of a file that only this installation can make."""
    with file.open("rb") as content:
        return keyed(hashlib.file_digest(content, "sha256").hexdigest())


def note_digest(file: Path, replacement: Path, keyed: Keyed) -> None:
    """Note what a file will be once its replacement takes its place; to be called before it does.

    What the file is now stays noted beside it: should the process die in between, the old file is still whole.
    """
    digests = [digest(replacement, keyed)]
    if file.exists() and is_whole(file, keyed):
        digests.append(digest(file, keyed))
    write_durably(_noted(file), "\n".join(digests).encode())


def is_whole(file: Path, keyed: Keyed) -> bool:
    """Whether a file is what was written; one of an older version, without a digest, is taken for what it is."""
    if not _noted(file).exists():
        return True
    found = digest(file, keyed)  # before the note is read: whoever replaces the file meanwhile has noted it by then
    return found.encode() in _noted(file).read_bytes().split()


def _noted(file: Path) -> Path:
    return file.with_suffix(SUFFIX)
