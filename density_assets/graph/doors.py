"""The doors: the only assets through which anything computed from people leaves the confidential zone.

Each is charged to the ledger before noise is drawn, and drawn once: materialising it again returns the stored draw.
Its upstream assets are those its scheme declares, so the lineage shows what was really used, and no more.
"""

from collections.abc import Callable
from typing import Any

import dagster as dg
import numpy as np
import polars as pl
from numpy.typing import NDArray

from density_assets import series
from density_assets.city import City
from density_assets.errors import BadInput
from density_assets.geography.places import Kind
from density_assets.graph.assets import asset
from density_assets.graph.columns import CALENDAR, SETTINGS, Columns, column
from density_assets.graph.step import Made, Reader, RecordStep
from density_assets.privacy.noise import Noise
from density_assets.privacy.zones import Zone
from density_assets.schemes.drawn_tables import series_table, totals_table
from density_assets.schemes.expected import expected_worth
from density_assets.schemes.scheme import SERIES, TOTALS, WHERE, Counts, Scheme, Values, alone, present
from resources.draws import Measurement

PLACES = {"towers": "towers", "cells": "cells", "cover": "cover_graph"}  # the public list of each kind of place
COUNTED = {  # the column that a door adds noise to, by table
    "tower_series": "weighted",
    "iris_series": "truncated",
    "cover_series": "truncated",
    "tower_totals": "weighted",
    "one_visit_histogram": "users",
    "visit_total": "visits",
}


def _reads(city: City, door: str) -> tuple[str, ...]:
    """The confidential tables a door declares."""
    return city.scheme.reads(city.settings)[door]


def _counted(city: City, door: str) -> tuple[str, ...]:
    """The confidential columns a door adds noise to."""
    return tuple(f"{table}.{COUNTED[table]}" for table in _reads(city, door))


def _lists(scheme: Scheme, reads: tuple[str, ...]) -> tuple[str, ...]:
    """The public lists that give counts their order."""
    towers = ("towers",) if {"one_visit_histogram", "tower_totals"} & set(reads) else ()
    places = (PLACES[scheme.places],) if WHERE[scheme.places] in reads else ()
    return tuple(dict.fromkeys((*towers, *places)))


def _totals_columns(city: City) -> Columns:
    counted = _counted(city, TOTALS)
    return {
        "query": column("what was counted", SETTINGS),
        "position": column("position of the tower or place in the public list; 0 for the city", SETTINGS),
        "value": column("the count, with noise", *(counted or (SETTINGS,))),
        "standard_error": column("standard deviation of the noise, known beforehand", SETTINGS),
    }


def _series_columns(city: City) -> Columns:
    clustered = ("clusters.cluster",) if city.scheme.clustered else ()
    counted = (*_counted(city, SERIES), *clustered)
    return {
        "cluster": column("the cluster of places, or the place, that the series belongs to", SETTINGS, *clustered),
        "hour": column("hour of the week, 0 is Monday 00:00", CALENDAR),
        "value": column("visits, with noise; may be negative", *counted),
        "kept": column("how many Fourier coefficients were kept; 168 is all", SETTINGS, *counted),
    }


def identity(city: City) -> tuple[str, ...]:
    """The public lists that a release is identified by: its key holds their hash."""
    return ("cells", "towers", *(("overlaps",) if city.settings.city.footprints else ()))


def _totals_deps(city: City) -> tuple[str, ...]:
    return (*_reads(city, TOTALS), *identity(city), *_lists(city.scheme, _reads(city, TOTALS)))


def _series_deps(city: City) -> tuple[str, ...]:
    clustered = ("clusters",) if city.scheme.clustered else ()
    return (*_reads(city, SERIES), *clustered, *identity(city), *_lists(city.scheme, _reads(city, SERIES)))


