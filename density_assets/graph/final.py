"""The second vintage of a week: estimated again once weeks after it are drawn, and published beside the first.

Nothing here runs by itself: a person asks for it (`density final`, or the job `final_estimate` in the UI), as often as
new weeks make it worth it. It costs no privacy, because every draw it reads is paid for and public. What was published
before stays as it was signed: a final estimate has files, statement, page and manifest of its own, named after its week
and after the last week it uses.
"""

from dataclasses import replace
from functools import partial

import dagster as dg
import polars as pl

from density_assets.graph.assets import asset
from density_assets.graph.columns import SETTINGS, column
from density_assets.graph.estimating import DOORS, DRAWN, ORIGINS_OF_SUMS, PAST, composed, composed_of, learns
from density_assets.graph.naming import FINAL
from density_assets.graph.release import covering, of_inputs, sign, signed
from density_assets.graph.step import Made, Step
from density_assets.privacy.zones import Zone
from density_assets.publication.sum_errors import MEANING
from density_assets.release.compose import Terms

ESTIMATED = (*DRAWN, "usual_week.values", "overlaps.share")

_of_all_weeks = partial(  # what is made of the draws of a week, of those before it and of those after it
    asset,
    Zone.RELEASE,
    group=FINAL,
    looks_back=PAST,
    looks_ahead=DOORS,
    given=("final_terms",),
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
    deps=composed_of,
)
def final_series(step: Step, final_terms: Terms) -> Made:
    """What the draws of this week, of all weeks before it and of all weeks after it say of each cell.

    Of every other week the newest revision enters that is drawn by now; weeks drawn under other settings are left out,
    and the statement names them.
    """
    of, final = composed(step, final_terms), final_terms.final
    assert final is not None  # in the terms of final estimates
    for week in final.left_out:
        step.say(f"the week of {week.week} is left out: {week.reason}")
    facts = {"weeks before": len(final.earlier), "weeks after": len(final.later)}
    return Made(of.estimation.cells.with_columns(upto=pl.lit(of.files.upto)), facts=facts)


@_of_all_weeks(
    {
        **{name: column(meaning, *ORIGINS_OF_SUMS[name]) for name, meaning in MEANING.items()},
        "upto": column("the last week that the estimate uses", *DRAWN),
    },
    deps=composed_of,
)
def final_errors_of_sums(step: Step, final_terms: Terms) -> Made:
    """How errors of cells and hours of the final estimate go together, as `errors_of_sums` says it of the first.

    Empty where it tells no finite numbers.
    """
    of = composed(step, final_terms)
    if of.estimation.sums.is_empty():
        step.warn(f"errors of sums of the final estimate of {step.week} are not published: they are no finite numbers")
    return Made(of.estimation.sums.with_columns(upto=pl.lit(of.files.upto)))


@_of_all_weeks(
    covering("final_series.visits", "final_series.standard_error", "final_errors_of_sums.value", "cells.geometry"),
    deps=lambda city: (
        *("final_series", "final_errors_of_sums", "signed_release"),
        *(*composed_of(city), *of_inputs(city)),
    ),
    kinds=("csv", "parquet", "html", "json"),
    after=sign,
)
def final_release(step: Step, final_terms: Terms) -> Made:
    """The final estimate as files, with a statement and a page that says what changed; listed and signed like a week.

    The files, the page and the statement that the week was first published with stay as they are.
    """
    of = composed(step, final_terms)
    made, changed = signed(of), of.changed
    assert changed is not None  # of final estimates
    page = dg.MetadataValue.path(str(of.files.file("report", "html")))
    return replace(made, facts={**made.facts, **changed.facts, "page": page})
