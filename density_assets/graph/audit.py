"""The auditor's page, in the release zone: it reads the ledger, releases and the graph, never a record."""

from datetime import UTC, datetime
from importlib.metadata import version
from platform import python_version

import dagster as dg
import polars as pl

from density_assets.graph.catalogue import outcomes
from density_assets.graph.release import AUDIT_PAGE
from density_assets.graph.zones import Made, Zone, asset, column
from density_assets.privacy.charges import population_name
from density_assets.publication.attack_tests import AUDITS, audits
from density_assets.publication.pages.audit_page import AuditData, audit_html, audit_markdown
from density_assets.publication.register import Release, register
from density_assets.publication.spending import spending
from density_assets.publication.statement import PACKAGES
from density_assets.research.plots.spending import spending_chart
from density_assets.research.studies import STUDIES
from density_assets.schemes import SCHEMES
from resources.tables.store import write_durably

LIBRARIES = (*PACKAGES, "geopandas", "shapely", "pyarrow", "scikit-learn", "POT", "sqlglot")
SCHEMA: dict[str, type[pl.DataType]] = {
    "week": pl.String,
    "city": pl.String,
    "revision": pl.Int64,
    "scheme": pl.String,
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
        "week": column("the week released", "ledger.week"),
        "city": column("the city released", "ledger.city"),
        "revision": column("1, or what a person declared to permit a second draw", "ledger.revision"),
        "scheme": column("how noise was shaped; empty where no statement says"),
        "epsilon": column("promise of the release", "ledger.epsilon"),
        "delta": column("promise of the release", "ledger.delta"),
        "drawn": column("whether noise was drawn", "ledger.drawn"),
        "verified": column("whether files, statement and ledger belong together; empty without a statement"),
        "statement": column("file of the privacy statement; empty if nothing was published"),
        "sha256": column("digest of the statement"),
    },
    deps=("ledger", "privacy_statement"),
    kinds=("html",),
    weekly=False,
    resources=("catalogue",),
    op_tags={"dagster/priority": "-1"},  # after the checks of the same run, whose outcomes it shows
)
def audit_page(context: dg.AssetExecutionContext) -> Made:
    """Every release of the population on one page: promises, cost, lineage, checks, audits, versions.

    The page `audit.html` is linked from the page of each release, loads nothing and may be handed out. `make audit`
    makes it anew.
    """
    data = audit_data(context)
    file = data.folder / AUDIT_PAGE
    write_durably(file, audit_html(data).encode())
    table = pl.DataFrame([_as_record(release) for release in data.releases], schema=SCHEMA)
    pictures = {"spending": spending_chart(data.years, data.budget_epsilon)} if data.years else {}
    found = {"page": dg.MetadataValue.path(str(file)), "summary": dg.MetadataValue.md(audit_markdown(data))}
    return Made(table, pictures, {**found, "problems": data.problems})


def audit_data(context: dg.AssetExecutionContext) -> AuditData:
    """What the page says, gathered from the ledger, the released files and the graph."""
    settings, store, ledger = context.resources.settings, context.resources.store, context.resources.ledger
    rows, population = ledger.rows(), population_name(settings)
    return AuditData(
        city=settings.city.name,
        population=population,
        made=datetime.now(UTC).date().isoformat(),
        folder=store.release,
        releases=register(rows, population, store.folder.parent, settings.city.name),
        charges=len(rows),
        ledger_head=ledger.head(),
        ledger_problem=ledger.problem(context.resources.measurements.witnesses()),
        years=spending(rows, population, settings.privacy.budget_delta),
        budget_epsilon=settings.privacy.budget_epsilon,
        budget_delta=settings.privacy.budget_delta,
        nodes=context.resources.catalogue.nodes,
        checks=outcomes(context.resources.catalogue, context.instance, synthetic=settings.city.synthetic),
        audits=audits(store.folder / "studies", _audits_of_nobody(settings.city.synthetic)),
        software={"python": python_version(), **{name: version(name) for name in LIBRARIES}},
        mechanisms={name: str(scheme.version) for name, scheme in SCHEMES.items()},
    )


def _audits_of_nobody(synthetic: bool) -> list[str]:
    """Audits whose numbers are nobody's: all of a synthetic city, else those that read none of its tables."""
    own = [name for name, study in STUDIES.items() if not study.tables]
    return list(AUDITS) if synthetic else own


def _as_record(release: Release) -> dict[str, object]:
    return {
        **{name: getattr(release, name) for name in SCHEMA if hasattr(release, name)},
        "scheme": release.scheme or None,
        "statement": release.statement.name if release.statement else None,
        "sha256": release.digest or None,
    }
