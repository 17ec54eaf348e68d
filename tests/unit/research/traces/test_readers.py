"""Files of traces of every layout, laid out by the hour and by the day; what cannot be used is counted by reason."""

import gzip
from datetime import UTC, date, datetime

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from density_assets.errors import BadInput
from density_assets.research.traces.readers import read_days, read_traces
from density_assets.research.traces.recipe import BEIJING, Recipe, read_recipe
from density_assets.research.traces.trace_records import grid_centres

MONDAY_8 = int(datetime(2008, 5, 19, 15, 30, tzinfo=UTC).timestamp())  # 08:30 in San Francisco
SUNDAY = MONDAY_8 - 24 * 3600  # the day before the three weeks
# The box is cut in cells of 0.008° x 0.01°: this point lies in row 1 from the south, column 6 from the west.
HERE = "37.7501 -122.4099"


def points(reading):
    traces = reading.traces
    return {(str(traces.users[u]), int(roi), int(hour)) for u, roi, hour in zip(*traces.points(), strict=True)}


def read(data):
    return read_traces(data, read_recipe(data))


def test_one_file_per_cab(tmp_path):
    (tmp_path / "new_abboip.txt").write_text(
        f"{HERE} 0 {MONDAY_8}\n{HERE} 1 {MONDAY_8 + 60}\n37.7501 -122.4099 0\nnot a point at all\n\n"
        f"37.9 -122.4 0 {MONDAY_8}\n{HERE} 0 {SUNDAY}\n{HERE} 0 {MONDAY_8 + 3600}\r\n"
    )
    (tmp_path / "new_x-1.txt").write_bytes(
        f"{HERE} 0 {MONDAY_8 + 503 * 3600 - 8 * 3600}\n\xff\xfe 1 2 3\n".encode("latin1")
    )
    (tmp_path / "_cabs.txt").write_text("a list that is no trace\n")
    (tmp_path / "README.txt").write_text("words\n")
    (tmp_path / "sizes.csv").write_text("cab,lines\nabboip,8\n")
    reading = read(tmp_path)
    assert points(reading) == {("abboip", 16, 8), ("abboip", 16, 9), ("x-1", 16, 503)}
    assert {k: v for k, v in reading.tally.left_out.items() if k != "unreadable"} == {
        "outside the box": 1,
        "outside the weeks": 1,
    }
    assert reading.tally.left_out["unreadable"] >= 2
    assert reading.tally.records == reading.tally.used + sum(reading.tally.left_out.values())
    assert (reading.tally.used, reading.tally.users) == (4, 2)
    assert reading.traces.grid == (10, 10)
    assert reading.traces.matrix.shape == (2, 100 * 504)


def test_what_was_kept_is_said_with_box_grid_clocks_and_weeks(tmp_path):
    (tmp_path / "cabs.txt").write_text(f"7 {HERE} {MONDAY_8}\n7 {HERE} {MONDAY_8 + 1}\n8 0 0 {MONDAY_8}\n")
    assert str(read(tmp_path).tally) == (
        "3 records read, 2 kept (users: 1). Left out: 1 outside the box. 504 hours: 3 weeks from 2008-05-19, on "
        "clocks of UTC-7. Box: latitude 37.74 to 37.82, longitude -122.47 to -122.37, a grid of 10 x 10 (rows x "
        "columns)."
    )
    (tmp_path / "traces.toml").write_text('timezone = "America/Los_Angeles"\nweeks = 1\nnorth = 38.0\nrows = 3\n')
    assert str(read(tmp_path).tally) == (
        "3 records read, 2 kept (users: 1). Left out: 1 outside the box. 168 hours: 1 week from 2008-05-19, on "
        "clocks of America/Los_Angeles. Box: latitude 37.74 to 38, longitude -122.47 to -122.37, a grid of 3 x 10 "
        "(rows x columns)."
    )


def test_one_combined_file(tmp_path):
    file = tmp_path / "cabs.txt"
    file.write_text(
        f"7 {HERE} {MONDAY_8}\n8 37.7401\t-122.4699 {MONDAY_8}\n9 37.75 {MONDAY_8}\n7 x -122.4 {MONDAY_8}\n"
    )
    reading = read(file)
    assert points(reading) == {("7", 16, 8), ("8", 0, 8)}
    assert reading.tally.left_out == {"unreadable": 2}


