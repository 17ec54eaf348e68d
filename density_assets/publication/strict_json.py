"""JSON that can be read in one way only, and is written in one: what is signed, hashed or comes from strangers.

`verify.py`, which outsiders run alone, has the same rules in code of its own.
"""

import json
import math
from typing import Any


class NotStrictJson(ValueError):
    """Raised when content is no JSON, can be read in two ways, or lacks a field."""


def canonical(value: Any) -> bytes:
    """Return the one way a value is written where its bytes are signed or hashed."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def read_json(content: bytes) -> Any:
    """Return the value, if there is one way only to read it."""
    try:
        return json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_refuse_doubled,
            parse_float=_refuse_infinite,
            parse_constant=_refuse_infinite,
        )
    except NotStrictJson:
        raise
    except RecursionError:
        raise NotStrictJson("it is nested too deeply") from None
    except (UnicodeDecodeError, ValueError) as problem:
        raise NotStrictJson(f"it must be JSON in UTF-8 ({type(problem).__name__})") from None


def read_record(content: bytes, **fields: type) -> dict[str, Any]:
    """Return a record that has the fields named, each of its type; a whole number is no truth value."""
    record = read_json(content)
    if not isinstance(record, dict):
        raise NotStrictJson("it must be a record")
    for name, kind in fields.items():
        if type(record.get(name)) is not kind:
            raise NotStrictJson(f"its field {name!r} must be of type {kind.__name__}")
    return record


def _refuse_doubled(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        raise NotStrictJson("a name occurs twice in one record, so that two readers may read two things")
    return record


def _refuse_infinite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise NotStrictJson("it holds a number that is not finite")
    return number
