"""The asset graph as a picture: one column per zone, the confidential left of the doors, the free right.

With columns in this order a leak would be visible: every edge that leaves the confidential side to the right must
start at a door. Drawn as SVG with the page's own styles, so it follows light and dark.
"""

import html
from collections.abc import Sequence
from dataclasses import dataclass

COLUMNS = {
    "evaluation": "Evaluation",
    "confidential": "Confidential",
    "mechanism": "Doors",
    "release": "Release",
    "public": "Public",
}
SECRET = ("evaluation", "confidential")
DOOR = "mechanism"
WIDTH, HEIGHT = 150, 28  # of a box
PITCH, GAP = 54, 96  # from box to box, and between columns
TOP, MARGIN = 74, 46


@dataclass(frozen=True)
class Node:
    """An asset, its zone and the assets it reads."""

    name: str
    zone: str
    reads: tuple[str, ...] = ()


@dataclass(frozen=True)
class Place:
    """The middle of a box, and the column it stands in."""

    x: float
    y: float
    column: int


def lineage_svg(nodes: Sequence[Node]) -> str:
    """The picture; reads of assets that are not among the nodes are left out."""
    columns = _columns(nodes)
    rows = max((len(column) for column in columns.values()), default=0)
    width, height = 2 * MARGIN + len(columns) * WIDTH + (len(columns) - 1) * GAP, TOP + rows * PITCH + MARGIN
    places = _places(columns, rows)
    edges = [(upstream, node) for node in nodes for upstream in node.reads if upstream in places]
    zones = {node.name: node.zone for node in nodes}
    parts = [
        _tips(),
        _grounds(list(columns), height),
        *(_edge(upstream, node.name, zones[upstream], places) for upstream, node in edges),
        *(_box(node, places[node.name]) for node in nodes),
    ]
    label = f"{len(nodes)} assets in {len(columns)} zones, {len(edges)} edges"
    return (
        f'<svg class="lineage" viewBox="0 0 {width} {height}" width="{width}" role="img" aria-label="{label}">'
        f"<style>{''.join(_highlight(node.name) for node in nodes)}</style>{''.join(parts)}</svg>"
    )


def depths(nodes: Sequence[Node]) -> dict[str, int]:
    """How many steps the longest way to each asset has."""
    reads = {node.name: [name for name in node.reads if name in {other.name for other in nodes}] for node in nodes}
    found: dict[str, int] = {}

    def depth(name: str) -> int:
        if name not in found:
            found[name] = 1 + max(map(depth, reads[name]), default=-1)
        return found[name]

    return {name: depth(name) for name in reads}


def _columns(nodes: Sequence[Node]) -> dict[str, list[str]]:
    """The assets of each zone, from sources down."""
    steps = depths(nodes)
    ordered = sorted(nodes, key=lambda node: (steps[node.name], node.name))
    columns = {zone: [node.name for node in ordered if node.zone == zone] for zone in COLUMNS}
    return {zone: names for zone, names in columns.items() if names}


def _places(columns: dict[str, list[str]], rows: int) -> dict[str, Place]:
    """Boxes of a column share its height evenly."""
    return {
        name: Place(MARGIN + WIDTH / 2 + i * (WIDTH + GAP), TOP + (j + 0.5) * rows * PITCH / len(names), i)
        for i, names in enumerate(columns.values())
        for j, name in enumerate(names)
    }


def _grounds(zones: list[str], height: float) -> str:
    """The names of the columns, the ground of the secret side, and the wall the doors stand in."""
    parts = []
    for i, zone in enumerate(zones):
        left = MARGIN + i * (WIDTH + GAP)
        kind = _kind(zone)
        x, wide = (left - 14, WIDTH + 28) if kind == "door" else (left - GAP / 2, WIDTH + GAP)
        if kind in ("secret", "door"):
            parts.append(f'<rect class="ground {kind}" x="{x:g}" y="8" width="{wide:g}" height="{height - 16:g}"/>')
        parts.append(f'<text class="zone-name" x="{left + WIDTH / 2:g}" y="36">{COLUMNS[zone]}</text>')
    return "".join(parts)


def _tips() -> str:
    """An arrow tip in each colour of edge."""
    tips = (
        f'<marker id="tip-{kind}" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="6" markerHeight="6" orient="auto" '
        f'markerUnits="userSpaceOnUse"><path class="tip from-{kind}" d="M0 0L6 3L0 6z"/></marker>'
        for kind in sorted(set(map(_kind, COLUMNS)))
    )
    return f"<defs>{''.join(tips)}</defs>"


def _kind(zone: str) -> str:
    """What decides how something is drawn."""
    return "secret" if zone in SECRET else "door" if zone == DOOR else zone


def _edge(upstream: str, name: str, zone: str, places: dict[str, Place]) -> str:
    start, end = places[upstream], places[name]
    ends = f'data-from="{html.escape(upstream)}" data-to="{html.escape(name)}"'
    tip = f'marker-end="url(#tip-{_kind(zone)})"'
    return f'<path class="edge from-{_kind(zone)}" {ends} {tip} d="{_curve(start, end)}"/>'


def _curve(start: Place, end: Place) -> str:
    """Between columns an S, within one an arc beside it.

    Past other columns the S hangs half a row lower in the middle, so that an edge never seems to start or end at a box
    it only passes.
    """
    if start.column == end.column:
        side = start.x - WIDTH / 2
        bulge = side - 12 - 0.11 * abs(end.y - start.y)
        return f"M{side:g} {start.y:g}C{bulge:g} {start.y:g} {bulge:g} {end.y:g} {side:g} {end.y:g}"
    towards = 1 if end.column > start.column else -1
    x0, x1 = start.x + towards * WIDTH / 2, end.x - towards * WIDTH / 2
    pull = towards * max(40.0, abs(x1 - x0) / 2.2)
    hang = PITCH * 2 / 3 if abs(end.column - start.column) > 1 else 0
    return f"M{x0:g} {start.y:g}C{x0 + pull:g} {start.y + hang:g} {x1 - pull:g} {end.y + hang:g} {x1:g} {end.y:g}"


def _box(node: Node, place: Place) -> str:
    name = html.escape(node.name)
    about = html.escape(f"{node.name} ({node.zone}) reads {', '.join(node.reads) or 'nothing'}")
    x, y = place.x - WIDTH / 2, place.y - HEIGHT / 2
    return (
        f'<g class="node {_kind(node.zone)}" data-asset="{name}"><title>{about}</title>'
        f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="4"/>'
        f'<text x="{place.x:g}" y="{place.y + 4:g}">{name}</text></g>'
    )


def _highlight(name: str) -> str:
    """Pointing at a box brings its edges forward, without any script."""
    here = f'.lineage:has([data-asset="{name}"]:hover)'
    return f'{here} .edge:is([data-from="{name}"],[data-to="{name}"]){{opacity:1;stroke-width:2.4}}'
