"""Which files are those of a week: one folder a week or a folder a day, and what says that they are all there."""

from datetime import date, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from density_assets.calendar import week_clock
from density_assets.errors import BadInput
from density_assets.records.files import how_to_complete, is_complete, record_files, says_which_week
from density_assets.settings import Settings, load_settings
from density_assets.settings.city import CitySettings

WEEK, NEW_YEAR = date(2007, 9, 10), date(2007, 12, 31)
HIVE = "events/year={year}/month={month}/day={day}/*.parquet"


def of(folder: Path, visits: str = HIVE, **city: str) -> Settings:
    return Settings.model_construct(city=CitySettings.model_construct(visits=visits, **city), folder=folder)


def days(folder: Path, first: date, number: int, pattern: str = "events/year={0.year}/month={0.month}/day={0.day}"):
    """Folders of days as Spark leaves them: data, and files that are none."""
    for i in range(number):
        there = folder / pattern.format(first + timedelta(days=i))
        there.mkdir(parents=True)
        for name in (f"part-{i}.parquet", f".part-{i}.parquet.crc", "._SUCCESS.crc"):
            (there / name).touch()


def names(settings: Settings, week: date = WEEK) -> list[str]:
    return [Path(file).name for file in record_files(settings, week)]


@pytest.mark.parametrize("zeros", ["", ":%m"])
def test_a_week_is_its_seven_days_whether_or_not_they_have_zeros(tmp_path, zeros):
    month, day = ("{0:%m}", "{0:%d}") if zeros else ("{0.month}", "{0.day}")
    days(tmp_path, date(2007, 9, 3), 21, f"events/year={{0.year}}/month={month}/day={day}")
    assert names(of(tmp_path)) == [f"part-{i}.parquet" for i in range(7, 14)]


def test_a_day_that_is_written_in_two_ways_is_read_whole(tmp_path):
    """As where an export changed its mind at noon."""
    days(tmp_path, WEEK, 7, "events/year={0.year}/month={0.month}/day={0.day}")
    days(tmp_path, date(2007, 9, 9), 3, "events/year={0.year}/month={0:%m}/day={0:%d}")
    first = [Path(file).parts[-3:] for file in record_files(of(tmp_path), WEEK)][:4]
    assert first == [
        ("month=09", "day=10", "part-1.parquet"),
        ("month=9", "day=10", "part-0.parquet"),
        ("month=09", "day=11", "part-2.parquet"),
        ("month=9", "day=11", "part-1.parquet"),
    ]


def test_a_week_may_span_years(tmp_path):
    days(tmp_path, date(2007, 12, 30), 10)
    assert names(of(tmp_path), NEW_YEAR) == [f"part-{i}.parquet" for i in range(1, 8)]


@pytest.mark.parametrize(
    ("city", "files", "first", "number"),
    [
        ("Europe/Madrid", "UTC", date(2007, 9, 9), 8),
        ("Australia/Sydney", "UTC", date(2007, 9, 9), 8),
        ("America/New_York", "UTC", date(2007, 9, 10), 8),
        ("Europe/Paris", "Europe/Madrid", date(2007, 9, 10), 7),
        ("UTC", "UTC", date(2007, 9, 10), 7),
    ],
)
def test_the_days_of_another_zone_that_touch_the_week_belong_to_it(tmp_path, city, files, first, number):
    """Monday 0:00 in Madrid is Sunday 22:00 in UTC; Sunday 24:00 in New York is Monday 4:00."""
    days(tmp_path, first - timedelta(days=2), 12)
    found = names(of(tmp_path, timezone=city, visit_timezone=files))
    assert found == [f"part-{i}.parquet" for i in range(2, 2 + number)]


def test_days_hold_every_moment_of_the_week_and_no_others():
    clock = week_clock(date(2008, 3, 31), ZoneInfo("Australia/Sydney"))  # 169 hours: clocks go back
    found = clock.days(ZoneInfo("UTC"))
    assert (found[0], found[-1], len(found)) == (date(2008, 3, 30), date(2008, 4, 6), 8)
    assert clock.end_moment - clock.first_moment == 169 * 3600


def test_a_day_without_files_is_an_error_unless_it_is_complete(tmp_path):
    days(tmp_path, WEEK, 6)
    with pytest.raises(BadInput, match=r"for 2007-09-16; .* make the empty file .*/day=16/_SUCCESS$"):
        record_files(of(tmp_path), WEEK)
    sunday = tmp_path / "events/year=2007/month=9/day=16"
    sunday.mkdir()
    (sunday / "_SUCCESS").touch()
    assert names(of(tmp_path)) == [f"part-{i}.parquet" for i in range(6)]


def test_a_week_of_days_is_complete_when_each_of_them_is(tmp_path):
    days(tmp_path, WEEK, 7)
    folders = sorted((tmp_path / "events/year=2007/month=9").iterdir())
    for number, folder in enumerate(folders):
        assert not is_complete(of(tmp_path), WEEK)
        said = how_to_complete(of(tmp_path), WEEK)
        assert f"year=2007/month=9/{folder.name}/_SUCCESS" in said  # as Spark writes days, and no folder beside
        assert said.endswith(f"_SUCCESS and the like for {6 - number} more days") is (number < 6)
        (folder / "_SUCCESS").touch()
    assert is_complete(of(tmp_path), WEEK)
    assert not is_complete(of(tmp_path, visit_timezone="UTC"), WEEK)  # which has a part of Sunday before


