"""What the releases of a calendar year have cost, as a small chart with the budget as a line."""

from calendar import month_abbr
from dataclasses import dataclass
from datetime import date

from density_assets.publication.spending import Spending

WIDTH, HEIGHT = 560, 220
LEFT, RIGHT, TOP, BOTTOM = 40, 12, 14, 26


@dataclass(frozen=True)
class Axes:
    """From days of a year and epsilon to the picture."""

    year: int
    top: float

    def x(self, day: date) -> float:
        return LEFT + (day - date(self.year, 1, 1)).days / 366 * (WIDTH - LEFT - RIGHT)

    def y(self, epsilon: float) -> float:
        return HEIGHT - BOTTOM - epsilon / self.top * (HEIGHT - TOP - BOTTOM)


def spending_svg(spent: Spending, budget: float) -> str:
    """Epsilon after each week, as steps from January to December."""
    axes = Axes(int(spent.year), 1.15 * max(budget, *spent.epsilon))
    label = f"{spent.year}: epsilon {spent.epsilon[-1]:.3f} of {budget:g} after {len(spent.weeks)} weeks"
    return (
        f'<svg class="chart spending" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">'
        f"{_months(axes)}{_levels(axes)}{_steps(spent, axes)}{_limit(budget, axes)}</svg>"
    )


def _steps(spent: Spending, axes: Axes) -> str:
    points = [
        (axes.x(date.fromisoformat(week)), axes.y(epsilon), f"after the week of {week}: epsilon {epsilon:.3f}")
        for week, epsilon in zip(spent.weeks, spent.epsilon, strict=True)
    ]
    ground = f"{axes.y(0):.1f}"
    path = f"M{points[0][0]:.1f} {ground}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y, _ in points)
    path += f"H{min(points[-1][0] + 10, WIDTH - RIGHT):.1f}"
    dots = "".join(
        f'<circle class="step" cx="{x:.1f}" cy="{y:.1f}" r="2.6"><title>{text}</title></circle>'
        for x, y, text in points
    )
    return f'<path class="area" d="{path}V{ground}Z"/><path class="line" d="{path}"/>{dots}'


def _limit(budget: float, axes: Axes) -> str:
    y = axes.y(budget)
    return (
        f'<line class="limit" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text class="limit-name" x="{LEFT + 6}" y="{y - 6:.1f}">budget {budget:g}</text>'
    )


def _months(axes: Axes) -> str:
    starts = [(month, axes.x(date(axes.year, month, 1))) for month in range(1, 13)]
    return "".join(
        f'<line class="midnight" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
        f'<text x="{x + 4:.1f}" y="{HEIGHT - 8}">{month_abbr[month]}</text>'
        for month, x in starts
    )


def _levels(axes: Axes) -> str:
    """A line at each round step of epsilon, four or five of them."""
    step = next(size for size in _round_steps() if axes.top / size < 5.5)
    return "".join(
        f'<line class="grid{" zero" if not n else ""}" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{n * step:g}</text>'
        for n, y in ((n, axes.y(n * step)) for n in range(int(axes.top / step) + 1))
    )


def _round_steps() -> list[float]:
    return [digit * 10.0**power for power in range(-4, 6) for digit in (1, 2, 5)]
