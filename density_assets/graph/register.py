"""The register: what every release has cost, whether files, statements and ledger belong together, and the
database that holds all of it.

In the release zone: it reads the ledger, releases and the graph, never a record.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import dagster as dg
import polars as pl

from density_assets.graph.assets import asset
from density_assets.graph.columns import CALENDAR, SETTINGS, column
from density_assets.graph.estimating import learns, of_sums
from density_assets.graph.given import Asked
from density_assets.graph.release import covered, covering, of_inputs
from density_assets.graph.step import Made, Step
from density_assets.privacy.accounts import Accounts
from density_assets.privacy.charges import Budget, Row, budget_to_show, population_name, weekly_costs
from density_assets.privacy.estimates import FINAL, PROVISIONAL
from density_assets.privacy.policy import under_policy
from density_assets.privacy.promise import explain_release
from density_assets.privacy.release import FORMAT
from density_assets.privacy.zones import Zone
from density_assets.publication.assessment import attack_tests
from density_assets.publication.files import AUDIT_PAGE, fingerprint
from density_assets.publication.pages.audit_page import AuditData, Checked, audit_html, audit_markdown
from density_assets.publication.pages.svg import Node, spending_svg
from density_assets.publication.register import Entry, register
from density_assets.publication.software import software
from density_assets.publication.spending import changes, decisions, spending, year_so_far
from density_assets.release.compose import tools_beside
from density_assets.release.manifest import REGISTER_FILE, Seal, register_manifest
from density_assets.release.sign import sign_register
from density_assets.schemes import SCHEMES
from resources.tables.release_database import LISTED, export

AUDITED = ("run", "accounts", "problem", "nodes", "checks")
LIBRARIES = ("geopandas", "shapely", "pyarrow", "scikit-learn", "POT", "sqlglot")
LEDGER: dict[str, type[pl.DataType]] = {
    "row": pl.Int64,
    "at": pl.String,
    "population": pl.String,
    "city": pl.String,
    "week": pl.String,
    "revision": pl.Int64,
    "door": pl.String,
    "epsilon": pl.Float64,
    "delta": pl.Float64,
    "events": pl.String,
    "year_epsilon": pl.Float64,
    "drawn": pl.Boolean,
    "hash": pl.String,
}
RELEASES: dict[str, type[pl.DataType]] = {
    "week": pl.String,
    "city": pl.String,
    "revision": pl.Int64,
    "scheme": pl.String,
    "earlier_weeks": pl.Int64,
    "vintage": pl.String,
    "epsilon": pl.Float64,
    "delta": pl.Float64,
    "drawn": pl.Boolean,
    "verified": pl.Boolean,
    "statement": pl.String,
    "sha256": pl.String,
}


@asset(
    Zone.RELEASE,
    {
        "row": column("position in the ledger", SETTINGS),
        "at": column("the day it was charged, UTC", CALENDAR),
        "population": column("whose budget was charged", SETTINGS),
        "city": column("the city released", SETTINGS),
        "week": column("the week released", CALENDAR),
        "revision": column("1, or what a person declared to permit a second draw", SETTINGS),
        "door": column("the mechanism asset that draws", SETTINGS),
        "epsilon": column("promise of the whole release", SETTINGS),
        "delta": column("promise of the whole release", SETTINGS),
        "events": column("what this door spends", SETTINGS),
        "year_epsilon": column(
            "what all charges of the population's year cost together up to here, at the budget's delta", SETTINGS
        ),
        "drawn": column("whether noise was drawn under this charge", SETTINGS),
        "hash": column("hash of this row, which holds the hash of the row before", SETTINGS),
    },
    deps=("noisy_totals", "noisy_series"),
    kinds=("sqlite", "duckdb"),
    weekly=False,
    given=("accounts",),
)
def ledger(step: Step, accounts: Accounts) -> Made:
    """What every release has cost: a copy of the ledger, readable here and by SQL.

    The ledger itself is a SQLite file for everything under the home folder, or a PostgreSQL database that homes share.
    Charges depend on settings only, never on records.
    """
    rows = accounts.rows
    budget, _ = budget_to_show(accounts.budget(population_name(step.settings)), step.settings)  # the audit page says it
    budget = under_policy(accounts, budget)
    table = pl.DataFrame(list(map(_charge_record, rows, year_so_far(rows, budget.delta))), schema=LEDGER)
    newest = "\n".join(
        f"| {record['week']} | {record['door']} | {record['epsilon']:g} | {record['year_epsilon']:.3f} |"
        for record in table.tail(8).to_dicts()
    )
    markdown = f"| week | door | epsilon | year so far |\n|---|---|--:|--:|\n{newest}"
    return Made(table, facts={"charges": len(rows), "newest": dg.MetadataValue.md(markdown)})


def _charge_record(row: Row, year_epsilon: float) -> dict[str, object]:
    charge = row.charge
    return {
        **charge.identity(),
        "row": row.row,
        "at": row.at,
        "door": charge.door,
        "events": "; ".join(str(event) for event in charge.events),
        "year_epsilon": year_epsilon,
        "drawn": row.drawn,
        "hash": row.hash,
    }


@asset(
    Zone.RELEASE,
    {
        "week": column("the week released", "ledger.week"),
        "city": column("the city released", "ledger.city"),
        "revision": column("1, or what a person declared to permit a second draw", "ledger.revision"),
        "scheme": column("how noise was shaped; empty where no statement says", SETTINGS),
        "earlier_weeks": column("how many earlier weeks entered the estimate", "privacy_statement.sha256"),
        "vintage": column(
            "`provisional`, or `final to` the last week that entered the estimate", "privacy_statement.sha256"
        ),
        "epsilon": column("promise of the release", "ledger.epsilon"),
        "delta": column("promise of the release", "ledger.delta"),
        "drawn": column("whether noise was drawn", "ledger.drawn"),
        "verified": column(
            "whether files, statement and ledger belong together; empty without a statement",
            "privacy_statement.sha256",
            "ledger.hash",
        ),
        "statement": column("file of the privacy statement; empty if nothing was published", SETTINGS),
        "sha256": column("digest of the statement", "privacy_statement.sha256"),
    },
    deps=("ledger", "privacy_statement", "signed_release"),
    kinds=("html",),
    weekly=False,
    op_tags={"dagster/priority": "-1"},  # after the checks of the same run, whose outcomes it shows
    given=AUDITED,
)
def audit_page(
    step: Step,
    run: str,
    accounts: Accounts,
    problem: str | None,
    nodes: Sequence[Node],
    checks: Sequence[Checked],
) -> Made:
    """Every release of the population on one page: promises, cost, lineage, checks, attack tests, versions.

    The page `audit.html` is linked from the page of each release, loads nothing and may be handed out;
    `signed_register` writes it. `density audit` makes it anew.
    """
    data = _audited(step, run, accounts, problem, nodes, checks)
    table = pl.DataFrame([_release_record(release) for release in data.releases], schema=RELEASES)
    pictures = {"spending": spending_svg(data.years, data.budget_epsilon).encode()} if data.years else {}
    page = dg.MetadataValue.path(str(step.folder / AUDIT_PAGE))
    shown = {"page": page, "summary": dg.MetadataValue.md(audit_markdown(data))}
    return Made(table, pictures, {**shown, "problems": data.problems})


_LAST_AUDIT: dict[str, AuditData] = {}  # by run, at most one: what is shown is what is signed, verified once


def _audited(
    step: Step,
    run: str,
    accounts: Accounts,
    problem: str | None,
    nodes: Sequence[Node],
    checks: Sequence[Checked],
) -> AuditData:
    """What the page says; the same for all steps of a run."""
    if run in _LAST_AUDIT:
        return _LAST_AUDIT[run]
    settings, population, rows = step.settings, population_name(step.settings), accounts.rows
    policy = accounts.newest("policy")
    budget, refusal = budget_to_show(accounts.budget(population), settings)
    budget = under_policy(accounts, budget)
    _LAST_AUDIT.clear()
    _LAST_AUDIT[run] = AuditData(
        city=settings.city.name,
        population=population,
        made=datetime.now(UTC).date().isoformat(),
        folder=step.folder,
        releases=register(accounts, population, step.home, settings.city.name),
        charges=len(rows),
        ledger_head=accounts.head,
        ledger_problem=problem,
        fingerprint=fingerprint(accounts.key) if accounts.opened else "",
        years=spending(rows, population, budget.delta),
        budget_epsilon=budget.epsilon,
        budget_delta=budget.delta,
        budget_problem=refusal,
        nodes=nodes,
        checks=checks,
        attack_tests=attack_tests(step.folder.parent / "studies"),
        software={**software(), **{name: version(name) for name in LIBRARIES}},
        mechanisms={name: str(FORMAT) for name in SCHEMES},
        for_a_person=_for_a_person(accounts, population, budget),
        decisions=decisions(accounts, population),
        changes=changes(accounts, population),
        policy=policy.body["text"] if policy else "",
    )
    return _LAST_AUDIT[run]


def _for_a_person(accounts: Accounts, population: str, budget: Budget) -> dict[str, Any]:
    """What the charges mean for somebody in the newest week; empty before the first."""
    weeks = weekly_costs(accounts.rows, population)
    return explain_release(accounts.rows, population, max(weeks), budget.delta) if weeks else {}


def _release_record(release: Entry) -> dict[str, object]:
    return {
        **{name: getattr(release, name) for name in RELEASES if hasattr(release, name)},
        "scheme": release.scheme or None,
        "vintage": f"{FINAL} to {release.upto}" if release.upto else PROVISIONAL if release.statement else None,
        "statement": release.statement.name if release.statement else None,
        "sha256": release.digest or None,
    }


@asset(
    Zone.RELEASE,
    {"file": column("file that was new to the database", SETTINGS), "bytes": column("its size", SETTINGS)},
    table=LISTED,
    deps=lambda city: (
        *("cells", "antennas", "towers", "tower_cells", "overlaps", "cover_graph", *of_inputs(city)),
        *("noisy_totals", "clusters", "noisy_series", "smoothed_series", "density"),
        *("published_counts", "privacy_statement", "density_report", "signed_release", "ledger", "audit_page"),
        *(("usual_week", *of_sums(city)) if learns(city) else ()),
    ),
    weekly=False,
    op_tags={"dagster/priority": "-2"},
)
def release_database(step: Step) -> Made:
    """Public and released tables in one DuckDB file that may be handed out, brought up to date once per run."""
    tables = step.read.tables
    files = [tables.tables / name for name in export(tables)]
    names = [str(file.relative_to(tables.tables)) for file in files]
    return Made(pl.DataFrame({"file": names, "bytes": [file.stat().st_size for file in files]}))


def _sign_register(asked: Asked, step: Step, arguments: dict[str, Any], made: Made) -> None:
    """Sign and write what was composed of the register."""
    sign_register(asked.city, step.folder, arguments["accounts"], made.files)


@asset(
    Zone.RELEASE,
    covering("audit_page.sha256"),
    deps=("audit_page",),
    kinds=("json",),
    weekly=False,
    op_tags={"dagster/priority": "-3"},  # after everything else
    given=AUDITED,
    after=_sign_register,
)
def signed_register(
    step: Step,
    run: str,
    accounts: Accounts,
    problem: str | None,
    nodes: Sequence[Node],
    checks: Sequence[Checked],
) -> Made:
    """The audit page and what checks it, with their digests, signed like a week.

    Tables and database are signed by nobody: who needs to trust a number takes the files of its week.
    """
    seal = Seal.at(accounts, len(accounts.entries))
    page = audit_html(_audited(step, run, accounts, problem, nodes, checks)).encode()
    files = {AUDIT_PAGE: page, **tools_beside(seal)}
    manifest = register_manifest(step.settings.city.name, files, seal)
    return covered({**files, REGISTER_FILE: manifest}, REGISTER_FILE)
