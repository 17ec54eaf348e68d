"""The page of a release as text: what it holds, what it must not hold; its words, its outlines, its Markdown."""

import json
import re
from collections import Counter
from dataclasses import replace
from datetime import date
from html.parser import HTMLParser
from importlib import resources

import numpy as np
import pytest
import shapely
from shapely import MultiPolygon, Polygon, box
from shapely.affinity import translate

from density_assets.geography.source import embedded_city
from density_assets.publication.pages.page import SCRIPTS, ReportData, outlines, report_html
from density_assets.publication.pages.templates import PACKAGE, markdown_html, named, word, words
from density_assets.publication.sums import Area, Interval

HOSTILE = '</script><script>alert(1)</script><!--"><img src=x onerror=alert(1)>\'"&{{ data }}{% raise %}'


SIGNED = ("manifest_2007-09-10.json", "f" * 64)


@pytest.fixture
def data() -> ReportData:
    """Two cells; the count of cell c in hour h is 1,000 c + h."""
    counts = np.array([[0], [1000]]) + np.arange(168)
    squares = np.array([box(0, 0, 1000, 1000), box(1000, 0, 3000, 1000)], dtype=object)
    errors = np.full((2, 168), 12.3456)
    downloads = {"Counts": "counts.csv"}
    names = ("town", date(2007, 9, 10), "Europe/Paris", ["W", "E"])
    return ReportData(
        *names, squares, counts, errors, "All is noise.", downloads, ["Clocks change on Sunday."], *SIGNED
    )


