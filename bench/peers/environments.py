"""An environment for each peer, made once: they need versions of Polars, Spark and numpy that exclude each other."""

import shutil
import subprocess
import sys
from pathlib import Path

LISTS = Path(__file__).parent
ROOT = LISTS.parents[1]
ENVIRONMENTS = ROOT / ".venv-peers"


class NotInstalled(RuntimeError):
    """A peer could not be installed; says why."""


def requirements(peer: str) -> Path:
    """The list of everything that a peer needs, each in one version."""
    return LISTS / f"{peer}.txt"


def interpreter(peer: str) -> str:
    """The Python of a peer's environment, which is made anew if its list has changed."""
    folder, asked = ENVIRONMENTS / peer, requirements(peer).read_text(encoding="utf-8")
    python, installed = folder / "bin" / "python", folder / "installed.txt"
    if not installed.exists() or installed.read_text(encoding="utf-8") != asked:
        print(f"installing {peer} into {folder} (once)", file=sys.stderr)
        shutil.rmtree(folder, ignore_errors=True)
        _run(sys.executable, "-m", "venv", str(folder))
        _run(
            str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(requirements(peer))
        )
        installed.write_text(asked, encoding="utf-8")
    return str(python)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise NotInstalled("".join(last) or f"{command[0]} ended with {done.returncode}")
