"""What the key signs, with somebody at work in the release folder: nothing but what follows from draws and ledger."""

import hashlib
import json
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
import polars as pl
import pytest
from attacked import COUNTED, DOORS, LATER, Attack, constant_counts, publications, restated
from runs import WEEK, only

from density_assets.definitions import build
from density_assets.graph import final, signing
from density_assets.graph.automation import AUDIT, FINAL_ESTIMATE
from density_assets.graph.step import Made
from density_assets.publication.manifest import Seal
from density_assets.publication.verify import verify

PAGES = ("privacy_statement", "density_report", "signed_release")


def restate(folder: Path, week: str, **changes: object) -> dict:
    """Write other words into a statement; returns what it said before."""
    file = folder / f"privacy_statement_{week}.json"
    said = json.loads(file.read_text())
    file.write_text(json.dumps({**said, **changes}, indent=2))
    return said


def stated(folder: Path, week: str) -> dict:
    return json.loads((folder / f"privacy_statement_{week}.json").read_text())


# --- the list ---------------------------------------------------------------------------------------------------------


def forged_list(content: bytes, folder: Path) -> bytes:
    """A list with the digests of other counts and of a statement that names these."""
    counts, statement = folder / f"density_{LATER}.csv", folder / f"privacy_statement_{LATER}.json"
    kept = {file: file.read_bytes() for file in (counts, statement)}
    constant_counts(folder, LATER)
    restated(folder, LATER)
    said = json.loads(content)
    for file, honest in kept.items():
        other = file.read_bytes()
        said["files"][file.name] = {"sha256": hashlib.sha256(other).hexdigest(), "bytes": len(other)}
        file.write_bytes(honest)
    return (json.dumps(said, indent=2) + "\n").encode()


@pytest.fixture
def forging_the_list(made, monkeypatch) -> None:
    """Another process puts a list of its own in the place of the one that lies there to be signed."""
    write = signing.write_durably

    def writing(file: Path, content: bytes) -> None:
        write(file, forged_list(content, made.release) if file.suffix == ".unsigned" else content)

    monkeypatch.setattr(signing, "write_durably", writing)


@pytest.mark.usefixtures("forging_the_list")
def test_a_forged_list_is_not_signed(made):
    (message,) = made.again(only("signed_release"), LATER)
    assert f"the list manifest_{LATER}.json is not that of the files that do" in message
    assert len(publications(made)) == 1
    assert not list(made.release.glob(f"manifest_{LATER}.*"))


@pytest.mark.usefixtures("forging_the_list")
def test_nor_is_it_if_the_files_are_swapped_once_they_were_compared(made, monkeypatch):
    refuse = signing.refuse_what_does_not_follow

    def swapped(city, step) -> None:
        refuse(city, step)
        constant_counts(made.release, LATER)
        restated(made.release, LATER)

    monkeypatch.setattr(signing, "refuse_what_does_not_follow", swapped)
    assert "is not that of the files that do" in " ".join(made.again(only("signed_release"), LATER))
    assert len(publications(made)) == 1


def test_files_that_are_swapped_before_they_are_compared_are_not_signed(made, monkeypatch):
    """Nor does it help to put the honest ones back meanwhile: those that are compared are those that are listed."""
    hold, honest = signing.held_still, {file: file.read_bytes() for file in made.release.glob(f"*_{LATER}.*")}
    constant_counts(made.release, LATER)
    restated(made.release, LATER)

    @contextmanager
    def holding(city, step):
        with hold(city, step) as held:
            for file, content in honest.items():
                file.write_bytes(content)
            yield held

    monkeypatch.setattr(signing, "held_still", holding)
    assert "must follow from what was drawn" in " ".join(made.again(only("signed_release"), LATER))
    assert len(publications(made)) == 1


# --- words of a statement ---------------------------------------------------------------------------------------------


