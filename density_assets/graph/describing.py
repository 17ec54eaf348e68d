"""What machines are told of a release: a data package, the entry of a portal, and that of the deployments registry.

The publisher's words are those of `[publication]`, as they were when the week was first published: whoever changes an
address later does not change what was signed.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from density_assets.graph.contents import names_of_counts
from density_assets.graph.step import Step
from density_assets.privacy.accounts import Accounts
from density_assets.publication.catalogues import Dataset, data_package, dcat, deployment
from density_assets.publication.files import DESCRIPTIONS
from density_assets.publication.keeping import published_record
from density_assets.settings.people import PublicationSettings


def description_files(step: Step, said: Mapping[str, Any], accounts: Accounts) -> dict[Path, bytes]:
    """The files that describe a release and what they hold.

    said: the statement, whose files lie there already, as do those of the counts.
    """
    stated = [step.files.file(*name) for name in (("privacy_statement", "json"), ("privacy_statement", "md"))]
    files = [*names_of_counts(step), *stated, step.files.file("ledger", "json")]
    contents = {file.name: file.read_bytes() for file in files}
    dataset = Dataset(step.files, said, contents, _licensed(step, accounts))
    makers = (data_package, dcat, deployment)
    return {step.files.file(*name): make(dataset) for name, make in zip(DESCRIPTIONS, makers, strict=True)}


def _licensed(step: Step, accounts: Accounts) -> PublicationSettings:
    """What the publisher states: for a published week as it was stated then, unless a person asked for other files."""
    published = accounts.publications(step.release.which, step.upto)
    if published and not step.again:
        known = published_record(step.files, published, DESCRIPTIONS[0]).get("publication")
        try:
            return PublicationSettings.model_validate(known) if known is not None else step.settings.publication
        except ValidationError:  # of a newer version
            return step.settings.publication
    return step.settings.publication
