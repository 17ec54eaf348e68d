"""What `check` says that files are taken for: on which clocks times are read, how many files were looked at, which."""

import pytest
from runs import MONDAY

from density_assets.cli import inspection
from density_assets.cli.inspection import inspect
from density_assets.records.verdict import Verdict
from density_assets.settings import load_settings


def lines(town, tmp_path) -> list[str]:
    found = inspect(load_settings(town.settings), MONDAY, tmp_path / "home")
    assert found.verdict is Verdict.READY, str(found)
    return [f"{name} {text}".strip() for name, text in found.lines]


IF_UTC = "if they are others', such as UTC, set city.visit_timezone"


@pytest.mark.parametrize(
    ("time", "line", "said"),
    [
        ("2007-09-10 08:10:00", "", f"1 without a zone, read as Europe/Paris (city.timezone): {IF_UTC}"),
        ("2007-09-10 08:10:00", 'visit_timezone = "UTC"', "1 without a zone, read as UTC (city.visit_timezone)"),
        ("2007-09-10 08:10:00Z", "", "1 with a zone"),
        ("1189411800", "", "1 seconds"),
        ("10.9.2007 8:10", 'visit_time_format = "%d.%m.%Y %H:%M"', "written as %d.%m.%Y %H:%M "
         f"(city.visit_time_format), without a zone, read as Europe/Paris (city.timezone): {IF_UTC}"),
    ],
)  # fmt: skip
def test_it_is_said_on_which_clocks_times_without_a_zone_are_read(town, tmp_path, time, line, said):
    town.set("[city]", f"[city]\n{line}")
    town.write_visits(f"ann,{time},A\n")
    found = lines(town, tmp_path)
    assert f"times: {said}" in found


def test_it_is_said_how_many_of_many_files_are_looked_at(town, tmp_path, monkeypatch):
    monkeypatch.setattr(inspection, "MOST_FILES", 2)
    for number in range(2):
        town.write_visits("ann,2007-09-10 08:10:00,A\n", f"part-{number}.csv")
    assert not [line for line in lines(town, tmp_path) if "looked at" in line]
    town.write_visits("bob,2007-09-10 08:10:00,A\n", "part-2.csv")
    assert "first 2 of 3 files looked at for what they are; records of all are counted" in lines(town, tmp_path)


def test_files_of_days_that_are_named_alike_are_told_apart(town, tmp_path):
    town.set("visits/{week}/*.csv", "days/{day}/part-0.csv")
    for day in range(10, 17):
        (town.folder / f"days/{day}").mkdir(parents=True)
        (town.folder / f"days/{day}/part-0.csv").write_text("user_id,time,tower_id\nann,2007-09-10 08:10:00,A\n")
    (town.folder / "days/13/part-0.csv").write_text("user_id;time;tower_id\n")
    said = lines(town, tmp_path)
    assert "file 10/part-0.csv and 5 more of its kind: csv, delimiter ',', UTF-8" in said
    assert "file 13/part-0.csv: csv, delimiter ';', UTF-8" in said
