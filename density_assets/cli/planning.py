"""Planning: what a city's weeks will be worth at which promise, before anything is spent."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from density_assets.cli.options import SettingsFile
from density_assets.cli.studies import research
from density_assets.errors import BadInput

if TYPE_CHECKING:
    from density_assets.city import City
    from density_assets.research.weeks.rehearsal import Rehearsal


def plan(
    settings: SettingsFile = None,
    epsilons: Annotated[str, typer.Option("--epsilons", help="Promises of one week to try.")] = "0.1,0.3,1",
    people: Annotated[
        int | None,
        typer.Option(
            "--people",
            min=1,
            help="How many people the records are of, if settings do not say: inhabitants times market share.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="The default scheme and the first four weeks only, without intervals.")
    ] = False,
    out: Annotated[Path, typer.Option("--out", help="Folder of the table and the figure.")] = Path(),
) -> int:
    """Rehearse a city's weeks with invented people on its own geography: which errors to expect, at no charge."""
    from density_assets.city import City
    from density_assets.graph.terminal import say

    city = City.here()
    city.refuse_our_files()
    asked = _asked(city, epsilons, people, quick=quick)
    rehearsal, ground = research("weeks.rehearsal"), research("weeks.cities").Ground.of(city.settings)
    with tempfile.TemporaryDirectory() as folder:
        table = rehearsal.average_errors(rehearsal.rehearse(ground, asked, Path(folder), say))
    print(
        f"{city.name}: {len(ground.cells):,} cells, {len(ground.towers):,} sites, {asked.people:,} invented people, "
        f"delta {asked.delta:g}. No record was read and nothing was charged.\n\n{rehearsal.summary(table, asked.weeks)}"
    )
    out.mkdir(parents=True, exist_ok=True)
    files = [out / f"plan_{city.name}.{kind}" for kind in ("csv", "png", "svg")]
    table.write_csv(files[0])
    figure = research("plots.curves").over_weeks(table)
    for file in files[1:]:
        figure.savefig(file, dpi=150)
    print("\n" + "\n".join(map(str, files)))
    invented = "beside the invented one" if quick else "outside of what two invented ones span"
    print(f"a real city may lie {invented}; `density budget` says how many weeks fit")
    return 0


def _asked(city: "City", epsilons: str, people: int | None, *, quick: bool) -> "Rehearsal":
    from density_assets.schemes import released_with

    rehearsal = research("weeks.rehearsal")
    number = people or city.settings.city.people
    if number is None:
        raise BadInput(
            "a rehearsal must know how many people the records are of, inhabitants times your market share, a public "
            "figure: set city.population or give --people; records are never counted for it"
        )
    privacy = city.settings.privacy
    asked: Rehearsal = rehearsal.Rehearsal(
        number, _epsilons(city, epsilons), privacy.delta, seed=city.settings.city.seed
    )
    if quick:
        return replace(asked, **rehearsal.QUICK)
    return replace(asked, beside=tuple(name for name in asked.beside if released_with(name, city.settings)))


def _epsilons(city: "City", text: str) -> tuple[float, ...]:
    try:
        numbers = sorted({float(each) for each in text.split(",")})
    except ValueError:
        raise BadInput(f"--epsilons must be numbers such as 0.1,0.3,1; got {text!r}") from None
    for number in numbers:
        city.settings.with_epsilon(number)  # held to the limits of settings
    return tuple(numbers)
