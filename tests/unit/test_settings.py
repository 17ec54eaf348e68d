"""Settings: what a file may say, and what it is told otherwise."""

import re
from datetime import date
from pathlib import Path

import pytest

from density_assets.errors import BadInput
from density_assets.settings import Settings, load_settings
from density_assets.settings.city import EMBEDDED_USERS

PARIS = """
[city]
name = "paris"
cells = "iris.gpkg"
cell_id = "DCOMIRIS"
towers = "orange_sites.csv"
tower_x = "x"
tower_y = "y"
tower_crs = "EPSG:2154"
users = 100000
"""


def loaded(tmp_path: Path, text: str) -> Settings:
    file = tmp_path / "my.toml"
    file.write_text(text)
    return load_settings(file)


def complaint(tmp_path: Path, text: str) -> str:
    with pytest.raises(BadInput) as caught:
        loaded(tmp_path, text)
    assert "my.toml" in str(caught.value)
    return str(caught.value)


def test_without_a_file_the_embedded_city_has_the_published_size():
    settings = load_settings(None)
    assert settings.city.synthetic
    assert settings.city.embedded
    assert settings.city.simulated_users == EMBEDDED_USERS == 1_992_846
    assert settings.city.first_week == date(2007, 9, 10)
    assert (settings.privacy.epsilon, settings.privacy.delta, settings.privacy.visits_per_user) == (0.3, 1e-7, 30)


def test_the_web_ui_is_called_by_names_of_this_machine_unless_others_are_given(tmp_path):
    assert load_settings(None).web.names == ()
    assert loaded(tmp_path, '[web]\nnames = ["density.example.org", "10.0.0.7"]').web.names == (
        "density.example.org",
        "10.0.0.7",
    )


def test_the_paris_example_is_accepted_and_paths_start_at_the_file(tmp_path):
    settings = loaded(tmp_path, PARIS)
    assert settings.path(settings.city.cells) == tmp_path / "iris.gpkg"
    assert settings.city.synthetic
    assert not settings.city.embedded


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[city]\nuzers = 3", "unknown key city.uzers; did you mean 'users'?"),
        ("[privacy]\nepsilom = 1", "unknown key privacy.epsilom; did you mean 'epsilon'?"),
        ("[citi]\nname = 'x'", "unknown key citi; did you mean 'city'?"),
        ("folder = '/'", "folder: Input"),
        ("city = 3", "[city] must be a table, got 3"),
        ("[privacy]\nepsilon = 0", "privacy.epsilon: Input should be greater than or equal to 0.001, got 0"),
        ("[web]\nnames = ['density.example.org:443']", "web.names.0: String should match pattern"),
        ("[web]\nnames = ['https://density.example.org']", "web.names.0: String should match pattern"),
        ("[web]\nnames = ['*']", "web.names.0: String should match pattern"),
        ("[privacy]\nepsilon = nan", "privacy.epsilon"),
        ("[privacy]\ndelta = 0.5", "privacy.delta: Input should be less than or equal to 0.00001, got 0.5"),
        ("[privacy]\ndelta = 0", "privacy.delta"),
        (
            "[privacy]\nvisits_per_user = 0",
            "privacy.visits_per_user: Input should be greater than or equal to 1, got 0",
        ),
        ("[city]\nfirst_week = 2007-09-11", "a week starts on a Monday, got Tuesday 2007-09-11"),
        ("[city]\nlast_week = 2007-09-18", "a week starts on a Monday, got Tuesday 2007-09-18"),
        ("[city]\nlast_week = 2007-09-03", "last_week must not lie before first_week, got 2007-09-03 and 2007-09-10"),
        ("[city]\ntimezone = 'Europe/Pari'", "did you mean 'Europe/Paris'?"),
        ("[city]\nname = '../up'", "city.name"),
        ("[city]\ntowers = 't.csv'", "towers describe own data, which needs cells as well"),
        (PARIS.replace('name = "paris"\n', ""), "own data needs a name of its own"),
        (PARIS.replace("users = 100000", ""), "give either visits (records of real people) or users"),
        (PARIS + "visits = 'v.csv'", "give either visits (records of real people) or users"),
        (PARIS.replace("users = 100000", "visits = 'v.csv'"), "so the tower list needs tower_id"),
        (PARIS.replace('cell_id = "DCOMIRIS"\n', ""), "own cells need cell_id as well"),
        ("[scheme]\nname = 'magic'", "scheme.name"),
        ("[city", "must be TOML"),
    ],
)
def test_a_mistake_is_named(tmp_path, text, words):
    assert words in complaint(tmp_path, text)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"must be readable: .*none.toml: No such file"):
        load_settings(tmp_path / "none.toml")


def test_a_revision_is_declared_for_one_week(tmp_path):
    settings = loaded(tmp_path, "[revisions]\n2007-09-10 = 2\n")
    assert [settings.revision_of(week) for week in ("2007-09-10", "2007-09-17")] == [2, 1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[revisions]\n2007-09-12 = 2", "a week is named by its Monday, got Wednesday 2007-09-12"),
        ("[revisions]\n2007-09-10 = 0", "Input should be greater than or equal to 1, got 0"),
        ("[revisions]\nsometime = 2", "revisions.sometime"),
        ("[privacy]\nrevision = 2", "unknown key privacy.revision"),
        (PARIS.replace("iris.gpkg", "../iris.gpkg"), "city.cells: paths must not climb with '..'"),
        (PARIS.replace("orange_sites.csv", "/data/../etc/x.csv"), "city.towers: paths must not climb with '..'"),
        (
            PARIS.replace("users = 100000", "tower_id = 'i'\nvisits = 'a/../{week}'"),
            "city.visits: paths must not climb",
        ),
        ("[city]\nname = '../elsewhere'", "city.name: String should match pattern"),
        ("[city]\nname = 'a/b'", "city.name: String should match pattern"),
        ("""[city]\nname = 'x"; drop table y; --'""", "city.name: String should match pattern"),
    ],
)
def test_weeks_paths_and_names_that_cannot_be(tmp_path, text, words):
    assert words in complaint(tmp_path, text)


