"""A corrected week arrives after its release: nothing is redrawn, until a person declares a revision and pays."""

import json
import re

import duckdb
import pytest
from runs import WEEK, materialise, only, verdicts

from density_assets.publication.verification import outcome
from resources.ledger.ledger import Ledger

PUBLIC = ("cells", "antennas", "towers", "tower_cells", "overlaps", "cover_graph")
RELEASE = (
    *("visits", "truncated_visits", "tower_series", "tower_totals", "visit_total"),
    *("noisy_totals", "clusters", "noisy_series", "smoothed_series", "errors_of_sums", "density"),
    *("published_counts", "privacy_statement", "density_report", "signed_release", "release_database"),
)
CORRECTED = "".join(f"u{i},2007-09-10 08:00:00,A\n" for i in range(1000))


def database(home) -> list[tuple[str, int, int]]:
    """The releases in the database: name, rows, visits."""
    with duckdb.connect(str(home / "town/release/release.duckdb"), read_only=True) as connection:
        query = "select release, count(*), sum(count) from density group by release"
        return [(name, rows, int(visits)) for name, rows, visits in connection.sql(query).fetchall()]


def drawn(home) -> list[float]:
    """The noisy values of the second door, as the database has them."""
    with duckdb.connect(str(home / "town/release/release.duckdb"), read_only=True) as connection:
        rows = connection.sql("select value from noisy_series order by cluster, hour").fetchall()
        return [value for (value,) in rows]


def test_late_records_a_declared_revision_and_the_way_back(town, tmp_path, capsys):
    home = tmp_path / "home"
    folder = home / "town/release"

    def released() -> list[tuple[object, ...]]:
        result = materialise(town.settings, home, asset_selection=only(*RELEASE))
        return [(check.check_name, check.passed, check.description) for check in verdicts(result).values()]

    materialise(town.settings, home, asset_selection=only(*PUBLIC))
    shown, first, (row,) = released(), (folder / f"density_{WEEK}.csv").read_bytes(), database(home)
    draws = drawn(home)

    town.write_visits(CORRECTED)
    town.set("[engine]", "[revisions]\n2007-09-17 = 2\n[engine]")  # of another week: it changes nothing here
    capsys.readouterr()
    assert released() == shown  # nobody who looks at the UI learns that records changed
    assert "costs epsilon" not in capsys.readouterr().err
    assert (folder / f"density_{WEEK}.csv").read_bytes() == first
    assert len(Ledger(home).rows()) == 2
    alert = json.loads((home / f"town/confidential/alerts/{WEEK}_noisy_series.json").read_text())
    assert "have changed since noisy_series was drawn" in alert["what"]
    assert "declare a revision of this week" in alert["to do"]

    town.set("2007-09-17 = 2", f"{WEEK} = 2")
    released()
    said = capsys.readouterr().err
    assert f"revision 2 of the week of {WEEK} costs epsilon 0.299 alone" in said
    spent, left = map(float, re.findall(r"subscribers: (\S+) of 3 are spent in the 52 .*, (\S+) are left", said)[0])
    assert 0.299 < spent < 2 * 0.299  # squares add up, not epsilons
    assert spent + left == pytest.approx(3)
    assert [charge.charge.revision for charge in Ledger(home).rows()] == [1, 1, 2, 2]
    assert (folder / f"density_{WEEK}.csv").read_bytes() == first
    assert drawn(home) != draws  # another draw, though noise may have left nobody in both
    for manifest in (f"manifest_{WEEK}.json", f"manifest_{WEEK}_r2.json"):
        assert outcome(folder / manifest).status == 3  # whole; whose key it is is not asked
    ((name, rows, _),) = database(home)  # one release of a week, so that sums mean something
    assert (name != row[0], rows) == (True, 4 * 168)

    town.set(f"[revisions]\n{WEEK} = 2\n", "")
    released()
    assert database(home) == [row]
    assert (folder / f"density_{WEEK}.csv").read_bytes() == first
    assert len(Ledger(home).rows()) == 4
