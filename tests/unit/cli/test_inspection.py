"""What `check` says of records that are odd: how many and why, never which."""

import stat
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from runs import MONDAY

from density_assets.cli import inspection
from density_assets.cli.inspection import inspect
from density_assets.errors import BadInput
from density_assets.records.verdict import (
    Verdict,
)
from density_assets.settings import Settings, load_settings


def lines(town, tmp_path) -> list[str]:
    found = inspect(load_settings(town.settings), MONDAY, tmp_path / "home")
    return [" ".join(line.split()) for line in str(found).splitlines()]


def test_lines_that_are_no_text_and_times_no_calendar_has(town, tmp_path):
    town.write_visits(
        "ann,2007-09-10 08:10:00,A\nbob,2007-09-12 20:00:00,D\nbob,99999-01-01 00:00:00,D\nbob,2007-09-20 00:00:00,D\n"
    )
    with (town.visits / "part-0.csv").open("ab") as file:
        file.write(b"\xff,2007-09-12 20:00:00,D\n" + b"x" * 2_100_000 + b",2007-09-12 20:00:00,D\n")
    said = lines(town, tmp_path)
    assert {"records 6", "2 usable", "2 outside the week", "2 line not readable"} <= set(said)
    assert "span 2007-09-10 08h to 2007-09-20 00h" in said


def test_lines_with_accents_of_another_encoding_are_told_however_few(town, tmp_path):
    """They are not lost at random: whoever calls from an antenna with an accent in its name is."""
    line = "u{},2007-09-10 08:10:00,A,{}\n"
    text = "".join(line.format(number, "Gespräch" if number % 50 == 0 else "SMS") for number in range(1_000))
    (town.visits / "part-0.csv").write_bytes(f"user_id,time,tower_id,kind\n{text}".encode("cp1252"))
    said = " ".join(lines(town, tmp_path))
    assert "20 of 1,000 lines are no text and are left out: look at the files" in said
    assert "`iconv -f WINDOWS-1252 -t UTF-8`" in said


def test_lines_with_another_number_of_fields_than_column_names_are_told_as_such(town, tmp_path):
    town.write_visits("".join(f"u{number},2007-09-10 08:10:00,A,\n" for number in range(50)))
    said = " ".join(lines(town, tmp_path))
    assert "50 of 50 lines looked at in part-0.csv are no UTF-8, or have more or fewer fields" in said


@pytest.mark.parametrize("line", ["sep=;", "SEP=,"])
def test_a_line_that_a_spreadsheet_puts_above_the_names_is_told(town, tmp_path, line):
    (town.visits / "part-0.csv").write_text(f"{line}\nuser_id;time;tower_id\nann;2007-09-10 08:10:00;A\n")
    told = "line 1 must name the columns, it is the one that Excel puts above"
    assert f"part-0.csv: {told}" in " ".join(lines(town, tmp_path))
    (town.folder / "towers.csv").write_text(f"{line}\nname;x;y\nA;650500;6860500\n")
    with pytest.raises(BadInput, match=f"towers.csv: {told}"):
        lines(town, tmp_path)


def test_identifiers_that_a_spreadsheet_rounded_are_told(town, tmp_path):
    town.write_visits("".join(f"4.917{number}E+11,2007-09-10 08:10:00,A\n" for number in range(10)))
    assert "identifiers in part-0.csv are written as 4.9E+11: a spreadsheet rounded" in " ".join(lines(town, tmp_path))


def test_the_file_that_says_complete_is_named_until_it_is_there(town, tmp_path):
    town.write_visits("ann,2007-09-10 08:10:00,A\n")
    assert any(line.endswith(" MB, complete") for line in lines(town, tmp_path))
    marker = town.visits / "_SUCCESS"
    marker.unlink()
    wanted = f"schedules wait for it: once all of the week is there, make the empty file {marker}"
    assert wanted in lines(town, tmp_path)
    marker.touch()
    assert wanted not in lines(town, tmp_path)


