"""Assessing: a first draft of what the law asks before records of people are used."""

from pathlib import Path
from typing import Annotated

import typer

from density_assets.cli.options import SettingsFile
from density_assets.errors import BadInput


def dpia(
    file: Annotated[
        Path | None, typer.Argument(help="The file to write, by default dpia_CITY.md; none is replaced.")
    ] = None,
    settings: SettingsFile = None,
) -> int:
    """Draft a data-protection impact assessment (GDPR, Art. 35) from the settings; no record is read."""
    from density_assets.publication.assessment import MARK, impact_assessment, left_to_fill
    from density_assets.settings.environment import settings_here

    meant, _ = settings_here()
    draft, out = impact_assessment(meant), file or Path(f"dpia_{meant.city.name}.md")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with out.open("x", encoding="utf-8") as written:
            written.write(draft)
    except FileExistsError:
        raise BadInput(f"dpia must write a new file, {out} is there already: name another, or move that one") from None
    except OSError as problem:
        raise BadInput(f"dpia must be able to write {out}: {problem.strerror}") from None
    print(f"{out}: a draft for {meant.city.name}, from its settings alone; no record was read")
    print(f"{left_to_fill(draft)} places no setting knows: look for **{MARK}")
    return 0
