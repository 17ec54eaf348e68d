"""Heads of the ledger are kept elsewhere, read back as witnesses, and never contradicted in silence."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from ledgers import ACT
from signed_release import DAY, key, open_book

from density_assets.city import City
from density_assets.errors import BadInput
from density_assets.privacy.accounts import Accounts
from density_assets.privacy.charges import Budget
from density_assets.publication.verify import canonical
from density_assets.settings import AnchorSettings, Settings, load_settings
from resources import anchors
from resources.anchors import Anchored, Anchors, hand_over, keep_head, read_heads, signed_head
from resources.ledger.book import LedgerError
from resources.ledger.witnesses import NOTHING

OPERATOR = key("operator")
BOOK = open_book(OPERATOR)
OTHER = "f" * 32


def head(row: int, ledger: str = BOOK.identity, hashed: str | None = None) -> dict:
    return signed_head(OPERATOR, ledger, row, hashed or BOOK.entries[row - 1]["hash"], DAY)


def known(*rows: int) -> list[Anchored]:
    return [Anchored(BOOK.identity, row, BOOK.entries[row - 1]["hash"]) for row in rows]


RECIPES = Path(__file__).parents[3] / "deploy"


@pytest.fixture
def home(tmp_path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def file(tmp_path) -> Path:
    """A file for heads that somebody has made, with none in it."""
    return empty(tmp_path / "heads.jsonl")


def empty(file: Path) -> Path:
    file.touch()
    return file


def test_heads_are_read_back_as_they_were_kept(file, home):
    assert read_heads(file) == []
    for row in (1, 3, 4):
        keep_head(head(row), file, home)
    keep_head(head(2, OTHER, "a" * 64), file, home)
    assert sorted(read_heads(file)) == sorted([*known(1, 3, 4), Anchored(OTHER, 2, "a" * 64)])
    assert [json.loads(line) for line in file.read_bytes().splitlines()][:3] == [head(1), head(3), head(4)]


def test_a_head_is_signed_by_the_key_of_the_ledger():
    said = head(3)
    signature = bytes.fromhex(said.pop("signature"))
    assert said == {
        "format": "density head 1",
        "ledger": BOOK.identity,
        "row": 3,
        "head": BOOK.entries[2]["hash"],
        "at": DAY,
        "key": OPERATOR.public.hex(),
    }
    assert signature == OPERATOR.sign(json.dumps(said, sort_keys=True, separators=(",", ":")).encode())


def test_the_same_head_is_kept_once(file, home):
    for _ in range(3):
        keep_head(head(3), file, home)
    assert read_heads(file) == known(3)


def test_a_ledger_that_was_cut_or_rewritten_is_refused(file, home):
    keep_head(head(3), file, home)
    for contradiction in (head(2), head(3, hashed="0" * 64)):
        with pytest.raises(BadInput, match="which knows row 3"):
            keep_head(contradiction, file, home)
    keep_head(head(2, OTHER, "a" * 64), file, home)  # of another ledger it knows nothing
    assert len(read_heads(file)) == 2


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
def test_a_damaged_line_is_an_error_that_names_it(file, home, what):
    for row in (1, 3):
        keep_head(head(row), file, home)
    first, second = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(first + DAMAGE[what](second))
    with pytest.raises(BadInput, match=f"line 2 of .*{file.name} does not: "):
        read_heads(file)
    with pytest.raises(BadInput, match="line 2 of "):
        keep_head(head(4), file, home)


def test_an_anchor_inside_the_home_is_refused(tmp_path, home):
    (tmp_path / "link").symlink_to(home)
    for file in (home / "heads.jsonl", home / "town/heads.jsonl", tmp_path / "link/heads.jsonl", home / "../home/x"):
        with pytest.raises(BadInput, match="must lie outside the home"):
            keep_head(head(1), file, home)
    assert list(home.iterdir()) == []
    keep_head(head(1), empty(tmp_path / "home-of-heads.jsonl"), home)


def test_an_anchor_that_is_not_there_is_not_an_empty_one(tmp_path, home):
    """It lies on a disk that is not mounted, or somebody took it away; only who says so makes it."""
    missing, unmounted = tmp_path / "heads.jsonl", tmp_path / "mnt" / "heads.jsonl"
    for file in (missing, unmounted):
        with pytest.raises(BadInput, match="the anchor must be there"):
            read_heads(file)
        with pytest.raises(BadInput, match="the anchor must be there"):
            keep_head(head(1), file, home)
    with pytest.raises(BadInput, match="the anchor must be writable"):
        keep_head(head(1), unmounted, home, create=True)
    keep_head(head(1), missing, home, create=True)
    assert read_heads(missing) == known(1)


def test_an_anchor_that_cannot_be_written_is_an_error(tmp_path, home):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    for file in (tmp_path / "file/heads.jsonl", tmp_path / "folder"):
        with pytest.raises(BadInput, match="the anchor must be readable"):
            keep_head(head(1), file, home)
    (tmp_path / "nowhere").symlink_to("/proc/nowhere/heads.jsonl")
    with pytest.raises(BadInput, match="the anchor must be writable"):
        keep_head(head(1), tmp_path / "nowhere", home, create=True)


# --- settings ---------------------------------------------------------------------------------------------------------


def test_nothing_is_anchored_unless_the_settings_say_so(home):
    assert Anchors.of(Settings(), home) == Anchors(home, folder=Settings().folder)


def test_a_file_is_seen_from_the_settings_file(tmp_path, home):
    file = tmp_path / "my.toml"
    file.write_text('[anchor]\nfile = "heads.jsonl"\ncommand = "stamp it"\n')
    assert Anchors.of(load_settings(file), home) == Anchors(home, tmp_path / "heads.jsonl", "stamp it", tmp_path)


@pytest.mark.parametrize("wrong", ['file = "../heads.jsonl"', 'command = " "', 'command = "a \'b"', 'git = "kept"'])
def test_settings_that_name_no_anchor_are_refused(tmp_path, wrong):
    (tmp_path / "my.toml").write_text(f"[anchor]\n{wrong}\n")
    with pytest.raises(BadInput, match=r"anchor\."):
        load_settings(tmp_path / "my.toml")


# --- commands ---------------------------------------------------------------------------------------------------------


def test_a_command_gets_the_signed_head_in_the_folder_of_the_settings(tmp_path):
    hand_over(head(3), "sh -c 'cat > kept.json'", tmp_path)
    assert (tmp_path / "kept.json").read_bytes() == canonical(head(3)) + b"\n"


@pytest.mark.parametrize("command", ["sh -c 'echo no >&2; exit 1'", "false", "/nowhere/program"])
def test_a_command_that_fails_is_an_error(tmp_path, command):
    with pytest.raises(BadInput, match=r"anchor\.command must"):
        hand_over(head(3), command, tmp_path)


def test_a_command_is_asked_for_what_is_published_and_not_for_draws(tmp_path):
    city = City(Settings(anchor=AnchorSettings(command=f"sh -c 'cat >> {tmp_path}/kept.jsonl'")), tmp_path / "home")
    city.open_ledger(lambda _: None)
    city._anchor_draw()
    assert not (tmp_path / "kept.jsonl").exists()
    city.anchor_head()
    (kept,) = read_heads(tmp_path / "kept.jsonl")
    assert kept == (city.ledger.accounts().identity, 1, city.ledger.accounts().head)


@pytest.fixture
def repository(tmp_path, monkeypatch) -> Path:
    """An empty git repository; whatever git is told on this machine is not told to it."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "none"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    (tmp_path / "kept").mkdir()
    git(tmp_path / "kept", "init", "--quiet")
    return tmp_path / "kept"


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True).stdout


