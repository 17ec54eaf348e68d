"""A door as an asset would use it, on a small release."""

import numpy as np
from ledgers import opened_ledger, order

from density_assets.privacy.charges import Budget
from density_assets.privacy.events import Gaussian
from density_assets.privacy.noise import OpenDpNoise
from density_assets.privacy.release import Release
from resources.measurements import Measurements
from resources.tables.store import Store

ZEROS = np.zeros(50)
EVENT = Gaussian("series", 17.0, 1.0)
REQUEST = Release(
    population="subscribers",
    city="town",
    geography="abc",
    week="2007-09-10",
    revision=1,
    scheme="lowrank",
    calibration="sound",
    epsilon=0.3,
    delta=2e-6,
    parameters={"weight_l": 1},
    doors={"noisy_totals": (EVENT,), "noisy_series": (EVENT,)},
)


class Door:
    """Calls `measure` as an asset would, and counts how often noise is drawn."""

    def __init__(self, home, budget=3.0, noise=None, url=""):
        self.store, self.ledger = Store(home, "town"), opened_ledger(home, url)
        self.measurements = Measurements(self.store, self.ledger, noise or OpenDpNoise())
        self.budget = Budget(budget, 1e-5)
        self.drawn = 0

    def __call__(self, request=REQUEST, door="noisy_series", inputs="fingerprint", counts=ZEROS):
        def draw(noise):
            self.drawn += 1
            return {"weighted": noise.gaussian(counts, EVENT)}

        return self.measure(request, door, lambda: draw, inputs)

    def measure(self, request, door, prepare, inputs="fingerprint", say=lambda _: None):
        terms = order(self.budget, release=request.record())
        return self.measurements.measure(request, door, terms, lambda: inputs, prepare, say)
