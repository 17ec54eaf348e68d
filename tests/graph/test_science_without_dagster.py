"""The science can be used without Dagster: only the graph and its resources import it."""

import ast
import subprocess
import sys
from pathlib import Path

import density_assets

ROOT = Path(density_assets.__file__).parent
ORCHESTRATION = {"assets", "checks", "definitions.py", "partitions.py", "jobs.py", "automation.py"}


def science() -> list[Path]:
    return [file for file in sorted(ROOT.rglob("*.py")) if file.relative_to(ROOT).parts[0] not in ORCHESTRATION]


def imports(file: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


def test_no_science_module_imports_dagster():
    assert len(science()) > 20
    assert [str(file) for file in science() if "dagster" in imports(file)] == []


def test_importing_all_of_the_science_does_not_load_dagster():
    modules = [
        ".".join(("density_assets", *file.relative_to(ROOT).with_suffix("").parts))
        for file in science()
        if file.name not in ("__init__.py", "__main__.py")
    ]
    code = (
        f"import importlib, sys\nfor m in {modules!r}: importlib.import_module(m)\nassert 'dagster' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
