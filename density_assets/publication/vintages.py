"""What the vintages of a week are called, and what changed from the first to a final one: told from released counts."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from density_assets.publication.sum_errors import WITHIN

PROVISIONAL_ESTIMATE = "Provisional estimate"  # as readers see it below the name of the city


def named_final(upto: str) -> str:
    """What a final estimate is called below the name of the city. upto: the last week that it uses."""
    return f"Final estimate, with weeks up to {upto}"


@dataclass(frozen=True)
class Changed:
    """How far two vintages of a week are apart.

    visits: sum of absolute changes of all cells and hours. share: of the visits that were first published.
    mean: of absolute changes. errors: the mean change in standard errors of the first estimate.
    beyond: the share of cells and hours that left their first 95 % interval.
    smaller: by what share the mean standard error became smaller.
    """

    visits: int
    share: float
    mean: float
    errors: float
    beyond: float
    smaller: float

    @classmethod
    def between(cls, first: pl.DataFrame, final: pl.DataFrame) -> "Changed":
        """Of two tables of counts, whose rows are those of the same cells and hours in the same order."""
        before, after = (table["count"].to_numpy() for table in (first, final))
        error, error_after = (table["standard_error"].to_numpy() for table in (first, final))
        change = np.abs(after - before)
        typical = max(float(error.mean()), np.finfo(np.float64).tiny)
        return cls(
            visits=int(change.sum()),
            share=float(change.sum() / max(before.sum(), 1)),
            mean=float(change.mean()),
            errors=float(change.mean() / typical),
            beyond=float((change > WITHIN * error + 1).mean()),  # counts are whole: rounding may move each by one
            smaller=1 - float(error_after.mean()) / typical,
        )

    @property
    def facts(self) -> dict[str, float]:
        """As the UI shows it."""
        return {"visits changed": self.visits, "mean change in standard errors": round(self.errors, 3)}

    @property
    def words(self) -> str:
        """As the page says it."""
        return (
            f"Against the provisional estimate, counts of cells and hours changed by {self.visits:,} visits in all "
            f"({self.share:.1%} of them), by {self.mean:.2f} on average, which is {self.errors:.2f} of the standard "
            f"error stated then; {self.beyond:.1%} of them left their 95 % interval. {self._errors_now}"
        )

    @property
    def _errors_now(self) -> str:
        share = f"{abs(self.smaller):.0%}"
        if share == "0%":
            return "Standard errors are about as large as they were."
        if self.smaller > 0:
            return f"Standard errors are now {share} smaller."
        return f"Standard errors are now {share} larger: the later weeks showed that weeks vary more than was known."
