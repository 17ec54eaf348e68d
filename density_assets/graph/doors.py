"""The doors: the only assets through which anything computed from people leaves the confidential zone.

Each is charged to the ledger before noise is drawn, and drawn once: materialising it again returns the stored draw.
Its upstream assets are those its scheme declares, so the lineage shows what was really used, and no more.
"""

from collections.abc import Callable
from datetime import date
from typing import Any

import dagster as dg
import numpy as np
import polars as pl
from numpy.typing import NDArray

from density_assets import series
from density_assets.errors import BadInput
from density_assets.geography.cells_and_towers import geography_hash
from density_assets.geography.tables import cells_from, towers_from
from density_assets.graph.jobs import rebuild_release
from density_assets.graph.partitions import current_settings
from density_assets.graph.zones import Made, Zone, asset, column
from density_assets.privacy.charges import population_name
from density_assets.privacy.noise import Noise
from density_assets.publication.files import Naming
from density_assets.publication.verification import stated_measurements
from density_assets.schemes import OWN_SETTINGS, SCHEMES
from density_assets.schemes.drawn_tables import series_table, totals_table
from density_assets.schemes.scheme import SERIES, TOTALS, WHERE, Counts, Values, alone, present
from density_assets.settings import Settings
from resources.measurements import Measurement, Measurements, ReleaseRequest
from resources.tables.store import Store

SCHEME = SCHEMES[current_settings().scheme.name]
READS = SCHEME.reads(current_settings())
CLUSTERS = ("clusters",) if SCHEME.clustered else ()


@asset(
    Zone.MECHANISM,
    {
        "query": column("what was counted", *(f"rows of {table}" for table in READS[TOTALS])),
        "position": column("position of the tower or place in the public list; 0 for the city"),
        "value": column("the count, with noise", *(f"rows of {table}" for table in READS[TOTALS])),
        "standard_error": column("standard deviation of the noise; known from settings alone"),
    },
    deps=(*READS[TOTALS], "cells", "towers"),
    kinds=("opendp", "duckdb"),
)
def noisy_totals(context: dg.AssetExecutionContext) -> Made:
    """First door: the noisy totals of the week, which give the release its scale. Empty if the scheme needs none.

    Charged to the ledger before noise is drawn, and drawn once.
    """
    request = release_request(context.resources.settings, context.resources.store, context.partition_key)
    if TOTALS not in request.doors:
        return Made(totals_table({}, {}))
    measurement = _measured(context, request, TOTALS)
    return Made(totals_table(measurement.values, request.doors), facts=_paid(measurement))


@asset(
    Zone.MECHANISM,
    {
        "cluster": column("the cluster of places, or the place, that the series belongs to"),
        "hour": column("hour of the week, 0 is Monday 00:00"),
        "value": column("visits, with noise; may be negative", *(f"rows of {table}" for table in READS[SERIES])),
        "kept": column("how many Fourier coefficients were kept; 168 is all"),
    },
    deps=(*READS[SERIES], *CLUSTERS, "cells", "towers"),
    kinds=("opendp", "duckdb"),
)
def noisy_series(context: dg.AssetExecutionContext) -> Made:
    """Second door: the noisy series of the week, one per cluster, dense over the public list of places.

    Charged to the ledger before noise is drawn, and drawn once.
    """
    request = release_request(context.resources.settings, context.resources.store, context.partition_key)
    measurement = _measured(context, request, SERIES)
    return Made(series_table(measurement.values), facts=_paid(measurement))


def release_request(settings: Settings, store: Store, week: str) -> ReleaseRequest:
    """Everything that decides what the week's release draws."""
    geography = geography_hash(cells_from(store.read_public("cells")), towers_from(store.read_public("towers")))
    parameters = settings.privacy.model_dump(include={"visits_per_user", "visits_clamp"})
    shaping = {"improved", "split", "weight_l", *OWN_SETTINGS.get(SCHEME.name, ())}
    parameters |= settings.scheme.model_dump(include=shaping)
    parameters |= settings.city.model_dump(
        include={"timezone", *(("users", "seed") if settings.city.synthetic else ())}
    )
    return ReleaseRequest(
        population=population_name(settings),
        city=settings.city.name,
        geography=geography,
        week=week,
        revision=settings.revision_of(week),
        scheme=SCHEME.name,
        calibration=settings.scheme.calibration,
        version=SCHEME.version,
        epsilon=settings.privacy.epsilon,
        delta=settings.privacy.delta,
        parameters=parameters,
        doors=SCHEME.plan(settings),
    )


