"""Names that columns usually have, in English, German, French and Spanish, however they are spelled."""

import unicodedata
from collections.abc import Sequence

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
