"""The hours that clocks skip: what is published says that nobody was there, and is certain of it.

An estimate smooths over such an hour, and so gives it counts that mean nothing. A release has none: its rows stay, so
that every cell has 168, with a count of zero and a standard error of zero. Sums over days are right without a word, and
errors of sums know that nothing can err there. Weeks that were signed with counts in such an hour keep them: their
dictionaries say that these mean nothing.
"""

import hashlib

import polars as pl

from density_assets.graph.step import Step
from density_assets.publication.files import COUNTED
from density_assets.publication.verification import content_of, listed_digests


def missing_hours(step: Step) -> list[int]:
    """Hours of the week that do not happen and are published without counts."""
    skipped = list(step.clock.missing)
    return [] if skipped and counted(step) else skipped


def counted(step: Step) -> bool:
    """Whether the week is published with counts in hours that do not happen, and nobody asked for other files."""
    if step.again or not step.clock.missing:
        return False
    dictionary = step.files.file("data_dictionary", "md")
    said = content_of(dictionary)
    listed = listed_digests(step.files.file("manifest", "json")).get(dictionary.name)
    return listed == hashlib.sha256(said).hexdigest() and COUNTED.encode() in said


def without_missing(step: Step, sums: pl.DataFrame) -> pl.DataFrame:
    """Errors of sums without what they say of hours that have none: what is not listed is zero."""
    return sums.filter(pl.col("hour").is_null() | ~pl.col("hour").is_in(missing_hours(step)))
