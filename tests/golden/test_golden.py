"""Values that must not change by accident: keys, stamps, ledger rows, draws, estimates, statements, study identities.

Made with fixed noise and a fixed clock on a small town; see README.md beside this file before changing a value.
"""

import csv
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import golden_city
import golden_values
import pytest
from golden_values import difference, number_difference, text_difference
from runs import density

GOLDEN = golden_city.GOLDEN
WEEKS = golden_city.WEEKS


@pytest.mark.parametrize("name", golden_city.HOMES)
def test_a_home_is_unchanged(name, tmp_path):
    """One test for each home, because making it takes far longer than all comparisons."""
    home = golden_city.HOMES[name](tmp_path / name)
    differences = [*stored_differences(name, home), *MORE_OF.get(name, lambda _: iter(()))(home)]
    assert not differences, "\n".join(differences)


def stored_differences(name: str, home: Path) -> Iterator[str]:
    """How keys, stamps, ledger rows, draws and estimates differ from the golden ones: the first place of each."""
    expected, actual = golden_values.read(GOLDEN, name), golden_values.collect(home)
    for part in expected.exact:
        yield from filter(None, [difference(expected.exact[part], actual.exact[part], f"{name}, {part}")])
    yield from filter(None, [number_difference(expected.numbers, actual.numbers, name)])


def text_differences(home: Path) -> Iterator[str]:
    """How published texts differ from the golden ones: the first place of each."""
    expected = {file.name: file.read_text(encoding="utf-8") for file in (GOLDEN / "published").iterdir()}
    actual = golden_values.published_texts(home / "town" / "release")
    assert sorted(actual) == sorted(expected)
    yield from filter(None, (text_difference(name, text, actual[name]) for name, text in sorted(expected.items())))


def study_differences(home: Path) -> Iterator[str]:
    """How studies are called otherwise than before: the first place."""
    expected = json.loads((GOLDEN / "studies.json").read_text(encoding="utf-8"))
    actual = json.loads((home.parent / golden_city.STUDIES).read_text(encoding="utf-8"))
    yield from filter(None, [difference(expected, actual, "studies.json")])


MORE_OF: dict[str, Callable[[Path], Iterator[str]]] = {"in_turn": text_differences, "simulated": study_differences}

# --- a home that older code has written -------------------------------------------------------------------------------


@pytest.fixture
def old_home(tmp_path: Path) -> Path:
    """Two weeks and a revision of the first, as they were written when the golden values were first made."""
    return shutil.copytree(GOLDEN / "home", tmp_path / "home")


def printed(home: Path, *words: str, status: int = 0) -> str:
    """What a command prints; it must end with this status."""
    done = density(home, *words, opening=False)
    assert done.returncode == status, f"{' '.join(words)}: {done.stdout}{done.stderr[-3000:]}"
    return done.stdout if status in (0, 3) else done.stdout + done.stderr


def test_an_old_home_can_be_verified(old_home):
    """Its releases are whole, but nothing says who made them: they were never signed."""
    charges = len(golden_values.ledger_rows(old_home)["charges"])
    assert f"the ledger is whole: {charges} charges" in printed(old_home, "ledger", "verify")
    statements = sorted((old_home / "town" / "release").glob("privacy_statement_*.json"))
    assert len(statements) == 3
    for statement in statements:
        *findings, verdict = printed(old_home, "verify", str(statement), status=3).splitlines()
        assert len(findings) == 14
        assert verdict.startswith("unsigned, version 1")
        assert all(line.startswith("ok ") for line in findings), findings


def test_an_old_home_is_taken_over_and_not_drawn_again(old_home, tmp_path):
    """With the noise of real releases: a second draw could not be equal. Today's defaults are others than then.

    Its weeks were drawn by version 1 of the scheme, which has no totals of towers: they are estimated by it, too.
    """
    settings = golden_city.make_city(tmp_path / "city")
    settings.write_text(settings.read_text().replace(golden_city.PROMISE, ""))
    golden_city.declare_revision(settings)
    ledger, draws = golden_values.ledger_rows(old_home), draw_digests(old_home)
    counts = published_counts(old_home)
    assert len(counts) == 3
    weeks = ("--settings", str(settings), "--from", WEEKS[0], "--to", WEEKS[1])
    assert "density ledger init --adopt" in printed(old_home, "backfill", *weeks, status=1)
    printed(old_home, "ledger", "init", "--adopt", "--settings", str(settings))
    printed(old_home, "backfill", *weeks)
    rows = golden_values.ledger_rows(old_home)
    assert not difference(ledger, {table: rows[table] for table in ledger}, "ledger of the old home")
    assert [row["kind"] for row in rows["entries"]] == ["opened", "declared", "published", "published"]
    assert not difference(draws, draw_digests(old_home), "stored draws of the old home")
    for name, text in published_counts(old_home).items():
        assert not text_difference(name, counts[name], text)
    made = golden_values.estimates(old_home / "town/release/release.duckdb")
    for week, name in ((WEEKS[1], f"density_{WEEKS[1]}.csv"), (WEEKS[0], f"density_{WEEKS[0]}_r2.csv")):
        published = {row["cell_id"] + row["hour"]: row for row in csv.DictReader(counts[name].splitlines())}
        assert made[f"density/{week}/count"].tolist() == [int(published[key]["count"]) for key in by_cell(published)]


def test_a_home_of_today_can_be_verified_and_is_not_drawn_again(tmp_path):
    """How rows are hashed, draws digested and manifests signed is what the files of a home say for ever."""
    home = shutil.copytree(GOLDEN / "home_2", tmp_path / "home")
    settings = golden_city.make_city(tmp_path / "city")
    golden_city.declare_revision(settings)
    charges, draws = golden_values.keys(golden_values.ledger_rows(home)), draw_digests(home)
    for manifest in sorted((home / "town/release").glob("manifest_*.json")):
        key = json.loads(manifest.read_text())["key"]["fingerprint"]
        assert "verified" in printed(home, "verify", str(manifest), "--key", key)
    who = ("--by", "tester", "--reason", "a test works on a copy")
    printed(home, "ledger", "moved", "--settings", str(settings), *who)
    printed(home, "rebuild", "--settings", str(settings), "--from", WEEKS[1], status=1)  # the key is not here
    assert golden_values.keys(golden_values.ledger_rows(home)) == charges
    assert draw_digests(home) == draws


def published_counts(home: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in sorted((home / "town/release").glob("density_*.csv"))}


def by_cell(published: dict[str, dict[str, str]]) -> list[str]:
    """In the order of cells and hours."""
    return sorted(published, key=lambda key: (published[key]["cell_id"], int(published[key]["hour"])))


def draw_digests(home: Path) -> dict[str, str]:
    files = sorted((home / "town" / "release" / "measurements").iterdir())
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
