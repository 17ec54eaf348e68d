"""The books: what releases have cost, whether ledger, statements and files belong together, and what people decide.

Whatever changes the ledger says who did it and why, by `--by` and `--reason`, the environment or `[operator]`.
"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from density_assets.cli.options import By, Reason, SettingsFile, Week, act, chosen_week
from density_assets.errors import BadInput
from density_assets.settings import AnchorSettings

if TYPE_CHECKING:
    from density_assets.city import City
    from density_assets.privacy.acts import Act
    from resources.ledger.witnesses import Witnesses


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


def ledger(
    action: Annotated[
        Literal["verify", "init", "moved", "key", "anchor", "backup", "restore", "copy", "tables"],
        typer.Argument(
            help="verify: is it whole? init: open it for records of real people, once. moved: it lies elsewhere now, "
            "and the old one is gone. key: sign with a new key from now on. anchor: note its head where settings say. "
            "backup, restore: a copy, or the chain published last. copy: to another book, row by row; neither may pay "
            "until `moved`. tables: the SQL that the owner of a PostgreSQL database runs once."
        ),
    ] = "verify",
    file: Annotated[Path | None, typer.Argument(help="The copy, for backup and restore.")] = None,
    settings: SettingsFile = None,
    by: By = None,
    reason: Reason = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to", help="With copy: postgresql://… or a file. With tables: a database, as its owner; without, print."
        ),
    ] = None,
    service: Annotated[
        str | None, typer.Option("--service", help="With tables: the role that charges; density_service by default.")
    ] = None,
    old: Annotated[
        str | None, typer.Option("--old", help="With key: the old key, if the home does not keep it; PEM or agent:….")
    ] = None,
) -> int:
    """Verify the ledger, open, copy or move it, or change the key that releases are signed with.

    Ends with 3 if the ledger is whole, but a copy of another or moved: it may not pay until somebody says `moved`.
    """
    from density_assets.city import City
    from resources.draws import share_draws
    from resources.ledger import opening
    from resources.ledger.witnesses import NOTHING

    if action == "tables":
        return _tables(service, to)
    city = City.here()
    known = NOTHING if action == "anchor" else city.witnesses()  # an anchor may be made by this
    if action == "init":
        opened_by = act(city, by, reason, "opening a ledger")
        opening.open_for_people(city.ledger, opened_by, city.keys.new, city.witnesses())
    elif action == "moved":
        opening.say_moved(city.ledger, act(city, by, reason, "moving a ledger"), known)
    elif action == "key":
        _change_key(city, act(city, by, reason, "changing the key"), known, old)
    elif action == "anchor":
        if city.settings.anchor == AnchorSettings():
            raise BadInput("[anchor] of the settings must say where: a file, or a command that gets the head")
        city.anchor_head(create=True)
    elif action == "backup":
        copy = _needed(file, action).absolute()
        opening.backup(city.ledger, copy)
        print(f"copied to {copy}")
    elif action == "restore":
        copy = _needed(file, action)
        books = opening.read_copy(copy, known)
        opening.restore(city.ledger, copy, act(city, by, reason, "restoring a ledger", books), known)
        share_draws(city.ledger, city.home)
    elif action == "copy":
        return _copy(city, to, act(city, by, reason, "copying a ledger"), known)
    return _report(city)


def policy(
    file: Annotated[
        Path | None, typer.Argument(help="TOML file of the officer; without it, say what is in force.")
    ] = None,
    settings: SettingsFile = None,
    by: By = None,
    reason: Reason = None,
    signature: Annotated[
        Path | None, typer.Option("--signature", help="By the officer's key, where the policy in force names one.")
    ] = None,
    to_sign: Annotated[
        Path | None, typer.Option("--to-sign", help="Record nothing; write here what the officer signs.")
    ] = None,
) -> int:
    """Record what a data-protection officer permits; it is enforced before anything is charged."""
    from density_assets.city import City
    from density_assets.privacy.policy import policy_in_force, policy_to_sign
    from resources.ledger.deciding import read_policy, set_policy

    city = City.here()
    if to_sign is not None:
        to_sign.write_bytes(policy_to_sign(city.ledger.accounts(), read_policy(_needed(file, "--to-sign"))))
        print(to_sign)
        return 0
    if file is not None:
        set_by = act(city, by, reason, "setting a policy")
        set_policy(city.ledger, file, set_by, signature, city.witnesses())
    in_force = policy_in_force(city.ledger.accounts())
    print("no policy is in force" if in_force is None else in_force.model_dump_json(indent=2, exclude_none=True))
    return 0


def approve(
    week: Annotated[str, typer.Option("--week", help="The Monday of the week.")],
    revision: Annotated[int, typer.Option("--revision", min=2, help="Which revision of it, from 2.")],
    settings: SettingsFile = None,
    by: By = None,
    reason: Reason = None,
) -> int:
    """Agree, as a second person, to a revision of a week that somebody else asks for."""
    from density_assets.calendar import parse_week
    from density_assets.city import City

    city = City.here()
    _refuse_approval(city, str(parse_week(week)), revision)
    body = {"what": "revision", "city": city.name, "week": str(parse_week(week)), "revision": revision}
    city.ledger.record("approval", body, act(city, by, reason, "an approval"), city.witnesses())
    print(f"recorded: revision {revision} of the week of {week} is approved; counts only if somebody else asks for it")
    return 0


def _refuse_approval(city: "City", week: str, revision: int) -> None:
    """Raise if a revision of a week cannot be drawn any more, or not yet: an approval of it would never count."""
    accounts, which = city.ledger.accounts(), {"city": city.name, "week": week}
    charged = [row.charge.which for row in accounts.rows if row.charge.population == city.population]
    revisions = [said["revision"] for said in charged if which.items() <= said.items()]
    if not revisions:
        raise BadInput(f"a revision must be of a week that was released before, {city.name} has no week of {week}")
    newest = max(revisions)
    if revision < max(2, newest) or accounts.publications({**which, "revision": revision}):
        raise BadInput(
            f"a revision must be newer than what is released of the week of {week}, {newest}; got {revision}"
        )


def sign(
    release: Annotated[Path, typer.Argument(help="The manifest_….json of a release.")],
    key: Annotated[str, typer.Option("--key", help="Your own key: a PEM file, or agent: and its name.")],
) -> int:
    """Sign a release as a second person, after you have verified it."""
    from resources.ledger.deciding import sign_as_second

    print("\n".join(map(str, sign_as_second(release, key))))
    return 0


def _tables(service: str | None, to: str | None) -> int:
    """Print what an owner runs to make the tables of a ledger, or run it."""
    from resources.ledger.postgres_tables import SERVICE, tables_sql
    from resources.ledger.sqlite import shared_book

    role = service or SERVICE
    statements = tables_sql(role)
    if to is None:
        print(statements)
        return 0
    book = shared_book(to)
    book.make_tables(role)
    print(f"{book.address} has the tables of a ledger, and {role} may read and add")
    return 0


def _copy(city: "City", to: str | None, copied_by: "Act", known: "Witnesses") -> int:
    """Copy the ledger to another book, with all draws that are stored."""
    from resources.draws import contents_of_draws, fetch_draws
    from resources.ledger.opening import copy_to
    from resources.ledger.sqlite import book_at

    if to is None:
        raise BadInput("copy needs --to, a file or postgresql://ROLE@HOST:PORT/DATABASE")
    book = book_at(to)
    fetch_draws(city.ledger, city.home)
    copy_to(city.ledger, book, copied_by, known, partial(contents_of_draws, city.home))
    print(f"copied every row to {book.address}, head {city.ledger.accounts().head[:16]}")
    if city.ledger.accounts().declared:
        print(
            "neither may pay from now on. Let [ledger] url name the one that stays (a file: put it in the home as "
            "ledger.sqlite, without url), then say so there: `density ledger moved --by NAME --reason WHY`"
        )
    return 0


def _change_key(city: "City", changed_by: "Act", known: "Witnesses", old: str | None) -> None:
    from resources.ledger.deciding import change_key
    from resources.signing import open_key

    accounts = city.ledger.accounts(known)
    before = open_key(old) if old else city.keys.old_signer(accounts.key)
    if before is not None and before.public.hex() != accounts.key:
        raise BadInput(
            f"--old must be the key in force, {old} is another: give that one, or leave it out if it is lost"
        )
    change_key(city.ledger, accounts, city.keys.new(), before, changed_by, known)
    if before is None:
        print("the old key did not agree to this, and every verifier will say so: was it lost? Else see --old")


def _report(city: "City") -> int:
    from density_assets.publication.files import fingerprint

    accounts = city.ledger.accounts(city.witnesses())
    if not accounts.opened:
        print(city.ledger.none_here())
        return 0
    print(f"the ledger is whole: {len(accounts.rows)} charges, head {accounts.head[:16]}")
    people = "real people" if accounts.declared else "simulated people only"
    print(f"ledger {accounts.identity}, opened {accounts.entries[0].at} for {people}")
    print(f"key    {fingerprint(accounts.key)}")
    print("       publish this fingerprint where your readers trust it, not beside the releases")
    if warning := city.ledger.elsewhere(accounts):
        print(warning)
        return 3
    return 0


def _needed(file: Path | None, action: str) -> Path:
    if file is None:
        raise BadInput(f"{action} needs the file of the copy")
    return file
