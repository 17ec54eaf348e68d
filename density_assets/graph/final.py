"""The second vintage of a week: estimated again once weeks after it are drawn, and published beside the first.

Nothing here runs by itself: a person asks for it (`density final`, or the job `final_estimate` in the UI), as often as
new weeks make it worth it. It costs no privacy, because every draw it reads is paid for and public. What was published
before stays as it was signed: a final estimate has files, statement, page and manifest of its own, named after its week
and after the last week it uses.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path

import dagster as dg
import polars as pl

from density_assets import series
from density_assets.city import City
from density_assets.errors import BadInput
from density_assets.estimation.weeks.estimate import WeekEstimate
from density_assets.geography.tables import GEOGRAPHY, places_from
from density_assets.graph.assets import asset
from density_assets.graph.columns import SETTINGS, column
from density_assets.graph.contents import (
    chain_file,
    count_files,
    page_file,
    publish,
    rounded,
    stated,
    statement_files,
)
from density_assets.graph.describing import description_files
from density_assets.graph.estimating import ORIGINS_OF_SUMS
from density_assets.graph.following import OPEN, other_estimate, other_files
from density_assets.graph.missing_hours import without_missing
from density_assets.graph.naming import FINAL
from density_assets.graph.past import DRAWN, PAST, folded, learns, measured_in, refuse_unknown_draws, state_after
from density_assets.graph.public_inputs import of_inputs, other_inputs
from density_assets.graph.signing import Noted, aside_of, covering, listed, sign
from density_assets.graph.step import Made, Step
from density_assets.graph.vintages import final_of
from density_assets.privacy.accounts import Accounts
from density_assets.privacy.acts import Act
from density_assets.privacy.estimates import Estimated
from density_assets.privacy.zones import Zone
from density_assets.publication.manifest import Seal
from density_assets.publication.public_inputs import published_digest
from density_assets.publication.sum_errors import MEANING, SCHEMA, errors_table, tables_alike
from density_assets.publication.vintages import Changed
from density_assets.schemes.learning import in_cells, sums_in_cells, week_between
from density_assets.schemes.scheme import SERIES, TOTALS

DOORS = (TOTALS, SERIES)
ESTIMATED = (*DRAWN, "usual_week.values", "overlaps.share")

_of_all_weeks = partial(  # what is made of the draws of a week, of those before it and of those after it
    asset,
    Zone.RELEASE,
    deps=lambda city: (*DOORS, *GEOGRAPHY[city.scheme.places]),
    group=FINAL,
    looks_back=PAST,
    looks_ahead=DOORS,
    given=("accounts", "final"),
    where=learns,
)


@_of_all_weeks(
    {
        "cell_id": column("identifier of the cell", "cells.cell_id"),
        "hour": column("hour of the week, 0 is Monday 00:00", "noisy_series.hour"),
        "visits": column("estimated visits, not yet rounded", *ESTIMATED),
        "standard_error": column("how far noise may have moved the estimate, to first order", SETTINGS, *ESTIMATED),
        "upto": column("the last week that the estimate uses", *DRAWN),
    },
)
def final_series(step: Step, accounts: Accounts, final: Estimated) -> Made:
    """What the draws of this week, of all weeks before it and of all weeks after it say of each cell.

    Of every other week the newest revision enters that is drawn by now; weeks drawn under other settings are left out,
    and the statement names them.
    """
    for week in final.left_out:
        step.say(f"the week of {week.week} is left out: {week.reason}")
    facts = {"weeks before": len(final.earlier), "weeks after": len(final.later)}
    return Made(_cells_of(step, final, _between(step, accounts, final)), facts=facts)


@_of_all_weeks(
    {
        **{name: column(meaning, *ORIGINS_OF_SUMS[name]) for name, meaning in MEANING.items()},
        "upto": column("the last week that the estimate uses", *DRAWN),
    },
)
def final_errors_of_sums(step: Step, accounts: Accounts, final: Estimated) -> Made:
    """How errors of cells and hours of the final estimate go together, as `errors_of_sums` says it of the first.

    The estimate is made once more for it, beside `final_series`. Empty where it tells no finite numbers.
    """
    table = _sums_of(step, final, _between(step, accounts, final))
    if table.is_empty():
        step.warn(f"errors of sums of the final estimate of {step.week} are not published: they are no finite numbers")
    return Made(table)


def _between(step: Step, accounts: Accounts, final: Estimated) -> WeekEstimate:
    """The estimate of the week between all others, from draws that the ledger knows."""
    refuse_unknown_draws(step, (*final.used, final.own), accounts)
    before = state_after(step, final.earlier, accounts)
    after = folded(step, final.later[::-1], accounts)
    measured, places = measured_in(step, final.own, accounts), places_from(step.read, "towers")
    estimate = week_between(before, after, measured, places.tower_xy)
    if estimate is None:
        raise _not_finite(step, final)
    return estimate


def _cells_of(step: Step, final: Estimated, estimate: WeekEstimate) -> pl.DataFrame:
    """Visits and standard errors of cells, as `final_series` keeps them."""
    to_cells, ids = places_from(step.read, "towers").to_cells("towers"), step.read("cells").select("cell_id")
    known = in_cells(estimate, to_cells)
    if known is None:
        raise _not_finite(step, final)
    table = series.table(ids, visits=to_cells @ known.series, standard_error=known.cell_error)
    return table.with_columns(upto=pl.lit(final.later[-1].week))


def _sums_of(step: Step, final: Estimated, estimate: WeekEstimate) -> pl.DataFrame:
    """Errors of sums of cells, as `final_errors_of_sums` keeps them."""
    summary = sums_in_cells(estimate, places_from(step.read, "towers").to_cells("towers"))
    none = pl.DataFrame(schema=SCHEMA)
    table = none if summary is None else without_missing(step, errors_table(summary, step.read("cells")["cell_id"]))
    return table.with_columns(upto=pl.lit(final.later[-1].week))


def _not_finite(step: Step, final: Estimated) -> BadInput:
    return BadInput(
        f"a final estimate must be of finite numbers, but that of the week of {step.week} with weeks up to "
        f"{final.later[-1].week} is not: the week keeps the estimate it was published with"
    )


def _sign_final(city: City, step: Step, act: Act | None, _: Made) -> None:
    """Sign the list of a final estimate, and note it in the ledger beside the week's own."""
    final = final_of(city, step.week)
    _refuse_outdated(city, step, final)
    noted = Noted(final.charges, {"estimate": final.key(step.release)}, _measurements(final))
    sign(city, _finally(step, final, city.ledger.accounts()), act, noted, _refuse_what_does_not_follow)


