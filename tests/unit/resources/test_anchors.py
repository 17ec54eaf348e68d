"""Heads of the ledger are kept elsewhere, read back as witnesses, and never contradicted in silence."""

import json
import os
import shutil
from pathlib import Path

import pytest
from anchored import BOOK, OPERATOR, OTHER, git, head, known, written
from signed_release import DAY

from density_assets.city import City
from density_assets.errors import BadInput
from density_assets.publication.verify import canonical
from density_assets.settings import AnchorSettings, Settings, load_settings
from resources import anchors
from resources.anchors import (
    Anchored,
    AnchorFile,
    AnchorRepository,
    Keeper,
    TimeStamps,
    anchor,
    heads,
    keepers,
)
from resources.ledger.book import LedgerError


@pytest.fixture(params=["file", "git"])
def keeper(request, tmp_path, home) -> Keeper:
    """Either kind of anchor that is read back."""
    if request.param == "git":
        return request.getfixturevalue("repository")
    return AnchorFile(empty(tmp_path / "heads.jsonl"), home)


def empty(file: Path) -> Path:
    """A file for heads that somebody has made, with none in it."""
    file.touch()
    return file


def test_heads_are_read_back_as_they_were_kept(keeper):
    assert heads(keeper) == []
    for row in (1, 3, 4):
        anchor(head(row), keeper)
    anchor(head(2, OTHER, "a" * 64), keeper)
    assert sorted(heads(keeper)) == sorted([*known(1, 3, 4), Anchored(OTHER, 2, "a" * 64)])
    assert [json.loads(line) for line in written(keeper).read_bytes().splitlines()][:3] == [head(1), head(3), head(4)]


def test_a_head_is_signed_by_the_key_of_the_ledger():
    said = head(3)
    signature = bytes.fromhex(said.pop("signature"))
    assert said == {
        "format": "density head 2",
        "ledger": BOOK.identity,
        "row": 3,
        "head": BOOK.entries[2]["hash"],
        "at": DAY,
        "key": OPERATOR.public.hex(),
    }
    assert signature == OPERATOR.sign(json.dumps(said, sort_keys=True, separators=(",", ":")).encode())


def test_the_same_head_is_kept_once(keeper):
    for _ in range(3):
        anchor(head(3), keeper)
    assert heads(keeper) == known(3)


def test_a_ledger_that_was_cut_or_rewritten_is_refused(keeper):
    anchor(head(3), keeper)
    for contradiction in (head(2), head(3, hashed="0" * 64)):
        with pytest.raises(BadInput, match="which knows row 3"):
            anchor(contradiction, keeper)
    anchor(head(2, OTHER, "a" * 64), keeper)  # of another ledger it knows nothing
    assert len(heads(keeper)) == 2


DAMAGE = {
    "a changed hash": lambda line: line.replace(b'"head":"', b'"head":"0'),
    "a changed row": lambda line: line.replace(b'"row":3', b'"row":2'),
    "another day": lambda line: line.replace(DAY.encode(), b"2020-01-01"),
    "half a line": lambda line: line[:50] + b"\n",
    "no newline at its end": lambda line: line[:-20],
    "an empty line": lambda line: b"\n" + line,
    "no text": lambda line: b"\xff" + line,
    "deep nesting": lambda line: b"[" * 100_000 + b"\n",
    "a name twice": lambda line: b'{"row":3,' + line[1:],
    "nothing": lambda line: b"{}\n",
}


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_line_is_an_error_that_names_it(keeper, what):
    for row in (1, 3):
        anchor(head(row), keeper)
    file = written(keeper)
    first, second = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(first + DAMAGE[what](second))
    if isinstance(keeper, AnchorRepository):  # as if it had been written so
        git(keeper.folder, "commit", "--quiet", "--amend", "--all", "--no-edit")
    with pytest.raises(BadInput, match=f"line 2 of .*{file.name} does not: "):
        heads(keeper)
    with pytest.raises(BadInput, match="line 2 of "):
        anchor(head(4), keeper)


