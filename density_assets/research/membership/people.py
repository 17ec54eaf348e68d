"""Whom attacks and defenses are tried on, and what an adversary knows of them beforehand.

Traces are those a person brings, or of a generated city of commuters. Victims are of three mobility groups, the same
number of each (Pyrgelis et al., §3.1). An adversary's prior is the groups she trains on and is challenged with (§2.2):
rows of a sparse matrix over users, half of which hold the victim; all have one size, so that size tells nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from density_assets.errors import BadInput
from density_assets.research.membership.defenses import Groups
from density_assets.research.study import Source
from density_assets.research.traces.commuters import commuters
from density_assets.research.traces.matrix import Matrix, Traces
from density_assets.research.traces.readers import study_traces
from density_assets.research.traces.recipe import Prior, Recipe, Tally
from density_assets.series import Floats, Ints

MOBILITY = ("barely mobile", "somewhat mobile", "highly mobile")
PER_GROUP = 50


def mobility_groups(traces: Traces) -> tuple[Ints, Ints, Ints]:
    """Users in three equal parts by their number of points; users without any are left out."""
    points = np.diff(traces.matrix.indptr)
    order = np.argsort(points, kind="stable")
    low, middle, high = np.array_split(order[points[order] > 0], 3)
    return low, middle, high


def choose_victims(traces: Traces, seed: int, per_group: int = PER_GROUP) -> Ints:
    """Victims of each mobility group, drawn at random: (groups, victims); fewer where a group is smaller."""
    rng = np.random.default_rng(seed)
    groups = mobility_groups(traces)
    count = min(per_group, *(len(group) for group in groups))
    return np.stack([rng.permutation(group)[:count] for group in groups])


TRAINING = 0.8  # of the samples, where training and challenge are drawn alike (§3.2)
PRIORS: tuple[Prior, ...] = ("subset_of_locations", "same_groups", "different_groups")


@dataclass(frozen=True)
class SeenGroups:
    """Groups whose aggregates are seen in some weeks, and whether the victim is among them."""

    weeks: tuple[int, ...]
    members: Matrix
    holds: NDArray[np.bool_]


@dataclass(frozen=True)
class Game:
    """What the adversary trains on and what she is challenged with."""

    training: SeenGroups
    challenge: SeenGroups


def subset_of_locations(
    users: int, victim: int, *, share: float, size: int, samples: int, rng: np.random.Generator
) -> Game:
    """She knows the traces of a share of the users, the victim's among them, in the week of the challenge itself."""
    known = max(round(share * users), 3)
    others = rng.permutation(np.delete(np.arange(users), victim))[: known - 1]
    seen = _balanced(users, victim, others, min(size, len(others)), samples, (0,), rng)
    order = rng.permutation(samples)
    cut = round(TRAINING * samples)
    return Game(_part(seen, order[:cut]), _part(seen, order[cut:]))


def past_groups(
    users: int, victim: int, *, weeks: int, size: int, groups: int, same: bool, rng: np.random.Generator
) -> Game:
    """She knows who was in groups seen in all weeks but the last, and is challenged on the last: the same or others."""
    if weeks < 2:
        raise BadInput(f"the priors about past groups need at least two weeks of traces, got {weeks}")
    others = np.delete(np.arange(users), victim)
    size = min(size, len(others))
    training = _balanced(users, victim, others, size, groups, tuple(range(weeks - 1)), rng)
    challenge = training if same else _balanced(users, victim, others, size, groups, (), rng)
    return Game(training, SeenGroups((weeks - 1,), challenge.members, challenge.holds))


def one_more(users: int, victim: int, *, size: int, samples: int, rng: np.random.Generator) -> Game:
    """Groups of `size` others, half of them with the victim added: neighbours as differential privacy means them."""
    others = np.delete(np.arange(users), victim)
    holds = np.arange(samples) % 2 == 0
    members = _with_victim(_drawn(users, others, np.full(samples, min(size, len(others))), rng), victim, holds)
    cut = round(TRAINING * samples)
    seen = SeenGroups((0,), members, holds)
    return Game(_part(seen, np.arange(cut)), _part(seen, np.arange(cut, samples)))


def _balanced(
    users: int, victim: int, others: Ints, size: int, count: int, weeks: tuple[int, ...], rng: np.random.Generator
) -> SeenGroups:
    holds = np.arange(count) % 2 == 0
    members = _with_victim(_drawn(users, others, size - holds.astype(np.int64), rng), victim, holds)
    return SeenGroups(weeks, members, holds)


def _drawn(users: int, pool: Ints, sizes: Ints, rng: np.random.Generator) -> Matrix:
    """One random group of each size from the pool, as rows."""
    rank = np.argsort(rng.random((len(sizes), len(pool)), dtype=np.float32), axis=1)
    row, column = np.nonzero(np.arange(len(pool)) < sizes[:, None])
    chosen = pool[rank[row, column]]
    return csr_array((np.ones(len(row), np.int32), (row, chosen)), shape=(len(sizes), users))


def _with_victim(members: Matrix, victim: int, holds: NDArray[np.bool_]) -> Matrix:
    rows = np.flatnonzero(holds)
    one = csr_array((np.ones(len(rows), np.int32), (rows, np.full(len(rows), victim))), shape=members.shape)
    return csr_array(members + one)


def _part(seen: SeenGroups, rows: Sequence[Any] | NDArray[Any]) -> SeenGroups:
    return SeenGroups(seen.weeks, seen.members[rows], seen.holds[rows])


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
class AttackedPeople:
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

    def groups(self, seen: SeenGroups, sampled_with: tuple[int, ...] | None = None) -> list[Groups]:
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


def volume(traces: Traces) -> dict[str, Floats]:
    """How much there is of each user: events (points), unique locations and active slots."""
    user, roi, hour = traces.points()
    users = len(traces.users)
    return {
        "total events": count_per_user(user, users),
        "unique locations": count_per_user(np.unique(user * traces.rois + roi) // traces.rois, users),
        "active slots": count_per_user(np.unique(user * traces.hours + hour) // traces.hours, users),
    }


def count_per_user(user: Ints, users: int) -> Floats:
    """Return how often each user occurs."""
    return np.bincount(user, minlength=users).astype(np.float64)


def load_people(source: Source) -> AttackedPeople:
    """The traces DATA names, as the recipe beside them says; without DATA, a generated city."""
    tally: Tally | None = None
    if source.data is None:
        traces, recipe = commuters(USERS, GENERATED.weeks, SEED), GENERATED
    else:
        reading, recipe = study_traces(source.data, source.settings)
        traces, tally = reading.traces, reading.tally
    people = AttackedPeople(traces, recipe, choose_victims(traces, SEED), tally)
    _ = people.weeks  # before workers are forked: they inherit it
    source.report(people.described)
    return people
