"""The golden city: a small town whose releases come out the same on every run.

Noise, clock, records and the installation's secret are fixed, everything else is the real command line:

    python golden_city.py release <settings> <home> --weeks 2007-09-10 …    release weeks, in this process
    python golden_city.py --write                                           make the values under tests/golden again

What it fixes (`fixed_process.py`) stays fixed in a process, so `released` starts one for every settings file.
"""

import argparse
import importlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import warm
from fixed_process import (
    all_modules,
    ask_for_no_acknowledgement,
    fix_chance,
    fix_clock,
    fix_noise,
    skip_what_is_slow,
)
from town import make_town

WEEKS = ("2007-09-10", "2007-09-17")
SCHEMES = (
    "lpa", "gpa", "fpa", "efpa", "efpag", "efpag_iris", "lowrank",
    "direct", "threshold", "static_hybrid", "dynamic_hybrid",
)  # fmt: skip
PEOPLE = 300
PROMISE = "delta = 2e-6\nbudget_delta = 1e-5"  # defaults when the values were first made
STUDIES = "studies.json"
ANTENNAS = ("A", "A2", "B", "C", "D")
SECRET = bytes(range(32))
WHO = {"DENSITY_BY": "tester", "DENSITY_REASON": "golden values", "DENSITY_COMMIT": "0" * 40}
GOLDEN = Path(__file__).parents[1] / "golden"


# --- the city and its releases: used by the tests and by `--write` ------------------------------------------------


def make_city(folder: Path, *, scheme: str = "lowrank", synthetic: bool = False) -> Path:
    """A town with records of its own for two weeks, or with simulated people; returns its settings file."""
    folder.mkdir(parents=True)
    town = make_town(folder)
    shutil.rmtree(town.folder / "visits")
    if synthetic:
        town.set('visits = "visits/{week}/*.csv"', f"users = {PEOPLE}")
    else:
        for week in WEEKS:
            _write_records(town.folder / "visits" / week, date.fromisoformat(week))
    town.settings.write_text(f'{town.settings.read_text()}\n[privacy]\n{PROMISE}\n[scheme]\nname = "{scheme}"\n')
    return town.settings


def _write_records(folder: Path, monday: date) -> None:
    """Most people leave few records, some more than a release may count of one person."""
    random = np.random.default_rng(monday.toordinal())
    lines = ["user_id,time,tower_id"]
    for person in range(PEOPLE):
        for _ in range(1 + int(random.exponential(12))):
            moment = datetime.combine(monday, datetime.min.time()) + timedelta(seconds=int(random.integers(604_800)))
            lines.append(f"p{person:03d},{moment},{ANTENNAS[int(random.integers(len(ANTENNAS)))]}")
    folder.mkdir(parents=True)
    (folder / "part-0.csv").write_text("\n".join(lines) + "\n")
    (folder / "_SUCCESS").touch()


def released(settings: Path, home: Path, *weeks: str, noise: str = "", studies: Path | None = None) -> Path:
    """Release weeks in a process of their own; returns the home."""
    arguments = argparse.Namespace(settings=settings, home=home, noise=noise, weeks=weeks, studies=studies)
    done = warm.run(release, arguments, environment=os.environ)
    assert done.returncode == 0, f"the golden city was not released: {done.stderr[-3000:]}"
    return home


def released_under(scheme: str, folder: Path) -> Path:
    """One week of real records under a scheme."""
    return released(make_city(folder, scheme=scheme), folder / "home", WEEKS[0])


def released_in_turn(folder: Path) -> Path:
    """Two weeks of real records, then a second revision of the first."""
    settings, home = make_city(folder), folder / "home"
    released(settings, home, *WEEKS)
    declare_revision(settings)
    return released(settings, home, WEEKS[0], noise="anew")


def declare_revision(settings: Path) -> None:
    """Ask for a second revision of the first week."""
    settings.write_text(f"{settings.read_text()}\n[revisions]\n{WEEKS[0]} = 2\n")


def released_simulated(folder: Path) -> Path:
    """One week of simulated people; what studies of it are called is in `studies.json` beside the home."""
    return released(make_city(folder, synthetic=True), folder / "home", WEEKS[0], studies=folder / STUDIES)


# Every home by name, and how it is made in a folder that is not there yet.
HOMES: dict[str, Callable[[Path], Path]] = {
    **{scheme: partial(released_under, scheme) for scheme in SCHEMES},
    "in_turn": released_in_turn,
    "simulated": released_simulated,
}


# --- the process that releases ------------------------------------------------------------------------------------


