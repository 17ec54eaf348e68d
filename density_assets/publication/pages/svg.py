"""Two pictures of the audit page: the asset graph, and what releases have cost.

Python finds the place of everything, templates draw it with the page's own styles, so that pictures follow light and
dark. The asset graph (lineage.svg) has one column per zone, the confidential left of the doors, the free right: with
columns in this order a leak would be visible, since every edge that leaves the confidential side to the right must
start at a door. What releases of a calendar year have cost (spending.svg) is a figure per year with the budget as a
line; the UI shows the newest years one below the other (spending_years.svg, which brings the style along).
"""

from calendar import month_abbr
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from density_assets.privacy.zones import Zone
from density_assets.publication.pages.templates import render
from density_assets.publication.spending import Spending

ZONES = {  # in the order of the picture
    Zone.EVALUATION: "Evaluation",
    Zone.CONFIDENTIAL: "Confidential",
    Zone.MECHANISM: "Doors",
    Zone.RELEASE: "Release",
    Zone.PUBLIC: "Public",
}
BOX_WIDTH, BOX_HEIGHT = 150, 28  # of a box
PITCH, GAP = 54, 96  # from box to box, and between columns
COLUMNS_TOP, MARGIN = 74, 46

WIDTH, HEIGHT = 560, 220  # of a chart
LEFT, RIGHT, TOP, BOTTOM = 40, 12, 14, 26
TITLE = 30  # room above a chart that stands in a picture of its own
NEWEST = 3  # years in that picture
ROUND_STEPS = [digit * 10.0**power for power in range(-4, 6) for digit in (1, 2, 5)]


@dataclass(frozen=True)
class Node:
    """An asset, its zone and the assets it reads."""

    name: str
    zone: Zone
    reads: tuple[str, ...] = ()


@dataclass(frozen=True)
class Box:
    """An asset where it stands: the middle of its box, and the number of its column.

    number: what style rules call it, since a name could be more than a name in a rule.
    """

    number: int
    name: str
    kind: str
    about: str
    x: float
    y: float
    column: int

    @property
    def left(self) -> float:
        return self.x - BOX_WIDTH / 2

    @property
    def top(self) -> float:
        return self.y - BOX_HEIGHT / 2


@dataclass(frozen=True)
class Edge:
    """That `end` reads `start`, in the colour of where it comes from."""

    start: Box
    end: Box

    @property
    def kind(self) -> str:
        return self.start.kind

    @property
    def path(self) -> str:
        return _curve(self.start, self.end)


@dataclass(frozen=True)
class ZoneColumn:
    """The name of a zone and the ground its boxes stand on: of the secret side, or the wall the doors stand in."""

    title: str
    kind: str
    middle: float

    @property
    def width(self) -> int:
        return BOX_WIDTH + (28 if self.kind == "door" else GAP)

    @property
    def x(self) -> float:
        return self.middle - self.width / 2


@dataclass(frozen=True)
class Lineage:
    """Everything the picture shows, in its own units."""

    columns: list[ZoneColumn]
    boxes: list[Box]
    edges: list[Edge]
    width: int
    height: int
    box_width: int = BOX_WIDTH
    box_height: int = BOX_HEIGHT

    @property
    def kinds(self) -> list[str]:
        """Each colour of edge; every one has an arrow tip."""
        return sorted(set(map(_kind, ZONES)))

    @property
    def label(self) -> str:
        return f"{len(self.boxes)} assets in {len(self.columns)} zones, {len(self.edges)} edges"


def lineage(nodes: Sequence[Node]) -> Lineage:
    """The places of everything; reads of assets that are not among the nodes are left out."""
    zones = _zones(nodes)
    rows = max(map(len, zones.values()), default=0)
    boxes = _boxes(nodes, zones, rows)
    return Lineage(
        columns=[ZoneColumn(ZONES[zone], _kind(zone), _middle(i)) for i, zone in enumerate(zones)],
        boxes=list(boxes.values()),
        edges=[Edge(boxes[name], boxes[node.name]) for node in nodes for name in node.reads if name in boxes],
        width=2 * MARGIN + len(zones) * BOX_WIDTH + (len(zones) - 1) * GAP,
        height=COLUMNS_TOP + rows * PITCH + MARGIN,
    )


def depths(nodes: Sequence[Node]) -> dict[str, int]:
    """How many steps the longest way to each asset has; what an asset says of the week before is no step."""
    names = {node.name for node in nodes}
    reads = {node.name: [name for name in node.reads if name in names - {node.name}] for node in nodes}
    steps: dict[str, int] = {}

    def depth(name: str) -> int:
        if name not in steps:
            steps[name] = 1 + max(map(depth, reads[name]), default=-1)
        return steps[name]

    return {name: depth(name) for name in reads}


def _zones(nodes: Sequence[Node]) -> dict[Zone, list[str]]:
    """The assets of each zone that has some, from sources down."""
    steps = depths(nodes)
    ordered = sorted(nodes, key=lambda node: (steps[node.name], node.name))
    zones = {zone: [node.name for node in ordered if node.zone == zone] for zone in ZONES}
    return {zone: names for zone, names in zones.items() if names}