LAYOUTS = {
    "cabs.txt": "a {at} {t}\n",
    "with_occupancy.txt": "a {at} 1 {t}\n",
    "a.txt": "{at} 0 {t}\n",
    "new_a.TXT": "{at} 0 {t}\n",
    "new_b.txt": "a {at} {t}\n",
    "new_a.txt.gz": "{at} 3 {t}\n",
    "garbage_first.txt": "what is this\na {at} {t}\n",
    "cabs.dat": "a,{lat},{lon},{t}\n",
    "taxis.txt": "a,2008-05-19 08:30:00,{lon},{lat}\n",
    "taxis.csv": "datetime;id;lat;lon\n2008-05-19T08:30:00;a;{lat};{lon}\n",
    "no_header.csv": "a;{lat};{lon};{t}\n",
    "header.txt": "unixtime cab lon lat\n{t} a {lon} {lat}\n",
    "cabs.csv": "\ufeffUnixTime,Cab,Lat,Lon\n{t}.0,a,{lat},{lon}\n",
    "quoted.csv": '"id","longitude","latitude","timestamp"\n"a",{lon},{lat},"{t}"\n',
    "cabs.csv.gz": "cab_id|time|lat|lon\na|{t}000|{lat}|{lon}\n",
    "cabs.tsv": "cab\tlat\tlon\tunixtime\na\t{lat}\t{lon}\t2008-05-19 08:30:00\n",
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_same_point_in_every_form(tmp_path, name):
    lat, lon = HERE.split()
    content = LAYOUTS[name].format(at=HERE, lat=lat, lon=lon, t=MONDAY_8).encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    reading = read(tmp_path)
    assert points(reading) == {("a", 16, 8)}
    assert reading.tally.left_out == ({"unreadable": 1} if "garbage" in name else {})


def test_lines_without_their_fields_and_numbers_that_are_none_are_counted(tmp_path):
    rows = [f"a,{MONDAY_8}", f"a,37.75,-122.4,{MONDAY_8},1", f"a,nan,-122.4,{MONDAY_8}", f"a,1e300,-122.4,{MONDAY_8}"]
    good = f"a,{HERE.replace(' ', ',')},{MONDAY_8}"
    (tmp_path / "cabs.csv").write_text("\n".join(["cab,lat,lon,unixtime", *rows, f'"{good}', good]))
    reading = read(tmp_path)
    assert points(reading) == {("a", 16, 8)}
    assert reading.tally.left_out == {"unreadable": 4}


def test_lines_that_are_far_too_long_or_hold_odd_bytes_are_counted(tmp_path):
    good = f"a,{HERE.replace(' ', ',')},{MONDAY_8}"
    odd = ["\x01".join(good.split(",")), "x" * 40_000_000, "x" * 3_000_000, "\0"]
    (tmp_path / "cabs.csv").write_text("\n".join(["cab,lat,lon,unixtime", *odd, good]))
    reading = read(tmp_path)
    assert points(reading) == {("a", 16, 8)}
    assert reading.tally.left_out == {"unreadable": 4}


@pytest.mark.parametrize("kind", ["string", "double", "timestamp"])
def test_values_that_nobody_can_read_are_counted_alone(tmp_path, kind):
    """In a Parquet file, where the database would stop at the first."""
    raw = pa.array([b"a", b"\xff" if kind == "string" else b"b"], pa.large_binary())
    users = pa.Array.from_buffers(pa.large_string(), 2, raw.buffers())
    lat, lon = map(float, HERE.split())
    times = pa.array([MONDAY_8 * 1000, 2**62 if kind == "timestamp" else MONDAY_8 * 1000], pa.int64())
    table = {"cab": users, "lat": [lat, float("nan") if kind == "double" else lat], "lon": [lon] * 2}
    pq.write_table(pa.table(table | {"unixtime": times.cast(pa.timestamp("ms", "UTC"))}), tmp_path / "cabs.parquet")
    reading = read(tmp_path)
    assert points(reading) == {("a", 16, 8)}
    assert reading.tally.left_out == {"unreadable": 1}


def test_a_column_the_recipe_names_is_taken_and_no_other(tmp_path):
    (tmp_path / "cabs.csv").write_text("id,lat,lon,unixtime\n")
    (tmp_path / "traces.toml").write_text('user = "driver"\n')
    with pytest.raises(BadInput, match=r"user in traces\.toml must name a column of the file, got 'driver'"):
        read(tmp_path)
    (tmp_path / "traces.toml").write_text('kind = "taps"\n')
    (tmp_path / "cabs.csv").write_text("ann,Bank,2010-03-01 08:10:00\n")
    with pytest.raises(BadInput, match=r"line 1 must name the columns; say in traces\.toml") as caught:
        read(tmp_path)
    assert "ann" not in str(caught.value)  # without a header it is somebody's record


@pytest.mark.parametrize(("unit", "zone"), [("ns", None), ("ms", None), ("us", "UTC")])
def test_timestamps_are_local_unless_they_say_a_zone(tmp_path, unit, zone):
    moment = datetime(2008, 5, 19, 15 if zone else 8, 30)
    lat, lon = map(float, HERE.split())
    table = pl.DataFrame({"cab": ["a"], "lat": [lat], "lon": [lon], "unixtime": [moment]})
    column = pl.col("unixtime").cast(pl.Datetime(unit)).dt.replace_time_zone(zone)
    table.with_columns(column).write_parquet(tmp_path / "cabs.parquet")
    assert points(read(tmp_path)) == {("a", 16, 8)}


def test_a_damaged_file_is_refused_in_words(tmp_path):
    (tmp_path / "cabs.parquet").write_bytes(b"PAR1 but not really")
    with pytest.raises(BadInput, match="must be readable"):
        read(tmp_path)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_named_columns(tmp_path, ending):
    table = pl.DataFrame(
        {
            "who": ["a", "b", None],
            "y": [37.7501] * 3,
            "x": [-122.4099] * 3,
            "when": [MONDAY_8, MONDAY_8 + 7200, MONDAY_8],
        }
    )
    getattr(table, f"write_{ending}")(tmp_path / f"gps.{ending}")
    (tmp_path / "traces.toml").write_text('user = "who"\nlat = "y"\nlon = "x"\ntime = "when"\nweeks = 1\n')
    reading = read(tmp_path)
    assert points(reading) == {("a", 16, 8), ("b", 16, 10)}
    assert reading.tally.left_out == {"unreadable": 1}
    (tmp_path / "traces.toml").write_text('user = "whom"\n')
    with pytest.raises(BadInput, match="did you mean 'who'"):
        read(tmp_path)


def test_taps_on_the_clocks_of_a_zone(tmp_path):
    # London changes its clocks on 28 March 2010 at 01:00 UTC, the last Sunday of the four weeks.
    (tmp_path / "taps.csv").write_text(
        "user,station,time\na,Bank,2010-03-01 08:10:00\na,Bank,2010-03-01T08:59:00Z\nb,Angel,2010-03-28T01:30:00Z\n"
        "b,Angel,yesterday\nc,Bank,2010-03-29 00:00:00\n,Bank,2010-03-01 08:10:00\na,Bank\n"
    )
    (tmp_path / "traces.toml").write_text('kind = "taps"\n')
    reading = read(tmp_path)
    assert points(reading) == {("a", 1, 8), ("b", 0, 27 * 24 + 2)}
    assert reading.tally.left_out == {"outside the weeks": 1, "unreadable": 3}
    assert reading.traces.grid is None


def taps_with_stations(folder, stations):
    rows = "a,Bank,2010-03-01 08:10:00\nb,Zürich,2010-03-01 09:00:00\nb,Mars,2010-03-01 09:00:00\n"
    (folder / "taps.csv").write_text(f"user,station,time\n{rows}", encoding="utf-8")
    (folder / "where.csv").write_text(stations, encoding="utf-8")
    (folder / "traces.toml").write_text('kind = "taps"\nweeks = 1\nstations = "where.csv"\n')


def test_a_list_of_stations_says_where_and_which_they_are(tmp_path):
    taps_with_stations(tmp_path, "\ufeffstation,x,y\nZürich,7.5,1\nBank,1,2\nAngel,1,3\n")
    reading = read(tmp_path)
    assert points(reading) == {("a", 1, 8), ("b", 2, 9)}  # Angel, Bank, Zürich
    assert reading.tally.left_out == {"at unknown stations": 1}
    assert reading.traces.positions.tolist() == [[1, 3], [1, 2], [7.5, 1]]
    assert reading.traces.placed
    (tmp_path / "traces.toml").write_text('kind = "taps"\nweeks = 1\n')
    (tmp_path / "where.csv").unlink()
    assert not read(tmp_path).traces.placed


@pytest.mark.parametrize(
    ("stations", "message"),
    [
        ("name,x,y\nBank,1,2\n", "stations in traces.toml must name a column of the file, got 'station'"),
        ("station,x,y\nBank,here,2\n", "numbers as x and y"),
        ("station,x,y\nBank,1,2\nBank,1,3\n", "once"),
    ],
)
def test_a_list_of_stations_that_makes_no_sense_is_refused(tmp_path, stations, message):
    taps_with_stations(tmp_path, stations)
    with pytest.raises(BadInput, match=message):
        read(tmp_path)
    (tmp_path / "where.csv").unlink()
    with pytest.raises(BadInput, match="is not there"):
        read(tmp_path)


def test_our_own_tables_of_visits(tmp_path):
    for week, hour in (("2007-09-10", 5), ("2007-09-17", 6)):
        table = pl.DataFrame({"week": [week] * 2, "user_id": [1, 2], "hour": [hour, 167], "tower_id": [30, 4]})
        table.with_columns(pl.col("week").str.to_date()).write_parquet(tmp_path / f"{week}.parquet")
    (tmp_path / "traces.toml").write_text('kind = "visits"\nweeks = 2\n')
    assert points(read(tmp_path)) == {("1", 0, 5), ("2", 1, 167), ("1", 0, 174), ("2", 1, 335)}
    towers = pl.DataFrame({"tower_id": [4, 30, 31], "site": ["a", "b", "c"], "x": [0.0, 1, 2], "y": [5.0, 5, 5]})
    towers.write_parquet(tmp_path / "towers.parquet")
    with (tmp_path / "traces.toml").open("a") as recipe:
        recipe.write('stations = "towers.parquet"\nstation = "tower_id"\n')
    placed = read(tmp_path).traces
    assert placed.positions.tolist() == [[1, 5], [2, 5], [0, 5]]  # 30, 31, 4: in the order of their names
    assert points(read(tmp_path)) == {("1", 0, 5), ("2", 2, 167), ("1", 0, 174), ("2", 2, 335)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nord = 3.0", "unknown key nord; did you mean 'north'"),
        ("first_week = 2008-05-20", "Monday"),
        ("south = 40.0", "south < north"),
        ('timezone = "Mars"', "IANA"),
        ("weeks =", "must be TOML"),
        ("weeks = true", "weeks: Input should be a valid integer, got True"),
        ("weeks = 100000", "weeks: Input should be less than or equal to 520"),
        ("first_week = 9999-12-27", "weeks must lie between 1970-01-05 and 2999-12-30"),
        ("south = nan", "south"),
        ("rows = [[1]]", "rows: Input should be a valid integer, got a list"),
    ],
)
def test_a_recipe_that_makes_no_sense_is_refused(tmp_path, text, message):
    (tmp_path / "traces.toml").write_text(text)
    with pytest.raises(BadInput, match=message):
        read_recipe(tmp_path)


