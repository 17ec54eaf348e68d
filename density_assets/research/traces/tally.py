"""How many records a reader of traces used, in words: every study that takes DATA says it above its results."""

from collections.abc import Mapping
from dataclasses import dataclass

from density_assets.calendar import HOURS
from density_assets.research.traces.recipe import Recipe


@dataclass(frozen=True)
class Tally:
    """How many records were read, how many of them could not be used by reason, and whose the others are."""

    recipe: Recipe
    records: int
    left_out: Mapping[str, int]
    users: int

    @property
    def used(self) -> int:
        """Records that were used."""
        return self.records - sum(self.left_out.values())

    def __str__(self) -> str:
        """The report, as a paragraph."""
        left_out = ", ".join(f"{count:,} {reason}" for reason, count in self.left_out.items()) or "nothing"
        read = f"{self.records:,} records read, {self.used:,} kept (users: {self.users:,}). Left out: {left_out}."
        return f"{read} {when(self.recipe)}{where(self.recipe)}"


def when(recipe: Recipe) -> str:
    """The hours that are kept, and whose clocks count them; those of tables of visits are counted already."""
    weeks = f"{recipe.weeks} week{'s' if recipe.weeks > 1 else ''}"
    if recipe.kind == "visits":
        return f"{recipe.weeks * HOURS} hours: {weeks}."
    zone = recipe.timezone or f"UTC{recipe.utc_offset:+g}"
    return f"{recipe.weeks * HOURS} hours: {weeks} from {recipe.first_week}, on clocks of {zone}."


def where(recipe: Recipe) -> str:
    """The box and the grid of GPS points; others have stations."""
    if recipe.kind != "gps":
        return ""
    box = f"latitude {recipe.south:g} to {recipe.north:g}, longitude {recipe.west:g} to {recipe.east:g}"
    return f" Box: {box}, a grid of {recipe.rows} x {recipe.columns} (rows x columns)."
