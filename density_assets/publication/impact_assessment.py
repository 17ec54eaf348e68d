"""A draft of a data-protection impact assessment (GDPR, Art. 35(7)), filled from settings alone.

The words are in `pages/templates/dpia.md`, which is readable as it stands (`docs/dpia-template.md`). A place that no
setting fills is left to the controller, in words that can be searched for. The draft is meant to be handed around: it
says of what kind databases, keys and addresses are, and quotes none, since they may hold passwords.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import urlsplit

from markupsafe import Markup

from density_assets.publication.hazards import HAZARDS
from density_assets.publication.pages.templates import render
from density_assets.settings import AnchorSettings, PrivacySettings, Settings, SigningSettings
from density_assets.settings.city import CitySettings
from density_assets.settings.people import FACTORS
from density_assets.settings.values import AGENT, is_url

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
    kinds = {
        "a file": anchor.file,
        "a git repository": anchor.git,
        "an authority that stamps them (RFC 3161)": anchor.timestamp,
    }
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
