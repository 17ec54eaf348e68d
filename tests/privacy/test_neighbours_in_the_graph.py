"""Neighbouring weeks through the whole graph: what the real doors add noise to, and what they keep of it.

The other tests of sensitivity put tables together themselves. Here the assets do: a door that read the column before
truncation, or added noise to the wrong table, would show here.
"""

from dataclasses import replace

import dagster as dg
import numpy as np
import pytest
from runs import MONDAY, WEEK, only, opened
from transcripts import Recorder, Replayer, beyond

from density_assets.city import City
from density_assets.definitions import build

UP_TO_DOORS = (
    *("cells", "antennas", "towers", "tower_cells", "overlaps", "cover_graph"),
    *(
        "visits",
        "truncated_visits",
        "tower_series",
        "tower_totals",
        "iris_series",
        "cover_series",
        "one_visit_histogram",
        "visit_total",
    ),
    *("noisy_totals", "clusters", "noisy_series"),
)
HOURS = [f"2007-09-{10 + hour // 24} {hour % 24:02}:15:00" for hour in range(168)]
OTHERS = "".join(f"u{i},{HOURS[7 * i]},{'ABCD'[i % 4]}\n" for i in range(20))
NEWCOMER = "".join(f"newcomer,{hour},{antenna}\n" for hour in HOURS for antenna in ("A", "A2", "B", "D") * 3)


def through_the_graph(town, home, noise: Recorder, visits: str) -> City:
    """The town's week with this noise, up to both doors."""
    town.write_visits(visits)
    noise.simulation = False  # as the doors demand
    city = replace(opened(town.settings, home, sealed=False), noise=noise)
    job = build(city).resolve_job_def("weekly_release")
    with dg.DagsterInstance.ephemeral() as instance:
        assert job.execute_in_process(instance=instance, partition_key=WEEK, asset_selection=only(*UP_TO_DOORS)).success
    return city


@pytest.mark.parametrize("scheme", ["lowrank", "gpa", "efpag"])  # of towers, of cells, of the cover
def test_real_doors_add_noise_to_what_one_user_changes_little(town, tmp_path, scheme):
    town.set("[engine]", f'[privacy]\nvisits_per_user = 5\nvisits_clamp = 50\n[scheme]\nname = "{scheme}"\n[engine]')
    recorder = Recorder()
    city = through_the_graph(town, tmp_path / "absent", recorder, OTHERS)
    replayer = Replayer(recorder.calls)
    again = through_the_graph(town, tmp_path / "present", replayer, OTHERS + NEWCOMER)
    pairs = list(zip(recorder.calls, replayer.calls, strict=True))
    assert beyond(pairs, city.plan) == []
    assert any((before.values != after.values).any() for before, after in pairs)
    for door in city.plan:
        drawn, same = (each.measurements.stored(each.release(MONDAY), door).values for each in (city, again))
        assert all(np.array_equal(drawn[name], same[name]) for name in drawn)
