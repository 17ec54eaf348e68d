"""What releases have cost, with the budget as a line: one panel per calendar year."""

from collections.abc import Sequence
from datetime import date

from matplotlib.figure import Figure

from density_assets.publication.spending import Spending
from density_assets.research.plots.picture import INK, png

PANELS = 3
LINE, LIMIT = "#1d5c86", "#d9480f"


def spending_chart(years: Sequence[Spending], budget: float) -> bytes:
    """The newest years, in one row."""
    shown = years[-PANELS:]
    figure = Figure(figsize=(max(3.4 * len(shown), 5.0), 2.9), layout="constrained")
    panels = figure.subplots(1, len(shown), squeeze=False, sharey=True)[0]
    for axes, year in zip(panels, shown, strict=True):
        weeks = [date.fromisoformat(week) for week in year.weeks]
        axes.step(weeks, year.epsilon, where="post", color=LINE, linewidth=1.4, marker="o", markersize=3)
        axes.axhline(budget, color=LIMIT, linestyle="--", linewidth=1.2)
        axes.set_title(f"{year.year}: epsilon {year.epsilon[-1]:.3f} of {budget:g}", fontsize=10, color=INK, loc="left")
        axes.set_xlim(date(int(year.year), 1, 1), date(int(year.year), 12, 31))
        quarters = [date(int(year.year), month, 1) for month in (1, 4, 7, 10)]
        axes.set_xticks(quarters, [f"{day:%b}" for day in quarters])
        axes.set_ylim(0, 1.1 * max(budget, *year.epsilon))
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("epsilon so far", fontsize=9, color=INK)
    return png(figure)
