"""Whether the files of a week follow from its stored draws and the ledger: asked once, before they are first signed.

Every table and file between a draw and a manifest lies in a folder that people can write to. So before a key vouches
for them they are made again, in this process, from what the ledger knows the digest of, and compared: tables with
draws, counts with tables, files with counts, the statement with the ledger. Cells, towers and footprints must be those
that the release is bound to, and shares of towers in cells what follows from them: they turn draws into counts.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from density_assets import series
from density_assets.city import City
from density_assets.errors import BadInput
from density_assets.geography.cells_and_towers import geography_hash
from density_assets.geography.overlaps import overlaps, tower_cells
from density_assets.geography.places import minimum_cover
from density_assets.geography.tables import (
    cells_from,
    cover_table,
    footprints_from,
    overlaps_from,
    overlaps_table,
    stated_in,
    towers_from,
)
from density_assets.graph import doors, estimating, past, public
from density_assets.graph import release as made
from density_assets.graph.assets import blueprints
from density_assets.graph.contents import (
    chain_file,
    count_files,
    fell_back,
    page_file,
    rounded,
    stated,
    statement_files,
)
from density_assets.graph.describing import description_files
from density_assets.graph.past import PAST, state_from, usual_week
from density_assets.graph.public_inputs import other_inputs
from density_assets.graph.step import Made, Step
from density_assets.privacy.accounts import Accounts
from density_assets.privacy.estimates import Estimated
from density_assets.publication.manifest import Seal
from density_assets.publication.sum_errors import tables_alike
from density_assets.schemes.drawn_tables import series_table, totals_table
from density_assets.schemes.scheme import SERIES, TOTALS

OPEN = {
    plan.name: plan.shelf for plan in blueprints(public, doors, past, estimating, made)
}  # every table between a draw and a file


def refuse_what_does_not_follow(city: City, step: Step) -> None:
    """Raise if a table or file of the week is not what its draws and the ledger give."""
    for other in _others(city, _looking(step)):
        raise BadInput(
            f"what is signed must follow from what was drawn, but {other} of the week of {step.week} is otherwise: it "
            f"was changed after it was made, or made by other software. Nothing was signed; make the week again from "
            f"its draws: `density rebuild --from {step.week}`"
        )


def _looking(step: Step) -> Step:
    """The step with a way to every open table of the week, which signing itself does not read."""
    return replace(step, read=replace(step.read, inputs=OPEN, past={name: OPEN[name] for name in PAST}))


def _others(city: City, step: Step) -> Iterator[str]:
    """What is not as it would be made."""
    accounts, estimated = city.ledger.accounts(), city.estimated(step.week, again=step.again)
    yield from _other_geography(city, step)
    yield from _other_tables(city, step, accounts, estimated)
    density, cells = step.read("density"), step.read("cells")
    yield from other_inputs(city, step, cells["cell_id"].to_list())
    paid_by = frozenset(city.measurements.stored(step.release, door).charge for door in step.release.doors)
    end = accounts.end_of(paid_by)
    expected = count_files(step, density, cells) | chain_file(step, accounts, end)
    yield from other_files(expected)
    alone = fell_back(step, estimated)
    said = stated(step, density, accounts, paid_by, end, estimated, fell_back=alone)  # names digests of the above
    yield from other_files(statement_files(step, said) | page_file(step, density, cells, Seal.at(accounts, end)))
    yield from other_files(description_files(step, said, accounts))


def other_files(expected: Mapping[Path, bytes]) -> Iterator[str]:
    """Files that do not hold what they would be made with."""
    return (file.name for file, content in expected.items() if file.read_bytes() != content)


def other_estimate(name: str, stored: pl.DataFrame, again: pl.DataFrame, ids: pl.Series) -> Iterator[str]:
    """Columns of an estimate that differ: by more than the last digits, in which sums may between processes."""
    for column in ("visits", "standard_error"):
        was, expected = (series.matrix(table, ids, column) for table in (stored, again))
        if not np.allclose(was, expected, rtol=1e-6, atol=1e-6):
            yield f"{name} ({column})"


def _other_geography(city: City, step: Step) -> Iterator[str]:
    """Public tables that are not those of the release, or do not follow from them."""
    cells, towers, pieces = (step.read(name) for name in ("cells", "towers", "overlaps"))
    city_cells, sites = cells_from(cells), towers_from(towers)
    if geography_hash(city_cells, sites, footprints_from(pieces)) != step.release.geography:
        yield "the table of cells, towers or footprints"
    if not stated_in(pieces):
        found = overlaps(tower_cells(sites.xy, city_cells.city), city_cells.polygons)
        if not _same_pieces(pieces, overlaps_table(found, towers, cells)):
            yield "the table of overlaps"
    if city.scheme.places == "cover":
        cover = minimum_cover(overlaps_from(pieces, towers, cells))
        if not step.read("cover_graph").equals(cover_table(cover, towers, cells)):
            yield "the table of the cover"


def _same_pieces(stored: pl.DataFrame, again: pl.DataFrame) -> bool:
    """Whether two tables have the same pieces, of the same size to a thousandth of a square metre or a millionth."""
    keys = pl.col("tower_id", "cell_id").cast(pl.String)
    if not stored.select(keys).equals(again.select(keys)):
        return False
    return bool(np.allclose(stored["area_m2"].to_numpy(), again["area_m2"].to_numpy(), rtol=1e-6, atol=1e-3))


def _other_tables(city: City, step: Step, accounts: Accounts, estimated: Estimated | None) -> Iterator[str]:
    read, release = step.read, step.release
    drawn = {door: city.measurements.stored(release, door).values for door in release.doors}
    totals = totals_table(drawn[TOTALS], release.doors) if TOTALS in drawn else totals_table({}, {})
    tables = {"noisy_totals": totals, "noisy_series": series_table(drawn[SERIES])}
    if city.scheme.clustered:
        tables["clusters"] = _table(estimating.clusters.function(step))
    yield from (name for name, table in tables.items() if not read(name).equals(table))
    if estimated and read.made("usual_week") and not _alike(step, accounts, estimated):
        yield "usual_week"
    tables_drawn = tables["noisy_totals"], tables["noisy_series"]
    smoothed, cells = read("smoothed_series"), read("cells")
    again = _table(estimating.smoothed_series.function(step, *tables_drawn, accounts, estimated))
    yield from other_estimate("smoothed_series", smoothed, again, cells["cell_id"])
    if estimated is not None:
        if not smoothed["estimator"].equals(again["estimator"]):
            yield "smoothed_series (estimator)"
        if not read.made("errors_of_sums"):
            yield "errors_of_sums, which is missing,"
        else:
            sums = _table(estimating.errors_of_sums.function(step, *tables_drawn, again, accounts, estimated))
            if not tables_alike(read("errors_of_sums"), sums, cells["cell_id"]):
                yield "errors_of_sums"
    if not rounded(step, smoothed, cells).equals(read("density")):
        yield "density"


def _alike(step: Step, accounts: Accounts, estimated: Estimated) -> bool:
    """Whether the state after the week is what its draws give, but for the last digits of sums."""
    stored, again = step.read("usual_week"), _table(usual_week.function(step, accounts, estimated))
    sized = pl.col("values").bin.size()
    if not stored.with_columns(sized).equals(again.with_columns(sized)):
        return False
    if stored.is_empty():
        return True
    known, expected = state_from(stored).arrays(), state_from(again).arrays()
    return all(_close(known[part], expected[part]) for part in expected)


def _close(known: NDArray[np.float64], expected: NDArray[np.float64]) -> bool:
    """Whether numbers differ in their last digits at most, by the size of the largest."""
    return bool(np.allclose(known, expected, rtol=1e-6, atol=1e-6 * float(np.abs(expected).max())))


def _table(made_again: Made) -> pl.DataFrame:
    assert made_again.table is not None  # released assets return theirs
    return made_again.table
