"""The time zone of a place, guessed from the towns that the zone database names, for a person to confirm."""

import re
from functools import cache
from importlib.resources import files

import numpy as np


def nearest_zone(latitude: float, longitude: float) -> str:
    """The zone whose town is nearest, by degrees."""
    towns, names = _towns()
    here, there = np.radians([latitude, longitude]), np.radians(towns)
    # The larger the cosine of the angle between two places, the nearer they are.
    along = np.cos(there[:, 0]) * np.cos(here[0]) * np.cos(there[:, 1] - here[1])
    return names[int(np.argmax(np.sin(there[:, 0]) * np.sin(here[0]) + along))]


@cache
def _towns() -> tuple[list[tuple[float, ...]], list[str]]:
    """Latitude and longitude of the town of every zone, and its name."""
    text = (files("tzdata") / "zoneinfo" / "zone1970.tab").read_text(encoding="utf-8")
    lines = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    return [tuple(map(_degrees, re.findall(r"[+-]\d+", line[1]))) for line in lines], [line[2] for line in lines]


def _degrees(text: str) -> float:
    """Degrees from ISO 6709: `+4852`, `-0740023` with minutes and perhaps seconds."""
    sign, digits = text[0], text[1:]
    whole = 2 if len(digits) in (4, 6) else 3
    minutes, seconds = (int(digits[start : start + 2] or 0) for start in (whole, whole + 2))
    return (-1 if sign == "-" else 1) * (int(digits[:whole]) + minutes / 60 + seconds / 3600)