def test_an_anchor_inside_the_home_is_refused(tmp_path, home):
    (tmp_path / "link").symlink_to(home)
    for file in (home / "heads.jsonl", home / "town/heads.jsonl", tmp_path / "link/heads.jsonl", home / "../home/x"):
        with pytest.raises(BadInput, match="must lie outside the home"):
            anchor(head(1), AnchorFile(file, home))
        with pytest.raises(BadInput, match="must lie outside the home"):
            anchor(head(1), AnchorRepository(file.parent, home))
    assert list(home.iterdir()) == []
    anchor(head(1), AnchorFile(empty(tmp_path / "home-of-heads.jsonl"), home))


def test_an_anchor_that_is_not_there_is_not_an_empty_one(tmp_path, home):
    """It lies on a disk that is not mounted, or somebody took it away; only who says so makes it."""
    missing, unmounted = tmp_path / "heads.jsonl", tmp_path / "mnt" / "heads.jsonl"
    for file in (missing, unmounted):
        with pytest.raises(BadInput, match="the anchor must be there"):
            heads(AnchorFile(file, home))
        with pytest.raises(BadInput, match="the anchor must be there"):
            anchor(head(1), AnchorFile(file, home))
    with pytest.raises(BadInput, match="the anchor must be writable"):
        anchor(head(1), AnchorFile(unmounted, home), create=True)
    anchor(head(1), AnchorFile(missing, home), create=True)
    assert heads(AnchorFile(missing, home)) == known(1)


def test_an_anchor_that_cannot_be_written_is_an_error(tmp_path, home):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    for file in (tmp_path / "file/heads.jsonl", tmp_path / "folder"):
        with pytest.raises(BadInput, match="the anchor must be readable"):
            anchor(head(1), AnchorFile(file, home))
    (tmp_path / "nowhere").symlink_to("/proc/nowhere/heads.jsonl")
    with pytest.raises(BadInput, match="the anchor must be writable"):
        anchor(head(1), AnchorFile(tmp_path / "nowhere", home), create=True)


# --- settings ---------------------------------------------------------------------------------------------------------


def test_nothing_is_anchored_unless_the_settings_say_so(home):
    assert keepers(Settings(), home) == []


def test_keepers_are_seen_from_the_settings_file(tmp_path, home):
    file = tmp_path / "my.toml"
    file.write_text('[anchor]\nfile = "heads.jsonl"\ngit = "kept"\ntimestamp = "https://stamps.example/tsr"\n')
    assert keepers(load_settings(file), home) == [
        AnchorFile(tmp_path / "heads.jsonl", home),
        AnchorRepository(tmp_path / "kept", home),
        TimeStamps("https://stamps.example/tsr", home),
    ]
    file.write_text('[anchor]\ntimestamp = "ftp://stamps.example"\n')
    with pytest.raises(BadInput, match=r"anchor\.timestamp"):
        load_settings(file)
    file.write_text('[anchor]\nfile = "../heads.jsonl"\n')
    with pytest.raises(BadInput, match="must not climb"):
        load_settings(file)
    assert AnchorSettings() == Settings().anchor


def test_lines_are_written_as_they_are_signed(tmp_path, home):
    anchor(head(1), AnchorFile(empty(tmp_path / "heads.jsonl"), home))
    assert (tmp_path / "heads.jsonl").read_bytes() == canonical(head(1)) + b"\n"
    assert head(1)["format"] == anchors.FORMAT


def test_a_full_disk_is_an_error(tmp_path, home, monkeypatch):
    monkeypatch.setattr(os, "write", lambda handle, content: len(content) - 1)
    with pytest.raises(BadInput, match="the disk is full"):
        anchor(head(1), AnchorFile(empty(tmp_path / "heads.jsonl"), home))


def test_a_ledger_does_not_open_by_itself_against_an_anchor(tmp_path):
    """Simulated people: nobody opens the ledger, so nobody would notice that the one before is gone."""
    settings = Settings(anchor=AnchorSettings(file=str(empty(tmp_path / "anchor.jsonl"))))
    city = City(settings, tmp_path / "home")
    city.open_ledger(lambda _: None)
    city.anchor_head()
    shutil.rmtree(city.home)
    again = City(settings, tmp_path / "home")
    with pytest.raises(LedgerError, match="named by the anchor"):
        again.open_ledger(lambda _: None)
    assert not again.ledger.accounts().exists
    assert not list(again.home.glob("keys/*"))  # nor is a key made for it
