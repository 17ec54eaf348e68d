"""A red team: every way we know to get a free draw, or a forged release that verifies. None succeeds."""

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from attacked import AGAIN, PUBLIC, charges, constant_counts, restated
from runs import WEEK, materialise, only, opened

from density_assets.errors import BadInput
from density_assets.privacy.accounts import GENESIS, row_hash
from density_assets.publication.verify import verify
from resources.ledger.ledger import Ledger
from resources.signing import make_key, public_pem

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


def test_unsigned_it_does_not_verify(forged):
    folder, key = forged
    constant_counts(folder)
    restated(folder)
    for kind in ("json", "sig"):
        (folder / f"manifest_{WEEK}.{kind}").unlink()
    statement = folder / f"privacy_statement_{WEEK}.json"
    assert [verify(statement, asked).status for asked in (None, key)] == [1, 1]


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
        opened(attack.town.settings, attack.home).keys.signer(Ledger(attack.home).accounts().key)