def release(arguments: argparse.Namespace) -> int:
    """Release and evaluate by their commands, with fixed noise, clock and secret, one week after the other."""
    os.environ |= {"DENSITY_SETTINGS": str(arguments.settings), "DENSITY_HOME": str(arguments.home), **WHO}
    _plant_secret(arguments.home / "town" / "confidential")
    fix_clock(list(all_modules()))
    fix_chance()
    skip_what_is_slow()
    ask_for_no_acknowledgement()
    open_for_people(arguments.settings, arguments.home)
    main = importlib.import_module("density_assets.__main__").main
    for week in arguments.weeks:
        fix_noise(arguments.noise)
        for command in ("release", "evaluate"):
            sys.argv = ["density_assets", command, "--settings", str(arguments.settings), "--week", week]
            if status := main():
                return status
    if arguments.studies:
        names = study_names(arguments.settings, arguments.home, date.fromisoformat(arguments.weeks[0]))
        arguments.studies.write_text(json.dumps(names))
    return 0


def _plant_secret(confidential: Path) -> None:
    """Fingerprints of confidential tables are keyed; without a secret the first run would draw one."""
    confidential.mkdir(parents=True, exist_ok=True)
    (confidential / "secret").write_bytes(SECRET)


def open_for_people(settings_file: Path, home: Path) -> None:
    """Open the ledger of real people, with a key that is the same every time."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    from density_assets.city import City
    from density_assets.settings import load_settings

    pem = Ed25519PrivateKey.from_private_bytes(SECRET).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    city = City(load_settings(settings_file), home)
    key = home.parent / "key.pem"
    key.touch(0o600)
    key.write_bytes(pem)
    if "[signing]" not in settings_file.read_text():
        settings_file.write_text(f'{settings_file.read_text()}\n[signing]\nkey = "{key}"\n')
    if not city.synthetic and not city.ledger.accounts().declared:
        sys.argv = ["density_assets", "ledger", "init", "--settings", str(settings_file)]
        importlib.import_module("density_assets.__main__").main()


def study_names(settings_file: Path, home: Path, week: date) -> dict[str, Any]:
    """Versions of schemes, and by which names and identities studies keep their repetitions.

    The only function here that needs more of the project than its command line and its noise: when modules move, its
    imports move with them, and nothing else.
    """
    from density_assets.research import studies
    from density_assets.research.study import Source
    from density_assets.schemes import SCHEMES
    from density_assets.settings import load_settings
    from resources.tables.stamps import stamp_values
    from resources.tables.store import Store

    class NamedTables(Source):
        def fingerprint(self, asset: str) -> str:
            return f"the table {asset}"

    settings = load_settings(settings_file)
    store = Store(home, settings.city.name, stamp_values(settings))
    source, named = Source(settings, store, week), NamedTables(settings, store, week)
    return {
        "schemes": {name: scheme.version for name, scheme in SCHEMES.items()},
        "studies": {
            name: {
                "asset": study.asset_name,
                "folder": str(study.folder(source).relative_to(home)),
                "version": study.version,
                "identity_with_named_tables": study.identity(named),
                "identity": study.identity(source),
                "fingerprints": {table: source.fingerprint(table) for table in study.tables},
            }
            for name, study in ((name, studies.study_named(name)) for name in studies.STUDIES)
        },
    }


# --- making the values again --------------------------------------------------------------------------------------


def write() -> int:
    """Make the values under tests/golden again; the old home is kept, later code must read it as it was written."""
    import golden_values

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        homes = {name: make(folder / name) for name, make in HOMES.items()}
        studies = json.loads((folder / "simulated" / STUDIES).read_text())
        golden_values.write(GOLDEN, {name: golden_values.collect(home) for name, home in homes.items()}, studies)
        golden_values.write_published(GOLDEN / "published", homes["in_turn"])
        if not (GOLDEN / "home_2").exists():
            golden_values.keep_home(GOLDEN / "home_2", homes["in_turn"])
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="make the values under tests/golden again")
    running = parser.add_subparsers(dest="command").add_parser("release", help="release weeks of one city")
    running.add_argument("settings", type=Path)
    running.add_argument("home", type=Path)
    running.add_argument("--noise", default="", help="another label, other noise")
    running.add_argument("--weeks", nargs="+", default=[WEEKS[0]])
    running.add_argument("--studies", type=Path, help="where to write what studies are called")
    return parser


if __name__ == "__main__":
    chosen = _parser().parse_args()
    if not (chosen.write or chosen.command):
        _parser().error("name `release` or `--write`")
    sys.exit(write() if chosen.write else release(chosen))
