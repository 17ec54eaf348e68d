"""Make small homes whose draws are the same on every run, and record what they mean.

    python tests/support/reference_homes.py make records    release one home, print its meaning as JSON
    python tests/support/reference_homes.py write           record the meaning of every home anew, under tests/reference

A meaning holds tables as values (columns, rows, sums, a digest of the sorted values), charged events, fields of
statements and documents, names of released files, kinds of ledger entries and findings of verification. It holds no
hash, no date of today and no number of a format, so it stays when only the format changes.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import yaml
from town import Town, make_town
from weeks import PROMISE, WEEKS, write_week

RECORDED = Path(__file__).parents[1] / "reference"
WHO = {"DENSITY_BY": "tester", "DENSITY_REASON": "a reference home", "DENSITY_COMMIT": "0" * 40}
WHO |= {"OPENBLAS_NUM_THREADS": "1"}  # sums of floating-point numbers are made in one order
SECRET = bytes(range(32))  # tables of people are keyed with it; without one, the first run would draw its own
CONFIDENTIAL = (
    *("visits", "truncated_visits", "tower_series", "tower_totals", "one_visit_histogram", "visit_total"),
    *("cover_series", "iris_series", "evaluation_metrics"),
)
DIGITS = 6  # of a floating-point number that are compared
HEX = re.compile("[0-9a-f]{16,}")
NUMBER = re.compile(r"\d[\d,]*\.?\d*(?:e-?\d+)?")
LONG_TEXT = 60  # characters; of longer texts the numbers are compared, not the words
# Numbers of formats and versions, and what depends on the machine or on the wording of a page.
LEFT_OUT = frozenset(("format", "version", "estimator", "software", "bytes", "sha256"))
LEFT_OUT |= {"dcat:byteSize"}


# --- the homes ----------------------------------------------------------------------------------------------------


def simulated(folder: Path) -> tuple[Town, list[str]]:
    """Return a town of 300 simulated people, and its week to release."""
    town = make_town(folder)
    shutil.rmtree(town.folder / "visits")
    town.set('visits = "visits/{week}/*.csv"', "users = 300")
    return town, [WEEKS[0]]


def records(folder: Path) -> tuple[Town, list[str]]:
    """Return a town with CSV records, regions, factors of people and footprints, and its two weeks to release."""
    town = make_town(folder)
    regions = 'regions = "regions.csv"\nregion_name = "called"\n'
    footprints = 'footprints = "f.csv"\nfootprint_tower = "mast"\nfootprint_cell = "square"\nfootprint_share = "part"\n'
    people = '[people]\nmarket_share = "shares.csv"\ndevices_per_person = 1.25\nactive_share = 0.2\n'
    (town.folder / "regions.csv").write_text(
        "cell_id,region_id,called\nSW,S,South\nSE,S,South\nNW,N,North\nNE,N,North\n"
    )
    (town.folder / "shares.csv").write_text("region_id,market_share\nN,0.5\nS,0.4\n")
    shares = ("A,SW,0.6", "A,SE,0.2", "A,abroad,0.2", "A2,SW,0.5", "B,SE,1", "C,NW,0.7", "C,NE,0.3", "D,NE,0.4")
    (town.folder / "f.csv").write_text("\n".join(("mast,square,part", *shares)) + "\n")
    town.set('cell_id = "code"\n', f'cell_id = "code"\n{regions}{footprints}')
    town.settings.write_text(f"{town.settings.read_text()}\n{PROMISE}{people}")
    for week in WEEKS[:2]:
        write_week(town, week)
    return town, list(WEEKS[:2])


def spark(folder: Path) -> tuple[Town, list[str]]:
    """Return a town whose Parquet records Spark reads, and its week to release."""
    town, people, visits = make_town(folder), 400, 6_000
    shutil.rmtree(town.visits)
    town.set("*.csv", "*.parquet")
    town.set("[engine]", '[engine]\nname = "spark"\nmaster = "local[1]"')
    random, monday = np.random.default_rng(3), datetime.fromisoformat(WEEKS[0])
    columns = {
        "user_id": [f"p{number % people}" for number in range(visits)],
        "time": [monday + timedelta(seconds=int(second)) for second in random.integers(604_800, size=visits)],
        "tower_id": random.choice(["A", "A2", "B", "C", "D"], visits),
    }
    town.visits.mkdir(parents=True)
    (town.visits / "_SUCCESS").touch()
    pl.DataFrame(columns).write_parquet(town.visits / "part-0.parquet")
    return town, [WEEKS[0]]


HOMES: dict[str, Callable[[Path], tuple[Town, list[str]]]] = {
    "simulated": simulated,
    "records": records,
    "spark": spark,
}


def make(name: str) -> dict[str, Any]:
    """Release a home in this process, which keeps fixed noise from here on; return its meaning."""
    from final_estimates import final
    from runs import materialise, opened

    os.environ.update(WHO)
    fix_noise()
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary) / "home"
        town, weeks = HOMES[name](Path(temporary))
        opened(town.settings, home)
        (home / "town/confidential").mkdir(parents=True, exist_ok=True)
        (home / "town/confidential/secret").write_bytes(SECRET)
        for week in weeks:
            assert materialise(town.settings, home, week, sealed=False).success
        if len(weeks) > 1:
            assert final(town, home, weeks[0]).success
        store = opened(town.settings, home).store
        return meaning(home / "town/release", confidential(store, weeks))


def fix_noise() -> None:
    """Draw noise from seeds made of method, query, shape and number of the call, so it depends on no other draw."""
    from density_assets.privacy.noise import OpenDpNoise, SimulatedNoise

    calls: Counter[str] = Counter()

    def fixed(name: str) -> Any:
        def draw(self: OpenDpNoise, values: Any, event: Any) -> Any:
            call = f" {name} {event.query} {values.shape}"
            calls[call] += 1
            seed = int.from_bytes(hashlib.sha256(f"{call} {calls[call]}".encode()).digest()[:8])
            return getattr(SimulatedNoise(seed), name)(values, event)

        return draw

    for name in ("gaussian", "laplace", "discrete_gaussian", "select"):
        setattr(OpenDpNoise, name, fixed(name))


# --- their meaning ------------------------------------------------------------------------------------------------


def meaning(release: Path, tables: dict[str, Any]) -> dict[str, Any]:
    """Return the meaning of a folder of releases, as JSON.

    tables: those of the confidential zone, summarized.
    """
    files = sorted({without_hashes(str(file.relative_to(release))) for file in release.rglob("*") if file.is_file()})
    files = [file for file in files if not file.startswith("tables/")]
    ledger = max(release.glob("ledger_*.json"), key=lambda file: len(file.read_bytes()))
    entries = json.loads(ledger.read_text())["entries"]
    bodies = [(entry["kind"], json.loads(entry["body"])) for entry in entries]
    apart = ("ledger", "manifest", "privacy_statement")  # these are read field by field
    documents = [
        file for file in sorted(release.iterdir()) if file.suffix in LOADED and not file.name.startswith(apart)
    ]
    return {
        "files": {file: len(list(release.glob(file))) for file in files},
        "confidential": tables,
        "database": dict(database(release / "release.duckdb")),
        "published": {file.name: published_table(file) for file in sorted(release.glob("*_2*.parquet"))}
        | {file.name: published_table(file) for file in sorted(release.glob("*.csv"))},
        "documents": {file.name: document(file) for file in sorted(documents)},
        "statements": {
            f"{file.stem.removeprefix('privacy_statement_')} {field}": value
            for file in sorted(release.glob("privacy_statement_*.json"))
            for field, value in plain(json.loads(file.read_text())).items()
        },
        "ledger": " ".join(kind for kind, _ in bodies),
        "charges": [
            {**plain(body), "release": {**plain(body["release"]), "geography": body["release"]["geography"]}}
            for kind, body in bodies
            if kind == "charge"
        ],
        "verification": {file.name: dict(Counter(findings(file))) for file in sorted(release.glob("manifest_*.json"))},
    }


def confidential(store: Any, weeks: list[str]) -> dict[str, Any]:
    """Return the summary of each confidential table that a city has, by table and week."""
    days = {week: date.fromisoformat(week) for week in weeks}
    pairs = [(table, week) for table in CONFIDENTIAL for week in weeks if store.has_week(table, days[week])]
    return {f"{table} {week}": summary(store.read_week(table, days[week])) for table, week in pairs}


def database(file: Path) -> Iterator[tuple[str, Any]]:
    """Yield each table of the database of releases with its summary."""
    import duckdb

    with duckdb.connect(str(file), read_only=True) as connection:
        for (name,) in connection.execute("select table_name from information_schema.tables order by 1").fetchall():
            yield name, summary(connection.table(name).pl())


def published_table(file: Path) -> dict[str, Any]:
    return summary(pl.read_parquet(file) if file.suffix == ".parquet" else pl.read_csv(file))


def summary(table: pl.DataFrame) -> dict[str, Any]:
    """Return what a table holds: columns, rows, the sum of each numeric column, a digest of its sorted rows."""
    table = table.select(name for name in table.columns if name not in LEFT_OUT)
    if table.schema.get("values") == pl.Binary:  # arrays of what is known of the past
        table = table.with_columns(pl.Series("values", list(map(scaled, table["values"]))))
    rows = sorted(json.dumps([plain(value) for value in row]) for row in table.rows())
    numeric = [name for name, kind in table.schema.items() if kind.is_numeric()]
    return {
        "columns": " ".join(table.columns),
        "rows": len(rows),
        "sums": {name: rounded(float(table[name].fill_nan(None).sum())) for name in numeric} if rows else {},
        "digest": hashlib.sha256("\n".join(rows).encode()).hexdigest()[:16],
    }


LOADED: dict[str, Callable[[str], Any]] = {
    ".geojson": json.loads,
    ".jsonld": json.loads,
    ".json": json.loads,
    ".yaml": yaml.safe_load,
}


def document(file: Path) -> dict[str, str]:
    """Return a digest of each field of a published document."""
    fields = plain(LOADED[file.suffix](file.read_text()))
    return {name: hashlib.sha256(json.dumps(value).encode()).hexdigest()[:8] for name, value in fields.items()}


def findings(manifest: Path) -> Iterator[str]:
    """Yield what the released verifier finds; of several files or doors, their number counts."""
    command = [sys.executable, "verify.py", manifest.name]
    checked = subprocess.run(command, cwd=manifest.parent, capture_output=True, text=True, check=False)
    assert checked.returncode == 3, checked.stdout + checked.stderr  # nothing is wrong; nobody named the key
    for line in checked.stdout.splitlines():
        if line.endswith("is the file that was signed"):
            yield "ok   … is the file that was signed"
        elif not line.startswith("note") and "signer unknown" not in line:
            yield without_hashes(line)


def plain(value: Any) -> Any:
    """Return a value as JSON without formats, hashes and today's date, its numbers rounded."""
    if isinstance(value, dict):
        return {without_hashes(str(name)): plain(of) for name, of in value.items() if name not in LEFT_OUT}
    if isinstance(value, (list, tuple, pl.Series)):
        return [plain(of) for of in value]
    if isinstance(value, float):
        return rounded(value)
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()[:8]
    if value is None or isinstance(value, (bool, int)):
        return value
    text = without_hashes(str(value))
    return f"words and {NUMBER.findall(text)}" if len(text) > LONG_TEXT else text


