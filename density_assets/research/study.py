"""What a study is, and how it is run.

A study tries every point of a grid with seeded noise, several times, and says what came out: a table of all
repetitions, figures, and a summary beside the numbers the papers print. Repetitions are independent, so all cores
work; each is kept as soon as it is done, so a study that was interrupted goes on where it stopped.

Studies draw many times and compare with the truth, which nobody pays for: they run on synthetic people, or on records
of people who are not protected by the ledger (public research traces), never on the city's subscribers.
"""

import hashlib
import io
import json
import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import polars as pl
import threadpoolctl
from matplotlib.figure import Figure

from density_assets.errors import BadInput
from density_assets.privacy.estimates import WITH_EARLIER_WEEKS
from density_assets.privacy.release import FORMAT
from density_assets.publication.pictures import png
from density_assets.schemes import SCHEMES, learning_scheme
from density_assets.schemes.scheme import Plan
from density_assets.settings import PrivacySettings, SchemeSettings, Settings
from resources.tables.files import fingerprint, make_folder, parquet_bytes, private_files, write_durably
from resources.tables.store import Store

Row = dict[str, Any]  # plain JSON values
Inputs = TypeVar("Inputs")
Report = Callable[[str], None]

TABLES_OF = {"cover_graph": "cover"}  # of assets whose table has another name
BUDGET = {"budget_epsilon", "budget_delta"}  # bounds releases, not what one draws


@dataclass(frozen=True)
class Source:
    """Where a study may take its inputs from.

    data: files of traces a person names; None where the study generates its own.
    report: takes lines of progress.
    """

    settings: Settings
    store: Store
    week: date
    data: Path | None = None
    report: Report = lambda _: None

    @property
    def folder(self) -> Path:
        """Where studies of this city leave what they find; traces a person brings stay confidential."""
        return (self.store.folder if self.data is None else self.store.confidential) / "studies"

    def public(self, asset: str) -> pl.DataFrame:
        """The table of a public asset."""
        return self.store.read_public(TABLES_OF.get(asset, asset))

    def fingerprint(self, asset: str) -> str:
        """Changes with the content of an asset's table: of this week, or of the public one."""
        table = TABLES_OF.get(asset, asset)
        if self.store.has_week(table, self.week):
            return self.store.week_fingerprint(table, self.week)
        return fingerprint(self.public(asset))

    def traces(self) -> list[tuple[str, int, int]]:
        """The files of traces a person names, and the recipe beside them, as they are now."""
        if self.data is None:
            return []
        files = self.data.rglob("*") if self.data.is_dir() else [self.data, *self.data.parent.glob("traces.toml")]
        return [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in sorted(files)]


@dataclass(frozen=True)
class Outcome:
    """What a study has found: its folder, summary (Markdown), figures (PNG) and all repetitions."""

    folder: Path
    summary: str
    pictures: dict[str, bytes]
    results: pl.DataFrame


@dataclass(frozen=True)
class Study(Generic[Inputs]):
    """One question, asked of a grid.

    grid: points as flat rows of JSON values, all with the same keys.
    load: the inputs, once; workers inherit them.
    once: one repetition of a point with a seed; its results, as one row or many, without the point's own columns.
    figures: pictures of all results, by name.
    summary: Markdown, beside the published numbers.
    about: what the inputs were made under, in a line above the summary.
    weekly: whether it works on a materialised week of the city, rather than on people of its own.
    tables: the assets a weekly study reads.
    chooses: settings that a weekly study does not take from the city.
    version: changes when the numbers a repetition yields change; kept repetitions of other versions are left aside.
    made_from: what else its repetitions are made from; kept ones belong to it.
    kind: a study asks how good a release is, an attack test whether the promise is kept.
    """

    name: str
    title: str
    grid: tuple[Row, ...]
    load: Callable[[Source], Inputs]
    once: Callable[[Inputs, Row, int], list[Row]]
    figures: Callable[[Inputs, pl.DataFrame], Mapping[str, Figure]]
    summary: Callable[[pl.DataFrame], str]
    about: Callable[[Inputs], str] = lambda _: ""
    repetitions: int = 20
    weekly: bool = False
    version: int = 1
    tables: tuple[str, ...] = ()
    chooses: frozenset[str] = frozenset()
    kind: Literal["study", "attack_test"] = "study"
    made_from: Callable[[Source], Row] = lambda _: {}

    def __post_init__(self) -> None:
        if self.kind == "attack_test" and self.tables:  # whoever reads an audit page may read what it finds
            raise ValueError(f"an attack test must invent its people, but {self.name} reads {', '.join(self.tables)}")

    @property
    def asset_name(self) -> str:
        """Attack tests are named for what they are, studies say that they are studies."""
        return self.name if self.kind == "attack_test" else f"study_{self.name}"

    def folder(self, source: Source) -> Path:
        """Where it leaves what it finds: each week of a weekly study has a folder of its own."""
        folder = source.folder / self.name
        return folder / str(source.week) if self.weekly else folder

    def identity(self, source: Source) -> str:
        """Changes with whatever a repetition is made from: contents that are read, settings, and schemes' draws."""
        settings = source.settings
        schemes = {str(point["scheme"]) for point in self.grid if "scheme" in point} & SCHEMES.keys()
        if self.weekly and "name" not in self.chooses:
            schemes |= {settings.scheme.name}
        made_from: Row = {"schemes": {name: _versions(name) for name in schemes}, "data": source.traces()}
        if self.weekly:
            made_from |= {"week": str(source.week), "tables": {name: source.fingerprint(name) for name in self.tables}}
            made_from |= {"privacy": settings.privacy.model_dump(exclude=BUDGET | self.chooses)}
            made_from |= {"scheme": settings.scheme.model_dump(exclude=set(self.chooses))}
        return hashed(made_from | self.made_from(source))


