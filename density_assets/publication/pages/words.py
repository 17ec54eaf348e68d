"""What the page of a release says, in English and French: one table (`words.json`), read here and by the page's script.

Python writes the English words, each marked with its key, so that the page can be read without any script; the script
puts French ones in their place for readers who prefer it. Statement, notes and warnings are English.
"""

import json
from functools import cache

from markupsafe import Markup

from density_assets.publication.pages.templates import static


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
