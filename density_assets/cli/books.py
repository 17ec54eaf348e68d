"""The books: what releases have cost, and whether ledger, statements and files belong together."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from density_assets.cli.options import By, Reason, SettingsFile, Week, act, chosen_week

if TYPE_CHECKING:
    from density_assets.city import City


def budget(
    settings: SettingsFile = None,
    week: Week = None,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", help="Of the releases to plan; by default that of the settings.")
    ] = None,
    weeks: Annotated[int, typer.Option("--weeks", min=1, max=5200, help="How many releases to plan.")] = 52,
    give: Annotated[
        float | None, typer.Option("--give", help="A new budget, as epsilon of a year; recorded with who and why.")
    ] = None,
    delta: Annotated[float | None, typer.Option("--delta", help="The delta of a new budget.")] = None,
    by: By = None,
    reason: Reason = None,
) -> int:
    """Say what releases have cost, what is left, and what plans would cost; or give another budget."""
    from density_assets.city import City
    from density_assets.privacy.charges import budget_to_show
    from density_assets.privacy.policy import under_policy
    from density_assets.publication.spending import budget_report

    city = City.here()
    if give is not None:
        _give(city, give, delta, by, reason)
    planned = city.settings if epsilon is None else city.settings.with_epsilon(epsilon)
    accounts = city.ledger.accounts(city.witnesses())
    recorded = accounts.budget(city.population)
    print(f"home {city.home}")
    if warning := city.ledger.elsewhere(accounts) if accounts.opened else city.ledger.none_here():
        print(warning)
    in_force, refusal = budget_to_show(recorded, city.settings)
    permitted = under_policy(accounts, in_force)
    towers = city.towers()
    print(budget_report(planned, permitted, accounts.rows, chosen_week(week, city), weeks, towers))
    if towers is None:
        print("errors are not foreseen before the public tables are made: `density check` says them")
    if refusal:
        print(f"nothing can be released under these settings: {refusal}")
    elif recorded not in (None, in_force):
        print(
            f"recorded is epsilon {recorded.epsilon:g} at delta {recorded.delta:g}; the settings state less, and that "
            "is in force: take budget_epsilon and budget_delta out of [privacy] to use what is recorded"
        )
    if permitted != in_force:
        print(f"the policy in force permits epsilon {permitted.epsilon:g} at delta {permitted.delta:g}, and no more")
    return 0


def _give(city: "City", epsilon: float, delta: float | None, by: str | None, reason: str | None) -> None:
    from density_assets.privacy.charges import Budget

    # Not the budget in force: settings that ask for more than is recorded are why somebody gives another.
    before = city.ledger.accounts().budget(city.population) or Budget.of(city.settings)
    budget = Budget.checked(epsilon, before.delta if delta is None else delta)
    given_by = act(city, by, reason, "a budget")
    city.ledger.give_budget(city.population, budget, given_by, city.witnesses())


def verify(
    release: Annotated[Path, typer.Argument(help="Its privacy_statement_….json or manifest_….json, or their folder.")],
    key: Annotated[
        str | None, typer.Option("--key", help="Fingerprint of the key that must have signed it, from elsewhere.")
    ] = None,
    second: Annotated[
        str | None, typer.Option("--second", help="Fingerprint of the key of a second person who must have signed it.")
    ] = None,
    anchor: Annotated[
        Path | None, typer.Option("--anchor", help="File with heads of its ledger that were kept elsewhere.")
    ] = None,
) -> int:
    """Check that a release is whole and who signed it: 0 verified, 3 nobody vouches for it, 1 something is wrong."""
    from density_assets.publication.verification import outcome
    from density_assets.publication.verify import show

    result = outcome(release, key, second, anchor, around=True)
    show(result)
    return result.status


def audit(settings: SettingsFile = None) -> int:
    """Make the auditor's page anew from the ledger and the releases."""
    from density_assets.city import City
    from density_assets.cli import runs

    return runs.audit(City.here())
