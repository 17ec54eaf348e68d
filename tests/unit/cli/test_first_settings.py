"""A settings file from files alone: it can be loaded, check finds it ready, and it holds no promise and no record."""

import gzip
import shutil
from pathlib import Path

import polars as pl
import pytest
from runs import MONDAY

from density_assets.cli.guesses import Guess, nearest_zone, settings_text
from density_assets.cli.inspection import inspect
from density_assets.errors import BadInput
from density_assets.records.verdict import Verdict
from density_assets.settings import PrivacySettings, load_settings


def test_the_file_of_a_town_is_loaded_and_its_records_are_ready(init, tmp_path):
    status, out, said = init("--yes")
    assert status == 0, said
    assert f"density check --settings {out} --acknowledge --by NAME" in said
    settings = load_settings(out)
    city = settings.city
    assert (city.cells, city.cell_id, city.tower_id) == (Path("cells.geojson"), "code", "name")
    assert (city.tower_x, city.tower_y, city.tower_crs) == ("x", "y", "EPSG:2154")
    assert (city.visit_user, city.visit_time, city.visit_tower) == ("user_id", "time", "tower_id")
    assert (city.first_week, city.timezone, city.visits) == (MONDAY, "Europe/Paris", "visits/{week}/*.csv")
    assert inspect(settings, MONDAY, tmp_path / "home").verdict is Verdict.READY


def test_a_tilde_in_quotes_is_the_home_of_whoever_types_it(init, town, monkeypatch):
    monkeypatch.setenv("HOME", str(town.folder))
    status, out, said = init("--yes", visits="~/visits/{week}/*.csv", towers="~/towers.csv")
    assert status == 0, said
    assert load_settings(out).city.visits == "visits/{week}/*.csv"


def test_one_odd_record_is_not_told_of(init, town):
    assert init("--yes")[0] == 0
    before = (town.folder / "first.toml").read_text()
    with (town.visits / "part-0.csv").open("a") as file:
        file.write(",2007-09-10 09:00:00,A\n00000000000000ab,10:00,A\n7,2007-09-10 10:00:00+02:00,A\n")
    (town.folder / "first.toml").unlink()
    assert init("--yes")[0] == 0
    assert (town.folder / "first.toml").read_text() == before


def test_an_operators_semicolons_in_gz_with_other_names_and_a_day_of_its_own(init, town, tmp_path):
    shutil.rmtree(town.visits)
    folder = town.folder / "cdr" / "2007" / "09" / "10"
    folder.mkdir(parents=True)
    lines = (
        "IMSI;date;time;site;note\n"
        '208010000000001;20070910;081500;A;"MOC; voice"\n'
        "208010000000002;20070910;081600;B;x\n"
    )
    (folder / "a.csv.gz").write_bytes(gzip.compress(lines.encode()))
    for day in range(11, 17):
        (town.folder / f"cdr/2007/09/{day}").mkdir()
        (town.folder / f"cdr/2007/09/{day}/_SUCCESS").touch()
    rows = pl.read_csv(town.folder / "towers.csv", infer_schema=False).rename({"name": "site"})
    rows.write_csv(town.folder / "sites.csv", separator=";")
    status, out, said = init("--yes", visits="cdr/{year}/{month}/{day}/*.csv.gz", towers="sites.csv")
    assert status == 0, said
    settings = load_settings(out)
    assert (settings.city.visit_user, settings.city.visit_date, settings.city.visit_time) == ("IMSI", "date", "time")
    assert (settings.city.tower_id, settings.city.visit_tower, settings.city.first_week) == ("site", "site", MONDAY)
    found = inspect(settings, MONDAY, tmp_path / "home")
    assert found.verdict is Verdict.READY, str(found)
    assert "20801" not in out.read_text() + said


def test_a_city_of_simulated_people_begins_without_records(init, town, tmp_path):
    shutil.rmtree(town.visits)
    status, out, said = init("--yes", "--users", "500", visits=None)
    assert (status, "--acknowledge" in said, "of people who do not exist" in said) == (0, False, True), said
    settings = load_settings(out)
    assert (settings.city.users, settings.city.synthetic, settings.city.tower_id) == (500, True, "name")
    assert inspect(settings, MONDAY, tmp_path / "home").lines[-1] == ("visits", "simulated, 500 users")
    out.unlink()
    for words, refusal in ((("--users", "500"), "either --visits"), ((), "or --users N")):
        status, _, said = init("--yes", *words, visits="visits/{week}/*.csv" if words else None)
        assert (status, refusal in said, out.exists()) == (2, True, False), said