def test_the_recipe_for_git_commits_each_head_once(repository, home):
    """Beside a file that is read back, which has the line already."""
    (repository / "notes.txt").write_text("mine")
    git(repository, "add", "notes.txt")
    for row in (1, 3, 3):
        keep_head(head(row), repository / "heads.jsonl", home, create=True)
        hand_over(head(row), f"{RECIPES}/anchor-git {repository}", home)
    assert read_heads(repository / "heads.jsonl") == known(1, 3)
    assert len(git(repository, "log", "--format=%s").splitlines()) == 2
    assert git(repository, "status", "--porcelain") == "A  notes.txt\n"
    with pytest.raises(BadInput, match="is not a git repository"):
        hand_over(head(4), f"{RECIPES}/anchor-git {home}", home)


def test_the_recipe_for_time_stamps_keeps_what_is_granted_alone(tmp_path):
    """The authority is a program in place of curl: one that signs with openssl, or one that answers nonsense."""
    programs, stamps = tmp_path / "bin", tmp_path / "stamps"
    programs.mkdir()
    stamps.mkdir()
    (programs / "curl").write_text(AUTHORITY.format(folder=programs))
    (programs / "curl").chmod(0o755)
    (programs / "tsa.cnf").write_text(TSA)
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=tsa", "-days", "2", "-config"]
    make += [programs / "tsa.cnf", "-extensions", "ext", "-keyout", programs / "key.pem", "-out", programs / "cert.pem"]
    subprocess.run(make, check=True, capture_output=True)
    (programs / "serial").write_text("01\n")
    command = f"env PATH={programs}:{os.environ['PATH']} {RECIPES}/anchor-timestamp {stamps} https://stamps.example"
    hand_over(head(3), command, tmp_path)
    (answer,), (data,) = stamps.glob("*.tsr"), stamps.glob("*.json")
    assert data.read_bytes() == canonical(head(3))
    verify = ["openssl", "ts", "-verify", "-data", data, "-in", answer, "-CAfile", programs / "cert.pem"]
    assert b"Verification: OK" in subprocess.run(verify, check=True, capture_output=True).stdout
    (programs / "curl").write_text("#!/bin/sh\nwhile [ $1 != --output ]; do shift; done; echo no > $2\n")
    with pytest.raises(BadInput, match=r"anchor\.command must"):
        hand_over(head(4), command, tmp_path)


