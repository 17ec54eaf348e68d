"""What the key signs, with somebody at work in the release folder: nothing but what follows from draws and ledger."""

import hashlib
import json
from pathlib import Path

import pytest
import test_second_draw as red_team
from runs import WEEK, only
from test_second_draw import COUNTED, DOORS, LATER, PUBLISHED, Attack, publications

released, attack = red_team.released, red_team.attack
PAGES = ("privacy_statement", "density_report", "signed_release")


@pytest.fixture
def made(attack) -> Attack:
    """A home with a second week that is made and not yet signed."""
    attack.write_week(LATER)
    assert attack.again(only(*COUNTED, *DOORS, "usual_week", *PUBLISHED), LATER) == []
    return attack


def restate(folder: Path, week: str, **changes: object) -> dict:
    """Write other words into a statement; returns what it said before."""
    file = folder / f"privacy_statement_{week}.json"
    said = json.loads(file.read_text())
    file.write_text(json.dumps({**said, **changes}, indent=2))
    return said


def stated(folder: Path, week: str) -> dict:
    return json.loads((folder / f"privacy_statement_{week}.json").read_text())


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
