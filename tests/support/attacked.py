"""A released week of a town of real people, and a copy of its home for each attack on it."""

import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
from ledgers import ACT
from runs import WEEK, failures, materialise, only
from town import Town, make_town

from density_assets.city import City
from density_assets.definitions import BLUEPRINTS, build
from density_assets.settings import load_settings
from resources.ledger.book import medium_digest
from resources.ledger.ledger import Ledger
from resources.ledger.opening import backup, say_moved
from resources.ledger.witnesses import NOTHING

PUBLIC = ("cells", "antennas", "towers", "tower_cells", "overlaps", "cover_graph")
COUNTED = ("visits", "truncated_visits", "tower_series", "tower_totals", "visit_total")
DOORS = ("noisy_totals", "noisy_series")
PUBLISHED = (
    *("clusters", "smoothed_series", "errors_of_sums", "density"),
    *("published_counts", "privacy_statement", "density_report"),
)
LATER = "2007-09-17"
AGAIN = only(*COUNTED, *DOORS, *PUBLISHED, "signed_release")


@dataclass(frozen=True)
class Released:
    """A released week, with `before.sqlite` beside its home: a backup of the ledger before it.

    anchor: outside, and has seen the end of the ledger.
    """

    town: Town
    home: Path
    anchor: Path

    @property
    def backup(self) -> Path:
        return self.home.parent / "before.sqlite"


def release(folder: Path) -> Released:
    """Release a week of a town once, with the noise of real releases."""
    town, home, anchor = make_town(folder), folder / "home", folder / "anchor.jsonl"
    anchor.touch()
    town.set("[engine]", f'[anchor]\nfile = "{anchor}"\n[engine]')
    materialise(town.settings, home, asset_selection=only(*PUBLIC))
    backup(Ledger(home), folder / "before.sqlite")
    materialise(town.settings, home, asset_selection=AGAIN, sealed=False)
    return Released(town, home, anchor)


class Attack:
    """A copy of a released home to attack; `town` may be changed too."""

    def __init__(self, town: Town, home: Path) -> None:
        self.town = town
        self.home = home
        self.release = home / "town" / "release"

    @property
    def city(self) -> City:
        return City(load_settings(self.town.settings), self.home, sealed=False)

    def draws(self) -> dict[str, str]:
        """Digest of every stored draw."""
        files = sorted(self.home.glob("*/release/measurements/*.npz"))
        return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}

    def published(self) -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in sorted(self.release.glob(f"*_{WEEK}*.*"))}

    def again(self, assets=AGAIN, week: str = WEEK, job: str = "weekly_release", **tags: str) -> list[str]:
        """Run a week again, without opening the ledger for the attacker; what refused, or nothing."""
        said = {f"density/{name}": value for name, value in {"by": "op", "reason": "a test", **tags}.items()}
        city = self.city
        there = {dg.AssetKey(plan.name) for plan in BLUEPRINTS if plan.where(city)}  # a scheme may have fewer
        with dg.DagsterInstance.ephemeral() as instance:
            result = (
                build(city)
                .resolve_job_def(job)
                .execute_in_process(
                    instance=instance,
                    partition_key=week,
                    raise_on_error=False,
                    asset_selection=[key for key in assets if key in there],
                    tags=said,
                )
            )
        return [] if result.success else failures(result)

    def write_week(self, week: str) -> None:
        """Give the town records of another week."""
        folder = self.town.folder / "visits" / week
        folder.mkdir()
        (folder / "part-0.csv").write_text(f"user_id,time,tower_id\nann,{week} 08:10:00,A\n")
        (folder / "_SUCCESS").touch()

    def lose(self, *patterns: str) -> None:
        for pattern in patterns:
            for path in list(self.home.glob(pattern)):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def lose_ledger(self) -> None:
        self.lose("ledger.sqlite*")

    def lose_draws(self) -> None:
        self.lose("*/release/measurements")


def make_another(released: Released, folder: Path) -> Released:
    """The same with a second week that is made and not yet signed."""
    attack = attack_on(released, folder)
    attack.write_week(LATER)
    assert attack.again(only(*COUNTED, *DOORS, "usual_week", *PUBLISHED), LATER) == []
    return Released(attack.town, attack.home, folder / "anchor.jsonl")


def attack_on(released: Released, folder: Path) -> Attack:
    """A copy in a folder, with an anchor of its own that is empty unless a test says otherwise."""
    copied = Town(shutil.copytree(released.town.folder, folder / "town"), folder / "town" / "town.toml")
    mine = shutil.copytree(released.home, folder / "home")
    anchor = folder / "anchor.jsonl"
    anchor.touch()
    copied.set(str(released.anchor), str(anchor))
    made = Attack(copied, mine)
    accounts = Ledger(mine).accounts()
    if accounts.medium != medium_digest(accounts.identity, Ledger(mine).book):
        say_moved(Ledger(mine), ACT, NOTHING)  # the copy is honest so far
    return made


def charges(home: Path) -> int:
    return len(Ledger(home).rows())


def publications(attack: Attack) -> list[str]:
    return [entry.body["manifest"] for entry in Ledger(attack.home).accounts().of("published")]


def constant_counts(folder: Path, week: str = WEEK) -> None:
    file = folder / f"density_{week}.csv"
    lines = file.read_text().splitlines()
    file.write_text("\n".join([lines[0], *(",".join([*line.split(",")[:3], "7", "1.0"]) for line in lines[1:])]) + "\n")


def restated(folder: Path, week: str = WEEK) -> None:
    """Recompute every digest that is not signed."""
    statement, manifest = folder / f"privacy_statement_{week}.json", folder / f"manifest_{week}.json"
    said = json.loads(statement.read_text())
    said["files"] = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in said["files"]}
    statement.write_text(json.dumps(said, indent=2))
    if not manifest.exists():
        return
    listed = json.loads(manifest.read_text())
    for name in listed["files"]:
        content = (folder / name).read_bytes()
        listed["files"][name] = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    manifest.write_text(json.dumps(listed, indent=2) + "\n")