DEEP = "[" * 3_000 + "]" * 3_000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[engine]\nmemory = '1.2.3MB'", "engine.memory: String should match pattern"),
        ("[engine]\nmemory = '.MB'", "engine.memory: String should match pattern"),
        ("[engine]\nmemory = '0MB'", "engine.memory: memory must lie between 1MB and 1048576GiB, got '0MB'"),
        ("[engine]\nmemory = '1" + "0" * 400 + "GB'", "engine.memory: String should match pattern"),
        ("[engine]\nmemory = '1" + "0" * 14 + "GB'", "engine.memory: memory must lie between 1MB and"),
        ("[engine]\nthreads = 9223372036854775808", "engine.threads: Input should be less than or equal to 1024"),
        ("[engine]\nthreads = true", "engine.threads: Input should be a valid integer, got True"),
        ("[engine]\nthreads = '2'", "engine.threads: Input should be a valid integer, got '2'"),
        ("[privacy]\nepsilon = 1e308", "privacy.epsilon: Input should be less than or equal to 100, got 1e+308"),
        ("[privacy]\nepsilon = true", "privacy.epsilon: Input should be a valid number, got True"),
        ("[privacy]\nepsilon = 5e-324", "privacy.epsilon: Input should be greater than or equal to 0.001"),
        ("[privacy]\nbudget_epsilon = inf", "privacy.budget_epsilon"),
        ("[privacy]\ndelta = 1e-300", "privacy.delta: Input should be greater than or equal to 0.000000000000001"),
        ("[privacy]\nvisits_clamp = 4294967296", "privacy.visits_clamp: Input should be less than or equal to 1000000"),
        ("[scheme]\nimproved = 1", "scheme.improved: Input should be a valid boolean, got 1"),
        ("[city]\nfirst_week = 9999-12-27", "weeks must lie between 1970-01-05 and 2999-12-30, got 9999-12-27"),
        ("[city]\nfirst_week = 0001-01-01", "weeks must lie between 1970-01-05 and 2999-12-30, got 0001-01-01"),
        ("[city]\nfirst_week = 1189382400", "city.first_week: must be a day such as 2007-09-10"),
        ("[city]\nfirst_week = 2007-09-10T00:00:00Z", "city.first_week: must be a day such as 2007-09-10"),
        ("[revisions]\n9999-12-27 = 2", "weeks must lie between 1970-01-05 and 2999-12-30, got 9999-12-27"),
        ("[revisions]\n1189382400 = 2", "revisions.1189382400"),
        (
            PARIS.replace("iris.gpkg", "iris\\u0000.gpkg"),
            "city.cells: must be a path that a file can have, got one with",
        ),
        (PARIS.replace("iris.gpkg", "i" * 300), "city.cells: must be a path that a file can have, got one too long"),
        ("[alerts]\nwebhook = 'http://[::1'", "alerts.webhook: must be an address of the web"),
        (f"[city]\nname = {DEEP}", "nested too deeply"),
        (f"city = {DEEP[2_900:-2_900]}", "[city] must be a table, got a list"),
        (f"[city]\nname = {DEEP[2_900:-2_900]}", "city.name: Input should be a valid string, got a list"),
        ("[city]\nname." + ".".join("a" * 900) + " = 1", "city.name: Input should be a valid string, got a table"),
        ("[city]\nseed = " + "1" * 5_000, "must be TOML"),
        ("[city]\nname = '" + "x" * 10_000 + "'", "x…"),
        ("x" * 10_000 + " = 1", "x…"),
    ],
    ids=lambda text: text[:40],
)
def test_a_value_nothing_can_be_done_with_is_refused_where_it_is_read(tmp_path, text, words):
    said = complaint(tmp_path, text)
    assert words in said
    assert len(said) < 1_000 + len(str(tmp_path))


def test_days_may_be_quoted(tmp_path):
    assert loaded(tmp_path, "[city]\nfirst_week = '2007-09-17'\n").city.first_week == date(2007, 9, 17)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "my.toml").write_bytes(b"[city]\nname = '\xff'")
    with pytest.raises(BadInput, match=r"must be TOML: .*my\.toml"):
        load_settings(tmp_path / "my.toml")


def test_every_setting_is_in_the_readme_or_on_the_page_of_settings():
    root = Path(__file__).parents[2]
    text = "".join((root / name).read_text(encoding="utf-8") for name in ("README.md", "docs/settings.md"))
    named = {name.rpartition(".")[2] for name in re.findall(r"`([\w.]+)`", text)}
    named |= set(re.findall(r"^(\w+) = ", text, re.MULTILINE))
    keys = {key for field in Settings.model_fields.values() for key in getattr(field.annotation, "model_fields", {})}
    assert {key for key in keys - named if not key.endswith(("_low", "_high"))} == set()
