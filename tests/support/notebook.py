"""The notebook for planners: its cells, and what they leave behind on the files of a folder."""

import json
from pathlib import Path

import matplotlib
import pytest
from documented import DOCS

NOTEBOOK = DOCS / "notebooks" / "five_questions.ipynb"


def source() -> list[str]:
    """Its cells of code."""
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def ran(release: Path, output: Path) -> dict:
    """What its cells leave behind when they are run one after another: all that a kernel would do."""
    words: dict = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RELEASE", str(release))
        patch.setenv("OUTPUT", str(output))
        matplotlib.use("agg")
        for cell in source():
            exec(cell, words)
    return words
