"""Risks of a release: hazards, summaries of attack tests, and the draft of an impact assessment."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from markupsafe import Markup

from density_assets.publication.pages.templates import render
from density_assets.settings import AnchorSettings, PrivacySettings, Settings, SigningSettings
from density_assets.settings.city import CitySettings
from density_assets.settings.people import FACTORS
from density_assets.settings.values import AGENT, is_url


class Hazard(NamedTuple):
    """A hazard, where we stand, and where to look."""

    name: str
    stand: str
    where: str


HAZARDS = (
    Hazard(
        "epsilon is too large, or given for one release only",
        "Each statement gives the week, the worst 52 weeks that contain it, and all weeks so far, with an attacker's "
        "best AUC beside epsilon. A budget over every 52 weeks is kept by the ledger; raising it is recorded.",
        "statement, cost",
    ),
    Hazard(
        "delta is as large as one in the population",
        "A constant chosen beforehand; a statement warns where it is above one in the stated population.",
        "statement",
    ),
    Hazard(
        "the unit of privacy is narrower than people think",
        "One identifier's whole week, never an event or a day. Figures for 1, 2 and 7 identifiers a week are given; "
        "households are not protected as one.",
        "statement, threat model",
    ),
    Hazard(
        "guarantees of different kinds are compared by epsilon",
        "rho and, where exact, mu are given beside epsilon at several deltas.",
        "statement",
    ),
    Hazard(
        "bounds on what one person contributes are assumed, not enforced",
        "Caps, clamps and weights are applied by SQL before anything is summed; blocking checks look at the result, "
        "and property tests run neighbouring records through it.",
        "checks, docs/privacy.md",
    ),
    Hazard(
        "bounds, clamps or settings are read off the data",
        "All are constants of the settings. Choosing them by evaluation metrics of real people voids the promise, and "
        "these are made only when a person asks.",
        "docs/privacy.md",
    ),
    Hazard(
        "noise leaks through floating-point arithmetic or a weak generator",
        "OpenDP's lattice noise from the kernel's generator; integers get the discrete Gaussian. Every measurement is "
        "checked against its claim before it draws.",
        "docs/privacy.md",
    ),
    Hazard(
        "recomputing draws noise again",
        "Drawn once, kept under a key, digest in the ledger; a lost draw of a published week is never made again.",
        "ledger, threat model",
    ),
    Hazard(
        "the mechanism is wrong, or its proof is",
        "Published proofs that do not hold are corrected; attacks on invented people give lower bounds on epsilon; "
        "faults that are planted in the mechanisms must be caught by the tests.",
        "attacks",
    ),
    Hazard(
        "accuracy is poor, or worse for small groups",
        "Every count has a standard error, and a check warns where a city is too small for its promise. Light users "
        "weigh more than heavy ones; the documentation gives the bias.",
        "checks, docs/lowrank.md",
    ),
    Hazard(
        "the curator is trusted, and nobody says so",
        "Central model: the operator sees the records. What that means is one page.",
        "threat model",
    ),
    Hazard(
        "side channels: time, size, failure",
        "Outcomes of checks that read records are withheld, errors quote none, charges depend on settings only. Run "
        "times are visible to whoever may open the writing UI.",
        "threat model",
    ),
    Hazard(
        "access to raw data and to the budget",
        "Confidential files are their owner's only; released steps run without a way to them; budgets, revisions and "
        "keys are recorded acts, limited by a policy.",
        "lineage, decisions",
    ),
    Hazard(
        "data are kept longer than needed",
        "The confidential zone of a released week can be erased; the release stays as good as it was.",
        "docs/retention-and-checks.md",
    ),
)


ATTACK_TESTS = {
    "epsilon_audit": "How much the mechanism really reveals: a lower bound on epsilon from many draws",
    "membership_audit": "Whether an attacker can tell that a person was in the data",
    "recovery_audit": "Whether trajectories can be recovered from released counts",
}


@dataclass(frozen=True)
class AttackTest:
    """What an attack test asked and, if it was run, what it found (Markdown)."""

    name: str
    title: str
    summary: str | None


def attack_tests(studies: Path) -> list[AttackTest]:
    """Return every attack test there is, with what it found if it was run.

    studies: the folder in which studies leave what they find.

    Guarantees: their people are invented (`Study` refuses an attack test that reads a table of the city), so what they
    find may be shown of real people's releases, too.
    """
    return [AttackTest(name, title, _summary(studies / name)) for name, title in ATTACK_TESTS.items()]


def _summary(folder: Path) -> str | None:
    """Of a test that is run for weeks, the newest."""
    summaries = [*folder.glob("summary.md"), *sorted(folder.glob("*/summary.md"))]
    return summaries[-1].read_text(encoding="utf-8") if summaries else None


MARK = "to be filled by the controller"
TEMPLATE = "dpia.md"
CALIBRATIONS = {
    "sound": "sound: by proofs that hold",
    "published": "as published, to compare with a paper: **the promise above does not hold**",
}
SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")  # what Markdown would not take as it is


def impact_assessment(settings: Settings) -> str:
    """The draft as Markdown: the same for the same settings."""
    answers = {**_publisher(settings), **_described(settings), **_means(settings), **_promised(settings)}
    answers["hazards"] = _rows((words(one.name), words(one.stand), words(one.where)) for one in HAZARDS)
    # Answers are Markdown already; the pages' escaping is that of HTML.
    text = render(TEMPLATE, mark=MARK, fill=fill, **{name: Markup(text) for name, text in answers.items()})
    return f"{text}\n"


def fill(what: str) -> Markup:
    """A blank that only the controller can fill."""
    return Markup(f"**{MARK}: {what}**")  # words of ours


def left_to_fill(draft: str) -> int:
    """How many blanks a draft leaves to the controller."""
    return draft.count(f"**{MARK}: ")


def words(text: object) -> str:
    """A text as Markdown that shows it as it is, on one line."""
    return SPECIAL.sub(r"\\\1", " ".join(str(text).split()))


def code(text: object) -> str:
    """The same as code: a name of a column or a file."""
    return f"`{' '.join(str(text).replace('`', chr(39)).replace('|', '¦').split())}`"


def right_guesses(epsilon: float, delta: float) -> str:
    """How often the best attacker tells two equally likely neighbours apart, at most; rounded up.

    It is one minus the mean of the rates of both errors, whose sum is at least 2·(1 - delta) / (1 + e^epsilon)
    (Kairouz, Oh & Viswanath 2015, Thm 2.1).
    """
    wrong = (1 - delta) / (1 + math.exp(epsilon))
    return f"{min(math.ceil(1000 * (1 - wrong)) / 10, 100):g} of 100 cases"


def _publisher(settings: Settings) -> dict[str, str]:
    said = settings.publication
    licence = " ".join(filter(None, (said.licence, said.licence_url)))
    stated = {
        "publisher": (said.publisher, "who decides on purposes and means"),
        "contact": (said.contact, "where people concerned can ask"),
        "homepage": (said.homepage, "where releases are announced"),
        "purpose": (said.description, "what the counts are for, and for whom"),
        "licence": (licence, "under which terms releases are handed out"),
    }
    asked = {name: words(text) if text else fill(what) for name, (text, what) in stated.items()}
    return {**asked, "title": words(said.title or f"Hourly population density of {settings.city.name}")}


def _described(settings: Settings) -> dict[str, str]:
    """Whose data, from where, of which weeks."""
    city = settings.city
    columns = list(_columns(city))
    declared = ", ".join(f"{week} (revision {number})" for week, number in sorted(settings.revisions.items()))
    return {
        "city": words(city.name),
        "weeks": f"from {city.first_week} to {city.final_week or fill('the last week')}",
        "timezone": words(city.timezone),
        "revisions": declared or "none",
        "subjects": _subjects(city),
        "sources": _source(city),
        "completeness": "simulated weeks always are" if city.synthetic else code(city.visits_complete),
        "filter": " and ".join(f"{code(name)} is {code(value)}" for name, value in city.visit_where.items()) or "all",
        "user_form": city.user_form,
        "columns": _rows(columns or [("–", "none", "visits are simulated")]),
        "column_count": str(len(columns) or "no"),
        "public_data": _rows(_public_data(settings)),
    }


def _subjects(city: CitySettings) -> str:
    if city.synthetic:
        return f"nobody: {city.simulated_users:,} people are invented, so that this draft is an exercise"
    number = (
        f"about {city.population:,} people" if city.population else fill("about how many people, by public figures")
    )
    return f"subscribers whose devices left a record in the area, residents or not; {number}"


def _source(city: CitySettings) -> str:
    """A pattern of files, or the kind of address only: an address may hold a password."""
    if city.visits is None:
        return "none: visits are simulated"
    if is_url(city.visits):
        return f"files of records at an address of the kind {code(urlsplit(city.visits).scheme)}"
    return f"files of records, {code(city.visits)}; {fill('which system writes them')}"


def _columns(city: CitySettings) -> Iterator[tuple[str, str, str]]:
    """The columns of records that are read; none where people are invented."""
    if city.synthetic:
        return
    yield "subscriber identifier", code(city.visit_user), "a key of the confidential zone, to bound what one may count"
    if city.visit_date:
        yield "date", code(city.visit_date), "with the time"
    zone = words(city.visit_timezone or city.timezone)
    yield "time", code(city.visit_time), f"the hour of the week; a time without a zone is one of {zone}"
    yield "antenna", code(city.visit_tower), "the site it stands on"
    for name in city.visit_where:
        yield "filter", code(name), "compared with a constant, not kept"


def _public_data(settings: Settings) -> Iterator[tuple[str, str]]:
    city, invented = settings.city, "invented, part of the software"
    areas = f"cells of a public grid ({city.grid})" if city.grid else city.cells and code(city.cells)
    yield "areas", areas or invented
    if city.boundary:
        yield "boundary", code(city.boundary)
    yield "antennas", code(city.towers) if city.towers else invented
    if city.footprints:
        yield "footprints of antennas", code(city.footprints)
    if city.has_regions:
        yield "regions", code(city.regions or city.region_id)
    for name, table in settings.people.tables.items():
        yield name.replace("_", " "), code(table)


def _means(settings: Settings) -> dict[str, str]:
    """Machines, places and people behind it, by kind."""
    acts, alerts = settings.operator, settings.alerts
    kinds = (("a file", alerts.file), ("a web address", alerts.webhook))
    reported = " and ".join(kind for kind, given in kinds if given)
    schedules = f"schedules act for {words(acts.name)}, because: {words(acts.reason or 'no reason is stated')}; "
    return {
        "engine": "Spark" if settings.engine.name == "spark" else "DuckDB, on one machine",
        "storage": _storage(settings.storage.weeks),
        "ledger": "a PostgreSQL database" if settings.ledger.url else "a file of the home",
        "history": "a PostgreSQL database" if settings.dagster.storage else "files of the home",
        "alerts": reported or "nobody but those who look",
        "releasing": f"{schedules if acts.name else ''}{fill('who may name themselves with --by')}",
        "signing": _key(settings.signing),
        "anchors": _anchors(settings.anchor),
    }


def _storage(weeks: str | None) -> str:
    if weeks is None:
        return "the home, a folder of the machine that is readable by its owner only"
    return f"a store of the kind {code(urlsplit(weeks).scheme)}" if is_url(weeks) else "a folder outside the home"


def _key(signing: SigningSettings) -> str:
    if signing.key is None:
        return "a key of the home, made when the ledger was opened, readable by its owner only"
    return "a key that an SSH agent holds" if signing.key.startswith(AGENT) else "a key in a file that settings name"


def _anchors(anchor: AnchorSettings) -> str:
    kinds = {"a file": anchor.file, "a program of the operator's": anchor.command}
    given = [kind for kind, named in kinds.items() if named]
    return ", ".join(given) or f"nowhere; {fill('why no anchor is set, or set one in [anchor]')}"


def _promised(settings: Settings) -> dict[str, str]:
    privacy: PrivacySettings = settings.privacy
    people = f"by the public factors {', '.join(FACTORS)}" if settings.people.stated else "no: counts are devices seen"
    return {
        "epsilon": f"{privacy.epsilon:g}",
        "delta": f"{privacy.delta:g}",
        "budget_epsilon": f"{privacy.budget_epsilon:g}",
        "budget_delta": f"{privacy.budget_delta:g}",
        "attacker_week": right_guesses(privacy.epsilon, privacy.delta),
        "attacker_year": right_guesses(privacy.budget_epsilon, privacy.budget_delta),
        "cap": str(privacy.visits_per_user),
        "clamp": str(privacy.visits_clamp),
        "scheme": settings.scheme.name,
        "calibration": CALIBRATIONS[settings.scheme.calibration],
        "people": people.replace("_", " "),
    }


def _rows(rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
