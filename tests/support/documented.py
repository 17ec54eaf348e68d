"""Lines of code that the documentation tells readers to use."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def documented(page: str, language: str) -> list[str]:
    """The blocks of a page in one language."""
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
