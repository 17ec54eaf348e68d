"""Errors of steps that touch real people's records, without their words.

Everybody who opens the UI reads errors, and those of a library may quote a record: a text it could not convert, a key
it did not find. So whatever is raised there and is not worded by us is told by its name and by where it happened. The
stack stays, for it holds lines of code and no values.
"""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from density_assets.privacy.zones import ZoneLeak
from resources.alerts import WORDED

OURS = (*WORDED, ZoneLeak)


class Withheld(RuntimeError):
    """An error whose words are not repeated."""


@contextmanager
def unquoted_errors(*, when: bool) -> Iterator[None]:
    """Withhold the words of every error that is not one of ours.

    when: whether the step may touch records of real people; errors of all others are let through.
    """
    try:
        yield
    except OURS:
        raise
    except (Exception, pl.exceptions.PanicException) as error:  # a panic of polars is no Exception
        if not when:
            raise
        frame = traceback.extract_tb(error.__traceback__)[-1]
        raise Withheld(
            f"{type(error).__name__} in line {frame.lineno} of {Path(frame.filename).name}; what it said may quote a "
            "record and is withheld. If starting again does not help, this is a fault of the software"
        ).with_traceback(error.__traceback__) from None