def test_on_a_terminal_long_lines_go_on_below_where_they_began(town, tmp_path):
    names = [f"column_{number}" for number in range(40)]
    row = ",".join(["x"] * 40)
    (town.visits / "part-0.csv").write_text(
        f"user_id,time,tower_id,{','.join(names)}\nann,2007-09-10 08:10:00,A,{row}\n" * 3
    )
    found = inspect(load_settings(town.settings), MONDAY, tmp_path / "home")
    said = found.shown(80).splitlines()
    assert max(map(len, said)) <= 80
    start = next(number for number, line in enumerate(said) if line.startswith("columns "))
    assert all(line.startswith(" " * 11) for line in said[start + 1 : start + 5])
    assert str(found).count("column_39") == 2  # in the list of columns and with the first record: not with each


def test_what_does_not_fit_memory_goes_where_only_its_owner_can_read(town, tmp_path, monkeypatch):
    town.write_visits("ann,2007-09-10 08:10:00,A\n")
    spilled, looked_at = [], inspection.events

    def events(connection, *rest):
        (found,) = connection.execute("select current_setting('temp_directory')").fetchall()
        spilled.append((Path(*found), stat.S_IMODE(Path(*found).stat().st_mode)))
        return looked_at(connection, *rest)

    monkeypatch.setattr(inspection, "events", events)
    lines(town, tmp_path)
    ((folder, mode),) = spilled
    assert (mode, folder.exists()) == (0o700, False)


def test_regions_and_factors_are_looked_at_before_anything_runs(town, tmp_path):
    assert "people no factors in [people]: counts are visits of devices" in lines(town, tmp_path)
    (town.folder / "regions.csv").write_text("cell_id,region_id\nSW,S\nSE,S\nNW,N\nNE,N\n")
    town.set('cell_id = "code"', 'cell_id = "code"\nregions = "regions.csv"')
    stated = "[people]\nmarket_share = 0.5\nmarket_share_low = 0.4\ndevices_per_person = 1\nactive_share = 0.5\n"
    town.settings.write_text(town.settings.read_text() + stated)
    said = lines(town, tmp_path)
    assert "regions 2, every cell in one" in said
    assert "people 4.00 behind a visit, on average over cells and hours (4.00 to 5.00 by the bounds)" in said
    (town.folder / "regions.csv").write_text("cell_id,region_id\nSW,S\n")
    with pytest.raises(BadInput, match="3 missing: SE, NW, NE"):
        lines(town, tmp_path)


def test_a_damaged_file_is_told_without_a_word_of_it(town, tmp_path):
    town.set("*.csv", "*.parquet")
    file = town.visits / "r.parquet"
    pq.write_table(pa.table({"user_id": ["zq7x"] * 99, "time": ["zq7x"] * 99, "tower_id": ["A"] * 99}), file)
    content = file.read_bytes()
    for place in range(4, 200, 7):
        file.write_bytes(content[:place] + b"\xff\xff" + content[place + 2 :])
        found = inspect(load_settings(town.settings), MONDAY, tmp_path / "home")
        assert "zq7x" not in "".join(finding.text for finding in found.findings)
    file.write_bytes(content[:-20])
    found = inspect(load_settings(town.settings), MONDAY, tmp_path / "home")
    assert found.verdict is Verdict.NOT_READY
    assert f"visit files must be readable to their ends, 1 of 1 are not: {file} (" in found.findings[0].text


def test_a_week_of_which_most_records_cannot_be_used_is_not_ready(town, tmp_path):
    def found() -> tuple[Verdict, str]:
        inspection = inspect(load_settings(town.settings), MONDAY, tmp_path / "home")
        return inspection.verdict, " ".join(finding.text for finding in inspection.findings)

    assert found() == (Verdict.READY, "")
    town.write_visits("ann,2007-09-10 08:10:00,A\nbob,noon,D\n")
    assert found() == (
        Verdict.LOOK,
        "1 of 2 records cannot be used, 1 of them because of 'time not readable': look at city.visit_time, "
        "city.visit_date and city.visit_time_format",
    )
    town.write_visits("ann,2007-09-10 08:10:00,A\nbob,noon,D\ncid,noon,D\n")
    verdict, text = found()
    assert verdict is Verdict.NOT_READY
    assert text.startswith("most records must be usable, 1 of 3 are (2 time not readable): look at city.visit_time,")
    town.write_visits("")
    assert found()[0] is Verdict.NOT_READY
    (town.visits / "part-0.csv").unlink()
    (town.visits / "_SUCCESS").unlink()
    verdict, text = found()
    assert verdict is Verdict.NOT_READY
    assert "must have visit files" in text


