"""What became of mutants: kept as they come, so that a run can go on where another stopped, and told as a table."""

import hashlib
import json
import tomllib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

KEPT = Path("build/mutants.jsonl")
EXPLAINED = Path(__file__).with_name("survivors.toml")
README = Path(__file__).with_name("README.md")
MARK = "<!-- results -->"


@dataclass(frozen=True)
class Outcome:
    """One mutant and who noticed it.

    source: hash of the file it was made of; a changed file is begun again. killed_by: a test, or nothing if it lives.
    """

    file: str
    source: str
    place: str
    line: int
    change: str
    nth: int
    killed_by: str

    @property
    def name(self) -> tuple[str, str, str, str, int]:
        return self.file, self.source, self.place, self.change, self.nth


def digest(text: str) -> str:
    """A short name of a file's content."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def known() -> dict[tuple[str, str, str, str, int], Outcome]:
    """Outcomes of earlier runs, the latest of each mutant, of files as they are now."""
    if not KEPT.exists():
        return {}
    outcomes = [Outcome(**json.loads(line)) for line in KEPT.read_text().splitlines()]
    now = {file: digest(Path(file).read_text()) for file in {one.file for one in outcomes} if Path(file).exists()}
    return {one.name: one for one in outcomes if now.get(one.file) == one.source}


def keep(outcome: Outcome) -> None:
    """Append one outcome."""
    KEPT.parent.mkdir(exist_ok=True)
    with KEPT.open("a") as file:
        file.write(json.dumps(asdict(outcome)) + "\n")


def explanation(outcome: Outcome) -> str | None:
    """Why a mutant may live, by the first entry of survivors.toml that matches it."""
    for entry in tomllib.loads(EXPLAINED.read_text())["survivor"]:
        right_file = outcome.file.endswith(entry["file"])
        right_place = entry.get("place") in (None, outcome.place)
        if right_file and right_place and any(part in outcome.change for part in entry["change"]):
            return str(entry["why"])
    return None


def table(outcomes: Iterable[Outcome]) -> str:
    """One line per file, then every survivor with the reason why it may live."""
    by_file: dict[str, list[Outcome]] = {}
    for one in outcomes:
        by_file.setdefault(one.file, []).append(one)
    lines = ["| file | mutants | killed | survived | unexplained |", "|---|---|---|---|---|"]
    survivors = []
    for file, ones in by_file.items():
        alive = [one for one in ones if not one.killed_by]
        unexplained = [one for one in alive if explanation(one) is None]
        lines.append(f"| `{file}` | {len(ones)} | {len(ones) - len(alive)} | {len(alive)} | {len(unexplained)} |")
        survivors += alive
    lines += ["", "| survivor | change | why it may live |", "|---|---|---|"]
    for one in survivors:
        change, why = one.change.replace("|", "¦"), explanation(one) or "**unexplained**"
        lines.append(f"| `{Path(one.file).name}` {one.place} | `{change}` | {why} |")
    return "\n".join(lines)


def write_readme(outcomes: Iterable[Outcome]) -> None:
    """Put the table into the page."""
    before = README.read_text().split(MARK)[0]
    README.write_text(f"{before}{MARK}\n\n{table(outcomes)}\n")
