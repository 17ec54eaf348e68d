"""Where the weeks of confidential tables lie: folders below a path or URL, the same at home and on an object store.

    <root>/<table>/<week>/<attempt>/*.parquet
    <root>/<table>/<week>/CURRENT

An attempt to write a week has a folder with a random name that nobody reads. Once all of it is there, one small object
is put, which names the attempt, each of its files with its digest, and what it was made under; it is sealed with the
installation's secret. To put an object is the one step that every store does whole or not at all, so a week is there
whole or not at all, whatever dies meanwhile, and readers never wait. A killed writer leaves an attempt that `CURRENT`
does not name; the next writer of that week removes it, and so does erasing the week. Whoever was still writing it on
another machine finds that `STARTED` is gone, and gives up: what is left may lack rows.

Digests are made of whole files and compared at every read, because Parquet reads most flipped bytes as if nothing had
happened; they are keyed with the installation's secret, because a plain one would confirm a guess.

What a store keeps of removed objects (versions, snapshots, a bin) is beyond the reach of this program and is for a
rule of the store to expire; of versions and unfinished uploads it says that they are there (`leftovers`).

Every place where weeks of a city were ever kept is noted in its home: settings change, and what was written stays until
it is erased. So erasing looks at all of them, no released step may open one, and no input may come from one.
"""

import errno
import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from fsspec import AbstractFileSystem
from fsspec.implementations.local import LocalFileSystem

from density_assets.errors import BadInput
from density_assets.records.files import store_of
from density_assets.settings.values import is_url
from resources.tables.files import private_files, spill_folder, write_durably
from resources.tables.stamps import Stamp
from resources.tables.week_writer import WeekWriter

CURRENT, STARTED, FAULTY = "CURRENT", "STARTED", "FAULTY"
PARQUET = ".parquet"
AT_ONCE = 8  # files whose digests are made at the same time
NOTED = "weeks_at.json"

Keyed = Callable[[str], str]  # makes of a digest one that only this installation can make


class NotWhole(ValueError):
    """A week is not what was written."""


@dataclass(frozen=True)
class StoredWeek:
    """The files of a week of a table, found to be what was written.

    stamp: what it was made under.
    system: what opens them.
    """

    files: tuple[str, ...]
    stamp: Stamp
    system: AbstractFileSystem

    @property
    def local(self) -> bool:
        """Whether they are files of this machine."""
        return isinstance(self.system, LocalFileSystem)

    @contextmanager
    def opened(self, file: str) -> Iterator[BinaryIO | Path]:
        """A file, to be read; of this machine its path, which libraries read faster."""
        if self.local:
            yield Path(file)
            return
        with self.system.open(file, "rb") as content:
            yield content


@dataclass
class Attempt:
    """A week on its way.

    folder: where its Parquet files belong.
    content: names what they hold, whatever they are called and however rows are spread; if empty, their bytes do.
    """

    folder: str
    content: str = ""


