"""Old releases, which nobody signed, and rows of old ledgers that a new one took over."""

import json
import shutil
from pathlib import Path

import pytest
from forging import OFFICER, OPERATOR, wrong
from old_ledger import old_rows
from signed_release import DAY, Book, Release, sha256

from density_assets.publication.verify import verify

GOLDEN = Path(__file__).parents[2] / "golden/home/town/release"

# --- version 1 --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [{}, {"key": OPERATOR.fingerprint}, {"second": OFFICER.fingerprint}])
def test_an_old_release_is_whole_but_unsigned(asked):
    for statement in sorted(GOLDEN.glob("privacy_statement_*.json")):
        result = verify(statement, **asked)
        assert (wrong(result), len(result.findings), result.status) == ([], 14, 3)
        assert result.verdict.startswith("unsigned, version 1")
        assert ("NOT verified" in result.verdict) == bool(asked)


def copied(tmp_path: Path) -> Path:
    return Path(shutil.copytree(GOLDEN, tmp_path / "old")) / "privacy_statement_2007-09-17.json"


@pytest.mark.parametrize(
    ("forge", "finding"),
    [
        (lambda said: said["files"].pop("density_2007-09-17.csv"), "density_2007-09-17.csv is one of the files"),
        (lambda said: said.pop("files"), "the list of files can be read: the statement must have a field 'files'"),
        (lambda said: said["charges"][0].pop("hash"), "a charge must have a field 'hash'"),
        (lambda said: said["charges"][0].update(events=5), "a charge must be a list of records"),
        (lambda said: said.update(epsilon=True), "'epsilon' of the statement must be a positive number, got True"),
        (lambda said: said.update(delta="2e-6"), "'delta' of the statement must be a share"),
        (lambda said: said.update(week="2007-09-10"), "named after its week and revision"),
        (lambda said: said.update(doors=[]), "every door is paid for once"),
        (lambda said: said.update(calibration="published"), "the calibration is sound"),
        (lambda said: said.update(format="density statement 2"), "the manifest is there"),
        (lambda said: said.clear(), "the list of files can be read"),
        (lambda said: said["charges"][0]["events"][0].update(kind="magic"), "an event must be one of gaussian"),
    ],
)
def test_what_version_1_did_not_notice_is_found(tmp_path, forge, finding):
    file = copied(tmp_path)
    said = json.loads(file.read_text())
    forge(said)
    file.write_text(json.dumps(said))
    result = verify(file)
    assert result.status == 1
    assert any(finding in text for text in wrong(result)), wrong(result)


def test_an_old_chain_under_new_hashes_must_still_be_one(tmp_path):
    file = copied(tmp_path)
    chain = file.with_name("ledger_2007-09-17.json")
    for content in (b"{}", b"[[]]", b"[{}]", b"[", b"\xff", b"[" * 100_000, b"null"):
        chain.write_bytes(content)
        said = json.loads(file.read_text())
        said["files"][chain.name] = sha256(content)
        file.write_text(json.dumps(said))
        result = verify(file)
        assert result.status == 1
        assert any("the ledger's chain" in text for text in wrong(result))


# --- rows that were taken over ----------------------------------------------------------------------------------------


def adopting(folder: Path, **changes: object) -> Release:
    """A week that was drawn under version 1, signed after its ledger was taken over."""
    charges, draws, stored = old_rows()
    book = Book(OPERATOR, **{"charges": charges, "draws": draws, "stored": stored, **changes})
    folder.mkdir(exist_ok=True)
    release = Release(folder, OPERATOR, book)
    names = ("population", "city", "week", "revision", "door", "measurement", "epsilon", "delta")
    release.state(
        [
            {name: row[name] for name in names}
            | {
                "events": json.loads(row["events"]),
                "at": DAY,
                "hash": row["hash"],
                "draw": sha256(row["hash"].encode()),
            }
            for row in charges
        ]
    )
    return release.seal()


def test_an_adopted_week_is_verified_by_the_rows_of_version_1(tmp_path):
    result = verify(adopting(tmp_path / "release").folder, OPERATOR.fingerprint)
    assert (wrong(result), result.status) == ([], 0)


def test_rows_that_were_not_taken_over_are_found(tmp_path):
    _, draws, stored = old_rows()
    for number, changes in enumerate(
        [
            {"draws": []},
            {"stored": []},
            {"stored": stored[:1]},
            {"stored": [*stored, stored[0]]},
            {"stored": [{**stored[0], "measurement": "0" * 64}, stored[1]]},
            {"draws": [*draws, dict(draws[0])]},
        ]
    ):
        assert verify(adopting(tmp_path / str(number), **changes).folder, OPERATOR.fingerprint).status == 1
    release = adopting(tmp_path / "release")
    release.book.charges.pop()
    assert verify(release.seal().folder, OPERATOR.fingerprint).status == 1
    release.book.charges, release.book.draws = old_rows("2007-09-17")[:2]
    assert verify(release.seal().folder, OPERATOR.fingerprint).status == 1


def test_a_charge_of_version_1_that_was_not_drawn_may_be_drawn_later(tmp_path):
    charges, _, _ = old_rows()
    book = Book(OPERATOR, charges=charges)
    for row in charges:
        book.add("begun", {"charge": row["hash"]})
        draw = {"charge": row["hash"], "measurement": row["measurement"], "digest": sha256(row["hash"].encode())}
        book.add("drawn", draw)
    names = ("population", "city", "week", "revision", "door", "measurement", "epsilon", "delta", "at", "hash")
    release = Release(tmp_path, OPERATOR, book)
    drawn = ({"events": json.loads(row["events"]), "draw": sha256(row["hash"].encode())} for row in charges)
    release.state([{name: row[name] for name in names} | next(drawn) for row in charges])
    assert verify(release.seal().folder, OPERATOR.fingerprint).status == 0
