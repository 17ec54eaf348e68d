"""Ledgers that somebody has opened, as tests need them."""

from contextlib import suppress
from pathlib import Path

from density_assets.city import City
from density_assets.errors import BadInput
from density_assets.privacy.acts import Act
from density_assets.privacy.charges import Budget
from density_assets.privacy.noise import OpenDpNoise
from density_assets.privacy.policy import APPROVAL, acknowledged, acknowledgement
from density_assets.settings import PrivacySettings, Settings, load_settings
from resources.ledger.book import medium_digest
from resources.ledger.ledger import Ledger, Order
from resources.ledger.opening import open_for_people, say_moved
from resources.ledger.sqlite import book_at
from resources.ledger.witnesses import NOTHING, Witnesses
from resources.measurements import Measurements
from resources.tables.store import Store

ACT = Act("tester", "a test")
KEY = "ab" * 32
BUDGET = Budget(3.0, 1e-5)


def open_ledger(city: City) -> None:
    """Open the ledger of a city for real people, unless it is, or a test has taken it away."""
    stored = any(city.home.glob("*/release/measurements/*.npz"))
    if stored and not (city.ledger.book.shared or city.ledger.file.exists()):
        return
    accounts = city.ledger.accounts()
    if not accounts.declared:
        open_for_people(city.ledger, ACT, city.keys.new, NOTHING)
    elif accounts.medium != medium_digest(accounts.identity, city.ledger.book):
        say_moved(city.ledger, ACT, NOTHING)  # a test works on a copy of a home
    acknowledge_input(city.ledger, city.settings)


def acknowledge_input(ledger: Ledger, settings: Settings) -> None:
    """Say that somebody has looked at what a city's files are understood as, unless it was said."""
    if not acknowledged(ledger.accounts(), settings):
        ledger.record(APPROVAL, acknowledgement(settings), ACT, NOTHING)


def opened_ledger(home: Path, url: str = "") -> Ledger:
    """A ledger for real people, with a key that nobody has.

    url: of the database that keeps it; by default a file of the home does.
    """
    ledger = Ledger(home, book_at(url) if url else None)
    if not ledger.accounts().declared:
        open_for_people(ledger, ACT, lambda: KEY, NOTHING)
        acknowledge_input(ledger, order().settings)
    return ledger


def open_before(home: Path, *arguments: str) -> None:
    """Open the ledger before a command that writes to it, as somebody who runs it on real people has done."""
    if not {"release", "backfill", "rebuild", "final", "ui"} & set(arguments) or "--settings" not in arguments:
        return
    with suppress(BadInput):  # settings that cannot be used are what the command is about
        city = City(load_settings(Path(arguments[arguments.index("--settings") + 1])), home)
        if not city.synthetic:
            open_ledger(city)


def witnesses_under(home: Path) -> Witnesses:
    """What lies under the home of the town, and its ledger must know."""
    return Measurements(Store(home, "town"), Ledger(home), OpenDpNoise()).witnesses()


def order(budget: Budget = BUDGET, act: Act | None = ACT, *, stated: bool = False, **about) -> Order:
    """What charges of tests are made under.

    stated: whether a person wrote the budget into the settings; else it is what they have by default.
    """
    fields = {"budget_epsilon": budget.epsilon, "budget_delta": budget.delta}
    privacy = PrivacySettings.model_construct(_fields_set=set(fields) if stated else set(), **fields)
    return Order(act, Settings(privacy=privacy), **{"release": {"name": "a release"}, "software": {}, **about})
