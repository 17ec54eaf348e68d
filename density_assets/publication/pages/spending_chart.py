"""What the releases of a calendar year have cost, as a small chart with the budget as a line.

This module turns weeks and epsilons into positions; templates/spending.svg draws them. The chart stands on the audit
page, a figure per year, and as a picture of its own in the UI, the newest years one below the other
(templates/spending_years.svg, which brings the style along).
"""

from calendar import month_abbr
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from density_assets.publication.pages.templates import render
from density_assets.publication.spending import Spending

WIDTH, HEIGHT = 560, 220
LEFT, RIGHT, TOP, BOTTOM = 40, 12, 14, 26
TITLE = 30  # room above a chart that stands in a picture of its own
NEWEST = 3  # years in that picture


@dataclass(frozen=True)
class Axes:
    """From days of a year and epsilon to the picture."""

    year: int
    top: float

    def x(self, day: date) -> float:
        return LEFT + (day - date(self.year, 1, 1)).days / 366 * (WIDTH - LEFT - RIGHT)

    def y(self, epsilon: float) -> float:
        return HEIGHT - BOTTOM - epsilon / self.top * (HEIGHT - TOP - BOTTOM)


@dataclass(frozen=True)
class Mark:
    """A line across the chart and what stands beside it."""

    position: float
    text: str


@dataclass(frozen=True)
class Step:
    """Epsilon after a week."""

    x: float
    y: float
    text: str


@dataclass(frozen=True)
class Chart:
    """A year in positions of the picture, ready to be drawn."""

    year: str
    summary: str
    steps: list[Step]
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


def spending_chart(spent: Spending, budget: float) -> Chart:
    """Epsilon after each week, as steps from January to December."""
    axes = Axes(int(spent.year), 1.15 * max(budget, *spent.epsilon))
    return Chart(
        year=spent.year,
        summary=f"epsilon {spent.epsilon[-1]:.3f} of {budget:g} after {spent.count}",
        steps=_steps(spent, axes),
        months=[Mark(axes.x(date(axes.year, month, 1)), month_abbr[month]) for month in range(1, 13)],
        levels=_levels(axes),
        limit=Mark(axes.y(budget), f"budget {budget:g}"),
    )


def _steps(spent: Spending, axes: Axes) -> list[Step]:
    return [
        Step(axes.x(date.fromisoformat(week)), axes.y(epsilon), f"after the week of {week}: epsilon {epsilon:.3f}")
        for week, epsilon in zip(spent.weeks, spent.epsilon, strict=True)
    ]


def _levels(axes: Axes) -> list[Mark]:
    """A line at each round step of epsilon, four or five of them."""
    step = next(size for size in _round_steps() if axes.top / size < 5.5)
    return [Mark(axes.y(n * step), f"{n * step:g}") for n in range(int(axes.top / step) + 1)]


def _round_steps() -> list[float]:
    return [digit * 10.0**power for power in range(-4, 6) for digit in (1, 2, 5)]
