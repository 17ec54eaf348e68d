"""Keeping the ledger: open it, look at it, copy it, move it, and record what people decide.

Whatever changes the ledger says who did it and why, by `--by` and `--reason` or the environment.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from density_assets.cli.options import By, Reason, SettingsFile
from density_assets.errors import BadInput

if TYPE_CHECKING:
    from density_assets.city import City
    from density_assets.privacy.acts import Act


def ledger(
    action: Annotated[
        Literal["verify", "init", "moved", "key", "anchor", "backup", "restore"],
        typer.Argument(
            help="verify: is it whole? init: open it for records of real people, once. moved: its file lies elsewhere "
            "now, and the old one is gone. key: sign with a new key from now on. anchor: note its head where [anchor] "
            "says. backup, restore: a copy, or the chain published last."
        ),
    ],
    file: Annotated[Path | None, typer.Argument(help="The copy, for backup and restore.")] = None,
    settings: SettingsFile = None,
    by: By = None,
    reason: Reason = None,
    adopt: Annotated[bool, typer.Option("--adopt", help="With init: take over a ledger of version 1.")] = False,
) -> int:
    """Open, verify, copy or move the ledger, or change the key that releases are signed with."""
    from density_assets.city import City
    from resources.ledger import opening

    city = City.here()
    with plainly():
        known = city.measurements.witnesses()
        if action == "init":
            act = _said(by, reason, "opening a ledger")
            opening.open_for_people(city.ledger, act, city.new_key, city.measurements.found(), adopt=adopt)
        elif action == "moved":
            opening.say_moved(city.ledger, _said(by, reason, "moving a ledger"), known)
        elif action == "key":
            _change_key(city, _said(by, reason, "changing the key"))
        elif action == "anchor":
            if not city.anchor_head():
                raise BadInput(
                    "[anchor] of the settings must say where: a file, a git repository or a time stamp service"
                )
        elif action == "backup":
            opening.backup(city.ledger, _needed(file, action))
        elif action == "restore":
            act = _said(by, reason, "restoring a ledger") if not city.synthetic else _anybody(by, reason)
            opening.restore(city.ledger, _needed(file, action), act, known)
        _report(city)
    return 0


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
) -> int:
    """Record what a data-protection officer permits; it is enforced before anything is charged."""
    from density_assets.city import City
    from density_assets.privacy.policy import policy_in_force
    from resources.ledger.deciding import set_policy

    city = City.here()
    with plainly():
        if file is not None:
            act = _said(by, reason, "setting a policy")
            set_policy(city.ledger, file, act, signature, city.measurements.witnesses())
        in_force = policy_in_force(city.ledger.accounts())
    print("no policy is in force" if in_force is None else in_force.model_dump_json(indent=2, exclude_none=True))
    return 0


def approve(
    week: Annotated[str, typer.Option("--week", help="The Monday of the week.")],
    revision: Annotated[int, typer.Option("--revision", help="Which revision of it.")],
    settings: SettingsFile = None,
    by: By = None,
    reason: Reason = None,
) -> int:
    """Agree, as a second person, to a revision of a week that somebody else asks for."""
    from density_assets.calendar import parse_week
    from density_assets.city import City

    city = City.here()
    body = {"what": "revision", "city": city.name, "week": str(parse_week(week)), "revision": revision}
    with plainly():
        city.ledger.record("approval", body, _said(by, reason, "an approval"), city.measurements.witnesses())
    print(f"recorded: revision {revision} of the week of {week} is approved")
    return 0


def sign(
    release: Annotated[Path, typer.Argument(help="The manifest_….json of a release.")],
    key: Annotated[str, typer.Option("--key", help="Your own key: a PEM file, or agent: and its name.")],
) -> int:
    """Sign a release as a second person, after you have verified it."""
    from resources.ledger.deciding import sign_as_second

    print("\n".join(map(str, sign_as_second(release, key))))
    return 0


def _change_key(city: "City", act: "Act") -> None:
    from resources.ledger.deciding import change_key

    accounts = city.ledger.accounts(city.measurements.witnesses())
    change_key(city.ledger, accounts, city.new_key(), city.old_signer(accounts.key), act, city.measurements.witnesses())


def _report(city: "City") -> None:
    from density_assets.publication.manifest import fingerprint

    accounts = city.ledger.accounts(city.measurements.witnesses())
    if not accounts.exists:
        print("there is no ledger yet: `density ledger init` opens one; for simulated people the first release does")
        return
    print(f"the ledger is whole: {len(accounts.rows)} charges, head {accounts.head[:16]}")
    if accounts.opened:
        people = "real people" if accounts.declared else "simulated people only"
        print(f"ledger {accounts.identity}, opened {accounts.entries[0].at} for {people}")
        print(f"key    {fingerprint(accounts.key)}")
        print("       publish this fingerprint where your readers trust it, not beside the releases")
    else:
        print("version 1: without identity and key; `density ledger init --adopt` takes it over")


@contextmanager
def plainly() -> Iterator[None]:
    """Let a person read why the ledger refuses."""
    import sqlite3

    from density_assets.privacy.charges import BudgetRefused
    from density_assets.privacy.policy import PolicyRefused
    from resources.ledger.book import LedgerError

    try:
        yield
    except (LedgerError, BudgetRefused, PolicyRefused) as problem:
        raise BadInput(str(problem)) from None
    except sqlite3.Error as problem:
        raise BadInput(f"the ledger and its copies must be SQLite files: {problem}") from None


def _said(by: str | None, reason: str | None, what: str) -> "Act":
    from density_assets.privacy.acts import act_of, needed

    return needed(act_of(by, reason), what)


def _anybody(by: str | None, reason: str | None) -> "Act":
    from density_assets.privacy.acts import act_of, of_nobody

    return act_of(by, reason) or of_nobody()


def _needed(file: Path | None, action: str) -> Path:
    if file is None:
        raise BadInput(f"{action} needs the file of the copy")
    return file