class Weeks:
    """The weeks of the confidential tables of a city."""

    def __init__(self, root: str, confidential: Path, keyed: Keyed) -> None:
        """confidential: the folder of the home where a week is written before it is put on an object store."""
        self.root = root.rstrip("/")
        self._confidential = confidential
        self._keyed = keyed
        with reaching(root):
            self._system, inside = store_of(root, "storage.weeks")
        self._inside = inside.rstrip("/")
        self._local = isinstance(self._system, LocalFileSystem)

    def exists(self, table: str, week: date) -> bool:
        """Whether a week is there."""
        with self._reaching():
            return bool(self._system.exists(self._current(table, week)))

    def look(self, table: str, week: date) -> StoredWeek:
        """The files of a week that is there; raises `NotWhole` if they are not what was written."""
        noted = self._noted(table, week)
        folder = f"{self._folder(table, week)}/{noted['attempt']}"
        files = [f"{folder}/{name}" for name in sorted(noted["files"])]
        with self._reaching():
            try:
                found = self._digests(files)
            except FileNotFoundError:
                raise NotWhole("a file of it is missing") from None
        if found != noted["files"]:
            raise NotWhole("it is not what was written")
        return StoredWeek(tuple(map(self._openable, files)), noted["stamp"], self._system)

    @contextmanager
    def writing(self, table: str, week: date, stamp: Stamp) -> Iterator[WeekWriter]:
        """Write a week piece by piece; it appears whole at the end, or not at all."""
        with private_files():
            if self._local:
                with (
                    self.gathering(table, week, stamp) as attempt,
                    WeekWriter(Path(attempt.folder, f"0{PARQUET}"), week, stamp) as writer,
                ):
                    yield writer
                return
            with spill_folder(self._confidential) as aside:
                file = aside / f"0{PARQUET}"
                with WeekWriter(file, week, stamp) as writer:
                    yield writer
                with self.gathering(table, week, stamp) as attempt, self._reaching():
                    self._system.put_file(str(file), f"{attempt.folder}/{file.name}")

    @contextmanager
    def gathering(self, table: str, week: date, stamp: Stamp) -> Iterator[Attempt]:
        """A fresh folder to put the Parquet files of a week into; they count once all went well."""
        name = secrets.token_hex(8)
        folder = f"{self._folder(table, week)}/{name}"
        attempt = Attempt(self._openable(folder))
        with private_files():
            with self._reaching():
                # Else the path begins with a bucket, which is somebody's to make and to close.
                if self._inside.startswith("/"):
                    self._system.makedirs(folder, exist_ok=True)
                self._put(f"{folder}/{STARTED}", b"")
            before = self._attempt_before(table, week)
            try:
                yield attempt
                with self._reaching():
                    self._publish(table, week, name, attempt.content, stamp)
            except BaseException:
                with suppress(Exception):  # what went wrong first is what matters
                    self._system.rm(folder, recursive=True)
                raise
            with self._reaching():  # from here on it counts, whether or not others can be removed
                self._remove_others(table, week, {name, before})

    def _attempt_before(self, table: str, week: date) -> str | None:
        """Return the attempt that counted before: at home another run may be reading it, so it stays for one turn."""
        if self._at_home() and self.exists(table, week):
            with suppress(NotWhole):
                return str(self._noted(table, week)["attempt"])
        return None

    def _publish(self, table: str, week: date, attempt: str, content: str, stamp: Stamp) -> None:
        """Let an attempt count."""
        folder = self._folder(table, week)
        names = self._system.ls(f"{folder}/{attempt}", detail=False)
        files = sorted(name for name in names if _is_ours(name))
        if not files:
            raise ValueError(f"nothing was written to {table} of {week}: an empty week still has columns")
        if self._local:
            _on_disk(files)
        digests = self._digests(files)
        said = content or hashlib.sha256(json.dumps(sorted(digests.values())).encode()).hexdigest()
        if not self._system.exists(f"{folder}/{attempt}/{STARTED}"):
            raise BadInput(
                f"{table} of the week of {week} must be written by one run at a time, but another one wrote or erased "
                "it meanwhile: look which, and materialise it again"
            )
        noted = {"attempt": attempt, "content": self._keyed(said), "files": digests, "stamp": stamp}
        sealed = {"noted": noted, "seal": self._seal(table, week, noted)}
        self._put(self._current(table, week), json.dumps(sealed).encode())

    def _remove_others(self, table: str, week: date, staying: set[str | None]) -> None:
        for name in self._system.ls(self._folder(table, week), detail=False):
            if PurePosixPath(name).name not in {*staying, CURRENT}:
                self._system.rm(name, recursive=True)

    def fingerprint(self, table: str, week: date) -> str:
        """Equal for equal content, useless for confirming a guess."""
        return str(self._noted(table, week)["content"])

    def refuse(self, table: str, week: date) -> None:
        """Mark a week that a check has found wrong."""
        self._mark(table, week).parent.mkdir(mode=0o700, exist_ok=True)
        with private_files(), self._reaching():
            write_durably(self._mark(table, week), self._noted(table, week)["attempt"].encode())
            self._put(f"{self._folder(table, week)}/{FAULTY}", b"")

    def refused(self, table: str, week: date) -> bool:
        """Whether a week is marked."""
        with self._reaching():
            if self._system.exists(f"{self._folder(table, week)}/{FAULTY}"):
                return True
        mark = self._mark(table, week)
        return mark.exists() and mark.read_text() == self._noted(table, week)["attempt"]

    def erase(self, week: date) -> list[str]:
        """Remove every file of a week, of attempts that were given up too; those in the home are found there."""
        if self._at_home():
            return []
        found = self._all(week)
        with self._reaching():
            for folder in self._weeks(week):
                self._system.rm(folder, recursive=True)
            if left := self._all(week):
                raise BadInput(
                    f"erasing the week of {week} must leave nothing at {self.root}, {len(left)} files are still there: "
                    "erase it again"
                )
        return [self._openable(name) for name in found]

    def views(self) -> dict[str, list[str]]:
        """The files of this machine that hold whole weeks, by table; of a store elsewhere nothing."""
        if not self._local:
            return {}
        views: dict[str, list[str]] = {}
        for current in sorted(Path(self._inside).glob(f"*/*/{CURRENT}")):
            table, week = current.parent.parent.name, current.parent.name
            with suppress(NotWhole, ValueError):  # a week that nobody could read has no view
                attempt = current.parent / self._noted(table, date.fromisoformat(week))["attempt"]
                views.setdefault(table, []).append(str(attempt / f"*{PARQUET}"))
        return views

    # --- inside -----------------------------------------------------------------------------------------------

    def _mark(self, table: str, week: date) -> Path:
        """Beside the mark at the store, which others may remove: which attempt was refused here."""
        return self._confidential / "refused" / f"{table}_{week}.txt"

    def _folder(self, table: str, week: date) -> str:
        return f"{self._inside}/{table}/{week}"

    def _current(self, table: str, week: date) -> str:
        return f"{self._folder(table, week)}/{CURRENT}"

    def _openable(self, name: str) -> str:
        """A name that says which store it is in; of this machine the plain path."""
        return name if self._local else str(self._system.unstrip_protocol(name))

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        """Say what to do about a store that cannot be reached; of the home others say it (`resources/faults.py`)."""
        if self._at_home():
            yield
        else:
            with reaching(self.root):
                yield

    def _at_home(self) -> bool:
        return self._local and Path(self._inside).resolve().is_relative_to(self._confidential.resolve())

    def _weeks(self, week: date) -> list[str]:
        if not self._system.exists(self._inside):
            return []
        folders = (f"{table}/{week}" for table in self._system.ls(self._inside, detail=False))
        return [folder for folder in folders if self._system.exists(folder)]

    def _all(self, week: date) -> list[str]:
        """Every file of a week; a folder without any, which a store may still name, is none."""
        with self._reaching():
            found = [self._system.find(folder, detail=True) for folder in self._weeks(week)]
        return sorted(name for files in found for name, about in files.items() if about["type"] == "file")

    def _digests(self, files: list[str]) -> dict[str, str]:
        """The digest of each file that only this installation can make, by its name."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            plain = pool.map(self._digest, files)
            return {PurePosixPath(name).name: self._keyed(found) for name, found in zip(files, plain, strict=True)}

    def _digest(self, file: str) -> str:
        with self._system.open(file, "rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()

    def _noted(self, table: str, week: date) -> dict[str, Any]:
        with self._reaching():
            try:
                said = json.loads(self._system.cat_file(self._current(table, week)))
                noted, seal = said["noted"], str(said["seal"])
            except FileNotFoundError:
                raise NotWhole("what names its files is missing") from None
            except (ValueError, KeyError, TypeError):
                raise NotWhole("what names its files cannot be read") from None
        if not hmac.compare_digest(seal, self._seal(table, week, noted)):
            raise NotWhole("what names its files was not written by this installation")
        return dict(noted)

    def _seal(self, table: str, week: date, noted: Any) -> str:
        """Only this installation makes it, and for this table and week alone."""
        return self._keyed(json.dumps([table, str(week), noted], sort_keys=True))

    def _put(self, name: str, content: bytes) -> None:
        if self._local:
            write_durably(Path(name), content)
        else:
            self._system.pipe_file(name, content)


def _is_ours(name: str) -> bool:
    return name.endswith(PARQUET) and not PurePosixPath(name).name.startswith(("_", "."))


def _on_disk(files: list[str]) -> None:
    """Make sure that every byte of these files is on disk, and their names."""
    for path in (*files, str(Path(files[0]).parent), str(Path(files[0]).parent.parent)):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def reaching(url: str) -> Iterator[None]:
    """Say of a store that cannot be reached or written to what to do; its own words may quote a value."""
    try:
        yield
    except (BadInput, NotWhole, ValueError):
        raise
    except Exception as error:
        if not (isinstance(error, OSError) or type(error).__module__.startswith(("botocore", "aiohttp", "fsspec"))):
            raise
        raise BadInput(
            f"confidential weeks must be kept at {url} (storage.weeks), but it gave {type(error).__name__}: look "
            "whether it is there, has room, and lets this program read and write; it makes no bucket. Stored weeks are "
            "as they were"
        ) from None


# --- what is left and where -------------------------------------------------------------------------------------------


def leftovers(root: str, week: date) -> str:
    """Say which versions and unfinished uploads of an erased week a bucket keeps; empty if none, or not on S3.

    A bucket whose versions were switched off later keeps those it has. The parts of an object that was never put
    together are named by no listing, and whoever has their number can still make them one.
    """
    system, inside = store_of(root, "storage.weeks")
    if not hasattr(system, "call_s3"):
        return ""
    system, inside = store_of(root, "storage.weeks", version_aware=True)
    bucket, _, prefix = inside.partition("/")

    def uploads() -> list[str]:
        page = system.call_s3("list_multipart_uploads", Bucket=bucket, Prefix=f"{prefix}/")
        more = [f"/{week}/ and more"] if page.get("IsTruncated") else []
        return [*(upload["Key"] for upload in page.get("Uploads", ())), *more]

    looks: dict[str, Callable[[], list[str]]] = {
        "versions of them": lambda: list(system.find(inside, versions=True)),
        "uploads of them that were never finished": uploads,
    }
    kept = []
    for what, names in looks.items():
        try:
            number = sum(f"/{week}/" in name for name in names())
        except FileNotFoundError:  # the bucket is gone
            continue
        except Exception as error:
            if isinstance(error, OSError) and error.errno == errno.ENOSYS:  # a store that has none
                continue
            needed = "s3:ListBucketVersions, s3:ListBucketMultipartUploads"
            kept.append(f"{root} does not say which {what} it keeps ({type(error).__name__}; {needed})")
            continue
        if number:
            kept.append(f"{root} keeps {number} {what}")
    return "; ".join(kept)


def note_root(confidential: Path, root: str) -> None:
    """Note where weeks of a city are going to lie."""
    known = roots_of(confidential)
    if root not in known:
        with private_files():
            write_durably(confidential / NOTED, json.dumps([*known, root]).encode())


def roots_of(confidential: Path) -> list[str]:
    """Every place where weeks of a city were ever kept, its home aside."""
    file = confidential / NOTED
    return [str(root) for root in json.loads(file.read_bytes())] if file.exists() else []


def roots_under(home: Path) -> list[str]:
    """Those of all cities of a home."""
    return [root for folder in sorted(home.glob("*/confidential")) for root in roots_of(folder)]


def folders_under(home: Path) -> list[Path]:
    """Those that are folders of this machine."""
    return [Path(root) for root in roots_under(home) if not is_url(root)]