def _refuse_outdated(city: City, step: Step, final: Estimated) -> None:
    """Raise if a week was drawn since the files were made, and take them away: nobody signs them any more.

    Those of a final estimate that is published already stay, whoever asked for it once more.
    """
    made_upto = str(date.fromisoformat(step.read("final_series")["upto"][0]))  # names files, so it must be a day
    if made_upto == final.later[-1].week:
        return
    manifest = replace(step, upto=made_upto).files.file("manifest", "json")
    published = city.ledger.accounts().publications(step.release.which, made_upto)
    orphans = [aside_of(manifest)] if published else step.folder.glob(f"*{manifest.stem.removeprefix('manifest')}.*")
    for orphan in orphans:
        orphan.unlink(missing_ok=True)
    raise BadInput(
        f"a final estimate of the week of {step.week} must use every week that is drawn, but a week was drawn "
        f"meanwhile: it was made with weeks up to {made_upto}, by now there are some up to {final.later[-1].week}. "
        f"Nothing was signed; ask again: `density final --week {step.week}`"
    )


@asset(
    Zone.RELEASE,
    covering(
        *("final_series.visits", "final_series.standard_error", "final_errors_of_sums.value"),
        *("density.count", "cells.geometry"),
    ),
    deps=lambda city: (*DOORS, "signed_release", *of_inputs(city)),
    kinds=("csv", "parquet", "html", "json"),
    group=FINAL,
    given=("accounts", "paid_by", "final"),
    where=learns,
    after=_sign_final,
)
def final_release(
    step: Step,
    final_series: pl.DataFrame,
    final_errors_of_sums: pl.DataFrame,
    density: pl.DataFrame,
    cells: pl.DataFrame,
    accounts: Accounts,
    paid_by: frozenset[str],
    final: Estimated,
) -> Made:
    """The final estimate as files, with a statement and a page that says what changed; listed and signed like a week.

    The files, the page and the statement that the week was first published with stay byte by byte.
    """
    step, end = _finally(step, final, accounts), accounts.end_of(final.charges, **step.release.which)
    _made_for(step, final_errors_of_sums, "final_errors_of_sums")
    counts = rounded(step, _made_for(step, final_series), cells)
    publish(step, count_files(step, counts, cells))
    publish(step, chain_file(step, accounts, end))
    said = stated(step, counts, accounts, paid_by, end, final)
    publish(step, statement_files(step, said))
    publish(step, description_files(step, said, accounts))
    seal, changed = Seal.at(accounts, end), Changed.between(density, counts)
    pages = final_page(step, counts, cells, seal, changed)
    publish(step, pages)
    made = listed(step, _measurements(final), seal)
    return replace(made, facts={**made.facts, **changed.facts, "page": dg.MetadataValue.path(str(next(iter(pages))))})


