"""What the key signs: what follows from draws and ledger, and nothing else in the place of what is out."""

import json
import zipfile

import polars as pl
import pytest
from attacked import AGAIN, COUNTED, DOORS, LATER, PUBLISHED, attack_on, constant_counts, publications, restated
from runs import WEEK, only

from density_assets.publication.verify import verify
from resources.ledger.ledger import Ledger


def test_files_that_were_changed_are_made_whole_and_not_signed(attack):
    """Counts, statement and digests rewritten on disk; then the step that signs, alone."""
    published, signed = attack.published(), publications(attack)
    constant_counts(attack.release)
    restated(attack.release)
    assert attack.again(only("signed_release")) == []
    assert publications(attack) == signed
    assert attack.published() == published


def test_the_stored_draws_of_a_published_week_are_signed_byte_by_byte(attack):
    """A draw's values are on the ledger, not the bytes of its file: those are the manifest's."""
    file = sorted(attack.home.glob("*/release/measurements/*.npz"))[0]
    with zipfile.ZipFile(file, "a") as archive:
        archive.comment = b"anything at all"
    assert f"measurements/{file.name} would differ" in attack.again(AGAIN)[0]
    assert len(publications(attack)) == 1


def test_a_week_is_published_with_other_files_if_a_person_says_so(attack, monkeypatch):
    """A newer software may write the page otherwise: recorded, with what it replaces, and then quiet."""
    (before,), published = publications(attack), attack.published()
    monkeypatch.setattr("density_assets.release.compose.clock_note", lambda clock: "A newer page.")
    assert f"report_{WEEK}.html would differ" in attack.again()[0]
    assert attack.published() == published
    rebuilt = {"assets": only(*DOORS, *PUBLISHED, "signed_release"), "job": "rebuild_release"}
    assert f"report_{WEEK}.html would differ" in attack.again(**rebuilt)[0]  # a name and a reason do not ask for it
    assert attack.published() == published
    assert attack.again(**rebuilt, anew="yes") == []
    entry = list(Ledger(attack.home).accounts().of("published"))[-1]
    assert (entry.body["replaces"], entry.body["by"]) == (before, "op")
    changed = {name for name, content in attack.published().items() if content != published[name]}
    assert {name.split("_")[0] for name in changed} == {"report", "manifest"}  # from the same draws
    assert verify(attack.release / f"manifest_{WEEK}.json", entry.body["key"]).status == 0
    assert attack.again() == []
    assert len(publications(attack)) == 2


SPOILT = {
    "noisy_series": pl.col("value") + 7,
    "smoothed_series": pl.col("visits") + 7,
    "usual_week": pl.col("values").reverse(),
    "errors_of_sums": pl.col("value") + 7,
    "density": pl.col("count") + 7,
    "hours": pl.col("timestamp").shift(1),
    "estimator": pl.lit(1).alias("estimator"),
}
TABLE_OF = {"hours": "density", "estimator": "smoothed_series"}


@pytest.fixture(scope="module")
def honest(unsigned_week, tmp_path_factory) -> dict[str, str]:
    """Digests of the files of the second week, where nobody changed anything."""
    made = attack_on(unsigned_week, tmp_path_factory.mktemp("honest"))
    assert made.again(only("signed_release"), LATER) == []
    return listed(made)


def listed(made) -> dict[str, str]:
    said = json.loads((made.release / f"manifest_{LATER}.json").read_text())["files"]
    return {name: of["sha256"] for name, of in said.items()}


@pytest.mark.parametrize("spoil", [*SPOILT, "no errors of sums"])
def test_what_is_signed_follows_from_the_draws(made, honest, spoil):
    """A week that is drawn and not yet published: whatever lies between draw and manifest is made up."""
    folder = made.release
    if spoil in SPOILT:
        file = folder / "tables" / TABLE_OF.get(spoil, spoil) / f"{LATER}.parquet"
        table = pl.read_parquet(file)
        table.with_columns(SPOILT[spoil]).cast(table.schema).write_parquet(file)
    else:
        (folder / "tables/errors_of_sums" / f"{LATER}.parquet").unlink()
    assert made.again(only("published_counts", "privacy_statement", "density_report", "signed_release"), LATER) == []
    assert listed(made) == honest
    assert verify(folder / f"manifest_{LATER}.json").status == 3


@pytest.mark.parametrize(
    ("table", "change", "said"),
    [
        ("overlaps", pl.col("area_m2") * pl.when(pl.col("cell_id") == "SW").then(9).otherwise(1), "table of overlaps"),
        ("overlaps", None, "table of overlaps"),
        ("cells", pl.lit("EPSG:27561").alias("crs"), "cells or towers changed"),
        ("cells", pl.col("geometry").reverse(), "cells or towers changed"),
        ("towers", pl.col("x").reverse(), "cells or towers changed"),
    ],
)
def test_what_is_signed_first_must_be_of_the_geography_that_was_drawn(made, table, change, said):
    """Draws are those of the ledger, but somebody changes which cells the towers are in, and all files with it.

    change: of a column; none empties the table.
    """
    file = made.release / "tables" / f"{table}.parquet"
    kept = file.read_bytes()
    stored = pl.read_parquet(file)
    (stored.clear() if change is None else stored.with_columns(change)).write_parquet(file)
    made.again(only(*PUBLISHED), LATER)
    (message,) = made.again(only("signed_release"), LATER)
    assert said in message
    assert len(publications(made)) == 1
    file.write_bytes(kept)
    assert made.again(only(*PUBLISHED, "signed_release"), LATER) == []


def test_what_is_signed_first_must_be_of_the_cover_that_was_drawn(attack):
    """Draws of the places of a cover are theirs by position: in another order they would be those of other places."""
    attack.town.set("[engine]", '[scheme]\nname = "efpag"\n[engine]')
    attack.write_week(LATER)
    assert attack.again(only(*COUNTED, "one_visit_histogram", "cover_series", *DOORS, *PUBLISHED), LATER) == []
    file = attack.release / "tables" / "cover.parquet"
    kept = file.read_bytes()
    pl.read_parquet(file).reverse().write_parquet(file)
    assert attack.again(only(*PUBLISHED), LATER) == []
    (message,) = attack.again(only("signed_release"), LATER)
    assert "the table of the cover" in message
    assert len(publications(attack)) == 1
    file.write_bytes(kept)
    assert attack.again(only(*PUBLISHED, "signed_release"), LATER) == []
    assert len(publications(attack)) == 2
