"""Every link of the documentation leads somewhere, and so does its site; every promise has the test it names."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from density_assets.cli.app import app

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
ELSEWHERE = ("http://", "https://", "mailto:")
LINKS = {"a": "href", "img": "src"}
MARKDOWN = MarkdownIt("commonmark").enable("table")


def inner(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from inner(token.children or [])


def links(page: Path) -> list[str]:
    """Where a page leads within the documentation."""
    tokens = inner(MARKDOWN.parse(page.read_text(encoding="utf-8")))
    named = (str(token.attrs[LINKS[token.tag]]) for token in tokens if LINKS.get(token.tag) in token.attrs)
    return [link for link in named if not link.startswith(ELSEWHERE)]


@cache
def anchors(page: Path) -> frozenset[str]:
    """The names of its headings, as GitHub and the site make them: words in lower case, joined by hyphens."""
    tokens = MARKDOWN.parse(page.read_text(encoding="utf-8"))
    headings = [after for token, after in pairwise(tokens) if token.type == "heading_open"]
    words = ("".join(part.content for part in heading.children or []) for heading in headings)
    return frozenset(re.sub(r"[^\w\- ]", "", text).strip().lower().replace(" ", "-") for text in words)


def broken(page: Path) -> Iterator[str]:
    for link in links(page):
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if not target.exists():
            yield f"{link}: no such file"
        elif anchor and anchor not in anchors(target):
            yield f"{link}: no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    assert list(broken(page)) == []


def test_a_link_that_leads_nowhere_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# One `word`, two\n\n[a](#one-word-two) [b](#three) [c](gone.md) ![d](gone.png) [e](https://f.example)"
    )
    assert list(broken(page)) == ["#three: no such heading", "gone.md: no such file", "gone.png: no such file"]


def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path):
    """Its links lead to pages and headings of the site, which are not those of the repository everywhere."""
    # Not --quiet: what is not said is not counted either, and nothing is strict.
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(build, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {page.name: page.read_text(encoding="utf-8") for page in tmp_path.glob("*.html")}
    assert {f"{page.stem}.html" for page in (ROOT / "docs").glob("*.md")} <= pages.keys()
    loaded = re.compile(r'<(?:script|link|img)\b[^>]*(?:src|href)="(?:https?:)?//[^"]*"')
    assert [found for page in pages.values() for found in loaded.findall(page)] == []


# --- promises and what shows them -------------------------------------------------------------------------------------

TESTS = ROOT / "tests"
SHOWN_BY = re.compile(r"`([\w/]+\.py)::(\w+)`|`(make|density) ([\w-]+)`")


@cache
def functions(file: Path) -> frozenset[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def homes_of(test: str) -> str:
    """Return where a test of this name is, for whoever mends the list."""
    files = [str(file.relative_to(TESTS)) for file in TESTS.rglob("test_*.py") if test in functions(file)]
    return f"it is now in {', '.join(files)}" if files else "no file of tests has one of this name"


def unshown(line: str) -> Iterator[str]:
    """Yield what a line of capabilities.md names and is not there."""
    targets = re.findall(r"(?m)^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"))
    commands = {command.callback.__name__ for command in app.registered_commands if command.callback}
    names = {"make": set(targets), "density": commands}
    for file, test, program, command in SHOWN_BY.findall(line):
        if test and not ((TESTS / file).exists() and test in functions(TESTS / file)):
            yield f"{file}::{test}: {homes_of(test)}"
        if command and command not in names[program]:
            yield f"{program} {command}: no such command"


def test_every_promise_has_the_test_or_command_it_names():
    lines = (TESTS / "capabilities.md").read_text(encoding="utf-8").splitlines()
    promises = [line for line in lines if re.match(r"\d+\. ", line)]
    assert [line for line in promises if not SHOWN_BY.search(line)] == []
    assert len(promises) >= 80
    missing = [f"{line.split('.')[0]}. {problem}" for line in promises for problem in unshown(line)]
    assert not missing, "\n".join(("mend tests/capabilities.md:", *missing))


def test_a_promise_without_its_test_is_found():
    line = "1. x: `unit/test_documentation.py::test_gone`, `make nothing`, `density ask`, `gone.py::homes_of`"
    named = [problem.split(": ")[0] for problem in unshown(line)]
    assert named == ["unit/test_documentation.py::test_gone", "make nothing", "gone.py::homes_of"]
