"""One technique on one population: what it would publish, how far off that is, and a note that nobody may release it.

Nothing here is paid for, and errors compare with the truth: all of it belongs to the evaluation zone. Files are stamped
as a simulation; those made of traces a person brings stay in the confidential folder.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from pydantic import ValidationError

from density_assets.calendar import HOURS
from density_assets.errors import BadInput, nearest
from density_assets.research.approaches.technique import AnyTechnique, Parameters, Published
from density_assets.research.approaches.workload import METRICS, score, town
from density_assets.research.results import markdown
from density_assets.research.study import Source
from density_assets.research.traces.matrix import Traces
from density_assets.research.traces.readers import study_traces
from resources.tables.files import make_folder, parquet_bytes, private_files, write_durably

METRES_PER_KILOMETRE = 1_000.0
STAMP = "Simulation: nobody paid for this and it was compared with the truth. It must never be released."


def population(source: Source, people: int, places: int, seed: int) -> Traces:
    """The first week of the traces that a person names; without them, a town of invented people."""
    if source.data is None:
        return town(people, places, seed, source.week)
    reading, _ = study_traces(source.data, source.settings)
    source.report(str(reading.tally))
    week = reading.traces.week(0)
    return replace(week, positions=week.positions * METRES_PER_KILOMETRE)


def chosen(technique: AnyTechnique, given: Sequence[str]) -> Parameters:
    """Parameters as a person types them, `name=value` each; what is not named has its default."""
    pairs = [text.partition("=") for text in given]
    for text, (name, equals, value) in zip(given, pairs, strict=True):
        if not (name and equals and value):
            raise BadInput(f"parameters must be given as name=value, got {text!r}")
    try:
        parameters: Parameters = technique.parameters.model_validate({name: _value(text) for name, _, text in pairs})
    except ValidationError as error:
        raise BadInput("; ".join(_said(technique, problem) for problem in error.errors())) from None
    return parameters


def attempt(technique: AnyTechnique, parameters: Parameters, traces: Traces, seed: int, source: Source) -> str:
    """Publish as if it were allowed; returns what there is to say, which lies beside the files."""
    folder = source.folder / "techniques" / technique.name
    if source.data is None:
        return _attempt(technique, parameters, traces, seed, folder)
    with private_files():
        return _attempt(technique, parameters, traces, seed, folder)


def _attempt(technique: AnyTechnique, parameters: Parameters, traces: Traces, seed: int, folder: Path) -> str:
    published = technique.publish(traces, parameters, seed)
    said = report(technique, parameters, published, traces)
    make_folder(folder)
    files = {"report.md": said.encode(), "density.parquet": parquet_bytes(_density(published))}
    if published.traces is not None:
        files["records.parquet"] = parquet_bytes(_records(published.traces))
    for name, content in files.items():
        write_durably(folder / name, content)
    return f"{said}\n{folder}"


def report(technique: AnyTechnique, parameters: Parameters, published: Published, traces: Traces) -> str:
    """What a technique promises, was given, has published, and how far off that is."""
    truth = traces.aggregate().astype(np.float64)
    errors = score(truth, published.density, traces.positions)
    paragraphs = [
        f"# {technique.name} ({technique.source})",
        STAMP,
        f"Protects {protected(technique, published)}: {technique.promise.removesuffix('.')}.",
        _table("parameter", parameters.model_dump()),
        _cost(technique, parameters, published),
        _table("published", {"visits": round(float(published.density.sum())), **published.facts}),
        f"{len(traces.users):,} people, {traces.rois} places, {traces.matrix.nnz:,} visits. Errors:",
        _table("metric", {name: round(errors[name], 3) for name in METRICS}),
    ]
    return "\n\n".join(filter(None, paragraphs)) + "\n"


def protected(technique: AnyTechnique, published: Published) -> str:
    """The unit that was protected: some techniques offer a weaker one than that of their row in the study."""
    return str(published.facts.get("protects", technique.protects))


def _cost(technique: AnyTechnique, parameters: Parameters, published: Published) -> str:
    """What is promised of the unit, whatever was drawn: a path that happened to be cheap is no promise."""
    if not published.events:
        return ""
    epsilon, unit = getattr(parameters, "epsilon", 0.0), protected(technique, published)
    if unit == "a user's week":
        return f"Costs at most epsilon {epsilon:g} at delta {getattr(parameters, 'delta', 0.0):g} for {unit}."
    hours = getattr(parameters, "window", HOURS)
    return f"Costs at most epsilon {epsilon:g} for {unit}; for a user's week up to {HOURS / hours:.3g} times as much."


def _table(head: str, facts: Mapping[str, Any]) -> str:
    rows = [(name.replace("_", " "), f"{value}") for name, value in facts.items()]
    return markdown((head, "value"), rows, "l") if rows else ""


def _density(published: Published) -> pl.DataFrame:
    places, hours = published.density.shape
    return pl.DataFrame(
        {
            "place": np.repeat(np.arange(places), hours),
            "hour": np.tile(np.arange(hours), places),
            "visits": published.density.ravel(),
            "stamp": ["simulation"] * published.density.size,
        }
    )


def _records(traces: Traces) -> pl.DataFrame:
    record, place, hour = traces.points()
    stamp = ["simulation"] * len(record)
    return pl.DataFrame({"record": record, "place": place, "hour": hour % HOURS, "stamp": stamp})


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _said(technique: AnyTechnique, problem: Any) -> str:
    name, known = ".".join(map(str, problem["loc"])), technique.parameters.model_fields
    if problem["type"] == "extra_forbidden":
        return f"{technique.name} has no parameter {name!r}{nearest(name, known)}; it has {', '.join(known) or 'none'}"
    return f"{technique.name}: {name} is refused, {problem['msg'].lower()}, got {problem['input']!r}"
