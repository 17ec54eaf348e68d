"""Weeks of a small city as files a planner has: pages, counts as CSV and Parquet, errors of sums, cells."""

from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array
from shapely import box, transform

from density_assets.estimation.weeks.summary import Kind, Summary
from density_assets.geography.cells_and_towers import Cells
from density_assets.publication.files import geojson, in_degrees
from density_assets.publication.pages.page import ReportData, report_html
from density_assets.publication.people import Factor, PeopleFactors
from density_assets.publication.sum_errors import errors_table
from density_assets.publication.sums import WeekCounts, areas_by_day, city_and_parts, people_for_page

SIDE, HOURS = 6, 168
CELLS = SIDE**2
EARLIER, LATER, CLOCKS_CHANGE = date(2007, 9, 10), date(2007, 9, 17), date(2008, 3, 24)
SKIPPED = 6 * 24 + 2  # Sunday 02:00, when clocks go forward
EARLY = 3  # Monday 03:00: left out by clocks in the earlier week of notebooks
EVENT = (14, 5 * 24 + 20)  # a cell and Saturday 20:00: 900 visits more in the later week
IDS = [f"C{number:02}" for number in range(CELLS - 1)] + ['quai "B", east']
SQUARES = np.array(
    [box(x * 1000, y * 1000, x * 1000 + 1000, y * 1000 + 1000) for y in range(SIDE) for x in range(SIDE)]
)
MIDDLES = np.array([[x, y] for y in range(SIDE) for x in range(SIDE)], dtype=float)
STATEMENT = f"# Statement\n\n- a charge: {'5778' * 16}\n"


@dataclass(frozen=True)
class Week:
    """What is released of one week."""

    monday: date
    counts: NDArray[np.int64]
    errors: NDArray[np.float64]
    sums: Summary
    missing: tuple[int, ...] = ()

    @property
    def happens(self) -> NDArray[np.bool_]:
        return ~np.isin(np.arange(HOURS), self.missing)

    def margins(self, areas: NDArray[np.float64], periods: NDArray[np.float64]) -> NDArray[np.float64]:
        """Half of the 95 % intervals of sums."""
        return 1.96 * np.sqrt(self.sums.variance(self.counts.astype(float), self.errors, areas, periods))

    def page(self, factors: PeopleFactors | None = None) -> str:
        """Its page; with people, where factors are stated."""
        happens, groups = self.happens, city_and_parts(MIDDLES)
        week = WeekCounts(self.counts.astype(float), self.errors, self.sums, happens)
        return report_html(
            ReportData(
                city="town",
                week=self.monday,
                timezone="Europe/Paris",
                cell_ids=IDS,
                polygons=SQUARES,
                counts=self.counts,
                standard_errors=self.errors,
                statement=STATEMENT,
                downloads={"CSV": f"density_{self.monday}.csv"},
                notes=["Clocks do not change this week."],
                manifest=f"manifest_{self.monday}.json",
                fingerprint="f" * 64,
                areas=areas_by_day(week, groups),
                sums=self.sums,
                groups={name: np.flatnonzero(part).tolist() for name, part in groups.items()},
                missing=self.missing,
                people=None if factors is None else people_for_page(factors, week, groups),
            )
        )

    def table(self) -> pl.DataFrame:
        """The published counts; hours that do not happen have no time."""
        times = [None if hour in self.missing else f"{self.monday}T00:00:00+02:00" for hour in range(HOURS)]
        return pl.DataFrame(
            {
                "cell_id": np.repeat(IDS, HOURS),
                "hour": np.tile(np.arange(HOURS), CELLS),
                "timestamp": times * CELLS,
                "count": self.counts.reshape(-1),
                "standard_error": self.errors.reshape(-1),
            }
        )


def periods() -> NDArray[np.float64]:
    """Which hours (168) are in which period of a page: 168 hours, seven days, the week."""
    return np.hstack([np.eye(HOURS), np.repeat(np.eye(7), 24, axis=0), np.ones((HOURS, 1))])


def weeks() -> dict[date, Week]:
    """Counts between 200 and 400 that differ by a few, but for the event; errors of 20 and 40, partly shared."""
    random = np.random.default_rng(7)
    counts = random.integers(200, 400, (CELLS, HOURS))
    later = counts + random.integers(-9, 10, counts.shape)
    later[EVENT] += 900
    errors = random.choice([20.0, 40.0], (CELLS, HOURS))
    places = Kind("places", csr_array(random.normal(size=(CELLS, 3))), random.normal(size=(HOURS, 2)))
    towers = Kind("towers", csr_array(3 * np.eye(CELLS)), np.ones((HOURS, 1)))
    sums = Summary((places, towers), np.tril(0.001 * random.normal(size=(HOURS, HOURS))))
    found = (Week(EARLIER, counts, errors, sums), Week(LATER, later, errors, sums))
    return {week.monday: week for week in (*found, Week(CLOCKS_CHANGE, counts, errors, sums, (SKIPPED,)))}


def factors() -> PeopleFactors:
    """Two people per visit, between 1 and 4."""
    one = np.ones(CELLS)
    return PeopleFactors(Factor(one / 2, one / 4, one), Factor(one, one, one), Factor(*[np.ones(HOURS)] * 3))


def written(folder: Path) -> dict[date, Path]:
    """Pages of all weeks, and `density_….csv` of each beside it with rows and columns in another order."""
    files = {}
    for monday, week in weeks().items():
        files[monday] = folder / f"report_{monday}.html"
        files[monday].write_text(week.page(), encoding="utf-8")
        (folder / f"people_{monday}.html").write_text(week.page(factors()), encoding="utf-8")
        table = week.table().sample(fraction=1.0, shuffle=True, seed=1)
        table.select(sorted(table.columns)).write_csv(folder / f"density_{monday}.csv")
    return files


def written_for_notebooks(folder: Path) -> None:
    """Counts, errors of sums and cells of two weeks, as files of a release.

    The later one was revised. Clocks leave out an hour of the earlier one, in which nobody is counted.
    """
    in_france = transform(SQUARES, lambda points: points + np.array([650_000, 6_860_000]))
    somewhere = Cells(np.array(IDS, dtype=object), in_france, "EPSG:2154")
    earlier, later = weeks()[EARLIER], weeks()[LATER]
    counts, errors = (values * (np.arange(HOURS) != EARLY) for values in (earlier.counts, earlier.errors))
    shorter = replace(earlier, counts=counts, errors=errors, missing=(EARLY,))
    for week, name in ((shorter, f"{EARLIER}"), (earlier, f"{LATER}"), (later, f"{LATER}_r2")):
        week.table().write_parquet(folder / f"density_{name}.parquet")
        errors_table(week.sums, pl.Series(IDS)).write_parquet(folder / f"errors_of_sums_{name}.parquet")
        told = geojson(somewhere, in_degrees(somewhere), counts=week.counts)
        (folder / f"density_{name}.geojson").write_text(told, encoding="utf-8")
