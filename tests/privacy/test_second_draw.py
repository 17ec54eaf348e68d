"""A red team: every way we know to get a second draw. None succeeds.

One week of a town of real people is released once, with the noise of real releases. Each attack gets a copy of that
home and takes away or changes what it likes, short of the private key, and leaves one witness or anchor. What remains
possible beyond that is said in docs/threat-model.md.
"""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from attacked import COUNTED, DOORS, LATER, PUBLIC, Attack, charges
from ledgers import ACT
from runs import WEEK, materialise, only

from density_assets.errors import BadInput
from density_assets.privacy.accounts import GENESIS, row_hash
from density_assets.publication.verify import verify
from resources.ledger.book import LedgerError
from resources.ledger.ledger import Ledger
from resources.ledger.opening import open_for_people, restore, say_moved
from resources.ledger.witnesses import NOTHING

# --- a second draw ----------------------------------------------------------------------------------------------------

STATEMENT, CHAIN, MANIFEST = (f"*/release/{stem}_{WEEK}*" for stem in ("privacy_statement", "ledger", "manifest"))
TABLES, DRAWS = f"*/release/tables/*/{WEEK}.parquet", "*/release/measurements"
EVERYTHING = {"statement": STATEMENT, "chain": CHAIN, "manifest": MANIFEST, "tables": TABLES, "draws": DRAWS}


@pytest.mark.parametrize("left", [*EVERYTHING, "all"])
def test_a_deleted_ledger_is_missed_by_every_single_witness(attack, left):
    """Two draws for one price: the ledger goes, one witness stays, a person opens a new ledger in good faith."""
    attack.lose_ledger()
    attack.lose(*(pattern for name, pattern in EVERYTHING.items() if left not in ("all", name)))
    city = attack.city
    with pytest.raises(LedgerError, match="named by"):
        open_for_people(city.ledger, ACT, city.keys.new, city.witnesses())
    assert "a ledger must be opened by a person" in attack.again()[0]
    assert not Ledger(attack.home).accounts().opened


def test_no_new_ledger_opens_beside_anything_that_a_release_left(attack):
    """Each file of the release folder alone, with everything else of the home gone."""
    saved = shutil.copytree(attack.home, attack.home.parent / "saved")
    public = {f"{table}.parquet" for table in ("cells", "antennas", "towers", "tower_cells", "overlaps", "cover")}
    tried = 0
    for file in sorted((saved / "town" / "release").rglob("*")):
        # The verifier says nothing of a release; clusters of one place each are those of the public list.
        if file.is_dir() or file.name in {*public, "verify.py"} or file.parent.name == "clusters":
            continue
        shutil.rmtree(attack.home)
        left = attack.home / file.relative_to(saved)
        left.parent.mkdir(parents=True)
        shutil.copy(file, left)
        city = attack.city
        with pytest.raises(LedgerError, match="named by"):
            open_for_people(city.ledger, ACT, lambda: "ab" * 32, city.witnesses())
        tried += 1
    assert tried > 20


@pytest.mark.parametrize("left", [*EVERYTHING, "all"])
def test_an_old_ledger_is_missed_by_every_single_witness(attack, released_week, left):
    attack.lose(*(pattern for name, pattern in EVERYTHING.items() if left not in ("all", name)))
    attack.lose_ledger()
    shutil.copy(released_week.backup, attack.home / "ledger.sqlite")
    with pytest.raises(LedgerError, match="named by"):
        say_moved(Ledger(attack.home), ACT, attack.city.measurements.witnesses())
    assert "is a copy or was moved" in attack.again()[0]
    assert charges(attack.home) == 0
    # Nor can it be restored as if it were a backup.
    with pytest.raises(LedgerError, match="must hold everything that is named elsewhere"):
        restore(Ledger(attack.home), released_week.backup, ACT, attack.city.measurements.witnesses())


def test_with_every_witness_gone_the_anchor_outside_is_enough(attack, released_week):
    anchor = attack.home.parent / "anchor.jsonl"
    shutil.copy(released_week.anchor, anchor)
    attack.lose_ledger()
    attack.lose(*EVERYTHING.values())
    city = attack.city
    with pytest.raises(LedgerError, match="the anchor"):
        open_for_people(city.ledger, ACT, city.keys.new, city.witnesses())
    assert "a ledger must be opened by a person" in attack.again()[0]
    assert not Ledger(attack.home).accounts().opened


