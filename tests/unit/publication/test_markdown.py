"""The Markdown of statements: what our pages rely on, and text that tries to be more than text."""

import re

import pytest

from density_assets.publication.pages.templates import markdown_html


def shown(text: str) -> str:
    """The HTML without the line breaks between tags, which show nowhere."""
    return re.sub(r"(?<=>)\n|\n(?=<)", "", markdown_html(text))


def test_headings_start_below_the_title_of_the_page():
    assert shown("# A\n## B") == "<h2>A</h2><h3>B</h3>"
    assert shown("###### deep") == "<h6>deep</h6>"


def test_a_blank_line_parts_paragraphs_and_a_line_break_does_not():
    assert shown("one\ntwo\n\nthree") == "<p>one\ntwo</p><p>three</p>"


def test_lists_keep_their_kind_and_wrapped_items_are_one_item():
    assert shown("- a\n  goes on\n- b") == "<ul><li>a\ngoes on</li><li>b</li></ul>"
    assert shown("1. a\n2. b\n\nafter") == "<ol><li>a</li><li>b</li></ol><p>after</p>"


def test_a_paragraph_may_lead_into_a_list():
    assert shown("We protect:\n- a") == "<p>We protect:</p><ul><li>a</li></ul>"


def test_tables_can_be_scrolled_and_align_to_the_right_where_the_rule_says_so():
    table = shown("| name | σ |\n|:---|---:|\n| totals | 3.5 |")
    assert table.startswith('<div class="scroll"><table><thead>')
    assert table.endswith("</table></div>")
    assert '<tr><th>name</th><th class="number">σ</th></tr>' in table
    assert '<tr><td>totals</td><td class="number">3.5</td></tr>' in table
    assert "style" not in table


def test_rows_take_the_length_of_the_header():
    table = shown("| a | b |\n|---|---|\n| 1 |\n| 1 | 2 | 3 |")
    assert "<tr><td>1</td><td></td></tr><tr><td>1</td><td>2</td></tr>" in table


def test_pipes_without_a_rule_are_a_paragraph():
    assert shown("| a | b |") == "<p>| a | b |</p>"


def test_bold_and_code_and_bold_inside_code_as_written():
    assert shown("**ε = 1**, `x**2**y`") == "<p><strong>ε = 1</strong>, <code>x**2**y</code></p>"
    assert shown("```\na < b\n```") == "<pre><code>a &lt; b</code></pre>"


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


def test_a_link_cannot_leave_its_attribute():
    assert markdown_html('[x](<./a"onclick=alert(1)>)') == '<p><a href="./a%22onclick=alert(1)">x</a></p>\n'


def test_there_are_no_images():
    assert "<img" not in markdown_html("![x](y.png) ![x](data:image/png;base64,AAAA)")