def _versions(scheme: str) -> list[int]:
    """Of a scheme's draws and, where weeks are estimated apart from them, of the estimator."""
    return [FORMAT, *([WITH_EARLIER_WEEKS] if learning_scheme(scheme) else [])]


def conduct(study: Study[Any], source: Source, repetitions: int, report: Report) -> Outcome:
    """Run a study and put table, figures (PNG and SVG) and summary beside each other in its folder."""
    traces_stay_confidential = nullcontext() if source.data is None else private_files()
    try:
        with traces_stay_confidential:
            return _conduct(study, source, repetitions, report)
    except ModuleNotFoundError as missing:
        raise BadInput(
            f"the study {study.name} needs {missing.name}: pip install 'density-assets[research]'"
        ) from missing


def _conduct(study: Study[Any], source: Source, repetitions: int, report: Report) -> Outcome:
    folder = study.folder(source)
    make_folder(folder)
    inputs = study.load(replace(source, report=report))
    book = folder / f"repetitions_{study.version}_{study.identity(source)}.jsonl"
    results = run(study, inputs, book, repetitions, report)
    figures = study.figures(inputs, results)
    pictures = {name: png(figure) for name, figure in figures.items()}
    paragraphs = (f"## {study.title}", study.about(inputs), study.summary(results))
    summary = "\n\n".join(filter(None, paragraphs)) + "\n"
    files = {f"{name}.png": picture for name, picture in pictures.items()}
    files |= {f"{name}.svg": _svg(figure) for name, figure in figures.items()}
    files |= {"results.parquet": parquet_bytes(results), "summary.md": summary.encode()}
    for name, content in files.items():
        write_durably(folder / name, content)
    return Outcome(folder, summary, pictures, results)


def run(study: Study[Inputs], inputs: Inputs, book: Path, repetitions: int, report: Report) -> pl.DataFrame:
    """Results of all repetitions: the point's columns, its seed, and what `once` yields, one row each.

    book: where finished repetitions are kept.
    """
    finished = dict(_kept(book))
    tasks = [(point, seed) for seed in range(repetitions) for point in study.grid]
    todo = [task for task in tasks if _key(*task) not in finished]
    with book.open("a", encoding="utf-8") as file:
        file.write("\n")  # closes a line that a crash may have cut short
        for number, (key, rows) in enumerate(_worked(study, inputs, todo), start=1):
            finished[key] = rows
            file.write(json.dumps([key, rows]) + "\n")
            file.flush()
            report(_progress(study.name, number + len(tasks) - len(todo), len(tasks)))
    rows = [{**point, "seed": seed, **row} for point, seed in tasks for row in finished[_key(point, seed)]]
    return pl.DataFrame(rows, infer_schema_length=None)


@cache
def cached_plan(privacy: PrivacySettings, scheme: SchemeSettings) -> Plan:
    """Return what a release under these settings spends: calibration is a search, so each is calibrated once."""
    return SCHEMES[scheme.name].plan(Settings(privacy=privacy, scheme=scheme))


def averaged(results: pl.DataFrame, by: list[str], metrics: tuple[str, ...]) -> pl.DataFrame:
    """Mean and standard deviation (`…_sd`) of metrics over repetitions, in the order points first appear."""
    both = [e for m in metrics for e in (pl.col(m).mean(), pl.col(m).std().fill_null(0.0).alias(f"{m}_sd"))]
    return results.group_by(by, maintain_order=True).agg(*both, pl.col("seed").n_unique().alias("repetitions"))


def _progress(name: str, done: int, total: int) -> str:
    full = 24 * done // total
    return f"{name} [{'█' * full}{'·' * (24 - full)}] {done} of {total}"


def hashed(value: Any) -> str:
    """A short name for a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def _key(point: Row, seed: int) -> str:
    return hashed([point, seed])


def _kept(book: Path) -> Iterator[tuple[str, list[Row]]]:
    """Finished repetitions; a last line cut short by a crash counts as not done."""
    if book.exists():
        for line in book.read_text(encoding="utf-8").splitlines():
            try:
                key, rows = json.loads(line)
            except ValueError:
                continue
            yield key, rows


_WORK: tuple[Study[Any], Any] | None = None


def _worked(study: Study[Any], inputs: Any, todo: list[tuple[Row, int]]) -> Iterator[tuple[str, list[Row]]]:
    """One process per core, each with one thread; inputs are inherited, not copied to each task."""
    global _WORK
    _WORK = (study, inputs)
    workers = min(os.cpu_count() or 1, len(todo))
    if workers:
        with multiprocessing.get_context("fork").Pool(workers) as pool:
            yield from pool.imap_unordered(_one, todo)
            pool.close()  # workers end by themselves: a signal could be taken for an interrupt of the run
            pool.join()


def _one(task: tuple[Row, int]) -> tuple[str, list[Row]]:
    assert _WORK is not None  # set before the pool starts
    study, inputs = _WORK
    with threadpoolctl.threadpool_limits(1):
        return _key(*task), study.once(inputs, *task)


def _svg(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()