def test_a_cut_tail_is_missed_by_every_single_witness(attack):
    """Cut before the draw was begun, the charge would pay once more."""
    begun = min(entry.row for entry in Ledger(attack.home).accounts().of("begun"))
    with sqlite3.connect(attack.home / "ledger.sqlite") as connection:
        connection.execute("drop trigger entries_no_delete")
        connection.execute(f"delete from entries where row >= {begun}")
    saved = shutil.copytree(attack.home, attack.home.parent / "cut")
    # Two of the witnesses are read before a charge is asked for, and refuse in words of their own.
    said_first = {"statement": "its draws must be stored", "draws": "a stored draw must be the one that was made"}
    for left in EVERYTHING:
        shutil.rmtree(attack.home)
        shutil.copytree(saved, attack.home)
        say_moved(Ledger(attack.home), ACT, NOTHING)  # so that the place of the file is not what refuses
        attack.lose(*(pattern for name, pattern in EVERYTHING.items() if left != name))
        city = attack.city
        assert "named by" in (city.ledger.problem(city.measurements.witnesses()) or ""), left
        assert said_first.get(left, "named by") in attack.again()[0], left
        assert charges(attack.home) == 2


def cut(home: Path, row: int) -> None:
    """Take every entry after a row out of the ledger."""
    with sqlite3.connect(home / "ledger.sqlite") as connection:
        connection.execute("drop trigger entries_no_delete")
        connection.execute("delete from entries where row > ?", (row,))


@pytest.mark.parametrize("noted", ["the anchor", "ledger.heads"])
def test_a_tail_cut_before_anything_is_published_is_missed_by_a_head_noted_before_the_draw(attack, noted):
    """Drawn and looked at, then cut from the ledger with everything that was made of it: a free draw, if it worked."""
    attack.city.anchor_head()
    end = len(Ledger(attack.home).accounts().entries)
    attack.write_week(LATER)
    before = set(attack.release.rglob("*"))
    drawing = only(*COUNTED, *DOORS, "clusters", "smoothed_series", "density", "published_counts")
    assert attack.again(drawing, LATER) == []
    for file in [file for file in attack.release.rglob("*") if file not in before and file.is_file()]:
        file.unlink()
    cut(attack.home, end)
    if noted == "the anchor":
        attack.lose("ledger.heads")
    else:
        (attack.home.parent / "anchor.jsonl").write_bytes(b"")
    assert noted in attack.again(drawing, LATER)[0]
    assert (charges(attack.home), len(attack.draws())) == (2, 2)


def test_an_anchor_that_cannot_be_reached_refuses_before_anything_is_charged(attack):
    attack.write_week(LATER)
    (attack.home.parent / "anchor.jsonl").unlink()
    assert "the anchor must be there" in attack.again(week=LATER)[0]
    assert charges(attack.home) == 2
    attack.lose("ledger.sqlite*", "town", "ledger.heads")
    with pytest.raises(BadInput, match="the anchor must be there"):
        attack.city.witnesses()


def test_a_published_chain_does_not_restore_a_ledger_that_has_forgotten_a_week(attack):
    """Every trace of the later week in the release folder is gone; the chain of the earlier one is whole."""
    chain, before = attack.release / f"ledger_{WEEK}.json", set(attack.release.rglob("*"))
    attack.write_week(LATER)
    assert attack.again(week=LATER) == []
    for file in [file for file in attack.release.rglob("*") if file not in before and file.is_file()]:
        file.unlink()
    attack.lose_ledger()
    (attack.home.parent / "anchor.jsonl").write_bytes(b"")
    with pytest.raises(LedgerError, match="must hold everything that is named elsewhere"):
        restore(Ledger(attack.home), chain, ACT, attack.city.measurements.witnesses())
    attack.lose("ledger.heads")  # without anchor and witness it can be done, and is said for ever
    restore(Ledger(attack.home), chain, ACT, attack.city.measurements.witnesses())
    assert attack.again(week=LATER) == []
    said = json.loads((attack.release / f"privacy_statement_{LATER}.json").read_text())
    assert any("the ledger was put back from a copy" in warning for warning in said["warnings"])
    result = verify(attack.release / f"manifest_{LATER}.json")
    assert any("put back from a copy" in note for note in result.notes)


def test_a_lost_draw_of_an_unpublished_week_is_not_made_again(attack):
    """Else a week could be drawn until it looks right, without a revision or anybody's approval."""
    attack.write_week(LATER)
    drawing = only(*COUNTED, *DOORS, "clusters", "smoothed_series", "density", "published_counts")
    before = attack.draws()
    assert attack.again(drawing, LATER) == []
    for name in attack.draws().keys() - before.keys():
        (attack.release / "measurements" / name).unlink()
    assert "was drawn already" in attack.again(drawing, LATER)[0]
    attack.town.set("[engine]", "[privacy]\nepsilon = 0.29\n[engine]")
    assert "was drawn already" in attack.again(drawing, LATER)[0]
    assert (charges(attack.home), attack.draws()) == (4, before)