@pytest.mark.parametrize(("marker", "complete"), [("year=2007/month=9/day=10", "_SUCCESS"), ("", "complete/{week}")])
def test_days_that_nothing_says_are_complete_are_said_to_be_by_hand(init, town, marker, complete):
    folder = town.folder / "events/year=2007/month=9/day=10"
    folder.mkdir(parents=True)
    shutil.copy(town.visits / "part-0.csv", folder)
    (town.folder / "events" / marker / "_SUCCESS").touch()  # Spark writes it once, for all days
    status, out, said = init("--yes", visits="events/year={year}/month={month}/day={day}/*.csv")
    assert status == 0, said
    assert load_settings(out).city.visits_complete == complete


@pytest.mark.parametrize("pattern", ["{week}.csv", "{year}-{month}-{day}.csv", "2007-09-10.csv"])
def test_files_of_weeks_or_days_in_one_folder_are_said_to_be_complete_by_hand(init, town, pattern):
    """One `_SUCCESS` beside them would speak of all."""
    for name in ("2007-09-10.csv", "_SUCCESS"):
        shutil.copy(town.visits / "part-0.csv", town.folder / name)
    status, out, said = init("--yes", "--set", "first_week=2007-09-10", visits=pattern)
    assert status == 0, said
    assert load_settings(out).city.visits_complete == "complete/{week}"