AUTHORITY = """#!/bin/sh
for word; do case $word in @*) asked=${{word#@}};; esac; done
while [ "$1" != --output ]; do shift; done
cd {folder} && openssl ts -reply -config tsa.cnf -queryfile "$asked" -out "$2" 2> /dev/null
"""
TSA = """
[req]
distinguished_name = name
[name]
[ext]
extendedKeyUsage = critical,timeStamping
[tsa]
default_tsa = config
[config]
serial = serial
signer_cert = cert.pem
certs = cert.pem
signer_digest = sha256
signer_key = key.pem
default_policy = 1.2.3
digests = sha256
crypto_device = builtin
"""


def test_lines_are_written_as_they_are_signed(tmp_path, file, home):
    keep_head(head(1), file, home)
    assert (tmp_path / "heads.jsonl").read_bytes() == canonical(head(1)) + b"\n"
    assert head(1)["format"] == anchors.HEAD_FORMAT


def test_a_full_disk_is_an_error(file, home, monkeypatch):
    monkeypatch.setattr(os, "write", lambda handle, content: len(content) - 1)
    with pytest.raises(BadInput, match="the disk is full"):
        keep_head(head(1), file, home)


def test_an_entry_that_arrives_meanwhile_is_left_to_the_next_head(tmp_path, monkeypatch):
    city = City(Settings(anchor=AnchorSettings(file=str(empty(tmp_path / "anchor.jsonl")))), tmp_path / "home")
    city.open_ledger(lambda _: None)
    read = city.ledger.accounts
    budgets = (Budget(epsilon, 1e-5) for epsilon in (1.0, 2.0, 3.0))

    def read_before_another() -> Accounts:
        accounts = read()
        city.ledger.give_budget(city.population, next(budgets), ACT, NOTHING)
        return accounts

    monkeypatch.setattr(city.ledger, "accounts", read_before_another)
    city.anchor_head()
    (kept,) = read_heads(tmp_path / "anchor.jsonl")
    assert kept.head == read().entries[kept.row - 1].hash


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
    assert not again.ledger.accounts().opened
    assert not list(again.home.glob("keys/*"))  # nor is a key made for it
