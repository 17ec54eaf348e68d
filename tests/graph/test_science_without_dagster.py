"""The science can be used without Dagster: importing all of it loads none, directly or through others.

That no module outside the graph imports it by name is a contract of import-linter (pyproject.toml, `make lint`).
"""

import subprocess
import sys
from pathlib import Path

import density_assets
import resources

ORCHESTRATION = (
    *("density_assets.graph", "density_assets.definitions", "density_assets.cli.runs"),
    "density_assets.research.definitions",
)


def science() -> list[str]:
    """Every module of ours but those that run the graph."""
    packages = (Path(package.__path__[0]) for package in (density_assets, resources))
    files = ((root, file) for root in packages for file in sorted(root.rglob("*.py")))
    names = (".".join(file.relative_to(root.parent).with_suffix("").parts) for root, file in files)
    modules = [name.removesuffix(".__init__") for name in names if not name.endswith("__main__")]
    return [name for name in modules if not f"{name}.".startswith(tuple(f"{known}." for known in ORCHESTRATION))]


def test_importing_all_of_the_science_does_not_load_dagster():
    modules = science()
    assert len(modules) > 150
    assert {"density_assets.city", "density_assets.cli.app", "resources.tables.store"} <= set(modules)
    code = f"import importlib, sys\nfor m in {modules!r}: importlib.import_module(m)\nprint('dagster' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("False", 0), done.stderr
