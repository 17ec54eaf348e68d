"""What studies found as Markdown: tables, and the results page of several studies beside their pictures."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from density_assets.research.published_metrics import EMD_HOURS
from density_assets.research.studies import STUDIES, study_named
from density_assets.research.study import Outcome, Source, Study, conduct
from resources.tables.files import write_durably

DIGITS = {"mre": 3, "pc": 4, "emd": 0}


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]], align: str = "") -> str:
    """A table; `align` has one of l and r per column, r for the columns it does not reach."""
    rules = ["---" if mark == "l" else "--:" for mark in align.ljust(len(head), "r")]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rules, *rows))


def figure_cell(row: Mapping[str, Any], metric: str, digits: int | None = None) -> str:
    """Mean ± standard deviation of a metric, as `averaged` gives them."""
    places = DIGITS.get(metric, 3) if digits is None else digits
    return f"{row[metric]:.{places}f} ± {row[metric + '_sd']:.{places}f}"


def write_results(source: Source, names: Iterable[str], repetitions: int | None, page: Path) -> None:
    """Conduct studies (finished repetitions are kept) and write one page; it appears whole or not at all.

    names: by default the studies of releases of the city's week; the others bring people of their own.
    """
    studies = [study_named(name) for name in names]
    studies = studies or [study for study in map(study_named, STUDIES) if study.tables]
    pictures = page.parent / "images" / page.stem
    pictures.mkdir(parents=True, exist_ok=True)
    sections = []
    for study in studies:
        outcome = conduct(study, source, repetitions or study.repetitions, source.report)
        for title, picture in outcome.pictures.items():
            (pictures / f"{title}.png").write_bytes(picture)
        sections.append(_section(outcome, pictures.relative_to(page.parent)))
    write_durably(page, "\n".join([_head(source, studies), *sections]).encode())


def _section(outcome: Outcome, pictures: Path) -> str:
    shown = "".join(f"\n![{title.replace('_', ' ')}]({pictures / title}.png)\n" for title in outcome.pictures)
    return f"{outcome.summary}\nRepetitions of each line: {outcome.results['seed'].n_unique()}.\n{shown}"


def _head(source: Source, studies: list[Study[Any]]) -> str:
    city = source.settings.city
    return (
        f"# Results: {city.name}\n\n"
        f"Written by `make results`, which runs the studies below and keeps what is finished. {city.simulated_users:,} "
        "simulated people; seeded noise, mean ± standard deviation over repetitions; settings that no line names are "
        "the city's. MRE and PC are those of Acs & Castelluccia (2014), against the original series of the cells. EMD "
        f"is the mean over {len(EMD_HOURS)} hours, every seventh of the week and so each hour of the day once; over "
        "all 168 where it is shown hour by hour. `−`: without the improvements of §5.4. `published` reproduces the "
        "papers' constants, `sound` is what may be released. What follows from the numbers, and where they differ from "
        "the papers, is said in [findings.md](findings.md).\n\n"
        + "\n".join(f"- [{study.title}](#{_anchor(study.title)})" for study in studies)
        + "\n"
    )


def _anchor(title: str) -> str:
    """The name a heading gets on a rendered page."""
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c == "-")
