"""Neighbouring weeks of raw records, drawn by hypothesis: what operators send, and what they should not send."""

import random

import numpy as np
from event_files import SPELLINGS, BrokenLine, Entry, Event, Layout, moment
from hypothesis import strategies as st
from neighbours import ANTENNAS, AUTUMN, COVER, REPEATED, SPRING, SUMMER, Case

DELIMITERS, ENDS = ",;\t|", ("\n", "\r\n", "\r")
ODD_NAMES = (
    *("7", "007", " 7", "7 ", "-0", "1e5", "0x7", "NULL", "null", "nan", "None", "True", "user_id", "'", '"', "\\"),
    *("x'); drop table visits; --", "a" * 300, "é", "e\u0301", "\u200b", "\ufeffann", "ann\u2028bob", "ann\x85", "💥"),
    *("ann\x0b", "\x0cann", "#ann", "-- ann", "/* ann", "{ann}", "%s", "$1", " ", "ann\x00bob", "\x1a", '"ann', 'ann"'),
)
ANYTHING = st.characters(codec="utf-8", exclude_characters=f'{DELIMITERS}\r\n"\x00\U0010ffff')
NAMES = st.sampled_from(ODD_NAMES) | st.text(ANYTHING, min_size=1, max_size=12)
NUMBERS = st.integers(-(2**63), 2**63 - 1)

# Lines that are nobody's visit, with whoever's name stands in them; `|` stands for the delimiter.
BROKEN = (
    *(b"%s", b"%s|", b"%s|2007-09-10 08:00:00", b"%s|x|00-a|2007-09-10 08:00:00|surplus", b"%s|-infinity|00-a|1e400"),
    *(b'"%s', b'"', b'"""', b"\x00", b"%s\xff", b"\xf4\x8f\xbf\xbf%s|x|y|z", b"%s\xf4\x8f\xbf\xbf", b"%s" * 2_000),
    *(
        b"|||",
        b"||||",
        b" ",
        b"\xef\xbb\xbf",
        b"\xe2\x80\xa8",
        b"\x1a",
        b"\\N|\\N|\\N|\\N",
        b"user_id|time|tower_id|imei",
    ),
)


@st.composite
def events(draw: st.DrawFn, user: str | int, week, most: int = 12) -> list[Entry]:
    """Some events of one user, in and around the week; often in the hours that clocks show twice."""
    hours = st.integers(-30, 198) | st.sampled_from(REPEATED)
    one = st.builds(
        Event,
        user=st.just(user),
        moment=st.builds(moment, st.just(week), hours, st.integers(0, 3599)),
        antenna=st.sampled_from([*ANTENNAS, "unknown", ""]),
        spelling=st.sampled_from(SPELLINGS),
        quoted=st.booleans(),
    )
    return draw(st.lists(one, min_size=1, max_size=most)) * draw(st.sampled_from((1, 1, 2)))


def crowd_of_one(user: str | int, week, many: int, seed: int) -> list[Entry]:
    """Thousands of events of one user."""
    chance = random.Random(seed)
    names, spellings = list(ANTENNAS), list(SPELLINGS)
    return [
        Event(
            user,
            moment(week, chance.randrange(-2, 171), chance.randrange(3600)),
            chance.choice(names),
            chance.choice(spellings),
        )
        for _ in range(many)
    ]


@st.composite
def cases(draw: st.DrawFn, most_events: int = 3_000) -> Case:
    """Two neighbouring weeks."""
    week = draw(st.sampled_from((SUMMER, AUTUMN, SPRING)))
    layout = draw(layouts())
    numbered = layout.kind == "parquet" and draw(st.booleans())
    names = NAMES.filter(lambda name: layout.kind == "parquet" or layout.delimiter not in name)
    newcomer, *others = draw(st.lists(NUMBERS if numbered else names, min_size=1, max_size=5, unique=True))
    entries = [entry for user in others for entry in draw(events(user, week))]
    entries += draw(events(newcomer, week, most=30))
    if draw(st.integers(0, 4)) == 0:
        entries += crowd_of_one(newcomer, week, draw(st.integers(1_000, most_events)), draw(st.integers(0, 99)))
    entries += draw(st.lists(broken_lines(layout.delimiter, newcomer), max_size=6))
    return Case(
        entries,
        newcomer,
        week,
        layout,
        salts=draw(st.tuples(*[st.integers(0, 2**31 - 70)] * 3)),
        part_bytes=max(200, 60 * len(entries) // draw(st.integers(1, 5))),
        rows_per_bucket=max(1, len(entries) // draw(st.integers(1, 5))),
    )


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    """Files of every kind."""
    return Layout(
        kind=draw(st.sampled_from(("csv", "csv", "csv.gz", "parquet"))),
        files=draw(st.integers(1, 4)),
        delimiter=draw(st.sampled_from(DELIMITERS)),
        end=draw(st.sampled_from(ENDS)),
        last_end=draw(st.booleans()),
        mark=draw(st.booleans()),
        seed=draw(st.integers(0, 2**20)),
    )


@st.composite
def broken_lines(draw: st.DrawFn, delimiter: str, newcomer: str | int) -> BrokenLine:
    """A line with the newcomer's name in it that leaves with the newcomer, or a line of nobody's that stays."""
    template, owned = draw(st.sampled_from(BROKEN)), draw(st.booleans())
    name = str(newcomer if owned else "nobody").encode()
    line = template.replace(b"|", delimiter.encode()).replace(b"%s", name)
    return BrokenLine(line, newcomer if owned else None)


LABELS = st.lists(st.integers(0, 5), min_size=len(COVER), max_size=len(COVER)).map(
    lambda labels: np.unique(labels, return_inverse=True)[1]
)
