"""A released asset that declares geometry and reads the truth: refused by the reader, by the zone rule, by the kernel.

The asset is planted in the real graph of a small town whose week is counted. Every way past the reader is tried twice:
behind the wall, where it must fail and leave the release folder as it was; and without one, where it must succeed, so
that we know the way is one.
"""

import shutil

import dagster as dg
import polars as pl
import pytest
from elsewhere import week_file
from leaking import BY_READER, FOLDER_LINK, LINK, LOOKING_BACK, STOLEN, TABLE, TO_OTHER_FILES, TO_THE_WEEK, leaking
from runs import MONDAY, WEEK, failures, materialise, only, opened, shown, verdicts
from town import make_town
from traces import files_with

from density_assets import definitions
from density_assets.graph.step import Reader, Shelf
from density_assets.privacy.estimates import DrawUsed
from density_assets.privacy.zones import Zone, ZoneLeak
from resources.ledger.ledger import Ledger
from resources.tables.released import ReleasedTables
from resources.tables.store import Store
from resources.wall import available

PEOPLE = 20_011
PAST_THE_READER = (*TO_THE_WEEK, *TO_OTHER_FILES)
REFUSALS = ("Permission denied", "PermissionError", "Invalid cross-device link")
walled = pytest.mark.skipif(not available(), reason="this kernel has no Landlock, so released steps are not walled off")


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """A town whose week is released; one of its true numbers has too many digits to come about by chance."""
    folder = tmp_path_factory.mktemp("counted")
    town = make_town(folder)
    town.write_visits("".join(f"zq7x_{i},2007-09-10 08:00:00,A\n" for i in range(PEOPLE)))
    return town, folder / "home", materialise(town.settings, folder / "home")


@pytest.fixture
def home(counted, tmp_path):
    """A copy of the home, whose views are of the copy, with links in its release folder."""
    town, home, _ = counted
    shutil.copytree(home, tmp_path / "home")
    store = opened(town.settings, tmp_path / "home").store
    store.refresh_views()
    assert len(store.secret) == 32
    (store.release / LINK).symlink_to(week_file(store, TABLE, MONDAY))
    (store.release / FOLDER_LINK).symlink_to(store.confidential)
    return tmp_path / "home"


def true_number(home) -> str:
    """What the tower at which everybody was weighs in that hour."""
    week = pl.read_parquet(next((home / f"town/confidential/weeks/{TABLE}/{WEEK}").glob("*/*.parquet")))
    weighted = week.filter(pl.col("hour") == 8)["weighted"].max()
    assert weighted == PEOPLE * 65536
    return str(weighted)


