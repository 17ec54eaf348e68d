"""A run that would replace a published week is called off: it did not fail, and the week it names is well.

So is one of a published week that the ledger refuses: whatever is wrong with the ledger, the week is out and whole.

Of a failed run Dagster marks the week of every asset it had planned as failed, whatever was there before, and the
checks with it. Of a cancelled run it leaves the marks as they were. The step that refused says why all the same, on the
page of the run and on the terminal.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import dagster as dg

from density_assets.publication.keeping import PublishedStays
from resources.ledger.book import LedgerError

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
