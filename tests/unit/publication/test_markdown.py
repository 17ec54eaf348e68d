"""The Markdown of statements: each form once, and text that tries to be more than text."""

import pytest

from density_assets.publication.pages.markdown import markdown_html


def test_headings_start_below_the_title_of_the_page():
    assert markdown_html("# A\n## B") == "<h2>A</h2>\n<h3>B</h3>"
    assert markdown_html("###### deep") == "<h6>deep</h6>"


def test_a_blank_line_parts_paragraphs_and_a_line_break_does_not():
    assert markdown_html("one\ntwo\n\nthree") == "<p>one two</p>\n<p>three</p>"


def test_lists_keep_their_kind_and_wrapped_items_are_one_item():
    assert markdown_html("- a\n  goes on\n- b") == "<ul><li>a goes on</li><li>b</li></ul>"
    assert markdown_html("1. a\n2. b\n\nafter") == "<ol><li>a</li><li>b</li></ol>\n<p>after</p>"


def test_a_paragraph_may_lead_into_a_list():
    assert markdown_html("We protect:\n- a") == "<p>We protect:</p>\n<ul><li>a</li></ul>"


def test_tables_align_to_the_right_where_the_rule_says_so():
    table = markdown_html("| name | σ |\n|:---|---:|\n| totals | 3.5 |")
    assert '<thead><tr><th>name</th><th class="number">σ</th></tr></thead>' in table
    assert '<tbody><tr><td>totals</td><td class="number">3.5</td></tr></tbody>' in table


def test_rows_take_the_length_of_the_header():
    table = markdown_html("| a | b |\n|---|---|\n| 1 |\n| 1 | 2 | 3 |")
    assert "<tr><td>1</td><td></td></tr><tr><td>1</td><td>2</td></tr>" in table


def test_pipes_without_a_rule_are_a_paragraph():
    assert markdown_html("| a | b |") == "<p>| a | b |</p>"


def test_bold_and_code_and_bold_inside_code_as_written():
    assert markdown_html("**ε = 1**, `x**2**y`") == "<p><strong>ε = 1</strong>, <code>x**2**y</code></p>"


@pytest.mark.parametrize("frame", ["{}", "# {}", "- {}", "1. {}", "**{}**", "`{}`", "| {} |\n|---|\n| {} |"])
@pytest.mark.parametrize("hostile", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a & b </p>"])
def test_text_cannot_bring_tags_of_its_own(frame, hostile):
    page = markdown_html(frame.replace("{}", hostile))
    assert "<script" not in page
    assert "<img" not in page
    assert hostile not in page


def test_links_and_html_show_as_written():
    assert markdown_html("[x](javascript:alert(1))") == "<p>[x](javascript:alert(1))</p>"
