"""Print how large the software is: lines, modules, imports, and what its code location loads.

python -m bench.size
"""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOADED = "import sys, density_assets.definitions; print(*sys.modules)"
PRODUCTION = ("density_assets", "resources", "dbt_like_sql")
FIXTURES = {".json", ".csv", ".toml", ".geojson", ".html", ".txt", ".yaml", ".md"}


def tracked(*folders: str) -> list[Path]:
    """Return the files of folders that git tracks and that are there."""
    listed = subprocess.run(["git", "ls-files", "-z", *folders], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def lines(files: list[Path]) -> int:
    return sum(len(file.read_bytes().splitlines()) for file in files)


def import_lines(files: list[Path]) -> int:
    """Return how many lines import statements take."""
    nodes = (node for file in files for node in ast.walk(ast.parse(file.read_bytes())))
    return sum(
        (node.end_lineno or 0) - node.lineno + 1 for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)
    )


def main() -> int:
    """Print the table."""
    production = [file for file in tracked(*PRODUCTION) if file.suffix in (".py", ".sql")]
    research = [file for file in production if ROOT / "density_assets/research" in file.parents]
    modules = [file for file in production if file.suffix == ".py"]
    tests = [file for file in tracked("tests") if file.suffix == ".py"]
    fixtures = [file for file in tracked("tests") if file.suffix in FIXTURES]
    python = [*modules, *tests]
    names = subprocess.run([sys.executable, "-c", LOADED], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = [name for name in names.stdout.split() if name.split(".")[0] in ("density_assets", "resources")]
    rows = {
        "production lines without research": lines(production) - lines(research),
        "lines of research": lines(research),
        "modules of density_assets and resources": len(modules),
        "lines of tests": lines(tests),
        "lines of fixtures": lines(fixtures),
        "lines of documentation": lines([file for file in tracked("docs") if file.suffix == ".md"]),
        "import lines, % of Python": round(100 * import_lines(python) / lines(python), 1),
        "import lines, % of production": round(100 * import_lines(modules) / lines(modules), 1),
        "modules loaded by the code location": len(loaded),
    }
    for name, number in rows.items():
        print(f"{name:42}{number:>10,}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
