"""What makes a site of the documentation as it lies in the repository: the first page is README, and links stay inside.

The pages are written to be read in the repository. README, CONTRIBUTING and CHANGELOG lie above the folder that the
site is made of, and some links lead to code, which the site does not hold: these become the path of the file.
"""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
ABOVE = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
CODE = re.compile(r"\[`?([^\]`]+)`?\]\((?:\.\./)+((?:density_assets|deploy|resources|tests)/[^)]*)\)")
DRAWN_BY_A_SCRIPT = re.compile(r"```mermaid\n.*?```\n", re.DOTALL)  # which would be fetched from elsewhere


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that lie above."""
    for name, page in ABOVE.items():
        files.append(File.generated(config, page, content=_seen_from_docs((ROOT / name).read_text(encoding="utf-8"))))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Let links to code be names of files."""
    for name, page in ABOVE.items():
        markdown = markdown.replace(f"](../{name}", f"]({page}")
    return DRAWN_BY_A_SCRIPT.sub("", CODE.sub(r"`\2`", markdown))


def _seen_from_docs(text: str) -> str:
    for name, page in ABOVE.items():
        text = text.replace(f"]({name}", f"]({page}")
    return text.replace("](docs/", "](")
