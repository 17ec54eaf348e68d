"""What attacks on signed releases share: who attacks, what they change, what whoever has the fingerprint finds."""

import copy
import json
from collections.abc import Iterator
from typing import Any

from signed_release import Release, key

from density_assets.publication.verify import Result, verify

OPERATOR, OFFICER, FORGER = key("operator"), key("officer"), key("forger")
LATER = "2007-09-17"
Place = tuple[str | int, ...]


def asked(release: Release) -> Result:
    """What somebody finds who knows the operator's fingerprint."""
    return verify(release.folder, OPERATOR.fingerprint)


def wrong(result: Result) -> list[str]:
    """What does not hold."""
    return [text for holds, text in result.findings if not holds]


def edited(release: Release, kind: str, number: int = 0, **changes: Any) -> Release:
    """Change the body of an entry and make everything after it anew, signature included."""
    entries = [entry for entry in release.book.entries if entry["kind"] == kind]
    body = {**json.loads(entries[number]["body"]), **changes}
    entries[number]["body"] = json.dumps(
        {name: value for name, value in body.items() if value is not ...}, sort_keys=True, separators=(",", ":")
    )
    return release.reseal()


def kinds(release: Release, kind: str) -> list[dict[str, Any]]:
    return [entry for entry in release.book.entries if entry["kind"] == kind]


def places(value: Any, path: Place = ()) -> Iterator[Place]:
    """Every field of a value, at any depth."""
    yield path
    if isinstance(value, dict):
        for name in value:
            yield from places(value[name], (*path, name))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from places(item, (*path, number))


def changed(value: Any, path: Place, new: Any) -> Any:
    """A copy with another value at one place; `...` removes it."""
    if not path:
        return new
    value = copy.deepcopy(value)
    inner = value
    for step in path[:-1]:
        inner = inner[step]
    if new is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = new
    return value


def others(value: Any) -> Iterator[Any]:
    """Values that are not this one."""
    yield from (None, True, "", "x", -1, 0, 0.5, 1e308, [], {}, [[]], {"x": None}, "\ud800", 10**19)
    if isinstance(value, str):
        yield value + " "
        yield value[:-1]
        yield value.upper()
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield from (value + 1, value * 0.5, str(value), bool(value))
    elif isinstance(value, list):
        yield from (value + value, value[::-1], value[1:])


def alike(one: Any, other: Any) -> bool:
    return json.dumps(one) == json.dumps(other)