def test_what_is_understood_of_a_file_is_said_without_identifiers(town, tmp_path):
    town.write_visits("zq7x,2007-09-10 08:10:00,A\nzq7x,2007-09-12 20:00:00,D\nzq8x,2007-09-12 20:00:00,D\n")
    said = lines(town, tmp_path)
    assert "taken for user: user_id, time: time, tower: tower_id" in said
    assert "identifiers: 3 text; 2 different, 1 seen once" in said
    assert "time=2007-09-10 08:10:00 tower_id=A" in said
    assert "seen at 2 of 4 sites" in said
    assert "users 2 identifiers, 1 of them seen once" in said
    assert not [line for line in said if "zq" in line]


def test_columns_of_other_names_are_named_for_the_settings(town, tmp_path):
    town.write_visits("")
    (town.visits / "part-0.csv").write_text("imsi;when;site\n1;2007-09-10 08:10:00;A\n")
    found = inspect(load_settings(town.settings), MONDAY, tmp_path / "home")
    assert found.verdict is Verdict.NOT_READY
    assert [finding.text for finding in found.findings if finding.verdict is Verdict.LOOK] == [
        "the settings may have to say: visit_tower = \"site\"  # no column 'tower_id' in part-0.csv",
        "the settings may have to say: visit_user = \"imsi\"  # no column 'user_id' in part-0.csv",
    ]


def test_other_spellings_and_times_without_a_zone_are_named_for_the_settings(town, tmp_path):
    town.write_visits("336123,2007-09-10 08:10:00,A\n336123 ,2007-09-10 08:10:00,A\n336124,2007-09-10 08:10:00,A\n")

    def suggested() -> list[str]:
        found = inspect(load_settings(town.settings), MONDAY, tmp_path / "home")
        return [finding.text.partition("  #")[0] for finding in found.findings]

    assert suggested() == ['the settings may have to say: user_form = "trimmed"']
    town.set("*.csv", "*.parquet")
    times = pa.array([datetime(2007, 9, 10, 8)], pa.timestamp("us"))
    pq.write_table(pa.table({"user_id": ["ann"], "time": times, "tower_id": ["A"]}), town.visits / "r.parquet")
    assert suggested() == ['the settings may have to say: visit_timezone = "UTC"']
    town.set("[city]", '[city]\nvisit_timezone = "Europe/Paris"')
    assert suggested() == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("04.03.2024,08:15:00", 'visit_time_format = "%d.%m.%Y %H:%M:%S"  # the year comes last: is the day first?'),
        (
            "4/3/2024,08:15",
            'visit_time_format = "%d/%m/%Y %H:%M"  # the year comes last: is the day first, or the month before it?',
        ),
        (
            "4/3/2024,8:15:00 PM",
            'visit_time_format = "%d/%m/%Y %I:%M:%S %p"  # the year comes last',
        ),
        ("04.03.24,08:15", 'visit_time_format = "%d.%m.%y %H:%M"  # the year comes last: is the day first?'),
        ("24-03-04,08:15:00", ""),
        ("2024-03-04,08:15:00", ""),
    ],
)
def test_dates_that_end_with_the_year_need_a_format_that_is_named(town, tmp_path, line, said):
    town.set("[city]", '[city]\nvisit_date = "day"')
    (town.visits / "part-0.csv").write_text(f"user_id,day,time,tower_id\nann,{line},A\n")
    found = inspect(load_settings(town.settings), MONDAY, tmp_path / "home").findings
    told = [finding.text for finding in found if "visit_time_format = " in finding.text]
    said = f"the settings may have to say: {said}" if said else ""
    assert [text[: len(said)] for text in told] == ([said] if said else [])


