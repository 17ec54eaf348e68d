"""The words of the page: both languages say the same, and every word is used."""

import re
from collections import Counter
from importlib import resources

import pytest

from density_assets.publication.pages.page import SCRIPTS
from density_assets.publication.pages.templates import PACKAGE, named, word, words

FILES = ("templates/report.html", *(f"{name}.js" for name in SCRIPTS))
BUILT = ("area.", "unit.", "fact.", "kicker.", "lead.")  # keys that a script or Python puts together


def test_both_languages_fill_the_same_places():
    for key, (english, french) in words().items():
        places = [Counter(re.findall(r"\{(\w+)\}", text)) for text in (english, french)]
        assert places[0].keys() == places[1].keys(), key
        assert french, key


def test_no_line_of_french_begins_with_a_sign():
    """French sets a space before some signs, at which a line must not end."""
    assert [key for key, (_, french) in words().items() if re.search(r" [;:!?»%]|« ", french)] == []


def test_every_word_that_is_used_is_there_and_every_word_is_used():
    text = "".join((resources.files(PACKAGE) / name).read_text(encoding="utf-8") for name in FILES)
    called = set(re.findall(r"""(?:word|named)\(["']([\w. ]+)["']""", text)) - {"unit.", "kicker.", "lead."}
    assert called <= words().keys()
    unused = [key for key in words() if f"'{key}'" not in text and f'"{key}"' not in text and not key.startswith(BUILT)]
    assert unused == []


def test_words_are_marked_with_their_key_and_escaped():
    assert word("play") == '<span data-word="play">Play</span>'
    assert named("hour") == 'aria-label="Hour of the week" data-word-aria-label="hour"'
    with pytest.raises(KeyError):
        word("nothing")
