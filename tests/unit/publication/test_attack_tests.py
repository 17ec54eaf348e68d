"""Summaries of attack tests: found, absent, or not to be looked at."""

from density_assets.publication.attack_tests import ATTACK_TESTS, attack_tests


def test_what_was_run_is_shown_and_what_is_not_allowed_is_not_opened(tmp_path):
    for name in ("epsilon_audit", "membership_audit"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "summary.md").write_text(f"## {name}\n\nfound 0.12\n")
    found = {
        audit.name: audit.summary for audit in attack_tests(tmp_path, ["epsilon_audit", "recovery_audit", "schemes"])
    }
    assert list(found) == list(ATTACK_TESTS)
    assert found["epsilon_audit"] == "## epsilon_audit\n\nfound 0.12\n"
    assert found["membership_audit"] is None
    assert found["recovery_audit"] is None


def test_of_an_audit_that_is_run_for_weeks_the_newest_is_shown(tmp_path):
    for week in ("2007-09-17", "2007-09-10"):
        (tmp_path / "membership_audit" / week).mkdir(parents=True)
        (tmp_path / "membership_audit" / week / "summary.md").write_text(week)
    found = {audit.name: audit.summary for audit in attack_tests(tmp_path, ATTACK_TESTS)}
    assert found["membership_audit"] == "2007-09-17"
