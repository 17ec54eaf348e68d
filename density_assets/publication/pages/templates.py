"""Where pages become text: one Jinja environment, in which every value is escaped.

Python computes what a page says and where it stands; the files in `templates` say it in HTML or SVG. Autoescaping is on
for every template, whatever its name, so that a city or cell named like a tag shows as the text it is. Only two things
enter a page unescaped: our own style and behaviour (`static`), and what markdown-it makes of Markdown, which escapes
the text itself.

Markdown is CommonMark with tables. HTML in it is shown as it was written, and so are links that lead anywhere but
beside the page or to an https address. Images are left out of the language: a page loads nothing. Headings start below
the page's own title, tables can be scrolled, and columns that are aligned to the right get the class of numbers.

The page of a release speaks English and French (`words.json`, read here and by the page's script). Python writes the
English words, each marked with its key, so that the page can be read without any script; the script puts French ones in
their place for readers who prefer it. Statement, notes and warnings are English.
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

PACKAGE = "density_assets.publication.pages"
# https, or no scheme and no host at all; `validateLink` sees addresses after entities and escapes are resolved.
ALLOWED_LINK = re.compile(r"https://|(?!//)(?![a-z][a-z0-9+.-]*:)", re.IGNORECASE)
DEEPEST = 6
SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")  # what Markdown would not take as it is


def render(template: str, **values: object) -> str:
    """The text of a template; a value the template asks for and did not get is an error."""
    return _environment().get_template(template).render(values)


def static(name: str) -> Markup:
    """A file of ours beside this module, as it is: style and script hold no data."""
    return Markup((resources.files(PACKAGE) / name).read_text(encoding="utf-8"))


def render_markdown(template: str, **values: object) -> str:
    """The text of a Markdown template, in which every value shows as it is, on one line."""
    return _markdown_environment().get_template(template).render(values)


def as_plain(text: object) -> Markup:
    """A text as Markdown that shows it as it is, on one line."""
    return Markup(SPECIAL.sub(r"\\\1", " ".join(str(text).split())))


def as_code(text: object) -> Markup:
    """The same as code: a name of a column or a file."""
    return Markup(f"`{' '.join(str(text).replace('`', chr(39)).replace('|', '¦').split())}`")


@cache
def _markdown_environment() -> Environment:
    """Templates as of pages, but values are escaped as Markdown: what is `Markup` is Markdown already."""
    environment = _environment().overlay(
        autoescape=False, finalize=lambda value: value if isinstance(value, Markup) else as_plain(value)
    )
    environment.filters["code"] = as_code
    environment.filters["named"] = lambda choices: " and ".join(name for name, value in choices.items() if value)
    return environment


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(PACKAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["static"] = static
    environment.filters["markdown"] = lambda text: Markup(markdown_html(text))
    # `tojson` writes < > & ' as \u escapes, so no tag or comment can begin in data inside a script element.
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return environment


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


@cache
def words() -> dict[str, list[str]]:
    """English and French words by key."""
    return dict(json.loads(static("words.json")))


def word(key: str, tag: str = "span") -> Markup:
    """The English words of a key, marked so that the script can find them."""
    return Markup('<{} data-word="{}">{}</{}>').format(tag, key, words()[key][0], tag)


def named(key: str, attribute: str = "aria-label") -> Markup:
    """The English words of a key as an attribute, marked likewise."""
    return Markup('{}="{}" data-word-{}="{}"').format(attribute, words()[key][0], attribute, key)
