"""Studies: one by name, or several on one page of results.

Research is loaded by name, when one of its commands is run: nothing that makes a release imports it.
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from density_assets.cli.options import SettingsFile, Week, chosen_week

if TYPE_CHECKING:
    from density_assets.research.study import Source

Repetitions = Annotated[
    int | None, typer.Option("--repetitions", min=1, help="By default as many as a study declares, mostly 20.")
]


def study(
    name: Annotated[str, typer.Argument(help="The name of the study; a wrong one lists them all.")],
    settings: SettingsFile = None,
    week: Week = None,
    repetitions: Repetitions = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Files of traces, for studies that can use them, and traces.toml."),
    ] = None,
) -> int:
    """Answer one question with seeded repetitions: table, figures, summary."""
    from density_assets.graph.terminal import say

    chosen = research("studies").study_named(name)
    outcome = research("study").conduct(chosen, _source(week, data), repetitions or chosen.repetitions, say)
    print(f"{outcome.summary}\n{outcome.folder}")
    return 0


def technique(
    name: Annotated[str, typer.Argument(help="The name of the technique; a wrong one lists them all.")],
    parameters: Annotated[list[str] | None, typer.Argument(metavar="NAME=VALUE", help="Its parameters.")] = None,
    settings: SettingsFile = None,
    week: Week = None,
    people: Annotated[int, typer.Option("--people", min=1, help="Invented people, without --data.")] = 20_000,
    places: Annotated[int, typer.Option("--places", min=18, help="Places of their town.")] = 150,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the town and of all draws.")] = 0,
    data: Annotated[Path | None, typer.Option("--data", help="Files of traces; the output stays confidential.")] = None,
) -> int:
    """Try one way to publish a week: answers, trajectories or density. Never releasable."""
    trying = research("approaches.trying")
    chosen, source = research("approaches.techniques").technique_named(name), _source(week, data)
    values = trying.chosen(chosen, parameters or [])
    print(trying.attempt(chosen, values, trying.population(source, people, places, seed), seed, source))
    return 0


def results(
    # `--studies a b c`: the option takes one name, the argument those that follow it.
    more: Annotated[
        list[str] | None, typer.Argument(metavar="STUDY", help="More studies to run, after --studies or without it.")
    ] = None,
    settings: SettingsFile = None,
    week: Week = None,
    repetitions: Repetitions = None,
    studies: Annotated[
        list[str] | None,
        typer.Option(
            "--studies",
            metavar="STUDY...",
            help="The studies to run; by default those of releases of the city's week.",
        ),
    ] = None,
    page: Annotated[Path, typer.Option("--page", help="The page to write.")] = Path("docs/results.md"),
) -> int:
    """Run studies and write the results page with their tables and figures."""
    research("results").write_results(_source(week, None), [*(studies or []), *(more or [])], repetitions, page)
    print(page)
    return 0


def _source(week: str | None, data: Path | None) -> "Source":
    """The city and week that the options name, as studies take them."""
    from density_assets.city import City
    from density_assets.graph.terminal import say

    city = City.here()
    city.refuse_our_files()
    source: Source = research("study").Source(city.settings, city.store, chosen_week(week, city), data, say)
    return source


def research(module: str) -> Any:
    """Return a module of research."""
    return import_module(f"density_assets.research.{module}")