@asset(Zone.MECHANISM, _totals_columns, deps=_totals_deps, kinds=("opendp", "duckdb"))
def noisy_totals(step: RecordStep) -> Made:
    """First door: the noisy totals of the week, which give the release its scale. Empty if the scheme needs none.

    Charged to the ledger before noise is drawn, and drawn once.
    """
    if TOTALS not in step.release.doors:
        return Made(totals_table({}, {}))
    measurement = _measured(step, TOTALS)
    return Made(totals_table(measurement.values, step.release.doors), facts=_paid(measurement))


@asset(Zone.MECHANISM, _series_columns, deps=_series_deps, kinds=("opendp", "duckdb"))
def noisy_series(step: RecordStep) -> Made:
    """Second door: the noisy series of the week, one per cluster, dense over the public list of places.

    Charged to the ledger before noise is drawn, and drawn once.
    """
    measurement = _measured(step, SERIES)
    return Made(series_table(measurement.values), facts=_paid(measurement))


def _measured(step: RecordStep, door: str) -> Measurement:
    """The draw of a door: the stored one, or a new one that is paid for first."""
    city, release, reads = step.city, step.release, _reads(step.city, door)
    scheme = city.scheme
    city.open_ledger(step.say)
    if step.rebuilding:
        return city.measurements.stored(release, door)

    def fingerprint() -> str | None:
        there = all(step.read.exists(table) for table in reads)
        return " ".join(step.read.fingerprint(table) for table in reads) if there else None

    def prepare() -> Callable[[Noise], Values]:
        counts = _counts(step.read, scheme, reads)
        if door == TOTALS:
            _warn_of_small_cities(step)
            return lambda noise: scheme.totals(release.doors, counts, noise)
        labels = cluster_labels(scheme, step.read)
        if len(labels) != len(present(counts.series)):
            raise BadInput("clusters must be those of the places that are counted: materialise clusters again")
        return lambda noise: scheme.series(release.doors, counts, labels, noise)

    order = city.order(release, step.act)
    return city.measurements.measure(release, door, order, fingerprint, prepare, step.say)


def _warn_of_small_cities(step: RecordStep) -> None:
    """Say, before anything is spent, that a release will be worth little: by settings and public geography."""
    if told := expected_worth(step.settings, step.city.towers()):
        for words in told.warnings:
            step.warn(words)


def cluster_labels(scheme: Scheme, read: Reader) -> NDArray[np.int64]:
    """The cluster of each place; without clusters, every place alone."""
    if scheme.clustered:
        return np.asarray(read("clusters")["cluster"].to_numpy())
    return alone(len(read(PLACES[scheme.places])))


def _counts(read: Reader, scheme: Scheme, reads: tuple[str, ...]) -> Counts:
    """The confidential numbers a door declares, and no others."""
    where = WHERE[scheme.places]
    return Counts(
        series=_place_series(read, scheme.places) if where in reads else None,
        sampled=_by_tower(read, "one_visit_histogram") if "one_visit_histogram" in reads else None,
        visit_total=read("visit_total")["visits"].item() if "visit_total" in reads else None,
        tower_totals=_by_tower(read, "tower_totals") if "tower_totals" in reads else None,
    )


def _by_tower(read: Reader, table: str) -> NDArray[np.int64]:
    return series.vector(read(table), read("towers")["tower_id"], COUNTED[table])


def _place_series(read: Reader, places: Kind) -> NDArray[Any]:
    table, listed = read(WHERE[places]), read(PLACES[places])
    counted = COUNTED[WHERE[places]]
    if places == "cover":
        keyed = table.with_columns(place=pl.col("kind") + " " + pl.col("id"))
        return series.matrix(keyed, (listed["kind"] + " " + listed["id"]).alias("place"), counted)
    return series.matrix(table, listed["tower_id" if places == "towers" else "cell_id"], counted)


def _paid(measurement: Measurement) -> dict[str, Any]:
    lines = (f"- {event['query']}: {event['kind']}" for event in measurement.events)
    return {"paid_by": measurement.charge, "events": dg.MetadataValue.md("\n".join(lines))}
