"""The verifier as an outsider runs it: one file, any Python from 3.9 on, or OpenSSL by hand."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from forging import FORGER, OPERATOR
from signed_release import WEEK, Release, make_release

from density_assets.publication import verify as verifier

SCRIPT = Path(verifier.__file__)


@pytest.fixture
def release(tmp_path) -> Release:
    """A release that holds."""
    return make_release(tmp_path / "release", OPERATOR)


def command(*words: object, python: str = sys.executable, options: tuple[str, ...] = ("-I", "-S"), cwd=None, **more):
    """The script as an outsider runs it: isolated, so that nothing but the standard library can be imported."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [python, *options, str(more.pop("script", SCRIPT)), *map(str, words)],
        capture_output=True,
        check=False,
        text=True,
        cwd=cwd,
        env={**environment, **more.pop("environment", {})},
        timeout=60,
    )


def test_the_command_works_alone(release, tmp_path):
    done = command(release.folder, "--key", OPERATOR.fingerprint)
    assert (done.returncode, done.stderr) == (0, "")
    *findings, verdict = done.stdout.splitlines()
    assert all(line.startswith("ok   ") for line in findings)
    assert verdict == f"verified: signed by {OPERATOR.fingerprint} (town, {WEEK})"
    assert command(release.folder).returncode == 3
    assert command(release.folder, "--key", FORGER.fingerprint).returncode == 1


@pytest.mark.parametrize("version", ["3.9", "3.10", "3.12", "3.13", "3.14"])
def test_the_command_works_with_other_pythons(release, version):
    found = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python")) or [shutil.which(f"python{version}")]
    if found[-1] is None or command("-V", python=str(found[-1]), script="-V").returncode != 0:
        pytest.skip(f"Python {version} is not installed")
    assert command(release.folder, "--key", OPERATOR.fingerprint, python=str(found[-1])).returncode == 0
    (release.folder / f"density_{WEEK}.csv").write_bytes(b"forged")
    done = command(release.folder, "--key", OPERATOR.fingerprint, python=str(found[-1]))
    assert (done.returncode, done.stderr) == (1, "")


def test_it_is_written_for_python_3_9_and_the_standard_library():
    tree = ast.parse(SCRIPT.read_text(encoding="utf-8"), feature_version=(3, 9))
    imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    names = {alias.name for node in imports if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in imports if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names


@pytest.mark.parametrize("options", [(), ("-I",), ("-S",)])
def test_nothing_that_lies_beside_the_script_is_run(release, options):
    """Whoever unpacks a hostile folder and puts the verifier into it must not run what the folder holds."""
    shutil.copy(SCRIPT, release.folder / "verify.py")
    for name in ("json", "hashlib", "argparse", "re", "sitecustomize"):
        (release.folder / f"{name}.py").write_text("raise SystemExit(0)\n")
    done = command(
        ".", "--key", FORGER.fingerprint, script=release.folder / "verify.py", options=options, cwd=release.folder
    )
    assert done.returncode == 1, done.stderr
    assert "NOT verified" in done.stdout


def test_importing_it_leaves_the_path_of_modules_alone():
    code = "import sys; before = list(sys.path); import density_assets.publication.verify; assert sys.path == before"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=SCRIPT.parents[2])


def test_misuse_is_status_2_and_one_line(release, tmp_path):
    (tmp_path / "empty").mkdir()
    release.file("privacy_statement").with_name("privacy_statement_2007-09-17.json").write_text("{}")
    for words in (
        [tmp_path / "empty"],
        [tmp_path / "missing"],
        [release.file("density", "csv")],
        [release.folder],  # two releases
        [release.file("manifest"), "--key", "short"],
        [release.file("manifest"), "--anchor", tmp_path / "missing"],
        ["x" * 5000],
    ):
        done = command(*words)
        assert (done.returncode, done.stdout) == (2, ""), words
        assert done.stderr.startswith("error: ")
        assert done.stderr.count("\n") == 1
    assert command().returncode == 2


def test_whatever_a_release_says_cannot_write_on_the_terminal(release):
    """No line, cursor movement or right-to-left text of a forger's choice."""
    evil = "x\n\x1b[2Jverified: signed by you\u202e\ud800"
    release.manifest["files"][evil] = {"sha256": "0" * 64, "bytes": 1}
    release.manifest["files"]["y" * 10_000] = {"sha256": "0" * 64, "bytes": 1}
    release.sign()
    for environment in ({"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "utf-8"}):
        done = command(release.folder, "--key", OPERATOR.fingerprint, options=("-S",), environment=environment)
        assert (done.returncode, done.stderr) == (1, "")
        assert not re.search(r"^verified", done.stdout, re.MULTILINE)
        assert "\x1b" not in done.stdout
        assert "\u202e" not in done.stdout
        assert max(map(len, done.stdout.splitlines())) < 1000


def test_the_verdict_of_the_library_is_that_of_the_script(release):
    result = verifier.verify(release.folder, OPERATOR.fingerprint)
    done = command(release.folder, "--key", OPERATOR.fingerprint)
    assert done.stdout.splitlines() == [*(f"ok   {text}" for _, text in result.findings), result.verdict]


# --- by hand ----------------------------------------------------------------------------------------------------------


def by_hand() -> list[str]:
    """Commands of the documentation that check a release without our script."""
    text = (SCRIPT.parents[2] / "docs/verify.md").read_text(encoding="utf-8").split("## By hand")[1]
    return [block for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) if " ts " not in block]


def test_the_documentation_says_how_to_do_the_same_by_hand(release):
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    said = ""
    for block in by_hand():
        script = "set -eo pipefail\n" + block.replace("key_0123456789abcdef.pem", release.key_file)
        script = script.replace("python3", sys.executable)
        done = subprocess.run(["bash", "-c", script], cwd=release.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        said += done.stdout
    assert OPERATOR.fingerprint in said
    assert "Signature Verified Successfully" in said
    assert said.count(": OK\n") == len(release.contents)
    assert release.book.head in said


def test_by_hand_a_changed_file_is_found_too(release):
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    (release.folder / f"report_{WEEK}.html").write_text("forged")
    script = "set -eo pipefail\n" + by_hand()[1].replace("key_0123456789abcdef.pem", release.key_file)
    done = subprocess.run(["bash", "-c", script], cwd=release.folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"report_{WEEK}.html: FAILED" in done.stdout
