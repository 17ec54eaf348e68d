"""What the studies of attacks and defenses work on: traces a person brings, or a generated city of commuters."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from density_assets.research.membership.defenses.groups import Groups
from density_assets.research.membership.mobility import volume
from density_assets.research.membership.priors import Game, Seen, past_groups, subset_of_locations
from density_assets.research.membership.victims import choose_victims
from density_assets.research.study import Source
from density_assets.research.traces.commuters import commuters
from density_assets.research.traces.files import study_traces
from density_assets.research.traces.matrix import Traces
from density_assets.research.traces.recipe import Prior, Recipe
from density_assets.research.traces.tally import Tally

USERS, SEED = 300, 2008
# The generated city is small enough for minutes: a tenth of the published 2,000 samples. Its people are sparse, like
# commuters on a network, so PSC has the constants of London.
GENERATED = Recipe(
    known_share=0.5,
    known_group=100,
    past_groups=100,
    past_group=150,
    defended_share=0.5,
    defended_group=100,
    small_epsilon=1.0,
    small_count=5,
    fourier_coefficients=20,
    samples=240,
)
UNPLACED = " Where the stations are is not known, so SPG is left out: name a list as `stations` in traces.toml."


@dataclass(frozen=True)
class People:
    """Traces, how to attack them, and whom.

    victims: (mobility groups, victims). tally: what was read of files; None where people are generated.
    """

    traces: Traces
    recipe: Recipe
    victims: NDArray[np.int64]
    tally: Tally | None = None

    @cached_property
    def described(self) -> str:
        """Who was read, as the publication describes its data (§2.1): means ± deviations over users."""
        events, places, slots = volume(self.traces).values()
        read = "Generated people." if self.tally is None else str(self.tally)
        return (
            f"{len(events):,} users with {events.mean():,.0f} ± {events.std():,.0f} events, {places.mean():.1f} ± "
            f"{places.std():.1f} of {self.traces.rois} ROIs and {slots.mean():.0f} ± {slots.std():.0f} active slots of "
            f"{self.traces.hours} hours. {read}{'' if self.traces.placed else UNPLACED}"
        )

    @cached_property
    def weeks(self) -> list[Traces]:
        """The traces of each week."""
        return [self.traces.week(number) for number in range(self.traces.weeks)]

    def groups(self, seen: Seen, sampled_with: tuple[int, ...] | None = None) -> list[Groups]:
        """The groups of a game in each week they are seen in; sampled_with: the seed of what is sampled once."""
        seeds = [None if sampled_with is None else (*sampled_with, week) for week in seen.weeks]
        return [Groups(self.weeks[week], seen.members, seed) for week, seed in zip(seen.weeks, seeds, strict=True)]

    def game(self, prior: Prior, victim: int, rng: np.random.Generator, *, defended: bool = False) -> Game:
        """The adversary's prior and challenge, as the recipe sizes them; `defended`: in the setting of defenses."""
        users, recipe = len(self.traces.users), self.recipe
        if prior == "subset_of_locations":
            share = recipe.defended_share if defended else recipe.known_share
            size = recipe.defended_group if defended else recipe.known_group
            return subset_of_locations(users, victim, share=share, size=size, samples=recipe.samples, rng=rng)
        size = recipe.defended_group if defended else recipe.past_group
        return past_groups(
            users,
            victim,
            weeks=self.traces.weeks,
            size=size,
            groups=recipe.past_groups,
            same=prior == "same_groups",
            rng=rng,
        )


def load_people(source: Source) -> People:
    """The traces DATA names, as the recipe beside them says; without DATA, a generated city."""
    tally: Tally | None = None
    if source.data is None:
        traces, recipe = commuters(USERS, GENERATED.weeks, SEED), GENERATED
    else:
        reading, recipe = study_traces(source.data, source.settings)
        traces, tally = reading.traces, reading.tally
    people = People(traces, recipe, choose_victims(traces, SEED), tally)
    _ = people.weeks  # before workers are forked: they inherit it
    source.report(people.described)
    return people
