"""The page of one weekly release: a single HTML file that reads from disk and asks the network for nothing.

The page shows what was released and computes nothing private: its data are the released counts, their standard errors
and the public geography. This module says what stands on the page, as words and numbers; how it looks and behaves is in
templates/report.html, page.css, planning.css and the scripts, of which page.js comes last; its words are in words.json.

Cells travel small: simplified together as one coverage, so that a shared border moves once and neighbours still touch,
then put on a grid of whole metres, where equal points round alike.
"""

from calendar import day_name
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from density_assets.calendar import HOURS
from density_assets.estimation.weeks.summary import Summary
from density_assets.publication.pages.templates import named, render, word, words
from density_assets.publication.sum_errors import packed_sums
from density_assets.publication.sums import Area
from density_assets.series import happening

TOLERANCE_M = 5.0  # by which outlines of cells are simplified
STATEMENT_TITLE = "# Privacy statement\n\n"
SCRIPTS = ("language", "sums", "numbers", "selection", "map", "charts", "tables", "compare", "saving", "people", "page")


@dataclass(frozen=True)
class ReportData:
    """What the page shows.

    week: the Monday the week is named after.
    polygons: one shapely polygon or multipolygon per cell, x to the east and y to the north in metres.
    counts, standard_errors: shape (cells, 168), hours of the week in local time.
    statement: Markdown; see `markdown_html` for what is made of it.
    downloads: label and the name of a file beside the page.
    manifest, fingerprint: the signed list that covers this page, and of which key.
    vintage: which estimate of the week it is; nothing of a week estimated alone, of which there is one.
    areas: sums of parts of the city with their intervals, where errors of sums are known; the city itself first.
    warning: what a reader must know before anything else; nothing if there is no such thing.
    sums: what tells the error of any sum, where it is known. groups: cells that can be chosen together, by name.
    missing: hours of the week that do not happen, because clocks go forward.
    people: those of cells and groups (`people_for_page`), where the release states factors.
    """

    city: str
    week: date
    timezone: str
    cell_ids: list[str]
    polygons: NDArray[np.object_]
    counts: NDArray[np.int64]
    standard_errors: NDArray[np.float64]
    statement: str
    downloads: dict[str, str]
    notes: list[str]
    manifest: str
    fingerprint: str
    vintage: str = ""
    areas: Sequence[Area] = ()
    warning: str = ""
    sums: Summary | None = None
    groups: Mapping[str, Sequence[int]] = field(default_factory=dict)
    missing: Sequence[int] = ()
    people: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        """Refuse what would draw a wrong page without a word."""
        cells = len(self.cell_ids)
        if not cells or len(set(self.cell_ids)) != cells:
            raise ValueError(f"cell_ids must be distinct and at least one, got {cells} of them")
        if len(self.polygons) != cells:
            raise ValueError(f"there must be one polygon per cell, got {len(self.polygons)} for {cells} cells")
        for name in ("counts", "standard_errors"):
            if (shape := getattr(self, name).shape) != (cells, HOURS):
                raise ValueError(f"{name} must have shape {(cells, HOURS)}, got {shape}")
        if not (np.isfinite(self.standard_errors).all() and (self.standard_errors >= 0).all()):
            raise ValueError("standard_errors must be finite and at least 0")
        if self.week.weekday() != 0:
            raise ValueError(f"week must be a Monday, got {self.week:%A} {self.week}")


def report_html(data: ReportData) -> str:
    """The whole page, ready to be written to one file."""
    return render(
        "report.html",
        data=data,
        word=word,
        named=named,
        words=words(),
        counted="visits" if data.people is None else "people",
        monday=_day(data.week),
        week=_week_name(data.week),
        facts=_facts(data),
        statement=_titled(data.statement),
        days=list(day_name),
        drawn=_script_data(data),
        scripts=[f"{name}.js" for name in SCRIPTS],
    )