def test_dates_without_a_time_are_to_be_looked_at(town, tmp_path):
    """They are read as midnight: everybody would be at home all week."""
    days = [f"2007-09-{day}" for day in range(10, 17)]
    town.write_visits("".join(f"u{n % 50},{day},{'ABCD'[n % 4]}\n" for day in days for n in range(200)))
    found = inspect(load_settings(town.settings), MONDAY, tmp_path / "home")
    assert found.verdict is Verdict.LOOK
    assert "times: 1,400 date without a time" in str(found)
    assert "1,400 of 1,400 records lie in one hour of the day, that from 0h" in found.findings[0].text


@pytest.mark.parametrize(
    ("zone", "verdict"), [("Europe/Paris", Verdict.READY), ("UTC", Verdict.READY), ("Asia/Tokyo", Verdict.LOOK)]
)
def test_a_zone_that_puts_the_night_into_the_day_is_to_be_looked_at(town, tmp_path, zone, verdict):
    busy = ((day, hour) for day in range(10, 17) for hour in range(24) if not 2 <= hour < 6)
    town.write_visits(
        "".join(
            f"u{n % 50},2007-09-{day} {hour:02}:{n:02}:00,{'ABCD'[n % 4]}\n" for day, hour in busy for n in range(8)
        )
    )
    town.set("[city]", f'[city]\nvisit_timezone = "{zone}"')
    found = inspect(load_settings(town.settings), MONDAY, tmp_path / "home")
    assert (found.verdict, [finding.text for finding in found.findings if "of the night" not in finding.text]) == (
        verdict,
        [],
    )
    if verdict is Verdict.LOOK:  # seven hours earlier in Paris
        assert found.findings[0].text.startswith("fewest records lie from 19h to 23h on the city's clocks")


def test_times_of_day_need_the_column_of_their_day(town, tmp_path):
    def said(header: str, line: str) -> str:
        (town.visits / "part-0.csv").write_text(f"{header}\n{line}\n")
        return " ".join(lines(town, tmp_path))

    apart, alone = "user_id,datum,time,tower_id", "user_id,time,tower_id"
    assert 'visit_date = "datum" # times are times of day' in said(apart, "ann,2007-09-10,08:00,A")
    assert "no column seems to have their day: name it by city.visit_date" in said(alone, "ann,08:00,A")


def test_names_of_antennas_are_shown_from_both_sides_with_their_blanks(town, tmp_path):
    town.write_visits("ann,2007-09-10 08:10:00,A  \n" * 3)
    said = " ".join(lines(town, tmp_path))
    assert "their names in the list: 'A', 'B', 'C', 'D'" in said
    assert "tower_id='A '" in said  # blanks are one here
    assert "(3 unknown tower): look at city.visit_tower and city.tower_id, which must spell antennas alike" in said


def test_simulated_people_need_no_records(tmp_path):
    assert inspect(Settings(), MONDAY, tmp_path / "home").verdict is Verdict.READY


def test_what_spark_does_not_read_is_told_before_anybody_acknowledges(town, tmp_path):
    town.set("[engine]", '[engine]\nname = "spark"')
    found = inspect(load_settings(town.settings), MONDAY, tmp_path / "home")
    assert found.verdict is Verdict.NOT_READY
    assert "on Spark visit files must be .parquet, got part-0.csv: convert" in found.findings[0].text


def test_that_no_error_is_foreseen_without_a_number_of_people_is_said(town, tmp_path):
    def foreseen() -> str:
        return next(line for line in lines(town, tmp_path) if line.startswith("expected "))

    assert "city.population must say how many people the records are of" in foreseen()
    town.set("[city]", "[city]\npopulation = 3000")
    assert "by simulation" in foreseen()