def test_data_without_a_usable_point_is_refused(tmp_path):
    (tmp_path / "cabs.txt").write_text(f"7 {HERE} {SUNDAY}\n")
    with pytest.raises(BadInput, match="no record lies in the box"):
        read(tmp_path / "cabs.txt")
    with pytest.raises(BadInput, match="is not there"):
        read(tmp_path / "elsewhere.txt")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="must hold files of traces"):
        read(tmp_path / "empty")


ONE = """1,2008-02-02 08:05:00,116.40000,39.90000
1,2008-02-02 08:25:00,116.42000,39.90000
1,2008-02-02 09:31:00,116.40000,39.92000
1,2008-02-03 00:00:10,116.40000,39.90000
"""
BAD = """2,2008-02-02 08:10:00,116.40000,39.90000
2,not a time,116.4,39.9
2,2008-02-02 08:10:00,east,39.9
2,2008-02-02 08:10:00,116.4
2,2008-02-02 08:40:00,0.00000,0.00000

2,2008-02-02 08:10:00,116.4,39.9,extra
2,2007-02-02 08:10:00,116.4,39.9
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "1.txt").write_text(ONE)
    (tmp_path / "2.txt").write_text(BAD)
    return tmp_path


def read_by_day(data):
    return read_days(data, read_recipe(data, gps=BEIJING))


def cell(lon, lat):
    """The nearest centre, which for equal cells is the cell itself."""
    recipe = Recipe(**BEIJING)
    x = (lon - recipe.west) / (recipe.east - recipe.west) * recipe.columns
    y = (lat - recipe.south) / (recipe.north - recipe.south) * recipe.rows
    return int(y) * recipe.columns + int(x)


def test_the_last_position_of_a_half_hour_counts_and_gaps_are_filled(folder):
    found = read_by_day(folder)
    assert found.days == (date(2008, 2, 2), date(2008, 2, 3))
    assert found.cells.shape == (2, 2, 48)
    later, north = cell(116.42, 39.90), cell(116.40, 39.92)
    assert found.cells[0, 0, 16] == later  # 08:00, seen twice
    assert (found.cells[0, 0, :16] == later).all()  # before the first position
    assert (found.cells[0, 0, 16:19] == later).all()
    assert (found.cells[0, 0, 19:] == north).all()  # from 09:30 on
    assert (found.cells[1, 1] == -1).all()  # the second taxi was not out on the second day


def test_the_order_of_lines_does_not_matter(folder):
    (folder / "1.txt").write_text("\n".join(reversed(ONE.splitlines())))
    assert read_by_day(folder).cells[0, 0, 16] == cell(116.42, 39.90)


def test_lines_that_cannot_be_used_are_counted_by_reason(folder):
    tally = read_by_day(folder).tally
    assert tally.left_out == {"outside the box": 1, "outside the weeks": 1, "unreadable": 4}
    assert (tally.records, tally.used, tally.users) == (11, 5, 2)
    assert read_by_day(folder / "1.txt").tally.left_out == {}


def test_cells_are_500_metres_wide_and_cover_the_box(folder):
    centres = read_by_day(folder).xy
    recipe = Recipe(**BEIJING)
    by_row = centres.reshape(recipe.rows, recipe.columns, 2)
    assert np.diff(by_row[:, :, 1], axis=0) == pytest.approx(500, rel=0.005)
    assert np.diff(by_row[:, :, 0], axis=1) == pytest.approx(500, rel=0.005)
    assert np.array_equal(centres, 1_000 * grid_centres(recipe))


def test_a_moment_of_utc_lies_on_the_clocks_of_the_recipe(tmp_path):
    (tmp_path / "1.csv").write_text("id,time,lat,lon\n1,2008-02-02T16:10:00Z,39.9,116.4\n")  # 00:10 on 3 February
    found = read_by_day(tmp_path)
    assert found.days == (date(2008, 2, 3),)
    (tmp_path / "traces.toml").write_text("utc_offset = 0\nminutes = 60\n")
    found = read_by_day(tmp_path)
    assert (found.days, found.cells.shape) == ((date(2008, 2, 2),), (1, 1, 24))


def test_files_without_positions_are_refused(tmp_path):
    with pytest.raises(BadInput, match="is not there"):
        read_by_day(tmp_path / "nothing")
    (tmp_path / "empty.txt").write_text("1,2008-02-02 08:05:00,0,0\n")
    with pytest.raises(BadInput, match="no record lies in the box and the 2 weeks from 2008-01-28"):
        read_by_day(tmp_path)
    (tmp_path / "traces.toml").write_text("minutes = 7\n")
    with pytest.raises(BadInput, match="minutes"):
        read_by_day(tmp_path)
