"""What the SQL models may ask for: caps from settings, and the salts that order one user's visits."""

import hashlib
import hmac
from datetime import date
from typing import Any

from density_assets.settings import Settings
from resources.sql.engine import KEYS
from resources.tables.store import Store

PURPOSES = ("site", "hour", "visit")


def model_parameters(settings: Settings, store: Store, week: date, sample: int = 0) -> dict[str, Any]:
    """Parameters of every model; salts differ by week, so that weeks are sampled independently.

    Real people's salts come from the installation's secret, those of a synthetic city from its seed.
    sample: another number draws another sample; a release always uses 0, studies repeat the sampling.
    """
    key = str(settings.city.seed).encode() if settings.city.synthetic else store.secret
    again = f" {sample}" if sample else ""
    salts = {f"{purpose}_salt": _salt(key, f"{purpose} {week}{again}") for purpose in PURPOSES}
    return {
        "visits_per_user": settings.privacy.visits_per_user,
        "visits_clamp": settings.privacy.visits_clamp,
        "weight_l": settings.scheme.weight_l,
        "tower_l": settings.scheme.tower_l,
        **salts,
    }


def _salt(key: bytes, purpose: str) -> int:
    return int.from_bytes(hmac.new(key, purpose.encode(), hashlib.sha256).digest()) % KEYS
