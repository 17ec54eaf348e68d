"""The doors: the only assets through which anything computed from people leaves the confidential zone.

Each is charged to the ledger before noise is drawn, and drawn once: materialising it again returns the stored draw. Its
upstream assets are those its scheme declares, so the lineage shows what was really used, and no more.
"""

from collections.abc import Callable
from datetime import date
from typing import Any

import dagster as dg
import numpy as np
import polars as pl

from density_assets import series
from density_assets.assets.zones import Made, Zone, asset, column
from density_assets.cities.geography import geography_hash
from density_assets.cities.tables import cells_from, towers_from
from density_assets.partitions import current_settings
from density_assets.privacy.noise import Noise
from density_assets.privacy.sensitivity import WEIGHT_UNIT
from density_assets.schemes import scheme_named
from density_assets.schemes.scheme import SERIES, TOTALS, Counts
from density_assets.settings import Settings
from resources.ledger import population_name
from resources.measurements import Measurement, Measurements, ReleaseRequest
from resources.store import Store

SCHEME = scheme_named(current_settings().scheme.name)
STANDARD_ERROR = "standard deviation of the noise; public, since it depends on settings only"


@asset(
    Zone.MECHANISM,
    {
        "query": column("what was counted", *(f"{table}.*" for table in SCHEME.reads[TOTALS])),
        "value": column("the count, with noise", *(f"{table}.*" for table in SCHEME.reads[TOTALS])),
        "standard_error": column(STANDARD_ERROR),
    },
    deps=(*SCHEME.reads[TOTALS], "cells", "towers"),
    kinds=("opendp", "duckdb"),
)
def noisy_totals(context: dg.AssetExecutionContext) -> Made:
    """First door: the noisy totals of the week, which give the release its scale.

    Charged to the ledger before noise is drawn, and drawn once.
    """
    measurement = _measured(context, TOTALS)
    table = pl.DataFrame(
        {
            "query": list(measurement.values),
            "value": [float(values.item()) for values in measurement.values.values()],
            "standard_error": [event["sigma"] for event in measurement.events],
        }
    )
    return Made(table, facts=_paid(measurement))


@asset(
    Zone.MECHANISM,
    {
        "tower_id": column("identifier of the tower site", "towers.tower_id"),
        "hour": column("hour of the week, 0 is Monday 00:00"),
        "value": column("weighted visits, with noise; may be negative", "tower_series.weighted"),
        "standard_error": column(STANDARD_ERROR),
    },
    deps=(*SCHEME.reads[SERIES], "cells", "towers"),
    kinds=("opendp", "duckdb"),
)
def noisy_series(context: dg.AssetExecutionContext) -> Made:
    """Second door: the noisy series of the week, dense over the public list of towers.

    Charged to the ledger before noise is drawn, and drawn once.
    """
    measurement = _measured(context, SERIES)
    towers = context.resources.store.read_public("towers")
    (event,) = measurement.events
    values = measurement.values["weighted"] / WEIGHT_UNIT
    error = np.full(values.shape, event["sigma"] / WEIGHT_UNIT)
    table = series.table(towers.select("tower_id"), value=values, standard_error=error)
    return Made(table, facts=_paid(measurement))


def release_request(settings: Settings, store: Store, week: str) -> ReleaseRequest:
    """Everything that decides what the week's release draws."""
    geography = geography_hash(cells_from(store.read_public("cells")), towers_from(store.read_public("towers")))
    parameters = settings.privacy.model_dump(include={"visits_per_user", "visits_clamp"})
    parameters |= settings.scheme.model_dump(include={"improved", "split", "weight_l"})
    return ReleaseRequest(
        population=population_name(settings),
        city=settings.city.name,
        geography=geography,
        week=week,
        revision=settings.privacy.revision,
        scheme=SCHEME.name,
        calibration=settings.scheme.calibration,
        version=SCHEME.version,
        epsilon=settings.privacy.epsilon,
        delta=settings.privacy.delta,
        parameters=parameters,
        doors=SCHEME.plan(settings),
    )


def _measured(context: dg.AssetExecutionContext, door: str) -> Measurement:
    settings, store = context.resources.settings, context.resources.store
    measurements: Measurements = context.resources.measurements
    request = release_request(settings, store, context.partition_key)
    week = date.fromisoformat(context.partition_key)
    tables = SCHEME.reads[door]

    def fingerprint() -> str | None:
        there = all(store.week_file(table, week).exists() for table in tables)
        return " ".join(store.week_fingerprint(table, week) for table in tables) if there else None

    def prepare() -> Callable[[Noise], dict[str, Any]]:
        counts, draw = _counts(store, week, door), SCHEME.totals if door == TOTALS else SCHEME.series
        return lambda noise: draw(request.doors, counts, noise)

    return measurements.measure(request, door, fingerprint, prepare)


def _counts(store: Store, week: date, door: str) -> Counts:
    """The confidential numbers a door declares, and no others."""
    tables = {table: store.read_week(table, week) for table in SCHEME.reads[door]}
    towers = store.read_public("towers")["tower_id"]
    return Counts(
        weighted=series.matrix(tables["tower_series"], towers, "weighted") if "tower_series" in tables else None,
        visit_total=tables["visit_total"]["visits"].item() if "visit_total" in tables else None,
    )


def _paid(measurement: Measurement) -> dict[str, Any]:
    lines = (f"- {event['query']}: {event['kind']}, sigma {event['sigma']:,.1f}" for event in measurement.events)
    return {"paid_by": measurement.charge, "events": dg.MetadataValue.md("\n".join(lines))}
