"""What a walled-off process tells the one that started it, as bytes that cannot run anything when they are read.

Pickles would be code that runs outside the wall. So a message is JSON, a table is Arrow, a picture is its bytes, and an
error is its name and words: only errors of ours come back as what they were.
"""

import io
import json
from multiprocessing.connection import Connection
from typing import Any

import dagster as dg
import polars as pl

from density_assets.errors import BadInput
from density_assets.graph.step import Made
from density_assets.privacy.zones import ZoneLeak
from density_assets.publication.keeping import PublishedStays

OURS = {error.__name__: error for error in (BadInput, ZoneLeak, PublishedStays)}
SHOWN = {"md": dg.MetadataValue.md, "path": dg.MetadataValue.path}


class RemoteError(Exception):
    """What went wrong in the process, as it would have been printed there."""


def send(there: Connection, kind: str, **content: Any) -> None:
    """Tell something that JSON can say."""
    there.send_bytes(json.dumps({"kind": kind, **content}).encode())


def receive(here: Connection) -> dict[str, Any]:
    """The next thing that was told."""
    message: dict[str, Any] = json.loads(here.recv_bytes())
    return message


def send_made(there: Connection, made: Made) -> None:
    """Tell what a step made; all of it is bytes before the first is sent, so that no failure is taken for content."""
    facts = {name: _fact(value) for name, value in made.facts.items()}
    contents = [memoryview(content) for content in (*made.pictures.values(), *made.files.values())]
    if made.table is not None:
        buffer = io.BytesIO()
        made.table.write_ipc(buffer)
        contents = [buffer.getbuffer(), *contents]
    send(there, "made", facts=facts, pictures=list(made.pictures), files=list(made.files), table=made.table is not None)
    for content in contents:
        there.send_bytes(content)


def receive_made(here: Connection, message: dict[str, Any]) -> Made:
    """What a step made, of the message that announces it and what follows."""
    table = pl.read_ipc(io.BytesIO(here.recv_bytes())) if message["table"] else None
    pictures = {str(name): here.recv_bytes() for name in message["pictures"]}
    files = {str(name): here.recv_bytes() for name in message["files"]}
    facts = {name: SHOWN[kind](value) if kind in SHOWN else value for name, (kind, value) in message["facts"].items()}
    return Made(table, pictures, facts, files)


def error_of(message: dict[str, Any]) -> Exception:
    """The error that a message tells of: ours as it was, any other in words."""
    name, words = str(message["name"]), str(message["words"])
    return OURS[name](words) if name in OURS else RuntimeError(f"{name}: {words}")


def _fact(value: Any) -> tuple[str, Any]:
    if isinstance(value, dg.MarkdownMetadataValue):
        return "md", value.value
    if isinstance(value, dg.PathMetadataValue):
        return "path", value.value
    return "plain", value
