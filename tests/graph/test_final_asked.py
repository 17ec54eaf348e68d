"""How final estimates are asked for: by the command, never by a schedule, and which are refused."""

import shutil
from pathlib import Path

import dagster as dg
import polars as pl
import pytest
from final_estimates import materialise_final, name_of, refused
from runs import density, opened
from weeks import NEXT, WEEKS, folder_of, published, spoilt_draw

from density_assets import definitions


@pytest.fixture
def home(finally_estimated, tmp_path) -> Path:
    """A copy of the home that a test may change."""
    return shutil.copytree(finally_estimated[1], tmp_path / "home")


# --- what is refused --------------------------------------------------------------------------------------------------


def test_the_newest_week_has_no_final_estimate(finally_estimated, home):
    before = published(home, WEEKS[2])
    assert f"of the week of {WEEKS[2]} must use a later week, but none is drawn" in refused(
        finally_estimated[0], home, WEEKS[2]
    )
    assert published(home, WEEKS[2]) == before


def test_a_week_that_is_not_published_has_none_either(finally_estimated, home):
    assert f"the week of {NEXT} must be published before it is estimated again" in refused(
        finally_estimated[0], home, NEXT
    )


@pytest.mark.parametrize("lost", [True, False])
def test_a_draw_of_a_later_week_that_is_lost_or_damaged_is_refused_by_name(finally_estimated, home, lost):
    spoilt_draw(home, WEEKS[2], lost=lost)
    before = published(home, WEEKS[1])
    message = refused(finally_estimated[0], home, WEEKS[1])
    assert f"an estimate uses noisy_series of the week of {WEEKS[2]} (revision 1)" in message
    assert ("is lost" if lost else "is damaged (it is another draw)") in message
    assert published(home, WEEKS[1]) == before


def test_what_was_changed_after_it_was_made_is_not_signed(finally_estimated, home):
    town, other = finally_estimated[0], shutil.copytree(home, home.with_name("changed"))
    signed = []
    for folder in (home, other):
        opened(town.settings, folder)
        assert materialise_final(town, folder, WEEKS[1], "final_series", "final_errors_of_sums").success
        if folder is other:
            for name, column in (("final_series", "visits"), ("final_errors_of_sums", "value")):
                table = folder_of(folder) / f"tables/{name}/{WEEKS[1]}.parquet"
                pl.read_parquet(table).with_columns(pl.col(column) + 7).write_parquet(table)
        assert materialise_final(town, folder, WEEKS[1], "final_release").success
        signed.append((folder_of(folder) / f"manifest_{name_of(WEEKS[1], WEEKS[2])}.json").read_bytes())
    assert signed[0] == signed[1]


# --- the graph --------------------------------------------------------------------------------------------------------


def test_nobody_gets_a_final_estimate_without_asking(finally_estimated):
    assets, _ = definitions.graph(opened(finally_estimated[0].settings, finally_estimated[1]))
    specs = {spec.key.to_user_string(): spec for asset in assets for spec in asset.specs}
    assert specs["final_release"].automation_condition is None
    defs = definitions.build(opened(finally_estimated[0].settings, finally_estimated[1]))
    weekly = defs.resolve_job_def("weekly_release").asset_layer.executable_asset_keys
    assert not {dg.AssetKey("final_series"), dg.AssetKey("final_release")} & set(weekly)


# --- the command ------------------------------------------------------------------------------------------------------


def test_the_command_says_where_it_is_and_why_there_is_none(finally_estimated, home):
    settings = ("--settings", str(finally_estimated[0].settings))
    done = density(home, "final", "--week", WEEKS[1], *settings)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "(weeks before it: 1, after it: 1)" in done.stdout
    assert str(folder_of(home) / f"density_{name_of(WEEKS[1], WEEKS[2])}.csv") in done.stdout
    none = density(home, "final", "--week", WEEKS[2], *settings)
    assert none.returncode == 2
    assert none.stderr.startswith(f"error: a final estimate of the week of {WEEKS[2]} must use a later week")
