"""What the key signs, with somebody at work in the release folder: what follows from draws and ledger, nothing else."""

import json
from pathlib import Path

import dagster as dg
import polars as pl
import pytest
from attacked import COUNTED, DOORS, LATER, PUBLISHED, Attack, constant_counts, publications, restated
from runs import MONDAY, WEEK, only

from density_assets.city import City
from density_assets.definitions import build
from density_assets.graph import release
from density_assets.graph.automation import AUDIT, FINAL_ESTIMATE
from density_assets.publication.verify import verify
from density_assets.release import sign
from density_assets.release.compose import compose

REBUILT = only(*DOORS, *PUBLISHED, "signed_release")
FINALS = ("final_series", "final_errors_of_sums", "final_release")


def restate(folder: Path, week: str, **changes: object) -> dict:
    """Write other words into a statement; returns what it said before."""
    file = folder / f"privacy_statement_{week}.json"
    said = json.loads(file.read_text())
    file.write_text(json.dumps({**said, **changes}, indent=2))
    return said


def stated(folder: Path, week: str) -> dict:
    return json.loads((folder / f"privacy_statement_{week}.json").read_text())


# --- files and tables in the way --------------------------------------------------------------------------------------


def forge_files(folder: Path) -> None:
    """Another process writes files and a list of its own."""
    for stem, suffix in (("density", "csv"), ("manifest", "json")):
        original = folder / f"{stem}_{WEEK}.{suffix}"
        (folder / f"{stem}_{LATER}.{suffix}").write_bytes(original.read_bytes().replace(WEEK.encode(), LATER.encode()))


def test_files_that_lie_there_before_signing_are_not_signed(made):
    forge_files(made.release)
    assert made.again(only("signed_release"), LATER) == []
    assert verify(made.release / f"manifest_{LATER}.json").status == 3
    assert (made.release / f"density_{LATER}.csv").read_bytes() != (made.release / f"density_{WEEK}.csv").read_bytes()


def test_files_that_are_swapped_while_they_are_signed_are_found(made, monkeypatch):
    """The list is of what was composed, so whoever swaps a file on the disk is found by every reader."""
    publish = sign._sign

    def swapped(*arguments):
        forge_files(made.release)
        return publish(*arguments)

    monkeypatch.setattr(sign, "_sign", swapped)
    assert made.again(only("signed_release"), LATER) == []
    assert verify(made.release / f"manifest_{LATER}.json").status == 3
    constant_counts(made.release, LATER)
    assert verify(made.release / f"manifest_{LATER}.json").status == 1


MANIFEST = f"manifest_{LATER}.json"
SENT = {
    "another name": lambda files: {"../../../keys/mine.pem": b"", **files},
    "another week": lambda files: {f"density_{WEEK}.csv": b"", **files},
    "other counts": lambda files: {**files, f"density_{LATER}.csv": b""},
    "another list": lambda files: {**files, MANIFEST: files[MANIFEST].replace(LATER.encode(), WEEK.encode())},
    "no draws": lambda files: {**files, MANIFEST: without_draws(files[MANIFEST])},
    "another head": lambda files: {**files, MANIFEST: files[MANIFEST].replace(b'"row": ', b'"row": 1')},
    "fewer files": lambda files: {name: of for name, of in files.items() if not name.startswith("privacy")},
}


def without_draws(manifest: bytes) -> bytes:
    said = json.loads(manifest)
    left = {name: of for name, of in said["files"].items() if not name.startswith("measurements/")}
    return (json.dumps({**said, "files": left}, indent=2) + "\n").encode()


@pytest.mark.parametrize("sent", SENT)
def test_what_the_wall_lets_out_chooses_no_names_draws_or_head(made, monkeypatch, sent):
    before = {file: file.read_bytes() for file in made.home.rglob(f"*_{WEEK}*") if file.is_file()}
    monkeypatch.setattr(release, "compose", lambda of: SENT[sent](compose(of)))
    (message,) = made.again(only("signed_release"), LATER)
    assert "nothing was signed" in message
    assert len(publications(made)) == 1
    assert {file: file.read_bytes() for file in before} == before
    assert not list(made.release.glob(f"*_{LATER}.*"))


# --- words of a statement ---------------------------------------------------------------------------------------------


FORGED = {
    "left_out": [{"week": "2007-09-03", "revision": 1, "reason": "the ministry asked for it"}],
    "alone": "somebody wanted it",
    "vintage": "final",
}


@pytest.mark.parametrize("part", [*FORGED, "warnings"])
@pytest.mark.parametrize("anew", [True, False])
def test_what_a_forged_statement_says_is_not_published_again(attack, part, anew):
    before = attack.published()
    estimate = stated(attack.release, WEEK)["estimate"]
    if part == "warnings":
        restate(attack.release, WEEK, warnings=["All is well: these counts are exact."])
        restated(attack.release)  # and a manifest that lists it, which the ledger does not know
    else:
        restate(attack.release, WEEK, estimate={**estimate, part: FORGED[part]})
    assert (
        attack.again(REBUILT, job="rebuild_release" if anew else "weekly_release", **({"anew": "yes"} if anew else {}))
        == []
    )
    assert attack.published() == before


# --- a week that is drawn meanwhile -----------------------------------------------------------------------------------


def test_a_final_estimate_that_another_week_overtakes_is_whole(made, monkeypatch):
    assert made.again(only("signed_release"), LATER) == []
    newest, asked = "2007-09-24", made.city.estimated_finally(MONDAY)
    made.write_week(newest)
    assert made.again(only(*COUNTED, *DOORS), newest) == []
    with monkeypatch.context() as before:
        before.setattr(City, "estimated_finally", lambda *_: asked)
        assert made.again(only(*FINALS), job=FINAL_ESTIMATE) == []
    assert verify(made.release / f"manifest_final_{WEEK}_to_{LATER}.json").status == 3
    assert made.again(only(*FINALS), job=FINAL_ESTIMATE) == []
    assert verify(made.release / f"manifest_final_{WEEK}_to_{newest}.json").status == 3
    assert len(publications(made)) == 4


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


def test_what_lies_in_the_place_of_the_register_is_not_signed(attack):
    """Such as the list of a forged week: its signature would hold under another name too."""
    week = (attack.release / f"manifest_{WEEK}.json").read_bytes()
    (attack.release / "manifest_register.json").write_bytes(week.replace(b"town", b"city"))
    (attack.release / "audit.html").write_text("All is well.")
    said = audited(attack)
    assert said["format"] == "density register 1"
    assert "All is well." not in (attack.release / "audit.html").read_text()
