"""A red team: every way we know to get a second draw, a free draw, or a forged release that verifies. None succeeds.

One week of a town of real people is released once, with the noise of real releases. Each attack gets a copy of that
home and takes away or changes what it likes, short of the private key, and leaves one witness or anchor. What remains
possible beyond that is said in docs/threat-model.md.
"""

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import numpy as np
import polars as pl
import pytest
from ledgers import ACT
from runs import WEEK, failures, materialise, only, opened
from town import Town, make_town

from density_assets.city import City
from density_assets.definitions import BLUEPRINTS, build
from density_assets.errors import BadInput
from density_assets.privacy.chain import GENESIS, row_hash
from density_assets.publication.verify import verify
from density_assets.settings import load_settings
from resources.ledger.book import LedgerError
from resources.ledger.ledger import Ledger, place_digest
from resources.ledger.opening import backup, open_for_people, restore, say_moved
from resources.ledger.witnesses import NOTHING
from resources.signing import make_key, public_pem

PUBLIC = ("cells", "antennas", "towers", "tower_cells", "overlaps", "cover_graph")
COUNTED = ("visits", "truncated_visits", "tower_series", "tower_totals", "visit_total")
DOORS = ("noisy_totals", "noisy_series")
PUBLISHED = (
    *("clusters", "smoothed_series", "errors_of_sums", "density"),
    *("published_counts", "privacy_statement", "density_report"),
)
LATER = "2007-09-17"
AGAIN = only(*COUNTED, *DOORS, *PUBLISHED, "signed_release")


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A released week, a backup of the ledger before it, and an anchor outside that has seen its end."""
    folder = tmp_path_factory.mktemp("attacked")
    town, home, anchor = make_town(folder), folder / "home", folder / "anchor.jsonl"
    anchor.touch()
    town.set("[engine]", f'[anchor]\nfile = "{anchor}"\n[engine]')
    materialise(town.settings, home, asset_selection=only(*PUBLIC))
    backup(Ledger(home), folder / "before.sqlite")
    materialise(town.settings, home, asset_selection=AGAIN, sealed=False)
    return town, home, anchor


class Attack:
    """A copy of a released home to attack; `town` may be changed too."""

    def __init__(self, town: Town, home: Path) -> None:
        self.town = town
        self.home = home
        self.release = home / "town" / "release"

    @property
    def city(self) -> City:
        return City(load_settings(self.town.settings), self.home, sealed=False)

    def draws(self) -> dict[str, str]:
        """Digest of every stored draw."""
        files = sorted(self.home.glob("*/release/measurements/*.npz"))
        return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}

    def published(self) -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in sorted(self.release.glob(f"*_{WEEK}*.*"))}

    def again(self, assets=AGAIN, week: str = WEEK, job: str = "weekly_release", **tags: str) -> list[str]:
        """Run a week again, without opening the ledger for the attacker; what refused, or nothing."""
        said = {f"density/{name}": value for name, value in {"by": "op", "reason": "a test", **tags}.items()}
        city = self.city
        there = {dg.AssetKey(plan.name) for plan in BLUEPRINTS if plan.where(city)}  # a scheme may have fewer
        with dg.DagsterInstance.ephemeral() as instance:
            result = (
                build(city)
                .resolve_job_def(job)
                .execute_in_process(
                    instance=instance,
                    partition_key=week,
                    raise_on_error=False,
                    asset_selection=[key for key in assets if key in there],
                    tags=said,
                )
            )
        return [] if result.success else failures(result)

    def write_week(self, week: str) -> None:
        """Give the town records of another week."""
        folder = self.town.folder / "visits" / week
        folder.mkdir()
        (folder / "part-0.csv").write_text(f"user_id,time,tower_id\nann,{week} 08:10:00,A\n")
        (folder / "_SUCCESS").touch()

    def lose(self, *patterns: str) -> None:
        for pattern in patterns:
            for path in list(self.home.glob(pattern)):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def lose_ledger(self) -> None:
        self.lose("ledger.sqlite*")

    def lose_draws(self) -> None:
        self.lose("*/release/measurements")


@pytest.fixture
def attack(released, tmp_path) -> Attack:
    town, home, _ = released
    copied = Town(shutil.copytree(town.folder, tmp_path / "town"), tmp_path / "town" / "town.toml")
    mine = shutil.copytree(home, tmp_path / "home")
    anchor = tmp_path / "anchor.jsonl"  # empty, unless a test says otherwise
    anchor.touch()
    copied.set(str(released[2]), str(anchor))
    made = Attack(copied, mine)
    accounts = Ledger(mine).accounts()
    if accounts.place != place_digest(accounts.identity, Ledger(mine).book):
        say_moved(Ledger(mine), ACT, NOTHING)  # the copy is honest so far
    return made


def charges(home: Path) -> int:
    return len(Ledger(home).rows())


# --- a second draw ----------------------------------------------------------------------------------------------------

STATEMENT, CHAIN, MANIFEST = (f"*/release/{stem}_{WEEK}*" for stem in ("privacy_statement", "ledger", "manifest"))
TABLES, DRAWS = f"*/release/tables/*/{WEEK}.parquet", "*/release/measurements"
EVERYTHING = {"statement": STATEMENT, "chain": CHAIN, "manifest": MANIFEST, "tables": TABLES, "draws": DRAWS}


@pytest.mark.parametrize("left", [*EVERYTHING, "all"])
def test_a_deleted_ledger_is_missed_by_every_single_witness(attack, left):
    """Two draws for one price: the ledger goes, one witness stays, a person opens a new ledger in good faith."""
    attack.lose_ledger()
    attack.lose(*(pattern for name, pattern in EVERYTHING.items() if left not in ("all", name)))
    for adopt in (False, True):
        city = attack.city
        with pytest.raises(LedgerError, match="named by"):
            open_for_people(city.ledger, ACT, city.new_key, city.measurements.found(), adopt=adopt)
    assert "a ledger must be opened by a person" in attack.again()[0]
    assert not Ledger(attack.home).accounts().exists


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
            open_for_people(city.ledger, ACT, lambda: "ab" * 32, city.measurements.found(), adopt=False)
        tried += 1
    assert tried > 20


@pytest.mark.parametrize("left", [*EVERYTHING, "all"])
def test_an_old_ledger_is_missed_by_every_single_witness(attack, released, left):
    attack.lose(*(pattern for name, pattern in EVERYTHING.items() if left not in ("all", name)))
    attack.lose_ledger()
    shutil.copy(released[1].parent / "before.sqlite", attack.home / "ledger.sqlite")
    with pytest.raises(LedgerError, match="named by"):
        say_moved(Ledger(attack.home), ACT, attack.city.measurements.witnesses())
    assert "is a copy or was moved" in attack.again()[0]
    assert charges(attack.home) == 0
    # Nor can it be restored as if it were a backup.
    with pytest.raises(LedgerError, match="must hold everything that is named elsewhere"):
        restore(Ledger(attack.home), released[1].parent / "before.sqlite", ACT, attack.city.measurements.witnesses())


def test_with_every_witness_gone_the_anchor_outside_is_enough(attack, released):
    anchor = attack.home.parent / "anchor.jsonl"
    shutil.copy(released[2], anchor)
    attack.lose_ledger()
    attack.lose(*EVERYTHING.values())
    city = attack.city
    with pytest.raises(LedgerError, match="the anchor"):
        open_for_people(city.ledger, ACT, city.new_key, city.measurements.found(), adopt=False)
    assert "a ledger must be opened by a person" in attack.again()[0]
    assert not Ledger(attack.home).accounts().exists


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
        attack.city.measurements.found()


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
            record = {name: row[name] for name in ("version", "kind", "at", "body")} | {"previous": previous}
            previous = row_hash(record)
            values = (number, *(record[name] for name in ("version", "kind", "at", "body", "previous")), previous)
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
    assert "must keep the geography" in attack.again()[0]
    assert (attack.draws(), charges(attack.home)) == (draws, 2)


def materialise_public(attack: Attack) -> None:
    materialise(attack.town.settings, attack.home, asset_selection=only(*PUBLIC))


# --- a free draw ------------------------------------------------------------------------------------------------------


def test_the_same_people_under_another_citys_name_pay_again(attack):
    attack.town.set('name = "town"', 'name = "twin"')
    materialise(attack.town.settings, attack.home, asset_selection=only(*PUBLIC), sealed=False)
    materialise(attack.town.settings, attack.home, asset_selection=AGAIN, sealed=False)
    rows = Ledger(attack.home).rows()
    assert [(row.charge.population, row.charge.city) for row in rows] == [("subscribers", "town")] * 2 + [
        ("subscribers", "twin")
    ] * 2


def test_a_budget_is_not_raised_by_writing_another_into_the_settings(attack):
    attack.town.set(
        "[engine]", "[privacy]\nbudget_epsilon = 50.0\nepsilon = 20.0\n[revisions]\n2007-09-10 = 2\n[engine]"
    )
    assert "raising a budget is a recorded act" in attack.again()[0]
    assert charges(attack.home) == 2


def rewritten(file: Path, change: Callable[[dict[str, np.ndarray]], None]) -> None:
    with np.load(file) as archive:
        arrays = {name: archive[name] for name in archive.files}
    change(arrays)
    np.savez_compressed(file, **arrays)


def test_stored_draws_are_bound_to_their_key_and_values(attack):
    one, other = sorted(attack.home.glob("*/release/measurements/*.npz"))
    contents = one.read_bytes(), other.read_bytes()

    def louder(arrays):
        name = next(name for name in arrays if name not in ("about", "kept"))
        arrays[name] = arrays[name] + 1

    def other_charge(arrays):
        about = json.loads(str(arrays["about"]))
        arrays["about"] = np.array(json.dumps({**about, "charge": "0" * 64}))

    def other_events(arrays):
        about = json.loads(str(arrays["about"]))
        about["events"][0]["sigma"] *= 2
        arrays["about"] = np.array(json.dumps(about))

    for spoil in (
        lambda: (one.write_bytes(contents[1]), other.write_bytes(contents[0])),
        lambda: rewritten(one, louder),
        lambda: rewritten(other, louder),
        lambda: rewritten(one, other_charge),
        lambda: rewritten(one, other_events),
        lambda: one.write_bytes(contents[0][:-20]),
    ):
        one.write_bytes(contents[0])
        other.write_bytes(contents[1])
        spoil()
        messages = attack.again()
        assert messages
        assert "damaged" in messages[0] or "lacks" in messages[0]
        assert charges(attack.home) == 2


def test_a_ledger_whose_budget_was_rewritten_is_not_believed(attack):
    with sqlite3.connect(attack.home / "ledger.sqlite") as connection:
        connection.execute("drop trigger entries_no_update")
        connection.execute("update entries set body = replace(body, '\"epsilon\":3.0', '\"epsilon\":9.0')")
    assert "not what was written" in attack.again()[0]


# --- a forged release ------------------------------------------------------------------------------------------------


@pytest.fixture
def forged(attack) -> tuple[Path, str]:
    """A release folder to forge in, and the fingerprint that a reader has from elsewhere."""
    return attack.release, json.loads((attack.release / f"manifest_{WEEK}.json").read_text())["key"]["fingerprint"]


def test_the_release_itself_verifies(forged):
    folder, key = forged
    assert verify(folder / f"manifest_{WEEK}.json", key).status == 0


def constant_counts(folder: Path, week: str = WEEK) -> None:
    file = folder / f"density_{week}.csv"
    lines = file.read_text().splitlines()
    file.write_text("\n".join([lines[0], *(",".join([*line.split(",")[:3], "7", "1.0"]) for line in lines[1:])]) + "\n")


def restated(folder: Path, week: str = WEEK) -> None:
    """Recompute every digest that is not signed."""
    statement, manifest = folder / f"privacy_statement_{week}.json", folder / f"manifest_{week}.json"
    said = json.loads(statement.read_text())
    said["files"] = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in said["files"]}
    statement.write_text(json.dumps(said, indent=2))
    if not manifest.exists():
        return
    listed = json.loads(manifest.read_text())
    for name in listed["files"]:
        content = (folder / name).read_bytes()
        listed["files"][name] = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    manifest.write_text(json.dumps(listed, indent=2) + "\n")


def test_a_constant_table_with_recomputed_digests_does_not_verify(forged):
    folder, key = forged
    constant_counts(folder)
    restated(folder)
    assert verify(folder / f"manifest_{WEEK}.json", key).status == 1
    assert verify(folder / f"manifest_{WEEK}.json").status == 1


def test_signed_by_somebody_else_it_does_not_verify(forged, tmp_path):
    """Even with the key replaced everywhere, the chain rewritten and everything consistent."""
    folder, key = forged
    mine = make_key(tmp_path / "mine.pem")
    constant_counts(folder)
    chain = folder / f"ledger_{WEEK}.json"
    old = json.loads((folder / f"manifest_{WEEK}.json").read_text())["key"]["public"]
    said, previous = json.loads(chain.read_text()), GENESIS
    renamed: dict[str, str] = {}
    for entry in said["entries"]:
        for before, after in {old: mine.public.hex(), **renamed}.items():
            entry["body"] = entry["body"].replace(before, after)
        entry["previous"] = previous
        renamed[entry["hash"]] = entry["hash"] = previous = row_hash(entry)
    chain.write_text(json.dumps(said))
    for file in (folder / f"privacy_statement_{WEEK}.json", folder / f"manifest_{WEEK}.json"):
        text = file.read_text()
        for before, after in {
            old: mine.public.hex(), key: mine.fingerprint, key[:16]: mine.fingerprint[:16], **renamed
        }.items():  # fmt: skip
            text = text.replace(before, after)
        file.write_text(text)
    (folder / f"key_{mine.fingerprint[:16]}.pem").write_bytes(public_pem(mine.public))
    restated(folder)
    manifest = folder / f"manifest_{WEEK}.json"
    manifest.with_suffix(".sig").write_bytes(mine.sign(manifest.read_bytes()))
    assert verify(manifest, key).status == 1
    assert verify(manifest).status in (1, 3)  # at best consistent, and signed by nobody one knows


def test_unsigned_and_called_version_1_it_does_not_verify(forged):
    folder, key = forged
    constant_counts(folder)
    chain, statement = folder / f"ledger_{WEEK}.json", folder / f"privacy_statement_{WEEK}.json"
    said = json.loads(statement.read_text())
    for name in ("format", "population", "version", "geography", "budget", "policy"):
        said.pop(name)
    rows, previous = [], GENESIS
    for number, charge in enumerate(said["charges"], start=1):
        kept = ("population", "city", "week", "revision", "door", "measurement", "epsilon", "delta", "at")
        row = {name: charge[name] for name in kept}
        row |= {"unit": "one", "events": json.dumps(charge["events"]), "previous": previous}
        charge["hash"] = previous = row_hash(row)
        rows.append({"row": number, **row, "hash": previous})
    chain.write_text(json.dumps(rows))
    said["ledger"] = {"file": chain.name, "head": previous}
    said["files"] = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in said["files"]}
    statement.write_text(json.dumps(said))
    for file in folder.glob("manifest_*"):
        file.unlink()
    assert verify(statement, key).status != 0
    assert verify(statement).status != 0


@pytest.mark.parametrize("stem", ["privacy_statement_{}.md", "report_{}.html", "data_dictionary_{}.md"])
def test_what_people_read_is_covered(forged, stem):
    folder, key = forged
    file = folder / stem.format(WEEK)
    file.write_text(file.read_text().replace("0.3", "0.1").replace("visits", "people"))
    assert verify(folder / f"manifest_{WEEK}.json", key).status == 1


def test_an_outsider_needs_nothing_but_the_script(forged, tmp_path):
    folder, key = forged
    script = tmp_path / "verify.py"
    shutil.copy(Path(__file__).parents[2] / "density_assets/publication/verify.py", script)
    command = [sys.executable, "-I", "-S", str(script), str(folder / f"manifest_{WEEK}.json"), "--key", key]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    (folder / f"density_{WEEK}.csv").write_text("cell_id\n")
    assert subprocess.run(command, capture_output=True, check=False, cwd=tmp_path, timeout=120).returncode == 1


def test_a_wrong_key_at_hand_does_not_sign(attack, tmp_path):
    """A run that has another key than the ledger names refuses instead of signing with it."""
    make_key(tmp_path / "other.pem")
    attack.town.set("[engine]", f'[signing]\nkey = "{tmp_path}/other.pem"\n[engine]')
    with pytest.raises(BadInput, match="must be signed with the key that the ledger names"):
        opened(attack.town.settings, attack.home).signer(Ledger(attack.home).accounts().key)


# --- what the key signs -----------------------------------------------------------------------------------------------


def publications(attack: Attack) -> list[str]:
    return [entry.body["manifest"] for entry in Ledger(attack.home).accounts().of("published")]


def test_a_published_week_is_not_signed_again_with_other_files(attack):
    """Counts, statement and digests rewritten on disk; then the step that signs, alone."""
    published, signed = attack.published(), publications(attack)
    constant_counts(attack.release)
    restated(attack.release)
    (attack.release / f"manifest_{WEEK}.json").write_bytes(published[f"manifest_{WEEK}.json"])
    (message,) = attack.again(only("signed_release"))
    assert "its files must stay as they were signed" in message
    assert publications(attack) == signed
    assert attack.published()[f"manifest_{WEEK}.json"] == published[f"manifest_{WEEK}.json"]
    assert not list(attack.release.glob("*.unsigned"))


def test_the_stored_draws_of_a_published_week_are_signed_byte_by_byte(attack):
    """A draw's values are on the ledger, not the bytes of its file: those are the manifest's."""
    file = sorted(attack.home.glob("*/release/measurements/*.npz"))[0]
    with zipfile.ZipFile(file, "a") as archive:
        archive.comment = b"anything at all"
    assert "its files must stay as they were signed" in attack.again(AGAIN)[0]
    assert len(publications(attack)) == 1


def test_a_published_file_is_not_overwritten_by_another(attack):
    """What a changed table gives is refused where it would be written, not only where it would be signed."""
    table = attack.release / "tables" / "density" / f"{WEEK}.parquet"
    other = pl.read_parquet(table).with_columns(pl.lit(5, pl.Int64).alias("count"))
    published = attack.published()
    other.write_parquet(table)
    messages = attack.again(only("published_counts", "privacy_statement", "density_report", "signed_release"))
    assert "its files must stay as they were signed" in messages[0]
    assert attack.published() == published


def test_a_week_is_published_with_other_files_if_a_person_says_so(attack, monkeypatch):
    """A newer software may write the page otherwise: recorded, with what it replaces, and then quiet."""
    (before,), published = publications(attack), attack.published()
    monkeypatch.setattr("density_assets.graph.contents.clock_note", lambda clock, **_: "A newer page.")
    assert f"report_{WEEK}.html would be another" in attack.again()[0]
    assert attack.published() == published
    assert attack.again(again="yes") == []
    entry = list(Ledger(attack.home).accounts().of("published"))[-1]
    assert (entry.body["replaces"], entry.body["by"]) == (before, "op")
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


@pytest.mark.parametrize("spoil", [*SPOILT, "no errors of sums", "csv", "statement"])
def test_what_is_signed_first_must_follow_from_the_draws(attack, spoil):
    """A week that is drawn and not yet published: whatever lies between draw and manifest is made up."""
    attack.write_week(LATER)
    made = only(*COUNTED, *DOORS, "usual_week", *PUBLISHED)
    assert attack.again(made, LATER) == []
    folder = attack.release
    if spoil in SPOILT:
        file = folder / "tables" / TABLE_OF.get(spoil, spoil) / f"{LATER}.parquet"
        table = pl.read_parquet(file)
        table.with_columns(SPOILT[spoil]).cast(table.schema).write_parquet(file)
        if spoil in TABLE_OF:
            assert attack.again(only("published_counts", "privacy_statement", "density_report"), LATER) == []
    elif spoil == "no errors of sums":
        (folder / "tables/errors_of_sums" / f"{LATER}.parquet").unlink()
        (folder / f"errors_of_sums_{LATER}.parquet").unlink()
        assert attack.again(only("published_counts", "privacy_statement", "density_report"), LATER) == []
    elif spoil == "csv":
        constant_counts(folder, LATER)
        restated(folder, LATER)
    else:
        file = folder / f"privacy_statement_{LATER}.json"
        file.write_text(file.read_text().replace('"epsilon": 0.3', '"epsilon": 0.1'))
    (message,) = attack.again(only("signed_release"), LATER)
    assert "must follow from what was drawn" in message
    assert len(publications(attack)) == 1
    assert attack.again(only(*DOORS, "usual_week", *PUBLISHED, "signed_release"), LATER, "rebuild_release") == []
    assert len(publications(attack)) == 2
