"""Code that the documentation tells readers to use: blocks of pages, and the notebook for planners."""

import json
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
NOTEBOOK = DOCS / "notebooks" / "five_questions.ipynb"


def documented(page: str, language: str) -> list[str]:
    """The blocks of a page in one language."""
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)


def notebook_cells() -> list[str]:
    """The notebook's cells of code."""
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def run_notebook(release: Path, output: Path) -> dict:
    """What its cells leave behind when they are run one after another: all that a kernel would do."""
    import matplotlib

    words: dict = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RELEASE", str(release))
        patch.setenv("OUTPUT", str(output))
        matplotlib.use("agg")
        for cell in notebook_cells():
            exec(cell, words)
    return words