class Reader(HTMLParser):
    """What a browser makes of a page: its texts and its tags."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def embedded(page: str) -> dict:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return json.loads(text)


def test_what_went_in_comes_out(data):
    inside = embedded(report_html(data))
    assert inside["ids"] == ["W", "E"]
    assert np.array_equal(inside["counts"], data.counts)
    assert inside["errors"][0][0] == 12.3
    assert inside["areas"] == [1_000_000, 2_000_000]
    assert inside["monday"] == "2007-09-10"


def test_the_words_are_there_without_any_script(data):
    page = report_html(data)
    words = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL)
    for text in ("<h1>town</h1>", "10 – 16 September 2007", "visits, not people", "All is noise.", "Clocks change"):
        assert text in words
    assert '<a href="./counts.csv">Counts</a>' in words


def test_the_vintage_stands_below_the_name_of_the_city(data):
    assert re.findall('<p class="vintage".*', report_html(data)) == []
    page = report_html(replace(data, vintage="Final estimate, with weeks up to <2007-09-24>"))
    header = page.split("<h1>town</h1>")[1].split("</header>")[0]
    assert '<p class="vintage">Final estimate, with weeks up to &lt;2007-09-24&gt;</p>' in header
    assert re.sub(r"    <div lang=\"en\"><p class=\"vintage\">.*</div>\n", "", page) == (report_html(data))


def test_parts_of_the_city_stand_there_only_where_errors_of_sums_are_known(data):
    assert '<section class="areas">' not in report_html(data)
    sums = tuple(Interval(1000 * day, 17) for day in range(1, 9))
    page = report_html(replace(data, areas=[Area("whole city", 2, sums)]))
    assert "Parts of the city" in page
    head, row = re.findall(r"<tr>(.*?)</tr>", page[page.index('<section class="areas">') :], re.DOTALL)[:2]
    assert re.findall(r">(\w+)</th>", head)[1::6] == ["Monday", "Sunday"]
    assert "".join(texts_of(row)).split("±")[0].split() == ["whole", "city", "2", "1,000"]
    assert " ".join(texts_of(row)).count("±") == row.count(">17<") == 8


def texts_of(html: str) -> list[str]:
    reader = Reader()
    reader.feed(html.replace("<", " <"))
    return reader.texts


def test_the_page_may_load_nothing_and_names_no_address(data):
    page = report_html(data)
    policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
    assert f'<meta http-equiv="Content-Security-Policy" content="{policy}' in page
    assert not re.search(r"https?://|\bimport\b|fetch\(|XMLHttpRequest|@import|url\(", page)
    assert not re.search(r'(?:src|href)="(?!\./|data:)', page)


def test_hostile_names_stay_names(data):
    bad = {"city": HOSTILE, "timezone": HOSTILE, "cell_ids": [HOSTILE, "E"], "statement": HOSTILE, "notes": [HOSTILE]}
    page = report_html(replace(data, **bad, downloads={HOSTILE: HOSTILE}))
    assert page.count("<script") == report_html(data).count("<script")
    assert page.count("</script") == report_html(data).count("</script")
    assert "<img" not in page
    assert "<!--" not in page
    assert embedded(page)["ids"] == [HOSTILE, "E"]


def test_hostile_names_are_shown_as_they_are(data):
    words = ("city", "timezone", "statement", "note", "label", "name")
    named = {word: f"{word} {HOSTILE}" for word in words}
    shown = {word: named[word] for word in ("city", "timezone", "statement")}
    page = report_html(
        replace(data, **shown, notes=[named["note"]], downloads={named["label"]: named["name"]}, cell_ids=["<b>", "E"])
    )
    reader = Reader()
    reader.feed(page)
    for text in named.values():
        assert text in "".join(reader.texts)
    assert not {"img", "b"} & reader.tags


def test_data_inside_the_script_element_hold_no_tag(data):
    page = report_html(replace(data, cell_ids=["<!--<script>", "&'>"]))
    (text,) = re.findall(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert not set("<>&'") & set(text)
    assert embedded(page)["ids"] == ["<!--<script>", "&'>"]


@pytest.mark.parametrize("name", ["javascript:alert(1)", "//elsewhere.example/x", 'x" onclick="alert(1)'])
def test_a_download_stays_beside_the_page(data, name):
    (href,) = re.findall(r'<a href="(.*?)">Counts</a>', report_html(replace(data, downloads={"Counts": name})))
    assert href.startswith("./")
    assert not set(href) & set(': "')


def test_a_statement_without_a_title_gets_one_and_an_own_title_stays(data):
    assert "<h2>Privacy statement</h2>" in report_html(data)
    titled = report_html(replace(data, statement="# Our promise\n\ntext"))
    assert "<h2>Our promise</h2>" in titled
    assert "<h2>Privacy statement</h2>" not in titled


def test_sections_with_nothing_to_say_are_left_out(data):
    page = report_html(replace(data, notes=[], downloads={}))
    assert '<section class="notes">' not in page
    assert '<section class="downloads">' not in page


@pytest.mark.parametrize(
    ("monday", "name"),
    [
        (date(2007, 9, 10), "10 – 16 September 2007"),
        (date(2007, 9, 24), "24 – 30 September 2007"),
        (date(2007, 10, 29), "29 October – 4 November 2007"),
        (date(2007, 12, 31), "31 December 2007 – 6 January 2008"),
    ],
)
def test_a_week_is_named_by_its_ends(data, monday, name):
    assert f'<span id="week">{name}</span>' in report_html(replace(data, week=monday))


def test_a_city_of_989_cells_fits_in_three_megabytes():
    cells = embedded_city()[0]
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 4000, (len(cells), 168))
    errors = rng.uniform(1, 100, counts.shape)
    week = date(2007, 9, 10)
    made = ReportData(
        "city", week, "UTC", [str(i) for i in cells.ids], cells.polygons, counts, errors, "", {}, [], *SIGNED
    )
    assert len(report_html(made).encode()) < 3_000_000


def test_a_warning_stands_before_everything_else_and_only_where_there_is_one(data):
    page = report_html(replace(data, warning="This city is too small <for> its promise."))
    assert page.index("too small &lt;for&gt; its promise") < page.index("<main>")
    assert 'class="warning"' not in report_html(data)


def test_visits_of_the_week_have_an_interval_where_it_is_known(data):
    whole = Area("whole city", 2, (*(Interval(10, 2),) * 7, Interval(70, 1_400)))
    (facts,) = re.findall(r'<dl class="facts">(.*?)</dl>', report_html(replace(data, areas=[whole])), re.DOTALL)
    assert "70 ± 1,400" in re.sub("<.*?>", "", facts)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"cell_ids": ["W", "W"]}, "distinct"),
        ({"cell_ids": ["W"]}, "one polygon per cell, got 2 for 1"),
        ({"counts": np.zeros((2, 167), dtype=np.int64)}, r"counts must have shape \(2, 168\), got \(2, 167\)"),
        ({"standard_errors": np.full((2, 168), np.nan)}, "finite"),
        ({"standard_errors": np.full((2, 168), -1.0)}, "at least 0"),
        ({"week": date(2007, 9, 11)}, "Monday, got Tuesday 2007-09-11"),
    ],
)
def test_data_that_would_draw_a_wrong_page_are_refused(data, wrong, message):
    with pytest.raises(ValueError, match=message):
        replace(data, **wrong)


def test_people_are_spoken_of_only_where_a_release_states_factors(data):
    people = {"numbers": [[1] * 168] * 2, "fewest": {}, "most": {}, "groups": []}
    with_people, without = report_html(replace(data, people=people)), report_html(data)
    for page, other, said in ((with_people, "visits", "people"), (without, "people", "visits")):
        assert f'data-word="lead.{said}"' in page
        assert f'data-word="kicker.{said}"' in page
        assert f'data-word="lead.{other}"' not in page
    assert embedded(with_people)["people"] == people
    assert "people" not in embedded(without)


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


WEST, SOUTH = 650_000.0, 6_860_000.0


def cells(*polygons):
    """Polygons moved to where metric coordinates usually lie."""
    return np.array([translate(polygon, WEST, SOUTH) for polygon in polygons], dtype=object)


def ring_points(ring: list[int]) -> np.ndarray:
    """The points of a ring, shape (points, 2): what the page's script does before it draws."""
    return np.cumsum(np.reshape(ring, (-1, 2)), axis=0)