def test_a_manifest_that_the_ledger_does_not_know_vouches_for_no_warnings(made):
    """Other warnings, and a manifest that lists them, before the week is signed."""
    said = restate(made.release, LATER, warnings=["All is well: these counts are exact."])
    name = f"privacy_statement_{LATER}.json"
    digest = hashlib.sha256((made.release / name).read_bytes()).hexdigest()
    (made.release / f"manifest_{LATER}.json").write_text(json.dumps({"files": {name: {"sha256": digest}}}))
    assert "its files must stay as they were signed" in " ".join(made.again(only(*PAGES), LATER))
    assert len(publications(made)) == 1
    (made.release / f"manifest_{LATER}.json").unlink()
    assert made.again(only(*PAGES), LATER) == []
    assert stated(made.release, LATER)["warnings"] == said["warnings"]


FORGED = {
    "left_out": [{"week": "2007-09-03", "revision": 1, "reason": "the ministry asked for it"}],
    "alone": "somebody wanted it",
    "vintage": "final",
}


@pytest.mark.parametrize("part", FORGED)
def test_what_a_forged_statement_says_of_the_estimate_is_not_published_again(attack, part):
    estimate = stated(attack.release, WEEK)["estimate"]
    restate(attack.release, WEEK, estimate={**estimate, part: FORGED[part]})
    assert attack.again(again="yes") == []
    assert stated(attack.release, WEEK)["estimate"] == estimate


# --- a week that is drawn meanwhile -----------------------------------------------------------------------------------


def test_a_final_estimate_that_another_week_overtakes_is_asked_for_again_in_words(made, monkeypatch):
    assert made.again(only("signed_release"), LATER) == []
    newest, listing = "2007-09-24", final.listed

    def overtaken(*arguments):
        listed = listing(*arguments)
        made.write_week(newest)
        assert made.again(only(*COUNTED, *DOORS), newest) == []
        return listed

    monkeypatch.setattr(final, "listed", overtaken)
    (message,) = made.again(only("final_series", "final_errors_of_sums", "final_release"), job=FINAL_ESTIMATE)
    assert f"a week was drawn meanwhile: it was made with weeks up to {LATER}" in message
    assert not list(made.release.glob(f"*final_{WEEK}_to_*"))
    assert len(publications(made)) == 2
    monkeypatch.undo()
    assert made.again(only("final_series", "final_errors_of_sums", "final_release"), job=FINAL_ESTIMATE) == []
    assert verify(made.release / f"manifest_final_{WEEK}_to_{newest}.json").status == 3


# --- the register -----------------------------------------------------------------------------------------------------


def audited(attack: Attack) -> dict:
    """The list of the register after an audit."""
    with dg.DagsterInstance.ephemeral() as instance:
        assert build(attack.city).resolve_job_def(AUDIT).execute_in_process(instance=instance).success
    assert verify(attack.release / "manifest_register.json").status == 3
    return json.loads((attack.release / "manifest_register.json").read_text())


def test_the_register_vouches_for_no_table_that_somebody_changed(attack):
    for table, column in (("density", "count"), ("errors_of_sums", "value")):
        file = attack.release / "tables" / table / f"{WEEK}.parquet"
        pl.read_parquet(file).with_columns(pl.col(column) * 10).write_parquet(file)
    listed = audited(attack)["files"]
    assert not [name for name in listed if name.startswith(("tables/", "release.duckdb"))]
    around = verify(attack.release / f"manifest_{WEEK}.json", around=True)
    assert any("signed by nobody: release.duckdb and tables/" in note for note in around.notes)
    assert not any("not covered" in note for note in around.notes)


def test_another_list_in_the_place_of_the_registers_is_not_signed(attack, monkeypatch):
    """Such as that of a forged week: its signature would hold under another name too."""
    covered = signing._covered

    def replaced(file: Path, content: bytes, seal: Seal) -> Made:
        made = covered(file, content, seal)
        file.write_bytes((attack.release / f"manifest_{WEEK}.json").read_bytes().replace(b"town", b"city"))
        return made

    monkeypatch.setattr(signing, "_covered", replaced)
    assert audited(attack)["format"] == "density register 1"
