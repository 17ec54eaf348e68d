"""Whether a person has looked at how records of real people are read, before the first charge for them.

Files that are read wrongly, by another column, zone or spelling, give a week of noise which is paid for all the same.
So somebody must have run `density check` and said so, once for each way of reading them; whatever it found. What they
say is an entry of the ledger, an approval of the input settings by their digest, and holds for every machine that
shares it. It holds nothing that was computed from records, and neither does the question: whether a week is released
depends on settings and ledger alone.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from density_assets.errors import BadInput
from density_assets.privacy.accounts import Accounts
from density_assets.privacy.charges import is_simulated
from density_assets.privacy.release import Charge
from density_assets.settings import Settings

APPROVAL = "approval"  # the kind of entry
INPUT = "input"  # what is approved
# What of [city] does not say how files are read. Whatever is not named here is taken to.
NOT_READ_BY = frozenset(
    {"name", "population", "first_week", "last_week", "users", "seed", "regions", "region_id", "region_name"}
)


def input_digest(settings: Settings) -> str:
    """What a way of reading files is known by: sources, columns, zones, filters, as the settings spell them.

    Paths are those of the settings file, so that the folder may move. Defaults are left out, so that a setting which a
    later version adds asks nobody anew.
    """
    read = settings.city.model_dump(mode="json", exclude=set(NOT_READ_BY), exclude_defaults=True)
    return hashlib.sha256(json.dumps(read, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def acknowledgement(settings: Settings) -> dict[str, Any]:
    """What the ledger keeps of it, besides who and why."""
    return {"what": INPUT, "city": settings.city.name, "inputs": input_digest(settings)}


def acknowledged(accounts: Accounts, settings: Settings) -> bool:
    """Whether somebody has acknowledged how a city's files are read today."""
    return accounts.newest(APPROVAL, **acknowledgement(settings)) is not None


def refuse_unacknowledged(accounts: Accounts, due: Sequence[Charge], settings: Settings) -> None:
    """Raise if charges for real people are due and nobody has acknowledged how their files are read.

    A revision of a week that was charged before is not asked for again, whatever the settings have become.
    """
    new = [charge for charge in due if not accounts.charges_of(charge.population, charge.which)]
    if not new or is_simulated(new[0].population) or acknowledged(accounts, settings):
        return
    earlier = any(entry.body.get("city") == settings.city.name for entry in accounts.all_of(APPROVAL, what=INPUT))
    raise BadInput(
        "before the first charge for real people a person must look at what their files are understood as; nobody has "
        f"for these input settings of {settings.city.name} ([city]: "
        f"{'they have changed since' if earlier else 'sources, columns, zones'}): run `density check --settings FILE`, "
        "read it, and acknowledge it, whatever it says: `density check --settings FILE --acknowledge --by NAME "
        "--reason WHY`. Nothing was charged and nothing drawn"
    )
