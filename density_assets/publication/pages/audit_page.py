"""The audit page: every release of a population and what it cost, on one page that loads nothing.

It is handed out with the releases, so it holds what the ledger, the statements and the asset graph say, and nothing
computed from records. Markup and style are audit.html and audit.css beside this module; the rest is shared with the
page of a release.
"""

import html
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template
from urllib.parse import quote

from density_assets.publication.attack_tests import Audit
from density_assets.publication.pages.lineage import Node, lineage_svg
from density_assets.publication.pages.markdown import markdown_html
from density_assets.publication.pages.spending_chart import spending_svg
from density_assets.publication.register import Entry as Release
from density_assets.publication.spending import Spending

WITHHELD = "withheld"
OUTCOMES = {"passed": "good", "failed": "bad", "warned": "warn", "not run": "none", WITHHELD: "none"}


@dataclass(frozen=True)
class Checked:
    """The newest outcome of an asset check, one of `OUTCOMES`, and what the check is about."""

    asset: str
    name: str
    about: str
    outcome: str
    at: str = ""


@dataclass(frozen=True)
class AuditData:
    """What the page shows.

    folder: where the page will lie; links are relative to it.
    ledger_problem: why the ledger cannot be trusted; none if it is whole.
    years: what each calendar year has cost, at `budget_delta`.
    software: name and version of what the results depend on; mechanisms: scheme and version.
    """

    city: str
    population: str
    made: str
    folder: Path
    releases: Sequence[Release]
    charges: int
    ledger_head: str
    ledger_problem: str | None
    years: Sequence[Spending]
    budget_epsilon: float
    budget_delta: float
    nodes: Sequence[Node]
    checks: Sequence[Checked]
    audits: Sequence[Audit]
    software: Mapping[str, str]
    mechanisms: Mapping[str, str]

    @property
    def problems(self) -> int:
        """How many releases do not verify, and one more if the ledger is not whole."""
        return sum(release.verified is False for release in self.releases) + (self.ledger_problem is not None)


def audit_html(data: AuditData) -> str:
    """The whole page, ready to be written to one file."""
    return Template(_part("audit.html")).substitute(
        style=_part("page.css") + _part("audit.css"),
        city=html.escape(data.city),
        population=html.escape(data.population),
        made=html.escape(data.made),
        facts=_facts(data),
        ledger=_ledger(data),
        releases=_releases(data),
        spending=_spending(data),
        lineage=lineage_svg(data.nodes),
        checks=_checks(data.checks),
        audits="".join(map(_audit, data.audits)),
        software=_versions("library", data.software),
        mechanisms=_versions("scheme", data.mechanisms),
    )


def audit_markdown(data: AuditData) -> str:
    """The page in a few lines, for the UI."""
    lines = [f"| {name} | {value} |" for name, value in facts(data).items()]
    wrong = (release for release in data.releases if release.verified is False)
    unwell = [f"- {release.week}, {release.city}, revision {release.revision}: does NOT verify" for release in wrong]
    alarm = [f"- {data.ledger_problem}"] if data.ledger_problem else []
    return "\n".join(["| what | |", "|---|--:|", *lines, "", *alarm, *unwell])


def facts(data: AuditData) -> dict[str, str]:
    """What a reader should see first."""
    stated = [release for release in data.releases if release.statement]
    spent = {
        f"epsilon of {year.year}, of {data.budget_epsilon:g}": f"{year.epsilon[-1]:.3f}" for year in data.years[-2:]
    }
    return {
        "releases": f"{len(stated)}",
        "of them verified": f"{sum(release.verified is True for release in stated)}",
        **spent,
        "charges in the ledger": f"{data.charges}",
        "ledger": "damaged" if data.ledger_problem else "whole",
    }


def _part(name: str) -> str:
    return (resources.files("density_assets.publication.pages") / name).read_text(encoding="utf-8")


def _facts(data: AuditData) -> str:
    return "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts(data).items())


def _ledger(data: AuditData) -> str:
    if data.ledger_problem:
        return f'<p class="alarm">{html.escape(data.ledger_problem)}</p>'
    head = f"Its newest row has the hash <code>{data.ledger_head}</code>." if data.charges else ""
    return f"<p>The ledger was checked row by row when this page was made, and is whole. {head}</p>"


def _releases(data: AuditData) -> str:
    if not data.releases:
        return "<p>Nothing has been released yet.</p>"
    head = ("week", "city", "revision", "scheme", "epsilon", "delta", "statement", "files, statement and ledger")
    rows = "".join(_release(release, data.folder) for release in data.releases)
    return _table("releases", head, rows, numbers=(2, 4, 5))


