"""Running tests on one mutant after another, each in a process of its own.

A copy of the repository is made, in which one file at a time is a mutant. Heavy libraries are imported once, here;
every mutant gets a fork of this process, so that it costs little more than its tests. Bytecode is checked by content,
because a mutant is as old and often as long as what it replaces.
"""

import compileall
import importlib
import os
import py_compile
import shutil
import signal
import sys
import time
from pathlib import Path

COPIED = ("density_assets", "resources", "dbt_like_sql", "tests", "pyproject.toml", "README.md", "docs", "Makefile")
HEAVY = (
    *("pytest", "_pytest.assertion.rewrite", "hypothesis.strategies", "numpy", "scipy.stats", "scipy.optimize"),
    *("scipy.fft", "scipy.sparse.csgraph", "scipy.spatial", "polars", "duckdb", "pyarrow.parquet", "opendp.prelude"),
    *("dp_accounting", "dp_accounting.pld", "dp_accounting.rdp", "shapely", "geopandas", "sqlglot.lineage", "pydantic"),
    *("filelock", "sklearn.cluster", "matplotlib.pyplot", "dagster"),
)
PASSED, FAILED = 0, 1  # what pytest exits with


class Shadow:
    """The copy in which mutants are run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in COPIED:
            copied = shutil.copytree if Path(name).is_dir() else shutil.copy
            copied(name, folder / name)
        by_content = py_compile.PycInvalidationMode.CHECKED_HASH
        compileall.compile_dir(folder, quiet=2, invalidation_mode=by_content)

    def passes(self, file: str, source: str, tests: tuple[str, ...], seconds: float) -> tuple[bool, str]:
        """Whether tests pass with this source in place of the file's, and what they said at the end."""
        whole = (self.folder / file).read_text()
        (self.folder / file).write_text(source)
        try:
            return self._run(tests, seconds)
        finally:
            (self.folder / file).write_text(whole)

    def _run(self, tests: tuple[str, ...], seconds: float) -> tuple[bool, str]:
        said = self.folder / "said.txt"
        child = os.fork()
        if child == 0:
            _become_tests(self.folder, said, tests)
        status = _ended(child, seconds)
        if status is None:
            return False, "took too long"
        words = said.read_text(errors="replace")
        code = os.waitstatus_to_exitcode(status)
        if code == PASSED:
            return True, ""
        failed = [line for line in words.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return False, failed[0].split(" - ")[0] if failed else f"ended with {code}"


def warm_up() -> None:
    """Import what every mutant needs and no mutant changes."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for name in HEAVY:
        importlib.import_module(name)


def _become_tests(folder: Path, said: Path, tests: tuple[str, ...]) -> None:
    """In the child: run pytest in the copy, and end with its status."""
    code = 3
    try:
        output = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.setsid()
        original = str(Path.cwd())
        os.chdir(folder)
        os.environ["PYTHONPATH"] = str(folder)
        sys.path[:] = [str(folder), *(path for path in sys.path if path not in ("", original))]
        for name in [name for name in sys.modules if name.split(".")[0] == "tests"]:
            del sys.modules[name]
        import pytest

        options = ("-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", "no:randomly")
        code = int(pytest.main([*options, *tests]))
    finally:
        sys.stdout.flush()
        os._exit(code)


def _ended(child: int, seconds: float) -> int | None:
    """The status of a child, or none if it had to be ended."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None