def _boxes(nodes: Sequence[Node], zones: dict[Zone, list[str]], rows: int) -> dict[str, Box]:
    """A box per asset, in the order of the nodes; boxes of a column share its height evenly."""
    columns = {zone: i for i, zone in enumerate(zones)}
    boxes = {}
    for number, node in enumerate(nodes):
        column, names = columns[node.zone], zones[node.zone]
        y = COLUMNS_TOP + (names.index(node.name) + 0.5) * rows * PITCH / len(names)
        about = f"{node.name} ({node.zone}) reads {', '.join(node.reads) or 'nothing'}"
        boxes[node.name] = Box(number, node.name, _kind(node.zone), about, _middle(column), y, column)
    return boxes


def _middle(column: int) -> float:
    return MARGIN + BOX_WIDTH / 2 + column * (BOX_WIDTH + GAP)


def _kind(zone: Zone) -> str:
    """What decides how something is drawn."""
    return "secret" if zone.secret else "door" if zone is Zone.MECHANISM else zone.value


def _curve(start: Box, end: Box) -> str:
    """Between columns an S, within one an arc beside it, from a box to itself (the week before) a loop.

    Past other columns the S hangs half a row lower in the middle, so that an edge never seems to start or end at a box
    it only passes.
    """
    if start is end:
        side, above, below = start.left, start.y - BOX_HEIGHT / 3, start.y + BOX_HEIGHT / 3
        return f"M{side:g} {above:g}C{side - 24:g} {above - 9:g} {side - 24:g} {below + 9:g} {side:g} {below:g}"
    if start.column == end.column:
        side = start.left
        bulge = side - 12 - 0.11 * abs(end.y - start.y)
        return f"M{side:g} {start.y:g}C{bulge:g} {start.y:g} {bulge:g} {end.y:g} {side:g} {end.y:g}"
    towards = 1 if end.column > start.column else -1
    x0, x1 = start.x + towards * BOX_WIDTH / 2, end.x - towards * BOX_WIDTH / 2
    pull = towards * max(40.0, abs(x1 - x0) / 2.2)
    hang = PITCH * 2 / 3 if abs(end.column - start.column) > 1 else 0
    return f"M{x0:g} {start.y:g}C{x0 + pull:g} {start.y + hang:g} {x1 - pull:g} {end.y + hang:g} {x1:g} {end.y:g}"


@dataclass(frozen=True)
class Mark:
    """A line across the chart and what stands beside it."""

    position: float
    text: str


@dataclass(frozen=True)
class CostStep:
    """Epsilon after a week."""

    x: float
    y: float
    text: str


@dataclass(frozen=True)
class CostChart:
    """A year in positions of the picture, ready to be drawn."""

    year: str
    summary: str
    steps: list[CostStep]
    months: list[Mark]
    levels: list[Mark]
    limit: Mark
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM

    @property
    def path(self) -> str:
        """Up from zero at the first week, and a little further than the last."""
        rises = "".join(f"H{step.x:.1f}V{step.y:.1f}" for step in self.steps)
        return f"M{self.steps[0].x:.1f} {self.bottom}{rises}H{min(self.steps[-1].x + 10, self.right):.1f}"


def spending_svg(years: Sequence[Spending], budget: float) -> str:
    """A picture that stands alone: the newest years, one below the other."""
    charts = [spending_chart(year, budget) for year in years[-NEWEST:]]
    panel = TITLE + HEIGHT
    size = {"width": WIDTH, "height": len(charts) * panel, "panel": panel, "title": TITLE}
    return render("spending_years.svg", charts=charts, **size)


def spending_chart(spending: Spending, budget: float) -> CostChart:
    """Epsilon after each week, as steps from January to December."""
    year, highest = int(spending.year), 1.15 * max(budget, *spending.epsilon)

    def x(day: date) -> float:
        return LEFT + (day - date(year, 1, 1)).days / 366 * (WIDTH - LEFT - RIGHT)

    def y(epsilon: float) -> float:
        return HEIGHT - BOTTOM - epsilon / highest * (HEIGHT - TOP - BOTTOM)

    level = next(step for step in ROUND_STEPS if highest / step < 5.5)  # four or five lines
    return CostChart(
        year=spending.year,
        summary=f"epsilon {spending.epsilon[-1]:.3f} of {budget:g} after {spending.count}",
        steps=[
            CostStep(x(date.fromisoformat(week)), y(epsilon), f"after the week of {week}: epsilon {epsilon:.3f}")
            for week, epsilon in zip(spending.weeks, spending.epsilon, strict=True)
        ],
        months=[Mark(x(date(year, month, 1)), month_abbr[month]) for month in range(1, 13)],
        levels=[Mark(y(n * level), f"{n * level:g}") for n in range(int(highest / level) + 1)],
        limit=Mark(y(budget), f"budget {budget:g}"),
    )