def test_another_file_may_say_complete_and_so_may_a_hand(tmp_path):
    days(tmp_path, WEEK, 1)
    named, listed = of(tmp_path, visits_complete="*.crc"), of(tmp_path, visits_complete="done/{week}")
    with pytest.raises(BadInput, match=r"for 2007-09-11, .* and 1 more; .* make the empty file .*done/2007-09-10$"):
        record_files(listed, WEEK)
    (tmp_path / "done").mkdir()
    assert not is_complete(listed, WEEK)
    (tmp_path / "done/2007-09-10").touch()
    assert is_complete(listed, WEEK)
    assert not is_complete(listed, date(2007, 9, 17))
    assert names(listed) == ["part-0.parquet"]
    assert not is_complete(named, WEEK)  # six days have no folder


@pytest.mark.parametrize(
    ("visits", "complete", "says"),
    [
        ("v/{week}/*.csv", "_SUCCESS", True),
        (HIVE, "_SUCCESS", True),
        ("v/*.csv", "_SUCCESS", False),
        ("v/{week}.csv", "_SUCCESS", False),
        ("v/{week}.csv", "{week}.done", True),
        ("v/*.csv", "done/{week}", True),
        ("v/*.csv", "done/{year}-{month}-{day}", True),
        ("v/{week}.csv", "done/{day}", False),  # that of another month
        ("v/{week}.csv", "done/{month}-{day}", False),  # and of another year
        ("v/{year}/{day}/*.csv", "_SUCCESS", False),
    ],
)
def test_a_file_of_all_weeks_does_not_say_which_is_complete(tmp_path, visits, complete, says):
    assert says_which_week(of(tmp_path, visits, visits_complete=complete)) is says


@pytest.mark.parametrize("visits", ["v/{year}-{month}-{day}.csv", "v/{week}.csv"])
def test_a_file_of_all_weeks_makes_no_week_complete_whose_files_have_names_of_their_own(tmp_path, visits):
    """It was put there for an earlier week: what is missing would be drawn as if nobody had been there."""
    (tmp_path / "v").mkdir()
    for name in ("_SUCCESS", "2007-09-10.csv"):
        (tmp_path / "v" / name).touch()
    for week in (WEEK, date(2007, 9, 17)):
        assert not is_complete(of(tmp_path, visits), week)
    with pytest.raises(BadInput, match=r"such as done/\{week\}, for _SUCCESS speaks of other weeks too"):
        record_files(of(tmp_path, visits), date(2007, 9, 17))
    assert is_complete(of(tmp_path, "v/*.csv"), WEEK)  # these are the files of all weeks


def test_a_week_without_a_file_is_empty_only_if_each_of_its_days_is_complete(tmp_path):
    empty = of(tmp_path, "v/{week}.csv", visits_complete="done/{year}-{month}-{day}")
    (tmp_path / "done").mkdir()
    for number in range(10, 17):
        with pytest.raises(BadInput, match="the week of 2007-09-10 must have visit files"):
            record_files(empty, WEEK)
        (tmp_path / f"done/2007-09-{number}").touch()
    assert record_files(empty, WEEK) == []


SETTINGS = """
[city]
name = "town"
cells = "{cells}"
cell_id = "id"
towers = "towers.csv"
tower_id = "tower_id"
visits = "{visits}"
"""


@pytest.mark.parametrize(
    ("cells", "visits", "words"),
    [
        ("c.gpkg", "s3://bucket/{week}/*.parquet", r'set engine.name = "spark" .* or copy or mount the files here'),
        ("c.gpkg", "postgresql://me:secret@host/db", "must be files, got a database: export its records to Parquet"),
        ("c.gpkg", "jdbc:mysql://me:secret@host/db", "must be files, got a database: export its records to Parquet"),
        ("s3://me:secret@bucket/c.gpkg", "v/*.csv", "must be a path of this machine, got one of s3: copy or export"),
        ("postgresql://me:secret@h/db", "v/*.csv", "must be a path of this machine, got one of postgresql"),
    ],
)
def test_what_lies_elsewhere_is_refused_with_what_to_do_and_without_a_password(tmp_path, cells, visits, words):
    file = tmp_path / "town.toml"
    file.write_text(SETTINGS.format(cells=cells, visits=visits))
    with pytest.raises(BadInput, match=words) as caught:
        load_settings(file)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('visit_where = {error = [0]}', "city.visit_where.error: must be a text, a number or a truth value"),
        ('visit_where = {error = 1979-05-27}', "must be a text, a number or a truth value"),
        ('visit_where = {error = nan}', "must be a text, a number or a truth value"),
        ('visit_where = 3', "city.visit_where: .*dictionary"),
        ('visit_time_format = "%d/%m/%Q %H"', "must be made of %Y.*, got %Q"),
        ('visit_time_format = "%H:%M"', "must hold year and hour"),
        ('visit_timezone = "Europe/Pairs"', "must be an IANA time zone, got 'Europe/Pairs'; did you mean"),
        ('user_form = "digits"', "'as is', 'trimmed' or 'digits only'"),
    ],
)  # fmt: skip
def test_settings_of_records_that_nothing_can_be_done_with(tmp_path, line, words):
    file = tmp_path / "town.toml"
    file.write_text(SETTINGS.format(cells="c.gpkg", visits="v/*.csv") + line + "\n")
    with pytest.raises(BadInput, match=words):
        load_settings(file)