def scaled(array: bytes) -> str:
    """Return the numbers of an array in units of its largest, so that those near zero are compared no closer."""
    numbers = np.frombuffer(array, dtype=float)
    units = (numbers / (np.abs(numbers).max(initial=0.0) or 1.0)).round(DIGITS) + 0.0
    return hashlib.sha256(str(units.tolist()).encode()).hexdigest()[:8]


def rounded(number: float) -> float | None:
    return float(f"{number:.{DIGITS}g}") + 0.0 if np.isfinite(number) else None


def without_hashes(text: str) -> str:
    return HEX.sub("*", text).replace(str(date.today()), "today")


# --- keeping ------------------------------------------------------------------------------------------------------


def made_anew(name: str) -> dict[str, Any]:
    """Make a home in a process of its own, because its noise stays fixed; return its meaning."""
    command = [sys.executable, __file__, "make", name]
    made = subprocess.run(command, env={**os.environ, **WHO}, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr[-3000:]
    return dict(json.loads(made.stdout.splitlines()[-1]))


def write(name: str) -> None:
    """Record a home with one line for each table, field and finding."""
    parts = []
    for part, value in made_anew(name).items():
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else []
        texts = [(json.dumps(str(key)), json.dumps(of, ensure_ascii=False)) for key, of in items]
        lines = [f"  {text}" if isinstance(value, list) else f"  {key}: {text}" for key, text in texts]
        opening, closing = "[]" if isinstance(value, list) else "{}"
        body = ",\n".join(lines)
        whole = f"{opening}\n{body}\n {closing}" if lines else json.dumps(value)
        parts.append(f" {json.dumps(part)}: {whole}")
    (RECORDED / f"{name}.json").write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["write"]:
        for home in sys.argv[2:] or HOMES:
            write(home)
    else:
        print(f"\n{json.dumps(make(sys.argv[2]))}")
