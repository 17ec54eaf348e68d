"""Where pages become text: one Jinja environment, in which every value is escaped.

Python computes what a page says and where it stands; the files in `templates` say it in HTML or SVG. Autoescaping is on
for every template, whatever its name, so that a city or cell named like a tag shows as the text it is. Only two things
enter a page unescaped: our own style and behaviour (`static`), and what markdown-it makes of Markdown, which escapes
the text itself.
"""

from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from density_assets.publication.pages.markdown import markdown_html

PACKAGE = "density_assets.publication.pages"


def render(template: str, **values: object) -> str:
    """The text of a template; a value the template asks for and did not get is an error."""
    return _environment().get_template(template).render(values)


def static(name: str) -> Markup:
    """A file of ours beside this module, as it is: style and script hold no data."""
    return Markup((resources.files(PACKAGE) / name).read_text(encoding="utf-8"))


def _markdown(text: str) -> Markup:
    return Markup(markdown_html(text))


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
    environment.filters["markdown"] = _markdown
    # `tojson` writes < > & ' as \u escapes, so no tag or comment can begin in data inside a script element.
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return environment