LANGUAGES = {
    "German": ("Rufnummer;Datum;Uhrzeit;Zell-ID", "Zell-ID;Länge;Breite"),
    "French": ("id_abonné;jour;heure;Antenne", "antenne;Longitude;Latitude"),
    "Spanish": ("Abonado;Fecha;Hora;ID Celda", "idCelda;longitud;latitud"),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_columns_are_known_in_other_languages_and_so_are_dates_that_end_with_the_year(init, town, tmp_path, language):
    events, antennas = LANGUAGES[language]
    town.write_visits("")
    (town.visits / "part-0.csv").write_text(f"{events}\n336123;11.09.2007;08:15:00;A\n336124;12.09.2007;09:00:00;B\n")
    rows = pl.read_csv(town.folder / "towers.csv", infer_schema=False).select("name", "x", "y")
    (town.folder / "sites.csv").write_text("\n".join([antennas, *(";".join(row) for row in rows.rows())]) + "\n")
    status, out, said = init("--yes", towers="sites.csv")
    assert status == 0, said
    city = load_settings(out).city
    assert ";".join((city.visit_user, city.visit_date or "", city.visit_time, city.visit_tower)) == events
    assert ";".join((city.tower_id or "", city.tower_x, city.tower_y)) == antennas
    assert city.visit_time_format == "%d.%m.%Y %H:%M:%S"
    assert "2 usable" in str(inspect(load_settings(out), MONDAY, tmp_path / "home"))


def test_how_one_record_among_others_is_written_is_not_written_down(init, town):
    times = ("2007-09-11 08:15:00", "2007-09-11 09:15:00", "11.09.2007 10:15")
    town.write_visits("".join(f"{number},{time},A\n" for number, time in enumerate(times)))
    status, out, said = init("--yes")
    assert status == 0, said
    assert load_settings(out).city.visit_time_format is None


def test_a_column_of_hashes_is_known_and_where_none_is_the_question_says_which_there_are(init, town, monkeypatch):
    file = town.visits / "part-0.csv"
    file.write_text(file.read_text().replace("user_id", "MSISDN_HASH"))
    status, out, said = init("--yes")
    assert (status, load_settings(out).city.visit_user) == (0, "MSISDN_HASH"), said
    out.unlink()
    file.write_text(file.read_text().replace("MSISDN_HASH", "who"))
    questions = []
    monkeypatch.setattr("typer.prompt", lambda asked, default=None, **_: questions.append(asked) or default or "who")
    status, out, said = init()
    assert (status, load_settings(out).city.visit_user) == (0, "who"), said
    assert "visit_user of [city] could not be guessed (columns of towers.csv: name, x, y" in said
    assert "of the event files: who, time, tower_id" in said
    assert "visit_user (identifiers of people)" in questions


def test_commands_in_the_file_can_be_typed_where_its_path_has_blanks():
    text = settings_text([Guess("name", "x", "")], "my data/first.toml")
    assert text.count("--settings 'my data/first.toml'`") == 2


def test_columns_to_choose_from_are_named_where_nothing_can_be_guessed(init, town):
    town.write_visits("")
    (town.visits / "part-0.csv").write_text("wer;wann;wo\nzq7x;2007-09-10 08:10:00;A\n")
    status, out, said = init("--yes")
    assert (status, out.exists()) == (2, False)
    assert "of the event files: wer, wann, wo" in said
    assert "columns of towers.csv: name, " in said
    assert "zq7x" not in said


def test_what_people_decide_is_never_guessed(init):
    _, out, _ = init("--yes")
    settings = load_settings(out)
    assert settings.privacy == PrivacySettings()
    assert settings.privacy.model_fields_set == set()
    assert settings.city.population is None
    assert "population = …" in out.read_text()


def test_a_file_that_is_there_is_left_as_it_is_and_one_that_cannot_be_loaded_is_not_left(init, town):
    status, out, said = init("--yes", "--set", "timezone=Europe/Pari")
    assert (status, "did you mean" in said or "Europe/Paris" in said) == (2, True)
    assert not out.exists()
    out.write_text("mine")
    status, _, said = init("--yes")
    assert (status, "is there already" in said) == (2, True)
    assert out.read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--set", "visit_usr=imsi"), "visit_user"),
        (("--set", "visit_user"), "must be KEY=VALUE"),
        (("--visits", "none/{week}/*.csv"), "must name at least one file, found none at none/{week}/*.csv"),
        (("--visits", "visits/2007-09-10"), "must name at least one file, found the folder visits/2007-09-10"),
        (("--towers", "masts.xlsx"), "masts.xlsx: the file of the towers must exist, found nothing there"),
        (("--cells", "towers.csv"), "polygons"),
    ],
)
def test_what_cannot_be_used_is_said_and_nothing_is_written(init, words, said):
    status, out, told = init("--yes", *words)
    assert (status, said in told) == (2, True), told
    assert not out.exists()


def test_without_yes_every_line_is_asked_for_and_no_answer_writes_nothing(init, monkeypatch):
    asked = []

    def answer(question, default=None, **_):
        asked.append(question.split(" ")[0])
        return "mine" if question.startswith("name ") else default

    monkeypatch.setattr("typer.prompt", answer)
    status, out, said = init()
    assert status == 0, said
    assert {"name", "cell_id", "tower_crs", "visit_user", "timezone"} <= set(asked)
    assert load_settings(out).city.name == "mine"
    out.unlink()

    def leave(*_, **__):
        import typer

        raise typer.Abort

    monkeypatch.setattr("typer.prompt", leave)
    status, out, said = init()
    assert (status, "nothing was written" in said, out.exists()) == (2, True, False)


def test_a_line_that_nobody_could_fill_in_is_asked_for():
    with pytest.raises(BadInput, match=r"tower_crs of \[city\] could not be guessed: give --set tower_crs=…"):
        settings_text([Guess("tower_crs", None, "")], "my.toml")


def test_names_of_columns_cannot_leave_their_line():
    text = settings_text([Guess("visit_user", 'a"\n[privacy]\nepsilon = 9 #', "x\n[privacy]")], "my.toml")
    assert [line for line in text.splitlines() if line.startswith("[")] == ["[city]", "[privacy]", "[operator]"]


@pytest.mark.parametrize(
    ("place", "zone"),
    [((48.8, 2.3), "Europe/Paris"), ((-33.9, 151.2), "Australia/Sydney"), ((40.7, -74.0), "America/New_York")],
)
def test_the_zone_of_a_place_is_that_of_the_nearest_town(place, zone):
    assert nearest_zone(*place) == zone
