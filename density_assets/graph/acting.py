"""Who started a run and why, and how it ends: as a failure, called off, or with words withheld.

A person at the terminal gives `--by` and `--reason`; one at the web UI adds the tags below in the launch dialog;
schedules and sensors have the name and reason that `[operator]` of the settings gives.

A run that would replace a published week is called off: it did not fail, and the week it names is as it was. So is one
of a published week that the ledger refuses. Of a failed run Dagster marks the week of every asset it had planned as
failed, whatever was there before, and the checks with it; of a cancelled run it leaves the marks as they were. The step
that refused says why all the same, on the page of the run and on the terminal.

Everybody who opens the UI reads errors, and those of a library may quote a record: a text it could not convert, a key
it did not find. So whatever is raised in a step that touches real people's records, and is not worded by us, is told by
its name and by where it happened. The stack stays, for it holds lines of code and no values.
"""

import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
import polars as pl

from density_assets.errors import PublishedStays
from density_assets.privacy.acts import Act, act_under
from density_assets.privacy.zones import ZoneLeak
from density_assets.settings import Settings
from resources.alerts import WORDED
from resources.ledger.book import LedgerError

BY_TAG, REASON_TAG, ANEW_TAG = "density/by", "density/reason", "density/anew"
TERMINAL = "density/terminal"
STARTERS = {  # tags that Dagster puts on runs, and who is behind them
    "dagster/schedule_name": "schedule",
    "dagster/sensor_name": "sensor",
    "dagster/backfill": "backfill",
    TERMINAL: "terminal",
}


def act_of_run(tags: Mapping[str, str], settings: Settings) -> Act | None:
    """Who started a run with such tags, and why; none if nobody said and it matters."""
    return act_under(settings, tags.get(BY_TAG), tags.get(REASON_TAG), _how(tags))


def asks_anew(tags: Mapping[str, str]) -> bool:
    """Whether a person asks, in this very run, to publish anew what is published, and says who and why.

    A name and a reason alone do not ask for it: runs about real people carry them always.
    """
    return {BY_TAG, REASON_TAG} <= tags.keys() and tags.get(ANEW_TAG) == "yes"


def _how(tags: Mapping[str, str]) -> str:
    tag = next((tag for tag in STARTERS if tag in tags), None)
    if tag is None:
        return "web UI"
    return f"{STARTERS[tag]} {tags[tag]}" if tag.endswith("_name") else STARTERS[tag]


def tags_of(act: Act | None, *, anew: bool = False) -> dict[str, str]:
    """The tags that say so, and whether what is published is to be published anew."""
    said = {BY_TAG: act.by, REASON_TAG: act.reason} if act else {}
    return {**said, ANEW_TAG: "yes"} if anew else said


# --- called off ------------------------------------------------------------------------------------------------------

CALLED_OFF = "called off: the week is published, and stays as it is"


@contextmanager
def called_off_where_published_stays(
    context: dg.AssetExecutionContext, published: Callable[[], bool]
) -> Iterator[None]:
    """Let a refusal to replace a published week end the run as cancelled.

    published: whether the week that is worked on is out.
    """
    try:
        yield
    except (PublishedStays, LedgerError) as refusal:
        if isinstance(refusal, LedgerError) and not published():
            raise
        # What a run with failed steps ends as depends on whether somebody had asked for its end.
        context.instance.report_run_canceling(context.run, CALLED_OFF)
        raise


# --- withheld --------------------------------------------------------------------------------------------------------

OURS = (*WORDED, ZoneLeak)


class Withheld(RuntimeError):
    """An error whose words are not repeated."""


@contextmanager
def unquoted_errors(*, when: bool) -> Iterator[None]:
    """Withhold the words of every error that is not one of ours.

    when: whether the step may touch records of real people; errors of all others are let through.
    """
    try:
        yield
    except OURS:
        raise
    except (Exception, pl.exceptions.PanicException) as error:  # a panic of polars is no Exception
        if not when:
            raise
        frame = traceback.extract_tb(error.__traceback__)[-1]
        raise Withheld(
            f"{type(error).__name__} in line {frame.lineno} of {Path(frame.filename).name}; what it said may quote a "
            "record and is withheld. If starting again does not help, this is a fault of the software"
        ).with_traceback(error.__traceback__) from None
