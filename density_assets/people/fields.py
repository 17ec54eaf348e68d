"""Smooth random fields over a plane: what makes neighbouring places of an invented city alike.

A field is a sum of plane waves with random directions, so it costs one matrix product, needs no covariance
matrix and is defined at every point (random Fourier features; Rahimi & Recht 2007, Alg. 1).
"""

import numpy as np
from numpy.typing import NDArray

WEEK_HOURS = 168
WAVES = 600


def spatial_fields(xy: NDArray[np.float64], length: float, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw `count` independent fields of variance 1 at the points; correlation exp(-d²/2 length²)."""
    cosine, _ = _plane_waves(xy, length, count * WAVES, rng)
    return np.asarray(np.sqrt(2.0 / WAVES) * cosine.reshape(len(xy), count, WAVES).sum(axis=2))


def weekly_field(xy: NDArray[np.float64], length: float, hours: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw a field of variance 1 over points and hours of the week, shape (points, 168).

    length, hours: how far, in metres and in hours, a deviation reaches.
    """
    cosine, sine = _plane_waves(xy, length, WAVES, rng)
    # Whole cycles per week, so that Sunday night meets Monday morning.
    cycles = np.rint(rng.normal(0.0, WEEK_HOURS / (2.0 * np.pi * hours), WAVES))
    turn = 2.0 * np.pi / WEEK_HOURS * np.outer(cycles, np.arange(WEEK_HOURS))
    return np.asarray(np.sqrt(2.0 / WAVES) * (cosine @ np.cos(turn) - sine @ np.sin(turn)))


def _plane_waves(
    xy: NDArray[np.float64], length: float, count: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    frequency = rng.normal(0.0, 1.0 / length, (2, count))
    angle = (xy - xy.mean(axis=0)) @ frequency + rng.uniform(0.0, 2.0 * np.pi, count)
    return np.cos(angle), np.sin(angle)
