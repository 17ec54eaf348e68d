"""Summaries of attack tests: found or absent."""

from density_assets.publication.assessment import ATTACK_TESTS, attack_tests


def test_what_was_run_is_shown(tmp_path):
    for name in ("epsilon_audit", "schemes"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "summary.md").write_text(f"## {name}\n\nfound 0.12\n")
    summaries = {test.name: test.summary for test in attack_tests(tmp_path)}
    assert summaries == dict.fromkeys(ATTACK_TESTS) | {"epsilon_audit": "## epsilon_audit\n\nfound 0.12\n"}


def test_of_an_audit_that_is_run_for_weeks_the_newest_is_shown(tmp_path):
    for week in ("2007-09-17", "2007-09-10"):
        (tmp_path / "membership_audit" / week).mkdir(parents=True)
        (tmp_path / "membership_audit" / week / "summary.md").write_text(week)
    summaries = {test.name: test.summary for test in attack_tests(tmp_path)}
    assert summaries["membership_audit"] == "2007-09-17"
