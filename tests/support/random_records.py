"""Files of records whose columns, types and values are drawn at random, from fixed seeds: a seed gives them again."""

import random
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from engines import ANTENNAS, AUTUMN, HOUR, SPRING, WEEK
from raw_weeks import ODD_NAMES

from density_assets.settings.city import CitySettings

WEEKS = (WEEK, AUTUMN, SPRING)
ODD_INTEGERS = (2**63 - 1, -(2**63), 2**62, 10**11, 10**13, 10**14, 10**17, 20070911081500, 20070230000000, -1, 0)
ODD_FLOATS = (float("nan"), float("inf"), float("-inf"), -0.0, 1e300, 9.3e18, 2.0**53, 20070911081500.0, 0.5, 1.5, 2.5)
TRUTHS = ("1.0", " 1", "1\n", "true", "T", "y ", "x", "1d", "1_0", "0x1p0", "0", "no", "1e0", "+1", "\u00a01", "1\x1f")
NO_TEXT = (b"a\xff", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80")
DAY_OF_EPOCH = date(1970, 1, 1)

Draw = Callable[[random.Random, int], pa.Array]


def some(rng: random.Random, size: int, usual: Callable[[], object], odd: tuple[object, ...]) -> list[object]:
    """Usual values, and now and then an odd one or none."""
    share = rng.choice((0, 0.05, 0.5))
    return [rng.choice((*odd, None)) if rng.random() < share else usual() for _ in range(size)]


def kept_as_text(rng: random.Random, texts: list[str | bytes | None]) -> pa.Array:
    """Text that nobody has looked at, in one of the ways that Arrow keeps it."""
    raw = pa.array([text.encode() if isinstance(text, str) else text for text in texts], pa.large_binary())
    large = pa.Array.from_buffers(pa.large_string(), len(raw), raw.buffers(), null_count=raw.null_count)
    return rng.choice([large, large.cast(pa.string()), large.dictionary_encode(), large.cast(pa.string_view())])


def text_users(rng: random.Random, size: int) -> pa.Array:
    odd = (*ODD_NAMES, *NO_TEXT, "", "+33 6", "\u00a0x\u00a0", "\t1\t", "x" * 5_000)
    return kept_as_text(rng, some(rng, size, lambda: f"p{rng.randrange(30)}", odd))


def integers(rng: random.Random, size: int, usual: Callable[[], int], odd: tuple[int, ...]) -> pa.Array:
    """Whole numbers as one of the types that hold those there are."""
    values = some(rng, size, usual, odd)
    there = [value for value in values if value is not None]
    kinds = [
        kind
        for bits in (8, 16, 32, 64)
        for kind, low, high in ((f"int{bits}", -(2 ** (bits - 1)), 2 ** (bits - 1)), (f"uint{bits}", 0, 2**bits))
        if all(low <= value < high for value in there)
    ]
    return pa.array(values, pa.type_for_alias(rng.choice(kinds)))


def whole_users(rng: random.Random, size: int) -> pa.Array:
    odd = rng.choice(((0, -7), ODD_INTEGERS, (0, 2**64 - 1)))
    return integers(rng, size, lambda: rng.randrange(30), odd)


def floats(rng: random.Random, size: int, usual: Callable[[], float]) -> pa.Array:
    values = some(rng, size, usual, ODD_FLOATS)
    return pa.array(values, rng.choice((pa.float64(), pa.float64(), pa.float32())))


def decimals(
    rng: random.Random, size: int, usual: Callable[[], object], scales: tuple[int, ...] = (0, 2, 10)
) -> pa.Array:
    scale = rng.choice(scales)
    odd = tuple(Decimal(text).quantize(Decimal(1).scaleb(-min(scale, 2))) for text in ("1.50", "-3", "0", "99999999"))
    kind = pa.decimal128(rng.choice((20, 28, 38)), scale)
    return pa.array(some(rng, size, lambda: Decimal(usual()), odd)).cast(kind, safe=False)


def raw_bytes(rng: random.Random, size: int) -> pa.Array:
    kind = rng.choice((pa.binary(), pa.large_binary(), pa.binary(2)))
    return pa.array(some(rng, size, lambda: bytes((rng.randrange(3), 255)), (b"\0\0", b"12")), kind)


def other_types(rng: random.Random, size: int) -> pa.Array:
    """Types that are refused for most columns."""
    return rng.choice(
        (
            pa.nulls(size, rng.choice((pa.null(), pa.int64(), pa.float64()))),
            pa.array([True] * size),
            pa.array([b"0123456789abcdef"] * size, pa.binary(16)),
            pa.array([[1]] * size),
            pa.array([1] * size, pa.time64("us")),
        )
    )


def one_of(rng: random.Random, draws: list[Draw], size: int) -> pa.Array:
    return (other_types if rng.random() < 0.03 else rng.choice(draws))(rng, size)


def users(rng: random.Random, size: int) -> pa.Array:
    draws: list[Draw] = [
        *[text_users] * 4,
        *[whole_users] * 3,
        lambda rng, size: floats(rng, size, lambda: float(rng.randrange(30))),
        lambda rng, size: decimals(rng, size, lambda: rng.randrange(30)),
        raw_bytes,
    ]
    return one_of(rng, draws, size)


def towers(rng: random.Random, size: int) -> pa.Array:
    odd = ("unknown", "", " A", "a", "A\0", "12.0", *NO_TEXT)
    draws: list[Draw] = [
        *[lambda rng, size: kept_as_text(rng, some(rng, size, lambda: rng.choice([*ANTENNAS, "far"]), odd))] * 4,
        lambda rng, size: integers(rng, size, lambda: rng.choice((0, 12)), (-3, 7)),
        lambda rng, size: floats(rng, size, lambda: rng.choice((0.0, 12.0, -3.0))),
        lambda rng, size: decimals(rng, size, lambda: rng.choice((0, 12)), (0,)),
        lambda rng, size: decimals(rng, size, lambda: "1.50", (2,)),
    ]
    return one_of(rng, draws, size)


def times(rng: random.Random, size: int, week: date) -> pa.Array:
    """Times in and around a week, often where clocks change."""
    monday = int(datetime(week.year, week.month, week.day, tzinfo=UTC).timestamp())

    def second() -> int:
        return monday + rng.choice((rng.randrange(-30 * HOUR, 198 * HOUR), rng.randrange(143 * HOUR, 149 * HOUR)))

    def stamps(rng: random.Random, size: int) -> pa.Array:
        unit, power = rng.choice((("s", 0), ("ms", 3), ("us", 6), ("ns", 9)))
        zone = rng.choice((None, "UTC", "Asia/Tokyo", "Europe/Paris", "+05:30"))
        least, most = (-(2**63), 2**63 - 1) if unit != "s" else (-(10**15), 10**15)
        values = some(rng, size, lambda: second() * 10**power + rng.choice((0, 10**power - 1)), (0, -1, least, most))
        return pa.array(values, pa.int64()).cast(pa.timestamp(unit, zone))

    def numbers(rng: random.Random, size: int) -> pa.Array:
        power = rng.choice((0, 3, 6, 9))
        return integers(rng, size, lambda: second() * 10**power + rng.choice((0, 10**power - 1)), ODD_INTEGERS)

    def written(rng: random.Random, size: int) -> pa.Array:
        """Numbers of 14 digits."""
        day = datetime(week.year, week.month, week.day)
        return integers(
            rng,
            size,
            lambda: int(f"{day + timedelta(seconds=rng.randrange(-9 * HOUR, 170 * HOUR)):%Y%m%d%H%M%S}"),
            (20070911240000, 20070911086000, 10000000000000, 99999999999999, 20070230101010),
        )

    def days(rng: random.Random, size: int) -> pa.Array:
        first = (week - DAY_OF_EPOCH).days
        return pa.array(
            some(rng, size, lambda: first + rng.randrange(-1, 8), (2**31 - 1, -(2**31), -719_162)), pa.int32()
        ).cast(pa.date32())

    draws: list[Draw] = [
        *[stamps] * 4,
        *[numbers] * 3,
        written,
        days,
        lambda rng, size: floats(rng, size, lambda: second() + rng.random()),
        lambda rng, size: decimals(rng, size, second),
    ]
    return one_of(rng, draws, size)


def filters(rng: random.Random, size: int) -> tuple[pa.Array, object]:
    """A column to be filtered by, and a value that some of its records have."""
    return rng.choice(
        (
            lambda: (kept_as_text(rng, some(rng, size, lambda: "it's \\ x", ("", "IT'S", *NO_TEXT))), "it's \\ x"),
            lambda: (integers(rng, size, lambda: rng.randrange(2), (-1, 2**31)), rng.choice((0, 1, 1.0, True, "1"))),
            lambda: (floats(rng, size, lambda: rng.choice((0.5, 1.0))), rng.choice((0.5, 1, True))),
            lambda: (pa.array(some(rng, size, lambda: rng.random() < 0.5, (True,))), rng.choice((True, False, 1, 0))),
            lambda: (kept_as_text(rng, some(rng, size, lambda: "1", TRUTHS)), rng.choice((1, True, False))),
            lambda: (other_types(rng, size), rng.choice((1, "x", True))),
        )
    )()


def settings(rng: random.Random, value: object | None) -> CitySettings:
    """How records are read.

    value: what the column `more` must hold; none if every record is wanted.
    """
    return CitySettings.model_construct(
        visit_user="user_id",
        visit_time="time",
        visit_tower="tower_id",
        user_form=rng.choice(("as is", "as is", "trimmed", "digits only")),
        visit_timezone=rng.choice((None, None, "UTC", "America/St_Johns", "Asia/Kathmandu")),
        timezone="Europe/Paris",
        visit_where={} if value is None else {"more": value},
    )


def random_records(folder: Path, seed: int) -> tuple[date, list[Path], CitySettings]:
    """A week, files of its records, and how they are read."""
    rng = random.Random(seed)
    week, filtered, number = rng.choice(WEEKS), rng.random() < 0.3, rng.choice((1, 1, 2, 3))
    folder.mkdir(parents=True)

    def table() -> tuple[pa.Table, object | None]:
        size, more, value = rng.choice((0, 1, 50, 300, 300, 300)), {}, None
        columns = {"user_id": users(rng, size), "time": times(rng, size, week), "tower_id": towers(rng, size)}
        if filtered:
            more["more"], value = filters(rng, size)
        return pa.table({**columns, **more}), value

    first, value = table()
    alike = rng.random() < 0.5  # as of one operator
    tables = (
        [first.slice(at, 100) for at in range(number)] if alike else [first, *(table()[0] for _ in range(1, number))]
    )
    files = [written_somehow(rng, folder / f"{at}.parquet", part) for at, part in enumerate(tables)]
    return week, files, settings(rng, value)


def written_somehow(rng: random.Random, file: Path, table: pa.Table) -> Path:
    """A Parquet file in one of the ways that writers have."""
    names = list(table.column_names)
    rng.shuffle(names)
    doubled = pa.concat_tables([table.select(names)] * rng.choice((1, 1, 2)))
    fine = any(pa.types.is_timestamp(kind) and kind.unit == "ns" for kind in doubled.schema.types)
    pq.write_table(
        doubled,
        file,
        row_group_size=rng.choice((7, 1_000)),
        compression=rng.choice(("none", "snappy", "zstd", "gzip")),
        version="2.6" if fine else rng.choice(("1.0", "2.4", "2.6")),  # older ones do not hold every nanosecond
        data_page_version=rng.choice(("1.0", "2.0")),
        use_dictionary=rng.choice((True, False)),
        store_schema=rng.choice((True, False)),
    )
    return file