def released(home) -> dict[str, bytes]:
    """Every file that may be handed out, but for the links that a test has put there."""
    folder = home / "town/release"
    files = (file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def attempt(monkeypatch, town, home, way: str, *, sealed: bool = True, **how) -> dg.ExecuteInProcessResult:
    """Run the planted asset, and take away the links it may have used."""
    monkeypatch.setattr(definitions, "BLUEPRINTS", [*definitions.BLUEPRINTS, leaking(way, **how)])
    result = materialise(town.settings, home, sealed=sealed, asset_selection=only("leak"), raise_on_error=False)
    for link in (LINK, FOLDER_LINK):
        (home / "town/release" / link).unlink()
    return result


# --- through the reader -------------------------------------------------------------------------------------


@pytest.mark.parametrize("sealed", [True, False])
@pytest.mark.parametrize("way", [way for way in BY_READER if way != "tables of the reader"])
def test_a_read_that_is_not_declared_is_refused_and_nothing_written(monkeypatch, counted, home, way, sealed):
    before = released(home)
    (message,) = failures(attempt(monkeypatch, counted[0], home, way, sealed=sealed))
    assert "ZoneLeak: leak must declare what it reads: it reads tower_series, and declares cells" in message
    assert released(home) == before
    assert files_with(true_number(home), home / "town/release") == set()


def test_a_read_that_is_declared_does_not_load(monkeypatch, counted, home):
    with pytest.raises(ZoneLeak, match=r"leak \(release\) reads tower_series \(confidential\)"):
        attempt(monkeypatch, counted[0], home, "undeclared read", deps=("cells", TABLE))


@pytest.mark.parametrize("sealed", [True, False])
def test_a_read_that_is_declared_is_refused_even_if_it_loads(monkeypatch, counted, home, sealed):
    """Two guards: whoever takes the zone rule away still meets the reader."""
    monkeypatch.setattr(definitions, "refuse_leaks", lambda assets: None)
    before = released(home)
    result = attempt(monkeypatch, counted[0], home, "undeclared read", deps=("cells", TABLE), sealed=sealed)
    (message,) = failures(result)
    assert "leak (release) may not read tower_series (confidential): only a door may" in message
    assert released(home) == before


@pytest.mark.parametrize("sealed", [True, False])
@pytest.mark.parametrize("way", LOOKING_BACK)
def test_looking_back_is_declared_by_itself(monkeypatch, counted, home, way, sealed):
    """Who may read a week of a released table may not read its earlier weeks for that."""
    before = released(home)
    (message,) = failures(attempt(monkeypatch, counted[0], home, way, deps=("cells", "density"), sealed=sealed))
    words = "leak must declare what it looks back at: it reads earlier weeks of density, and declares nothing"
    assert f"ZoneLeak: {words}" in message
    assert released(home) == before


@pytest.mark.parametrize("sealed", [True, False])
def test_the_tables_behind_the_reader_are_the_released_ones(monkeypatch, counted, home, sealed):
    before = released(home)
    (message,) = failures(attempt(monkeypatch, counted[0], home, "tables of the reader", sealed=sealed))
    assert "AttributeError: 'ReleasedTables' object has no attribute 'read_week'" in message
    assert released(home) == before
    assert not hasattr(ReleasedTables, "read_week")


# --- past the reader ----------------------------------------------------------------------------------------


@walled
@pytest.mark.parametrize("way", PAST_THE_READER)
def test_the_kernel_refuses_whatever_goes_past_the_reader(monkeypatch, counted, home, way):
    before = released(home)
    result = attempt(monkeypatch, counted[0], home, way)
    (message,) = failures(result)
    assert any(refusal in message for refusal in REFUSALS)
    assert released(home) == before
    assert files_with(true_number(home), home / "town/release") == set()
    assert files_with("zq7x_", home / "town/release") == set()


@pytest.mark.parametrize("way", PAST_THE_READER)
def test_without_the_wall_the_same_way_leaks(monkeypatch, counted, home, way):
    """Else the test above would show nothing."""
    truth = {
        "secret": Store(home, "town").secret.hex(),
        "records": "zq7x_77,",
        "records, by SQL": "'zq7x_77'",
        "records, listed": "part-0.csv",
    }.get(way, true_number(home))
    assert attempt(monkeypatch, counted[0], home, way, sealed=False).success
    assert STOLEN in files_with(truth, home / "town/release")


@walled
def test_confidential_folders_of_other_cities_are_out_of_reach_too(monkeypatch, counted, home):
    """Budgets follow people, and so do walls: one home, two cities."""
    neighbour = home / "village/confidential"
    neighbour.mkdir(parents=True)
    (home / "town/release" / LINK).unlink()
    shutil.copy(week_file(Store(home, "town"), TABLE, MONDAY), neighbour / "week.parquet")
    (home / "town/release" / LINK).symlink_to(neighbour / "week.parquet")
    (message,) = failures(attempt(monkeypatch, counted[0], home, "link to the file"))
    assert "Permission denied" in message


# --- the release itself -------------------------------------------------------------------------------------


def test_a_release_behind_the_wall_holds_no_true_number_and_auditors_see_the_wall(counted):
    _, home, result = counted
    assert files_with(true_number(home), home / "town/release") == set()
    assert verdicts(result)["nothing_passes_the_doors"].passed
    assert shown(result, "density").metadata["walled_off"].value is available()


def test_auditors_see_that_there_is_no_wall(counted, home):
    result = materialise(counted[0].settings, home, sealed=False, asset_selection=only("density"))
    assert shown(result, "density").metadata["walled_off"].value is False


def test_looking_ahead_is_declared_by_itself(tmp_path):
    """Who may look back at the draws of earlier weeks may not look ahead for that."""
    doors = {"noisy_series": Shelf("noisy_series", Zone.MECHANISM, True)}
    read = Reader("leak", Zone.RELEASE, doors, ReleasedTables(tmp_path), MONDAY, past=doors)
    later = DrawUsed("2007-09-17", 1, {})
    with pytest.raises(ZoneLeak, match="must declare what it looks ahead at: it reads later weeks of noisy_series"):
        read.draw("noisy_series", later, Ledger(tmp_path).accounts())