def test_a_rewritten_ledger_with_the_same_charges_is_another_ledger(attack):
    """All rows again, hashed anew from the first, with another identity or one charge taken out."""
    with sqlite3.connect(attack.home / "ledger.sqlite") as connection:
        connection.row_factory = sqlite3.Row
        rows = [dict(row) for row in connection.execute("select * from entries order by row")]
        connection.execute("drop trigger entries_no_delete")
        connection.execute("delete from entries")
        previous = GENESIS
        kept = [row for row in rows if row["kind"] not in ("begun", "drawn", "published")]
        for number, row in enumerate(kept, start=1):
            record = {name: row[name] for name in ("format", "kind", "at", "body")} | {"previous": previous}
            previous = row_hash(record)
            values = (number, *(record[name] for name in ("format", "kind", "at", "body", "previous")), previous)
            connection.execute("insert into entries values (?, ?, ?, ?, ?, ?, ?)", values)
    attack.lose_draws()
    city = attack.city
    assert "named by" in (city.ledger.problem(city.measurements.witnesses()) or "")
    assert "its draws must be stored" in attack.again()[0]  # the statement is read first
    assert not attack.draws()


def test_a_lost_draw_of_a_published_week_is_not_made_again(attack):
    published = attack.published()
    attack.lose_draws()
    (message, *_) = attack.again()
    assert "is published, so its draws must be stored" in message
    assert "restore" in message
    assert (attack.draws(), attack.published(), charges(attack.home)) == ({}, published, 2)
    attack.lose("town/release/*")  # nor if nothing at all of the city is left: the ledger knows that it was published
    materialise_public(attack)
    assert "is published, so its draws must be stored" in attack.again()[0]
    assert charges(attack.home) == 2


def test_one_of_two_draws_lost_is_lost(attack):
    file = sorted(attack.home.glob("*/release/measurements/*.npz"))[0]
    file.unlink()
    assert "its draws must be stored" in " ".join(attack.again())
    assert charges(attack.home) == 2


def test_a_copied_home_does_not_draw_beside_the_first(attack, tmp_path):
    shutil.copytree(attack.home, tmp_path / "twin")
    twin = Attack(attack.town, tmp_path / "twin")
    twin.town.set("first_week = 2007-09-03", "first_week = 2007-08-27")
    assert "is a copy or was moved" in twin.again()[0]


def test_a_moved_city_folder_is_not_a_new_city(attack):
    (attack.home / "town").rename(attack.home.parent / "elsewhere")
    materialise_public(attack)
    assert "its draws must be stored" in " ".join(attack.again())
    assert charges(attack.home) == 2


def test_a_home_that_is_not_named_is_not_a_new_beginning(attack, tmp_path, monkeypatch):
    """An unset DENSITY_HOME means ./data, where there is no ledger: real people are not charged to a fresh one."""
    monkeypatch.chdir(tmp_path)
    command = [sys.executable, "-m", "density_assets", "release", "--settings", str(attack.town.settings)]
    environment = {name: value for name, value in os.environ.items() if name != "DENSITY_HOME"}
    done = subprocess.run(
        [*command, "--week", WEEK], env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 2
    assert "a ledger must be opened by a person" in done.stderr
    assert not (tmp_path / "data" / "ledger.sqlite").exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda town: town.set("[engine]", "[privacy]\nepsilon = 0.1\n[engine]"),
        lambda town: town.set("[engine]", "[privacy]\nvisits_clamp = 700\n[engine]"),
        lambda town: town.set("[engine]", "[scheme]\nweight_l = 19\n[engine]"),
        lambda town: town.set("[engine]", '[scheme]\nname = "gpa"\n[engine]'),
        lambda town: town.set("first_week = 2007-09-03", 'first_week = 2007-09-03\ntimezone = "UTC"'),
        lambda town: town.set('cell_id = "code"', 'cell_id = "code"\npopulation = 7'),
    ],
    ids=["epsilon", "clamp", "weight", "scheme", "zone", "population"],
)
def test_no_setting_draws_a_drawn_week_again(attack, change):
    """It is made again as it was drawn, and the run succeeds: a run that died would draw nothing either."""
    draws = attack.draws()
    change(attack.town)
    assert attack.again() == []
    assert (attack.draws(), charges(attack.home)) == (draws, 2)


def test_a_tower_moved_by_a_centimetre_does_not_draw_a_drawn_week_again(attack):
    draws, towers = attack.draws(), attack.town.folder / "towers.csv"
    towers.write_text(towers.read_text().replace("650500.0", "650500.01"))
    materialise_public(attack)
    assert attack.again()[0].startswith("density_assets.errors.PublishedStays")
    assert (attack.draws(), charges(attack.home)) == (draws, 2)


def materialise_public(attack: Attack) -> None:
    materialise(attack.town.settings, attack.home, asset_selection=only(*PUBLIC))