def _measured(context: dg.AssetExecutionContext, request: ReleaseRequest, door: str) -> Measurement:
    store: Store = context.resources.store
    measurements: Measurements = context.resources.measurements
    week = date.fromisoformat(request.week)
    _refuse_to_overwrite(store, request)
    if context.run.job_name == rebuild_release.name:
        return measurements.stored(request, door)

    def fingerprint() -> str | None:
        there = all(store.week_file(table, week).exists() for table in READS[door])
        return " ".join(store.week_fingerprint(table, week) for table in READS[door]) if there else None

    def prepare() -> Callable[[Noise], Values]:
        counts = _counts(store, week, door)
        if door == TOTALS:
            return lambda noise: SCHEME.totals(request.doors, counts, noise)
        labels = cluster_labels(store, request)
        if len(labels) != len(present(counts.series)):
            raise BadInput("clusters must be those of the places that are counted: materialise clusters again")
        return lambda noise: SCHEME.series(request.doors, counts, labels, noise)

    return measurements.measure(request, door, fingerprint, prepare, context.log.info)


def _refuse_to_overwrite(store: Store, request: ReleaseRequest) -> None:
    """Raise if this week and revision are published with other draws: their files would be lost."""
    published = Naming(store.release, request.week, request.revision).file("privacy_statement", "json")
    drawn = stated_measurements(published)
    if drawn and drawn != {request.key(door) for door in request.doors}:
        raise BadInput(
            f"revision {request.revision} of the week of {request.week} must keep the settings and geography it was "
            f"published under, but they have changed: restore them, or declare revision {request.revision + 1} of this "
            "week in [revisions], which is charged. Nothing was charged and nothing drawn"
        )


def cluster_labels(store: Store, request: ReleaseRequest) -> NDArray[np.int64]:
    """The cluster of each place; without clusters, every place alone."""
    if SCHEME.clustered:
        table = store.read_release_week("clusters", date.fromisoformat(request.week), request.name)
        return np.asarray(table["cluster"].to_numpy())
    return alone(len(store.read_public(SCHEME.places)))  # towers, cells and cover are tables of these names


def _counts(store: Store, week: date, door: str) -> Counts:
    """The confidential numbers a door declares, and no others."""
    tables = {table: store.read_week(table, week) for table in READS[door]}
    where = WHERE[SCHEME.places]
    return Counts(
        series=_place_series(store, tables[where]) if where in tables else None,
        sampled=_sampled(store, tables["one_visit_histogram"]) if "one_visit_histogram" in tables else None,
        visit_total=tables["visit_total"]["visits"].item() if "visit_total" in tables else None,
    )


def _sampled(store: Store, table: pl.DataFrame) -> NDArray[np.int64]:
    return series.vector(table, store.read_public("towers")["tower_id"], "users")


def _place_series(store: Store, table: Any) -> Any:
    if SCHEME.places == "towers":
        return series.matrix(table, store.read_public("towers")["tower_id"], "weighted")
    if SCHEME.places == "cells":
        return series.matrix(table, store.read_public("cells")["cell_id"], "truncated")
    cover = store.read_public("cover")
    keyed = table.with_columns(place=table["kind"] + " " + table["id"])
    return series.matrix(keyed, (cover["kind"] + " " + cover["id"]).alias("place"), "truncated")


def _paid(measurement: Measurement) -> dict[str, Any]:
    lines = (f"- {event['query']}: {event['kind']}" for event in measurement.events)
    return {"paid_by": measurement.charge, "events": dg.MetadataValue.md("\n".join(lines))}
