"""Who did something to the books, and why.

Names and reasons are chained with what they explain and published with every release: a role will do for a name. They
are what a person says; nothing here proves who it was (docs/threat-model.md).
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from density_assets.errors import BadInput

if TYPE_CHECKING:  # the command line reads names before it needs settings
    from density_assets.settings import Settings

LONGEST = 200
ANYBODY = "nobody named"
BY, REASON = "DENSITY_BY", "DENSITY_REASON"  # in the environment


@dataclass(frozen=True)
class Act:
    """Who, why, and by which way: the terminal, the web UI, a schedule, a sensor."""

    by: str
    reason: str
    how: str = "terminal"

    def __post_init__(self) -> None:
        for name, value in (("name", self.by), ("reason", self.reason)):
            if not value.strip() or len(value) > LONGEST or not value.isprintable():
                raise BadInput(
                    f"a {name} must be one line of 1 to {LONGEST} characters, got {len(value)}: it is published with "
                    "every release, so that auditors know who did what and why"
                )

    def record(self) -> dict[str, str]:
        """As the ledger keeps it."""
        return {"by": self.by, "reason": self.reason, "how": self.how}


def of_nobody(how: str = "terminal") -> Act:
    """An act on people who do not exist, which needs no name."""
    return Act(ANYBODY, "simulated people", how)


def act_of(
    by: str | None, reason: str | None, how: str = "terminal", *, environment: Mapping[str, str] = os.environ
) -> Act | None:
    """Who and why, as given or as the environment says; none if either is missing."""
    name, why = by or environment.get(BY), reason or environment.get(REASON)
    return Act(name, why, how) if name and why else None


def act_under(settings: "Settings", by: str | None, reason: str | None, how: str = "terminal") -> Act | None:
    """Who and why: as given, as the environment says, or `[operator]`; none if nobody said and it matters."""
    operator = settings.operator
    if given := act_of(by, reason, how):
        return given
    if operator.name and operator.reason:
        return Act(operator.name, operator.reason, how)
    return of_nobody(how) if settings.city.synthetic else None


def needed(act: Act | None, what: str) -> Act:
    """The act, or an error that says how to give it."""
    if act is None:
        raise BadInput(
            f"{what} must say who and why, got neither or one of them: give --by and --reason, set "
            f"{BY} and {REASON}, or write [operator] name and reason into the settings, which schedules use too"
        )
    return act
