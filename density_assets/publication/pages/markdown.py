"""The Markdown of statements, checks and study summaries as HTML, by markdown-it.

CommonMark with tables. HTML in the text is shown as it was written, and so are links that lead anywhere but beside the
page or to an https address. Images are left out of the language: a page loads nothing. Three things are fitted to
our pages: headings start below the page's own title, tables can be scrolled, and columns that are aligned to the right
get the class of numbers.
"""

import re
from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

# https, or no scheme and no host at all; `validateLink` sees addresses after entities and escapes are resolved.
ALLOWED_LINK = re.compile(r"https://|(?!//)(?![a-z][a-z0-9+.-]*:)", re.IGNORECASE)
DEEPEST = 6


class StatementMarkdown(MarkdownIt):
    """The language of statements, and where its links may lead."""

    def __init__(self) -> None:
        super().__init__("commonmark", {"html": False})
        self.enable("table").disable("image")

    def validateLink(self, url: str) -> bool:  # noqa: N802  # the name by which markdown-it asks
        return ALLOWED_LINK.match(url) is not None


def markdown_html(text: str) -> str:
    """The text as HTML; every character of it is escaped."""
    return str(MARKDOWN.renderer.render(list(_fitted(MARKDOWN.parse(text))), MARKDOWN.options, {}))


def _fitted(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        if token.type == "table_open":
            yield Token("scroll_open", "div", 1, attrs={"class": "scroll"}, block=True)
        yield _fitted_token(token)
        if token.type == "table_close":
            yield Token("scroll_close", "div", -1, block=True)


def _fitted_token(token: Token) -> Token:
    if token.type in ("heading_open", "heading_close"):
        # A page has one h1, its title.
        return token.copy(tag=f"h{min(int(token.tag[1]) + 1, DEEPEST)}")
    if token.type in ("th_open", "td_open"):
        return token.copy(attrs={"class": "number"} if token.attrGet("style") == "text-align:right" else {})
    return token


MARKDOWN = StatementMarkdown()
