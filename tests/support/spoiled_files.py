"""Files changed at random, from fixed seeds: a run says which seed it was, and the seed gives the file again."""

import copy
import json
import random
from collections.abc import Callable, Iterable
from typing import Any

from density_assets.errors import BadInput

INSERTED = [b"\0", b"\xff\xfe", b'"', b",", b"\r", b"\n", b"[", b"nan", b"1e999", bytes(100), b"\x01", b"\xed\xa0\x80"]
FIELDS = [
    "", " ", '" "', "\0", "A\0", "x" * 1_000, "nan", "inf", "-inf", "1e308", "-1e308", "1e400", '"a', 'a"b', "é",
    "0x1", "1_0", "9" * 30, "-0", "007", "7", " 7", "1.5", "TRUE", "NULL", "\ufeff", '"1,5"', "infinity", "epoch",
    "2007-09-10", "9999-12-31 23:59:59", "290309-12-22 (BC) 00:00:00", "2007-09-10 08:00:00+99:99", "now", "today",
    "1189404900", "-1189404900", "1189404900000", "24:00:00", "2007-02-30 00:00:00", "2007-09-10T08:00:00Z", "\u2028",
]  # fmt: skip
JSON_VALUES: list[Any] = [
    None, True, 0, -1, 1e308, float("inf"), float("nan"), "", "\0", "a\0b", " ", "x" * 1_000, [], {}, [[]], [[[0, 0]]],
    [[[0, 0], [1, 1]]], [[[0, 0], [1, 1], [0, 0]]], 2**70, -(2**70), 1.5, "Point", "Polygon", "MultiPolygon",
    "GeometryCollection", "urn:ogc:def:crs:EPSG::0", [1e308, 1e308], [1, 2, 3, 4, 5], "é" * 50,
]  # fmt: skip
TOML_VALUES = [
    "1e308", "-1e308", "nan", "inf", "-inf", "5e-324", "true", "false", "0", "-1", "1", "2", "0.5", "1_000", "0o777",
    "9223372036854775808", "18446744073709551616", "1" * 5_000, "0x" + "f" * 400, '""', '"\\u0000"', '"a\\u0000b"',
    "[]", "{}", "[1, 2]", "{a = 1}", "[" * 2_000 + "]" * 2_000, "{a = " * 500 + "1" + "}" * 500, "[" * 90 + "]" * 90,
    "9999-12-27", "0001-01-01", "2007-09-17", "9999-12-31T23:59:59Z", "23:59:59", "1979-05-27T07:32:00-08:00",
    '"1.2.3MB"', '".MB"', '"0MB"', '"1e400MB"', '"999999999999999GB"', '"MB"', '"1 MB"', '"-1MB"',
    '"../x"', '"~"', '"/"', '"*"', '"**/**"', '"[!"', '"{"', '"{week}"', '"http://"', '"http://["', '"http://a:b"',
    '"https://[::1"', '"localtime"', '"Factory"', "'''a\nb'''", "2**3", '"\\ud800"', '"EPSG:0"', '"x.csv"',
    '"taps"', '"visits"', '"' + "x" * 9_000 + '"',
]  # fmt: skip


def spoiled_bytes(content: bytes, rng: random.Random) -> bytes:
    """Some bytes replaced, left out or put in, or the end cut off."""
    data, at = bytearray(content), rng.randrange(len(content))
    kind = rng.choice(["replace", "replace", "cut", "remove", "insert"])
    if kind == "replace":
        for _ in range(rng.choice([1, 1, 2, 8])):
            data[rng.randrange(len(data))] = rng.randrange(256)
    elif kind == "cut":
        del data[at:]
    elif kind == "remove":
        del data[at : at + rng.choice([1, 4, 64])]
    else:
        data[at:at] = rng.choice(INSERTED)
    return bytes(data)


def spoiled_lines(content: bytes, rng: random.Random, separator: str = ",") -> bytes:
    """Some fields replaced, added or left out, some lines doubled."""
    rows = [line.split(separator) for line in content.decode().split("\n")]
    for _ in range(rng.choice([1, 1, 2, 4])):
        row = rng.choice([row for row in rows if row])
        kind = rng.choice(["replace", "replace", "replace", "add", "remove", "double"])
        if kind == "replace":
            row[rng.randrange(len(row))] = rng.choice(FIELDS)
        elif kind == "add":
            row.append(rng.choice(FIELDS))
        elif kind == "remove":
            row.pop()
        else:
            rows.insert(rng.randrange(len(rows)), list(row))
    return "\n".join(map(separator.join, rows)).encode()


def spoiled_json(content: bytes, rng: random.Random) -> bytes:
    """Some values anywhere replaced, left out or doubled."""
    document = {"all": json.loads(content)}
    for _ in range(rng.choice([1, 1, 2, 3])):
        holder, key = rng.choice(list(_places(document)))
        kind = rng.choice(["replace", "replace", "replace", "remove", "double"])
        if kind == "replace" or holder is document:
            holder[key] = copy.deepcopy(rng.choice(JSON_VALUES))
        elif kind == "remove":
            del holder[key]
        elif isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
    return json.dumps(document["all"]).encode()


def _places(value: Any) -> Iterable[tuple[Any, Any]]:
    """Every place of a document, as what holds it and where."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield value, key
        yield from _places(inner)


def spoiled_toml(content: str, rng: random.Random) -> bytes:
    """Some values replaced, lines left out, doubled or put in; or some bytes of it."""
    lines = content.split("\n")
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        at = rng.randrange(len(lines))
        kind = rng.choice(["replace"] * 6 + ["remove", "double", "table", "key", "bytes"])
        assigned = [number for number, line in enumerate(lines) if "=" in line]
        if kind == "replace" and assigned:
            at = rng.choice(assigned)
            lines[at] = f"{lines[at].split('=')[0]}= {rng.choice(TOML_VALUES)}"
        elif kind == "remove":
            del lines[at]
        elif kind == "double":
            lines.insert(at, rng.choice(lines))
        elif kind == "table":
            lines.insert(at, "[" * rng.choice([1, 5, 3_000]) + rng.choice(["city", "x", "a.b.c"]) + "]")
        elif kind == "key":
            lines.insert(at, ".".join("a" * rng.choice([2, 200])) + " = 1")
        else:
            return spoiled_bytes("\n".join(lines).encode(), rng)
    return "\n".join(lines).encode()


def raw_exceptions(seeds: Iterable[int], attempt: Callable[[random.Random], object]) -> dict[int, str]:
    """What ended neither well nor in a clear error, by seed."""
    found: dict[int, str] = {}
    for seed in seeds:
        try:
            attempt(random.Random(seed))
        except BadInput as error:
            if len(str(error)) > 5_000:
                found[seed] = f"an error of {len(str(error))} characters"
        except BaseException as error:  # a panic of polars is no Exception
            if isinstance(error, KeyboardInterrupt):
                raise
            found[seed] = f"{type(error).__name__}: {str(error)[:200]}"
    return found
