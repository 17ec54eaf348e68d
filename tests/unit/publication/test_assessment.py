"""The draft of an impact assessment, every place filled by settings or by name; summaries of attack tests."""

from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from density_assets.__main__ import main
from density_assets.publication.assessment import (
    ATTACK_TESTS,
    HAZARDS,
    attack_tests,
    impact_assessment,
    left_to_fill,
    right_guesses,
)
from density_assets.publication.pages.templates import as_plain
from density_assets.settings import Settings, load_settings

REAL = """
[city]
name = "lyon"
population = 522_250
first_week = 2024-01-01
last_week = 2024-06-24
timezone = "Europe/Paris"
cells = "iris.gpkg"
cell_id = "code_iris"
towers = "antennas.csv"
tower_id = "site"
footprints = "posterior.parquet"
regions = "arrondissements.csv"
visits = "cdr/{week}/*.csv"
visits_complete = "done.txt"
visit_user = "imsi_hash"
visit_date = "day"
visit_time = "clock"
visit_timezone = "UTC"
visit_tower = "antenna_no"
visit_where = {error_flag = 7}
user_form = "digits only"
[privacy]
epsilon = 0.25
delta = 3e-8
visits_per_user = 41
visits_clamp = 555
budget_epsilon = 2.5
budget_delta = 4e-8
[scheme]
name = "efpag"
[publication]
title = "Presence in Lyon"
description = "For planners of trams."
publisher = "Office of Lyon"
contact = "data@lyon.example"
licence = "CC-BY-4.0"
homepage = "https://lyon.example"
[operator]
name = "data team"
reason = "weekly releases"
[signing]
key = "agent:release-key"
[anchor]
file = "heads.jsonl"
command = "stamp https://user:hunter2@stamps.example"
[ledger]
url = "postgresql://density:hunter2@books.example/ledger"
[alerts]
webhook = "https://chat.example/hooks/hunter2"
[storage]
weeks = "s3://hunter2/weeks"
[engine]
name = "spark"
[people]
market_share = "shares.csv"
devices_per_person = 1.1
active_share = 0.5
[revisions]
2024-01-08 = 2
"""
STATED = (
    *("lyon", "522,250", "2024-01-01", "2024-06-24", "Europe/Paris", "iris.gpkg", "antennas.csv", "posterior.parquet"),
    *("arrondissements.csv", "cdr/{week}/*.csv", "done.txt", "imsi_hash", "`day`", "`clock`", "UTC", "antenna_no"),
    *("`error_flag` is `7`", "digits only", "5 columns are read"),
    *("0.25", "3e-08", "41", "555", "2.5", "4e-08", "efpag", "Presence in Lyon", "For planners of trams."),
    *("Office of Lyon", "data@lyon.example", "CC-BY-4.0", "https://lyon.example", "data team", "weekly releases"),
    *("SSH agent", "a program of the operator's", "a PostgreSQL database", "a web address", "`s3`", "Spark"),
    *("shares.csv", "market share", "2024-01-08 (revision 2)"),
)


def test_a_city_of_nobody_says_so_and_leaves_the_rest_to_the_controller():
    draft = impact_assessment(Settings())
    assert "nobody: 1,992,846 people are invented" in draft
    assert [trace for trace in ("{{", "{#", "None", "&#") if trace in draft] == []
    left = ("who decides on purposes and means", "what the counts are for", "the basis", "why no anchor is set")
    assert [place for place in left if f"**to be filled by the controller: {place}" not in draft] == []


def test_what_the_settings_of_a_real_city_state_is_in_the_draft(tmp_path):
    (tmp_path / "lyon.toml").write_text(REAL)
    settings = load_settings(tmp_path / "lyon.toml")
    draft = impact_assessment(settings)
    assert [text for text in STATED if text not in draft] == []
    assert [
        trace for trace in ("{{", "None", "invented, part", str(tmp_path), "hunter2", "release-key") if trace in draft
    ] == []
    # Publisher, contact, home page, purpose, licence and anchor are stated; which system writes the records is asked.
    assert left_to_fill(impact_assessment(Settings())) - left_to_fill(draft) == 6 - 1


def test_every_hazard_is_told():
    draft = impact_assessment(Settings())
    assert [
        hazard for hazard in HAZARDS if f"| {as_plain(hazard.name)} | {as_plain(hazard.stand)} |" not in draft
    ] == []


def test_words_of_a_publisher_stay_in_their_place(tmp_path):
    said = "A | B\n# <b>C</b> [d](https://e.example) `f`"
    (tmp_path / "town.toml").write_text(f"[publication]\npublisher = {said!r}\n".replace("'", '"'))
    tokens = (
        MarkdownIt("commonmark", {"html": True})
        .enable("table")
        .parse(impact_assessment(load_settings(tmp_path / "town.toml")))
    )
    (shown,) = (token for token in tokens if token.type == "inline" and token.content.startswith("A |"))
    assert "".join(part.content for part in shown.children) == " ".join(said.split())


@pytest.mark.parametrize(
    ("epsilon", "delta", "said"),
    [(0, 0, "50"), (1.0986122, 0, "75"), (0, 0.5, "75"), (1e-3, 1e-7, "50.1"), (60, 1e-7, "100")],
)
def test_the_best_attacker_by_hand(epsilon, delta, said):
    """Of 100 cases: by guessing, with odds of 3 to 1, and with every second secret simply told."""
    assert right_guesses(epsilon, delta) == f"{said} of 100 cases"


def test_a_calibration_without_proof_is_no_promise(tmp_path):
    (tmp_path / "town.toml").write_text('[scheme]\nname = "fpa"\ncalibration = "published"\n')
    assert "**the promise above does not hold**" in impact_assessment(load_settings(tmp_path / "town.toml"))


def test_the_command_writes_a_draft_and_replaces_none(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DENSITY_SETTINGS", "")
    monkeypatch.setenv("DENSITY_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["density", "dpia"])
    assert main() == 0
    draft = Path("dpia_embedded.md").read_text(encoding="utf-8")
    assert draft == impact_assessment(Settings())
    assert f"{left_to_fill(draft)} places" in capsys.readouterr().out
    Path("dpia_embedded.md").write_text("signed")
    assert main() == 2
    assert "dpia_embedded.md is there already" in capsys.readouterr().err
    assert Path("dpia_embedded.md").read_text() == "signed"
    assert not (tmp_path / "home").exists()


def test_what_was_run_is_shown(tmp_path):
    for name in ("epsilon_audit", "schemes"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "summary.md").write_text(f"## {name}\n\nfound 0.12\n")
    summaries = {test.name: test.summary for test in attack_tests(tmp_path)}
    assert summaries == dict.fromkeys(ATTACK_TESTS) | {"epsilon_audit": "## epsilon_audit\n\nfound 0.12\n"}


def test_of_an_audit_that_is_run_for_weeks_the_newest_is_shown(tmp_path):
    for week in ("2007-09-17", "2007-09-10"):
        (tmp_path / "membership_audit" / week).mkdir(parents=True)
        (tmp_path / "membership_audit" / week / "summary.md").write_text(week)
    summaries = {test.name: test.summary for test in attack_tests(tmp_path)}
    assert summaries["membership_audit"] == "2007-09-17"