def _script_data(data: ReportData) -> dict[str, Any]:
    """What the scripts draw from: areas in whole square metres, standard errors to three digits."""
    shapes = outlines(data.polygons)
    return {
        "city": data.city,
        "monday": f"{data.week}",
        "missing": list(data.missing),
        "words": words(),
        "ids": data.cell_ids,
        "groups": [(name, list(cells)) for name, cells in data.groups.items()],
        "sums": packed_sums(data.sums, happening(data.missing)) if data.sums is not None else None,
        **({} if data.people is None else {"people": data.people}),
        "width": shapes.width,
        "height": shapes.height,
        "rings": shapes.rings,
        "areas": [max(1, round(area)) for area in shapely.area(data.polygons)],
        "counts": data.counts.tolist(),
        "errors": [[_short(error) for error in row] for row in data.standard_errors.tolist()],
    }


def _short(value: float) -> float | int:
    rounded = float(f"{value:.3g}")
    return int(rounded) if rounded.is_integer() else rounded


def _day(day: date) -> str:
    return f"{day.day} {day:%B %Y}"


def _week_name(week: date) -> str:
    """The week by its first and last day, without repeating the month or year they share."""
    sunday = week + timedelta(days=6)
    shared = "%B %Y" if week.year != sunday.year else "%B" if week.month != sunday.month else ""
    return f"{f'{week.day} {week.strftime(shared)}'.strip()} – {_day(sunday)}"


def _facts(data: ReportData) -> dict[str, tuple[float, ...]]:
    """What stands below the title, by its word: a number, and how far its interval reaches where that is known."""
    square_km = shapely.area(data.polygons).sum() / 1e6
    return {
        "fact.cells": (len(data.cell_ids),),
        "fact.area": (round(square_km) if square_km >= 10 else float(f"{square_km:.2g}"),),
        **_visits(data),
    }


def _visits(data: ReportData) -> dict[str, tuple[float, ...]]:
    if not data.areas:
        return {"fact.visits": (int(data.counts.sum()),)}
    week = data.areas[0].sums[-1]
    return {"fact.noisy": (week.visits, week.margin)}


def _titled(statement: str) -> str:
    return statement if statement.lstrip().startswith("# ") else STATEMENT_TITLE + statement


@dataclass(frozen=True)
class Outlines:
    """The cells in screen axes: whole metres from the north-west corner, x to the east, y to the south.

    rings: for each cell its rings, outer and holes alike, each as x, y of the first point and then the steps to the
        next ones. The last point is not repeated: a ring closes on its first point.
    """

    width: int
    height: int
    rings: list[list[list[int]]]


def outlines(polygons: NDArray[np.object_], tolerance: float = TOLERANCE_M) -> Outlines:
    """Simplify by about `tolerance` metres and quantise; a cell too small to survive that keeps its full shape."""
    west, south, east, north = shapely.total_bounds(polygons)
    simple = np.asarray(shapely.coverage_simplify(polygons, tolerance), dtype=object)
    shapes = np.where(shapely.is_empty(simple), polygons, simple)
    rings = [
        [
            _ring_steps(ring, west, north)
            for part in shapely.get_parts(shape)
            for ring in (part.exterior, *part.interiors)
        ]
        for shape in shapes
    ]
    return Outlines(int(np.ceil(east - west)), int(np.ceil(north - south)), rings)


def _ring_steps(ring: Any, west: float, north: float) -> list[int]:
    """Round the ring, drop what rounding made equal and the closing point, and take differences."""
    open_ring = shapely.get_coordinates(ring)[:-1]
    points = np.rint((open_ring - (west, north)) * (1, -1)).astype(np.int64)
    moved = np.any(points != np.roll(points, 1, axis=0), axis=1)
    moved[0] |= not moved.any()
    steps = np.diff(points[moved], axis=0, prepend=np.zeros((1, 2), dtype=np.int64))
    return [int(step) for step in steps.ravel()]