def test_a_square_is_its_corner_and_the_steps_around_it():
    made = outlines(cells(box(0, 0, 100, 50)))
    (ring,) = made.rings[0]
    assert (made.width, made.height) == (100, 50)
    assert sorted(map(tuple, ring_points(ring).tolist())) == [(0, 0), (0, 50), (100, 0), (100, 50)]


def test_north_is_up():
    made = outlines(cells(box(0, 0, 10, 100), box(0, 300, 10, 400)))
    south, north = (ring_points(rings[0])[:, 1] for rings in made.rings)
    assert north.max() == 100
    assert south.min() == 300


def test_parts_and_holes_are_rings_of_their_cell():
    holed = Polygon(box(0, 0, 100, 100).exterior, [box(40, 40, 60, 60).exterior])
    made = outlines(cells(MultiPolygon([holed, box(200, 0, 300, 100)])))
    assert [len(ring_points(ring)) for ring in made.rings[0]] == [4, 4, 4]


def test_points_within_the_tolerance_go():
    wavy = Polygon([(0, 0), (100, 0), (100, 100), (50, 100.5), (0, 100)])
    assert len(ring_points(outlines(cells(wavy)).rings[0][0])) == 4


@pytest.mark.parametrize("side", [3.0, 0.4])
def test_even_the_smallest_cell_has_an_outline(side):
    made = outlines(cells(box(0, 0, 100, 100), box(200, 200, 200 + side, 200 + side)))
    assert len(made.rings[1][0]) >= 2


def test_the_city_closes_without_gaps_or_overlaps():
    polygons = embedded_city(cells=60, towers=5)[0].polygons
    made = outlines(polygons)
    drawn = [Polygon(ring_points(rings[0])) for rings in made.rings]
    area = sum(polygon.area for polygon in drawn)
    union = shapely.union_all(drawn)
    outer = sum(Polygon(part.exterior).area for part in shapely.get_parts(union))
    assert all(polygon.is_valid for polygon in drawn)
    assert area == pytest.approx(union.area, rel=1e-4)
    assert outer == pytest.approx(union.area, rel=1e-4)
    assert area == pytest.approx(shapely.area(polygons).sum(), rel=1e-3)


def shown(text: str) -> str:
    """The HTML without the line breaks between tags, which show nowhere."""
    return re.sub(r"(?<=>)\n|\n(?=<)", "", markdown_html(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A\n## B", "<h2>A</h2><h3>B</h3>"),  # a page has one h1, its title
        ("###### deep", "<h6>deep</h6>"),
        ("one\ntwo\n\nthree", "<p>one\ntwo</p><p>three</p>"),
        ("- a\n  goes on\n- b", "<ul><li>a\ngoes on</li><li>b</li></ul>"),
        ("1. a\n2. b\n\nafter", "<ol><li>a</li><li>b</li></ol><p>after</p>"),
        ("**ε = 1**, `x**2**y`", "<p><strong>ε = 1</strong>, <code>x**2**y</code></p>"),
        ("```\na < b\n```", "<pre><code>a &lt; b</code></pre>"),
        ('[x](<./a"onclick=alert(1)>)', '<p><a href="./a%22onclick=alert(1)">x</a></p>'),  # stays in its attribute
    ],
)
def test_markdown_is_shown_as_it_is_meant(text, expected):
    assert shown(text) == expected


def test_tables_can_be_scrolled_and_align_to_the_right_where_the_rule_says_so():
    table = shown("| name | σ |\n|:---|---:|\n| totals | 3.5 |")
    assert table.startswith('<div class="scroll"><table><thead>')
    assert table.endswith("</table></div>")
    assert '<tr><th>name</th><th class="number">σ</th></tr>' in table
    assert '<tr><td>totals</td><td class="number">3.5</td></tr>' in table
    assert "style" not in table


@pytest.mark.parametrize(
    "frame", ["{}", "# {}", "- {}", "1. {}", "**{}**", "`{}`", "[{}](./x)", "| {} |\n|---|\n| {} |"]
)
@pytest.mark.parametrize(
    "hostile", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a & b </p>", "<!--"]
)
def test_text_cannot_bring_tags_of_its_own(frame, hostile):
    page = markdown_html(frame.replace("{}", hostile))
    assert not re.search(r"<(script|img|!--)", page)
    assert hostile not in page


@pytest.mark.parametrize("address", ["https://example.org/a", "./density.csv", "../x.md", "#part", "a.md"])
def test_links_lead_beside_the_page_or_to_https(address):
    assert shown(f"[x]({address})") == f'<p><a href="{address}">x</a></p>'


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "javascript&colon;alert(1)",
        "&#106;avascript:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "file:///etc/passwd",
        "http://example.org",
        "mailto:a@b.c",
        "//example.org",
    ],
)
def test_other_links_are_no_links(address):
    assert "<a" not in markdown_html(f"[x]({address})")
    assert "<a" not in markdown_html(f"<{address}>")
    assert "<a" not in markdown_html(f"[x][1]\n\n[1]: {address}")


def test_there_are_no_images():
    assert "<img" not in markdown_html("![x](y.png) ![x](data:image/png;base64,AAAA)")
