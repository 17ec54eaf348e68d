"""An anchor that is a git repository: each head is a commit, and git remembers what was taken away."""

import pytest
from anchored import BOOK, git, head, known, written

from density_assets.errors import BadInput
from resources.anchors import AnchorRepository, anchor, heads


def test_every_head_is_a_commit_of_its_own(repository):
    for row in (1, 3):
        anchor(head(row), repository)
    log = git(repository.folder, "log", "--format=%an: %s").splitlines()
    assert log == [f"density ledger: Row {row} of ledger {BOOK.identity[:8]}" for row in (3, 1)]
    assert git(repository.folder, "status", "--porcelain") == ""


def test_other_work_in_the_repository_is_left_alone(repository):
    (repository.folder / "notes.txt").write_text("mine")
    git(repository.folder, "add", "notes.txt")
    anchor(head(1), repository)
    assert git(repository.folder, "status", "--porcelain") == "A  notes.txt\n"
    assert git(repository.folder, "ls-tree", "--name-only", "HEAD").split() == [f"{BOOK.identity}.jsonl"]


def test_what_lies_in_the_working_tree_is_neither_believed_nor_committed(repository):
    anchor(head(1), repository)
    written(repository).write_text("forged\n")
    assert heads(repository) == known(1)
    anchor(head(3), repository)
    assert heads(repository) == known(1, 3)


def test_lines_that_were_removed_are_remembered_by_git(repository):
    for row in (1, 3):
        anchor(head(row), repository)
    whole = written(repository).read_bytes()
    written(repository).write_bytes(whole.splitlines(keepends=True)[0])
    git(repository.folder, "commit", "--quiet", "--all", "--message", "tidy")
    with pytest.raises(BadInput, match="lines must never be removed from an anchor"):
        heads(repository)
    written(repository).write_bytes(whole)
    git(repository.folder, "commit", "--quiet", "--all", "--message", "put back")
    with pytest.raises(BadInput, match="lines must never be removed"):  # a person must look
        anchor(head(4), repository)


def test_the_environment_does_not_lead_git_elsewhere(repository, tmp_path, monkeypatch):
    (tmp_path / "trap").mkdir()
    git(tmp_path / "trap", "init", "--quiet")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "trap/.git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "trap"))
    anchor(head(1), repository)
    monkeypatch.delenv("GIT_DIR")
    monkeypatch.delenv("GIT_WORK_TREE")
    assert heads(repository) == known(1)
    assert heads(AnchorRepository(tmp_path / "trap", repository.home)) == []


def test_a_folder_that_is_no_repository_is_refused(repository, tmp_path):
    (repository.folder / "inside").mkdir()
    (tmp_path / "plain").mkdir()
    for folder in (repository.folder / "inside", tmp_path / "plain", tmp_path / "missing"):
        with pytest.raises(BadInput, match="git"):
            anchor(head(1), AnchorRepository(folder, repository.home))


def test_without_git_the_error_says_so(repository, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BadInput, match="needs the program git"):
        heads(repository)


def test_a_commit_that_fails_is_an_error_and_is_made_up_for(repository):
    hook = repository.folder / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(BadInput, match="commit failed: no"):
        anchor(head(1), repository)
    assert heads(repository) == []
    hook.unlink()
    anchor(head(1), repository)
    assert heads(repository) == known(1)