def _release(release: Release, folder: Path) -> str:
    """A row, and below it everything an auditor may want to compare."""
    links = " · ".join(_links(release, folder)) or "none"
    cells = (
        html.escape(release.week),
        html.escape(release.city),
        str(release.revision),
        html.escape(f"{release.scheme} ({release.calibration})" if release.scheme else "–"),
        f"{release.epsilon:g}",
        f"{release.delta:g}",
        links,
        _verdict(release),
    )
    return _row(cells, numbers=(2, 4, 5)) + f'<tr class="more"><td colspan="{len(cells)}">{_details(release)}</td></tr>'


def _links(release: Release, folder: Path) -> Iterable[str]:
    """Links to files of the release that are there, as seen from the page."""
    if release.statement is None:
        return
    page = release.statement.with_name(release.statement.name.replace("privacy_statement", "report"))
    text = release.statement.with_suffix(".md")
    for label, file in (("data", release.statement), ("text", text), ("page", page.with_suffix(".html"))):
        if file.exists():
            yield f'<a href="./{quote(os.path.relpath(file, folder))}">{label}</a>'


def _verdict(release: Release) -> str:
    if release.verified is None:
        return _badge("none", "paid, drawn, not published" if release.drawn else "paid, not drawn")
    return _badge("good", "verified") if release.verified else _badge("bad", "does NOT verify")


def _details(release: Release) -> str:
    opened = " open" if release.verified is False else ""
    hashes = {"privacy statement": release.digest} if release.digest else {}
    hashes |= dict(release.files) | {f"charge of {door}": charge for door, charge in release.charges.items()}
    listed = "".join(f"<li>{html.escape(k)} <code>{html.escape(v)}</code></li>" for k, v in hashes.items())
    found = "".join(
        f"<li>{_badge('good', 'holds') if holds else _badge('bad', 'does NOT hold')} {html.escape(text)}</li>"
        for holds, text in release.findings
    )
    charged = f"charged {html.escape(release.at)}" if release.at else "not charged"
    return (
        f"<details{opened}><summary>hashes and findings, {charged}</summary>"
        f'<div class="both"><ul class="hashes">{listed}</ul><ul>{found}</ul></div></details>'
    )


def _spending(data: AuditData) -> str:
    charts = (
        f"<figure><figcaption><strong>{year.year}</strong> epsilon {year.epsilon[-1]:.3f} of {data.budget_epsilon:g} "
        f"after {len(year.weeks)} {'week' if len(year.weeks) == 1 else 'weeks'}</figcaption>"
        f"{spending_svg(year, data.budget_epsilon)}</figure>"
        for year in data.years
    )
    note = f"All charges of a calendar year together, by Rényi divergence, at delta {data.budget_delta:g}."
    return f'<div class="years">{"".join(charts)}</div><p class="hint">{note}</p>'


def _checks(checks: Sequence[Checked]) -> str:
    rows = "".join(
        _row(
            (
                html.escape(check.asset),
                f"<code>{html.escape(check.name)}</code>",
                markdown_html(check.about),
                _badge(OUTCOMES[check.outcome], check.outcome),
                html.escape(check.at),
            )
        )
        for check in checks
    )
    return _table("checks", ("asset", "check", "what must hold", "newest outcome", "when"), rows)


def _audit(audit: Audit) -> str:
    title = f"<h3>{html.escape(audit.title)}</h3>"
    if audit.summary is None:
        return f"{title}<p>{_badge('none', 'not run')} <code>make study NAME={html.escape(audit.name)}</code></p>"
    return f"{title}<details><summary>what it found</summary>{markdown_html(audit.summary)}</details>"


def _versions(kind: str, versions: Mapping[str, str]) -> str:
    rows = "".join(_row((html.escape(name), html.escape(version))) for name, version in versions.items())
    return _table("versions", (kind, "version"), rows)


def _badge(kind: str, text: str) -> str:
    return f'<span class="badge {kind}">{html.escape(text)}</span>'


def _table(name: str, head: Sequence[str], rows: str, numbers: Sequence[int] = ()) -> str:
    return (
        f'<div class="scroll"><table class="{name}"><thead>{_row(head, numbers, "th")}</thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _row(cells: Sequence[str], numbers: Sequence[int] = (), tag: str = "td") -> str:
    style = [' class="number"' if i in numbers else "" for i in range(len(cells))]
    return f"<tr>{''.join(f'<{tag}{style[i]}>{cell}</{tag}>' for i, cell in enumerate(cells))}</tr>"
