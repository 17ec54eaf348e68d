"""Every link of the documentation leads somewhere: to a file that is there, and to a heading of it."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

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
