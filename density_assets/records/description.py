"""What a file of records is taken for: the one description that `init`, `check` and their messages use.

Looks at the first records of one file. What it says is for the terminal of those who may read the file: it repeats
times of a few records, and towers where settings name their column; of every other column it says only the form of its
values, because any may name somebody: a column `cell` may hold the numbers of cell phones. Names that columns usually
have are known in English, German, French and Spanish, however they are spelled.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from density_assets.records.formats import format_of
from density_assets.settings.city import CitySettings

USUAL = {  # the first that is there is taken
    "user": (
        *("user_id", "imsi", "msisdn", "subscriber_id", "subscriber", "user", "caller_id", "customer_id"),
        *("teilnehmer", "teilnehmer_id", "teilnehmernummer", "rufnummer", "nutzer_id", "kunden_id", "kundennummer"),
        *("abonne", "id_abonne", "abonne_id", "numero_abonne", "id_client", "client_id", "utilisateur"),
        *("imsi_hash", "msisdn_hash", "hashed_imsi", "hashed_msisdn", "subscriber_hash", "user_hash", "pseudonym"),
        *("abonado", "id_abonado", "usuario", "id_usuario", "id_cliente", "id"),
    ),
    "date": ("date", "day", "event_date", "call_date", "datum", "tag", "jour", "fecha", "dia"),
    "time": (
        *("timestamp", "datetime", "zeitstempel", "zeitpunkt", "horodatage", "date_heure", "fecha_hora"),
        *("time", "event_time", "start_time", "call_time", "zeit", "beginn", "startzeit", "debut", "inicio"),
        *("event_timestamp", "event_datetime", "timestamp_ms", "timestamp_utc", "uhrzeit", "heure", "hora", "hour"),
    ),
    "tower": (
        *("tower_id", "cell_id", "cell", "site", "site_id", "antenna", "antenna_id", "cgi", "ecgi", "tower"),
        *("standort", "standort_id", "standortkürzel", "zelle", "zell_id", "zellen_id", "funkzelle", "antennen_id"),
        *("antenne", "id_antenne", "cellule", "id_cellule", "id_site", "code_site"),
        *("antena", "id_antena", "celda", "id_celda", "torre", "id_torre", "emplazamiento"),
    ),
}


def named_as(columns: Sequence[str], usual: Sequence[str]) -> str | None:
    """The column with the first of the usual names, however it is spelled."""
    by_name = {bare(column): column for column in reversed(columns)}
    return next((by_name[bare(name)] for name in usual if bare(name) in by_name), None)


def bare(name: str) -> str:
    """Letters and digits alone, lower and without accents: `Zell-ID`, `zell_id` and `ZellId` are one name."""
    return "".join(letter for letter in unicodedata.normalize("NFKD", name.casefold()) if letter.isalnum())


SHOWN = 3  # records repeated

IdentifierForm = Literal["integer", "digits", "hex", "binary", "rounded", "text", "missing"]
TimeForm = Literal[
    "with a zone", "without a zone", "seconds", "milliseconds", "microseconds", "nanoseconds",
    "year to second in digits", "time of day", "date without a time", "missing", "not readable",
]  # fmt: skip
ON_CLOCKS: tuple[TimeForm, ...] = ("without a zone", "year to second in digits", "time of day", "date without a time")
BY_SIZE: tuple[tuple[float, TimeForm], ...] = (
    (1e11, "seconds"),
    (1e13, "milliseconds"),
    (1e14, "year to second in digits"),
    (1e17, "microseconds"),
    (float("inf"), "nanoseconds"),
)


@dataclass(frozen=True)
class Description:
    """What one file of records is taken for.

    kind: name of its format. compression, delimiter, encoding: of text, empty otherwise.
    columns: every column and its type, in order.
    roles: which of them are `user`, `date`, `time` and `tower`; whichever is not found is absent.
    identifiers, times: how many of the records looked at have an identifier, a time of each form.
    distinct: how many identifiers there are among them `as is`, `trimmed` and by their `digits` only: fewer after a
        change of form means that spellings differ. once: how many of them occur once.
    rows: the first records, with times and towers as they are; of all else the form, a digit being 9 and a letter a.
    unreadable: how many records looked at have no text in them or not as many fields as the first line.
    on_spark: whether Spark reads such files. times_are_utc: whether their type says so, and nothing else.
    """

    file: str
    kind: str
    compression: str
    delimiter: str
    encoding: str
    columns: tuple[tuple[str, str], ...]
    roles: Mapping[str, str]
    sampled: int
    unreadable: int
    identifiers: Mapping[IdentifierForm, int]
    times: Mapping[TimeForm, int]
    distinct: Mapping[str, int]
    once: int
    rows: tuple[Mapping[str, str], ...]
    on_spark: bool = False
    times_are_utc: bool = False


def describe(file: Path, city: CitySettings) -> Description:
    """Return what the first records of a file are taken for; a file that no record can be read of is refused.

    city: names the columns; where the file has none of that name, the usual names are tried.
    """
    kind = format_of(file)
    sample = kind.sample(file, _named(city).values(), lambda names: _roles(names, city).values())
    rows, types = sample.rows, dict(sample.columns)
    roles = _roles([name for name, _ in sample.columns], city)
    users = [row[roles["user"]] for row in rows] if "user" in roles else []
    times = [row[roles["time"]] for row in rows] if "time" in roles else []
    time_type = types.get(roles.get("time", ""), "")
    known = Counter(str(user) for user in users if identifier_form(user) != "missing")
    digits = {re.sub(r"\D", "", user) or user for user in known}
    return Description(
        file=file.name,
        kind=kind.name,
        compression=sample.compression,
        delimiter=sample.delimiter,
        encoding=sample.encoding,
        columns=sample.columns,
        roles=roles,
        sampled=sample.looked_at,
        unreadable=sample.looked_at - len(rows),
        identifiers=Counter(map(identifier_form, users)),
        times=Counter(time_form(time, time_type) for time in times),
        distinct={"as is": len(known), "trimmed": len({user.strip() for user in known}), "digits": len(digits)},
        once=sum(number == 1 for number in known.values()),
        rows=tuple(_masked(row, _plain(roles, city)) for row in rows[:SHOWN]),
        on_spark=kind.on_spark,
        times_are_utc=roles.get("time") in sample.written_as_utc,
    )


def identifier_form(value: object) -> IdentifierForm:
    """The form of one identifier."""
    if isinstance(value, bytes):
        return "binary"
    if isinstance(value, (int, float, Decimal)):
        return "integer" if value % 1 == 0 else "missing"  # as they are read
    text = "" if value is None else str(value)
    for form, pattern in FORMS.items():
        if re.fullmatch(pattern, text):
            return form
    return "text"


FORMS: dict[IdentifierForm, str] = {
    "missing": r"\s*",
    "digits": r"\d+",
    "rounded": r"\d([.,]\d+)?[eE]\+\d+",
    "hex": "(?:[0-9a-f]{2}){8,}|(?:[0-9A-F]{2}){8,}",
}


def time_form(value: object, kind: str = "text") -> TimeForm:
    """The form of one time.

    kind: the type of its column, as Arrow names it.
    """
    text = "" if value is None else str(value).strip()
    if not text:
        return "missing"
    if kind.startswith("date") or re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        return "date without a time"
    if kind.startswith("timestamp"):
        return "with a zone" if "tz=" in kind else "without a zone"
    if re.fullmatch(r"-?\d+([.,]\d+)?(e[+-]?\d+)?", text, re.IGNORECASE):
        number = float(text.replace(",", "."))
        if number < 1e8:
            return "time of day" if 0 <= number < 240_000 else "not readable"
        return next((form for limit, form in BY_SIZE if number < limit), "not readable")
    if re.fullmatch(r"\d\d?:\d\d(:\d\d([.,]\d+)?)?( [AaPp][Mm])?", text):
        return "time of day"
    if re.match(r"\d{4}-?\d\d-?\d\d", text):
        return "with a zone" if re.search(r"(Z|[+-]\d\d(:?\d\d)?)$", text[10:]) else "without a zone"
    return "not readable"


def _named(city: CitySettings) -> dict[str, str]:
    named = {"user": city.visit_user, "date": city.visit_date, "time": city.visit_time, "tower": city.visit_tower}
    return {role: column for role, column in named.items() if column is not None}


def _roles(columns: Sequence[str], city: CitySettings) -> dict[str, str]:
    """The column of each role: the one that settings name, else the first with a usual name."""
    named = {role: name for role, name in _named(city).items() if name in columns}
    likely = {role: named.get(role) or named_as(columns, usual) for role, usual in USUAL.items()}
    return {role: column for role, column in likely.items() if column is not None}


def _plain(roles: Mapping[str, str], city: CitySettings) -> set[str]:
    """The columns whose values may be repeated."""
    told = {role: column for role, column in roles.items() if role != "tower" or column == city.visit_tower}
    return {told[role] for role in ("date", "time", "tower") if role in told} - {roles.get("user", "")}


def _masked(row: Mapping[str, Any], plain: set[str]) -> dict[str, str]:
    return {name: str(value) if name in plain else _form(value) for name, value in row.items()}


def _form(value: object) -> str:
    """What a value looks like, and nothing of what it says."""
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    text = "" if value is None else str(value)
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "9", text[:40]))
