"""The part of Markdown that statements use, as HTML: headings, paragraphs, lists, tables, `code` and **bold**.

Every character of the text is escaped before any tag is added, so the text cannot bring tags of its own; what is not
in this subset (links, images, HTML) shows as it was written.
"""

import html
import re
from collections.abc import Callable

Block = tuple[str, list[str]]

HEADING = re.compile(r"(#{1,6})\s+(.*)")
MARKER = {"ul": re.compile(r"\s*[-*+]\s+"), "ol": re.compile(r"\s*\d+[.)]\s+")}
RULE_CELL = re.compile(r":?-+:?")
TOP_LEVEL = 2  # a page has one h1, its title, so "#" becomes h2


def markdown_html(text: str) -> str:
    """The text as HTML blocks, one per line of the answer."""
    return "\n".join(RENDER[kind](lines) for kind, lines in _blocks(text))


def _blocks(text: str) -> list[Block]:
    """Consecutive lines of one kind; a plain line right below a list item continues the item."""
    blocks: list[Block] = []
    previous = "blank"
    for line in text.splitlines():
        kind = _kind(line)
        if kind == "p" and previous in MARKER:
            kind, blocks[-1][1][-1] = previous, f"{blocks[-1][1][-1]} {line.strip()}"
        elif kind == previous and kind != "h":
            blocks[-1][1].append(line)
        elif kind != "blank":
            blocks.append((kind, [line]))
        previous = kind
    return blocks


def _kind(line: str) -> str:
    if not line.strip():
        return "blank"
    if HEADING.match(line):
        return "h"
    if line.lstrip().startswith("|"):
        return "table"
    return next((kind for kind, marker in MARKER.items() if marker.match(line)), "p")


def _inline(text: str) -> str:
    """Escape, then mark `code` and **bold**; bold inside code stays as written."""
    pieces = re.split(r"`([^`]+)`", html.escape(text.strip()))
    bold = [re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", piece) for piece in pieces[::2]]
    code = [f"<code>{piece}</code>" for piece in pieces[1::2]]
    return "".join(piece for pair in zip(bold, [*code, ""], strict=True) for piece in pair)


def _heading(lines: list[str]) -> str:
    match = HEADING.match(lines[0])
    assert match is not None  # this is how the line became a heading
    level = min(len(match[1]) + TOP_LEVEL - 1, 6)
    return f"<h{level}>{_inline(match[2])}</h{level}>"


def _paragraph(lines: list[str]) -> str:
    return f"<p>{_inline(' '.join(line.strip() for line in lines))}</p>"


def _list(kind: str) -> Callable[[list[str]], str]:
    def render(lines: list[str]) -> str:
        items = "".join(f"<li>{_inline(MARKER[kind].sub('', line, count=1))}</li>" for line in lines)
        return f"<{kind}>{items}</{kind}>"

    return render


def _table(lines: list[str]) -> str:
    """A header row, a rule that also aligns (`---:` is right), then rows of the header's length."""
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
    if len(rows) < 2 or not all(RULE_CELL.fullmatch(cell) for cell in rows[1]):
        return _paragraph(lines)
    header, rule, *body = rows
    right = [cell.endswith(":") and not cell.startswith(":") for cell in rule] + [False] * len(header)
    head = _row("th", header, right)
    rest = "".join(_row("td", [*row, *[""] * len(header)][: len(header)], right) for row in body)
    return f'<div class="scroll"><table><thead>{head}</thead><tbody>{rest}</tbody></table></div>'


def _row(tag: str, cells: list[str], right: list[bool]) -> str:
    style = [' class="number"' if aligned else "" for aligned in right]
    return f"<tr>{''.join(f'<{tag}{style[i]}>{_inline(cell)}</{tag}>' for i, cell in enumerate(cells))}</tr>"


RENDER: dict[str, Callable[[list[str]], str]] = {
    "h": _heading,
    "p": _paragraph,
    "ul": _list("ul"),
    "ol": _list("ol"),
    "table": _table,
}
