"""The package as `pip install` leaves it: built, installed where the repository is out of reach, and used there."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import pytest
from serving import ROOT, answer_when, serving
from town import make_town

PACKAGES = ("density_assets", "resources", "dbt_like_sql")
QUIET = ("--quiet", "--disable-pip-version-check", "--no-index", "--no-deps")
OTHERS = {"PYTHONPATH", "DENSITY_SETTINGS", "VIRTUAL_ENV"}


@dataclass(frozen=True)
class Installed:
    """An environment with the package in it, and a folder to work in."""

    environment: Path
    folder: Path

    def run(self, *words: str | Path, **options) -> subprocess.CompletedProcess[str]:
        """What a program of the environment says, started in the folder."""
        known = {name: value for name, value in os.environ.items() if name not in OTHERS}
        known |= {"DENSITY_HOME": str(self.folder / "home")}
        command = [str(self.environment / "bin" / words[0]), *map(str, words[1:])]
        options = {"cwd": self.folder, "env": known} | options
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, **options)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built of copies: what an earlier build left in the repository would be packed too."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in PACKAGES:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "wheel", *QUIET, "--no-build-isolation", "--wheel-dir", str(out), str(source)]
    subprocess.run(pip, check=True, capture_output=True, text=True, timeout=600)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Installed:
    """An environment that has the wheel and sees our dependencies, but not the repository."""
    folder = tmp_path_factory.mktemp("elsewhere")
    environment = folder / "venv"
    venv.create(environment)
    python = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", *QUIET, str(wheel)]
    subprocess.run(pip, check=True, capture_output=True, text=True, timeout=600)
    (packages,) = environment.glob("lib/python*/site-packages")
    # A folder that is named in a .pth file has its own .pth files left alone: the repository stays unknown.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return Installed(environment, folder)


def test_every_file_of_the_packages_is_in_the_wheel(wheel):
    there = set(ZipFile(wheel).namelist())
    files = (path for name in PACKAGES for path in (ROOT / name).rglob("*") if path.is_file())
    ours = {str(path.relative_to(ROOT)) for path in files if path.suffix != ".pyc"}
    assert ours - there == set()
    assert {"dbt_like_sql/visits.sql", "density_assets/publication/verify.py"} <= there


def test_a_week_is_released_and_served_where_there_is_no_repository(installed, wheel):
    town = make_town(installed.folder)
    town.set('visits = "visits/{week}/*.csv"', "users = 500")
    where = installed.run("python", "-c", "import density_assets, resources; print(resources.__file__)")
    assert where.stdout.startswith(str(installed.environment)), where.stderr
    released = installed.run("density", "release", "--settings", town.settings)
    assert released.returncode == 0, released.stderr[-3000:]
    release = installed.folder / "home/town/release"
    checked = installed.run("python", release / "verify.py", release / "manifest_2007-09-03.json")
    assert "whole" in checked.stdout, checked.stdout + checked.stderr
    command = (installed.environment / "bin" / "density",)
    with serving(town.settings, installed.folder / "home", command=command, folder=installed.folder) as url:
        answer = answer_when(url, "{ assetNodes { assetKey { path } } }", lambda said: bool(said["assetNodes"]))
    assert ["density"] in [node["assetKey"]["path"] for node in answer["assetNodes"]]


@pytest.mark.parametrize("name", ["resources", "dbt_like_sql"])
def test_another_package_of_the_name_is_refused_with_what_to_do(installed, name):
    theirs = installed.folder / name
    theirs.mkdir()
    (theirs / "__init__.py").touch()
    try:
        refused = installed.run("python", "-m", "density_assets", "--help")
    finally:
        shutil.rmtree(theirs)
    assert refused.returncode == 1
    assert f"the package `{name}` must be that of density-assets" in refused.stderr
    assert f"but Python finds {theirs}: start in another folder" in refused.stderr


def test_a_package_that_overwrote_ours_is_refused(installed):
    (ours,) = installed.environment.glob("lib/python*/site-packages/resources/__init__.py")
    text = ours.read_text()
    try:
        ours.write_text("")
        refused = installed.run("density", "--help")
    finally:
        ours.write_text(text)
    assert refused.returncode == 1
    assert "if another distribution brought it, install density-assets in an environment of its own" in refused.stderr
    assert installed.run("density", "--help").returncode == 0


def test_the_workspace_of_the_package_is_that_of_the_repository():
    """Dagster's own commands look for the one, `density ui` takes the other: switches are kept by the name in both."""
    assert (ROOT / "density_assets/graph/workspace.yaml").read_bytes() == (ROOT / "workspace.yaml").read_bytes()