def final_page(
    step: Step, counts: pl.DataFrame, cells: pl.DataFrame, seal: Seal, changed: Changed
) -> dict[Path, bytes]:
    """The page of a final estimate: which vintages there are, what changed, and a way back to the first."""
    first = replace(step, upto=None).files
    notes = [
        f"This is the final estimate of the week, with weeks up to {step.upto}. The provisional one, with which the "
        f"week was first published, stands beside it in {first.file('density', 'csv').name}.",
        changed.words,
    ]
    beside = {"Provisional estimate": first.file("report", "html").name}
    return page_file(step, counts, cells, seal, notes, beside)


def _finally(step: Step, final: Estimated, accounts: Accounts) -> Step:
    """The step as it works on the files of a final estimate."""
    upto = final.later[-1].week
    which, finally_ = step.release.which, replace(step, upto=upto)
    published = None if step.again else published_digest(finally_.files, accounts.publications(which, upto))
    # An estimate that is not published yet takes the inputs of its week, so that the two can be compared.
    return replace(finally_, inputs_digest=step.inputs_digest if published is None else published)


def _made_for(step: Step, table: pl.DataFrame, name: str = "final_series") -> pl.DataFrame:
    """What was made of the estimate, if that uses the weeks that are to be stated."""
    if len(table) and table["upto"][0] != step.upto:
        raise BadInput(
            f"{name} of the week of {step.week} must use weeks up to {step.upto}, but it was made with weeks up "
            f"to {table['upto'][0]}: make it again, `density final --week {step.week}`"
        )
    return table.drop("upto")


def _measurements(final: Estimated) -> list[str]:
    """Keys of every measurement that the estimate is made of."""
    return [draw.measurement for week in (*final.used, final.own) for draw in week.doors.values()]


def _refuse_what_does_not_follow(city: City, step: Step) -> None:
    """Raise if the table or a file of a final estimate is not what its draws and the ledger give."""
    shelves = {**OPEN, **{made.name: made.shelf for made in (final_series, final_errors_of_sums)}}
    looking = replace(
        step.read,
        inputs=shelves,
        past={name: shelves[name] for name in PAST},
        future={name: shelves[name] for name in DOORS},
    )
    for other in _others(city, replace(step, read=looking)):
        raise BadInput(
            f"what is signed must follow from what was drawn, but {other} of the final estimate of the week of "
            f"{step.week} is otherwise: it was changed after it was made, or made by other software. Nothing was "
            f"signed; make it again: `density final --week {step.week}`"
        )


def _others(city: City, step: Step) -> Iterator[str]:
    """What is not as it would be made."""
    accounts, final, read = city.ledger.accounts(), final_of(city, step.week), step.read
    between, cells, estimate = _between(step, accounts, final), read("cells"), _made_for(step, read("final_series"))
    yield from other_estimate("final_series", estimate, _cells_of(step, final, between), cells["cell_id"])
    if not tables_alike(read("final_errors_of_sums"), _sums_of(step, final, between), cells["cell_id"]):
        yield "final_errors_of_sums"
    yield from other_inputs(city, step, cells["cell_id"].to_list())
    paid_by = frozenset(draw.charge for draw in final.own.doors.values())
    end = accounts.end_of(final.charges, **step.release.which)
    counts, seal = rounded(step, estimate, cells), Seal.at(accounts, end)
    yield from other_files(count_files(step, counts, cells) | chain_file(step, accounts, end))
    said = stated(step, counts, accounts, paid_by, end, final)  # names digests of the above
    yield from other_files(statement_files(step, said))
    expected = description_files(step, said, accounts)  # as these do of the statement
    expected |= final_page(step, counts, cells, seal, Changed.between(read("density"), counts))
    yield from other_files(expected)
