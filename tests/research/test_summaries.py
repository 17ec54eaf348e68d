"""Summaries say what the results say, whatever that is: results made by hand, beside the published numbers."""

import polars as pl
import pytest

from density_assets.research.studies import study_named


def summary(name: str, *rows: dict) -> str:
    return study_named(name).summary(pl.DataFrame(rows))


def row(
    scheme: str, seed: int = 0, improved: bool = True, calibration: str = "published", epsilon: float = 0.3, **found
):
    return {
        "scheme": scheme,
        "improved": improved,
        "calibration": calibration,
        "epsilon": epsilon,
        "seed": seed,
        **found,
    }


def test_schemes_have_means_deviations_and_what_was_printed():
    metrics = [{"mre": 0.2, "pc": 0.9, "emd": 100.0}, {"mre": 0.4, "pc": 0.7, "emd": 300.0}]
    said = summary("schemes", *(row("efpag", seed, **found) for seed, found in enumerate(metrics)))
    assert "| efpag | published | 0.3 | 0.300 ± 0.141 | 0.8000 ± 0.1414 | 200 ± 141 | 0.17 / 0.96 / 188 |" in said
    assert "188" not in summary("schemes", row("efpag", improved=False, **metrics[0]))
    assert "188" not in summary("schemes", row("efpag", epsilon=1.0, **metrics[0]))


def test_one_cell_has_mre_and_pc_beside_those_in_the_figures():
    said = summary("cell_series", *(row("lpa", seed, mre=0.5 + seed, pc=0.5, series=[1.0]) for seed in (0, 1)))
    assert "| Fig. 3 | lpa | 1.000 ± 0.707 | 0.5000 ± 0.0000 | 0.73 / 0.59 |" in said
    for claim in ("hides", "mend", "noise"):
        assert claim not in said


def totals(**won: bool) -> str:
    """Results in which sampling has the smaller value where it has `won`."""
    return summary(
        "totals",
        *(
            {"epsilon": epsilon, "sampling": sampling, "seed": 0}
            | {metric: 1.0 if sampling == wins else 2.0 for metric, wins in won.items()}
            for epsilon in (0.1, 1.0)
            for sampling in (True, False)
        ),
    )


def test_totals_say_where_sampling_is_better_here():
    said = totals(jsd=True, mre=False)
    assert "lower JSD at epsilon' of 0.1, 1, the lower MRE at none." in said
    assert "| 0.1 | 1.0000 ± 0.0000 | 2.0000 ± 0.0000 | 2.0000 ± 0.0000 | 1.0000 ± 0.0000 |" in said
    assert "lower JSD at epsilon' of none, the lower MRE at 0.1, 1." in totals(jsd=False, mre=True)


def test_caps_say_how_far_apart_they_are():
    errors = {10: 0.2, 30: 0.25, 168: 0.5}
    said = summary("caps", *(row("efpag", mre=mre, pc=1 - mre, visits_per_user=cap) for cap, mre in errors.items()))
    assert "MRE differs between l by at most 0.300 and PC by at most 0.300" in said


def test_improvements_are_differences_with_their_signs():
    cases = [("efpag", True, 30, 0.2), ("efpa", True, 30, 0.3), ("efpag", False, 168, 0.1)]
    said = summary(
        "improvements",
        *(row(scheme, improved=better, mre=mre, pc=mre, visits_per_user=cap) for scheme, better, cap, mre in cases),
    )
    assert "| EFPAG against EFPA, MRE | −0.03 | −0.100 |" in said
    assert "| EFPAG against EFPAG −, MRE | −0.07 | +0.100 |" in said


def hours(plain_at_noon: float) -> str:
    """Errors of 0.2, but for one noon without the improvements; EMD of 100 m in one release, 300 in the other."""
    plain = [0.2] * 168
    plain[24 + 12] = plain_at_noon
    cases = {"lpa": (True, [0.2] * 168), "efpag": (True, [0.2] * 168)}
    rows = [
        row(scheme, seed, improved=improved, mre=mre, emd=[100.0 + 200 * seed] * 168)
        for scheme, (improved, mre) in cases.items()
        for seed in (0, 1)
    ]
    rows += [row("efpag", seed, improved=False, mre=plain, emd=[50.0] * 168) for seed in (0, 1)]
    return summary("hours", *rows)


def test_hours_say_the_best_factor_found_and_when():
    said = hours(plain_at_noon=0.5)
    assert "Published: the improvements of §5.4 lower the error by day, by a factor of almost 4 at best." in said
    assert "Measured: by a factor of 2.5 at best, Tue 12 h." in said
    assert "| lpa (published) | 0.200 ± 0.000 | 0.200 ± 0.000 | 200 ± 141 | 341 |" in said
    assert "| efpag − (published) | 0.203 ± 0.000 | 0.200 ± 0.000 | 50 ± 0 |  |" in said
    assert "by a factor of 3.0 at best" in hours(plain_at_noon=0.6)


def test_cells_have_their_mean_and_the_quartiles_of_all_releases():
    """Quartiles of cells averaged over releases would be 0.3 each: the spread within a release must not be lost."""
    found = [{"mre": [0.1, 0.5, None], "pc": [1.0, 0.0, 0.5]}, {"mre": [0.5, 0.1, None], "pc": [1.0, 0.0, 0.5]}]
    said = summary("cells", *(row("efpag", seed, **metrics) for seed, metrics in enumerate(found)))
    middle = "0.300 ± 0.000 | 0.100 / 0.300 / 0.500 | 0.5000 ± 0.0000 | 0.125 / 0.500 / 0.875"
    assert f"| efpag (published) | 0.3 | {middle} | 0.17 / 0.96 |" in said


@pytest.mark.parametrize(("calibration", "beside"), [("published", "1.01 / 0.47"), ("sound", "")])
def test_the_chapters_table_has_deviations_over_repetitions(calibration, beside):
    found = [{"mre": [0.8, 1.0], "pc": [0.4, 0.4]}, {"mre": [1.0, 1.2], "pc": [0.5, 0.5]}]
    said = summary("chapter", *(row("gpa", n, calibration=calibration, **metrics) for n, metrics in enumerate(found)))
    assert f"| gpa ({calibration}) | 1.000 ± 0.141 | 0.4500 ± 0.0707 | {beside} |" in said
