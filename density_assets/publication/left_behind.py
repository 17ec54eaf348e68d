"""Files that an earlier making of a week left and that its list does not name: nobody vouches for them any more.

A week that is published again without its regions, say, would leave their files beside the new ones, under names that
readers know. Whoever removes them does so once the new list is on disk, because until then the old one names them.
Only files are meant that this software writes of a week, by their exact names: whatever else lies there is not ours.
"""

from collections.abc import Iterator
from pathlib import Path

from density_assets.publication.files import COUNT_FILES, DESCRIPTIONS, ERRORS_OF_SUMS, FURTHER_FILES, Naming
from density_assets.publication.public_inputs import INPUTS_FILE
from density_assets.publication.sums import REGION_FILES
from density_assets.publication.verification import digests_in

OF_WEEKS = (*COUNT_FILES, *FURTHER_FILES, *DESCRIPTIONS, ERRORS_OF_SUMS, *REGION_FILES, INPUTS_FILE)


def left_behind(files: Naming, manifest: bytes) -> Iterator[Path]:
    """What lies there of one release or final estimate, and its manifest does not name."""
    named = digests_in(manifest)
    for name in OF_WEEKS:
        file = files.file(*name)
        if file.name not in named and file.is_file():
            yield file
