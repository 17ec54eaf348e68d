"""Files of settings: TOML, read whole, and what is wrong with one in words.

Every value of a table is one value. Other lists and tables within tables are refused before anything looks into them,
because they may be nested deeper than Python can follow.
"""

import tomllib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from density_assets.errors import BadInput

LONGEST = 80  # characters of a value that a message repeats


def read_toml(file: Path, what: str) -> dict[str, Any]:
    """The tables of a file; whatever makes it no TOML is an error that names it.

    what: what the file is, to begin the message with.
    """
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"{what} must be readable: {file}: {error.strerror}") from None
    except RecursionError:
        raise BadInput(f"{what} must be TOML: {file}: its values are nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError, UnicodeDecodeError, and integers of thousands of digits
        raise BadInput(f"{what} must be TOML: {file}: {error}") from None


def nested(
    values: Mapping[str, Any], prefix: str = "", lists: Collection[str] = (), tables: Collection[str] = ()
) -> Iterator[str]:
    """What to say of each value that is a list or a table.

    lists: keys whose values may be lists of texts. tables: keys whose values may be tables of single values.
    """
    for key, value in values.items():
        if key in tables and isinstance(value, dict):
            yield from nested(value, f"{prefix}{key}.")
            continue
        if key in lists and isinstance(value, list) and all(isinstance(one, str) for one in value):
            continue
        if isinstance(value, list | dict):
            yield f"{prefix}{shown(key, str)} must be one value, got a {'list' if isinstance(value, list) else 'table'}"


def explained(error: Any) -> str:
    """One of pydantic's errors: where, what, and the value that was given."""
    where = ".".join(shown(part, str) for part in error["loc"])
    what = error["msg"].removeprefix("Value error, ")
    got = "" if error["type"] == "value_error" else f", got {shown(error['input'])}"
    return f"{where}: {what}{got}" if where else what


def shown(value: object, text: Any = repr) -> str:
    """A value as a message repeats it: its beginning, if it is long."""
    whole: str = text(value)
    return whole if len(whole) <= LONGEST else f"{whole[:LONGEST]}…"
