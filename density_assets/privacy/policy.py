"""What a data-protection officer permits, whatever the settings of a city say.

A policy is a TOML file that the officer writes. It takes effect when it is recorded in the ledger (`density policy`),
and is enforced there, before anything is charged; who edits the file afterwards changes nothing. A policy that names
the officer's key can be replaced only by one that is signed with it. The signature covers the ledger and the policy
that is replaced too, so that an old one cannot be put back, and stands in the ledger, where every reader checks it.

Whatever a policy says, a person must look at how records of real people are read before the first charge for them.
Files that are read wrongly, by another column, zone or spelling, give a week of noise which is paid for all the same.
So somebody must have run `density check` and acknowledged what it found, once for each way of reading them. That is an
entry of the ledger, an approval of the input settings by their digest, and holds for every machine that shares it. It
holds nothing that was computed from records, and neither does the question.
"""

import hashlib
import json
import tomllib
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from density_assets.errors import BadInput, nearest
from density_assets.privacy.accounts import Accounts, Entry, NotWhole
from density_assets.privacy.acts import Act
from density_assets.privacy.charges import Budget, is_simulated
from density_assets.privacy.release import FORMAT, Charge
from density_assets.settings import Settings

POLICY_CHANGE = f"density policy {FORMAT}\n".encode()  # before what an officer signs
APPROVAL = "approval"  # the kind of entry
INPUT = "input"  # what is approved
# What of [city] does not say how files are read. Whatever is not named here is taken to.
NOT_READ_BY = frozenset(
    {"name", "population", "first_week", "last_week", "users", "seed", "regions", "region_id", "region_name"}
)
Limit = Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True)]
Names = tuple[Annotated[str, Field(min_length=1, max_length=200)], ...]


class PolicyRefused(RuntimeError):
    """The policy does not permit what was asked: nothing was charged and nothing drawn."""


class Policy(BaseModel):
    """What may be released, by whom.

    epsilon, delta: the largest promise of one release.
    budget_epsilon, budget_delta: the largest budget that may be given.
    revisions: how often one week may be drawn again.
    second_person: whether a revision needs the approval of somebody who did not ask for it.
    releases, raises: who may release weeks and give budgets; without them, anybody.
    officer: public key (64 hex digits) whose signature a later policy needs.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    epsilon: Limit | None = None
    delta: Limit | None = None
    budget_epsilon: Limit | None = None
    budget_delta: Limit | None = None
    revisions: Annotated[int, Field(ge=0, strict=True)] | None = None
    second_person: bool = False
    releases: Names | None = None
    raises: Names | None = None
    officer: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None


def parse_policy(text: str) -> Policy:
    """The policy that a file holds."""
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as problem:
        raise BadInput(f"a policy must be TOML: {problem}") from None
    if unknown := sorted(content.keys() - Policy.model_fields.keys()):
        raise BadInput(f"unknown key {unknown[0]!r} in the policy{nearest(unknown[0], Policy.model_fields)}")
    try:
        return Policy.model_validate(content)
    except ValidationError as problem:
        first = problem.errors()[0]
        raise BadInput(f"policy: {'.'.join(map(str, first['loc']))}: {first['msg']}, got {first['input']!r}") from None


def policy_digest(text: str) -> str:
    """What a policy is known by."""
    return hashlib.sha256(text.encode()).hexdigest()


def policy_to_sign(accounts: Accounts, text: str) -> bytes:
    """What the officer signs: this text, in this ledger, in place of the policy in force."""
    before = accounts.newest("policy")
    return _message(accounts.identity, before.body["sha256"] if before else None, text)


def _message(ledger: str, replaces: str | None, text: str) -> bytes:
    return POLICY_CHANGE + f"ledger {ledger}\nreplaces {replaces or 'none'}\n{text}".encode()


def policy_body(accounts: Accounts, text: str, signature: bytes | None) -> dict[str, Any]:
    """A policy as the ledger keeps it."""
    before = accounts.newest("policy")
    return {
        "sha256": policy_digest(text),
        "text": text,
        "officer": parse_policy(text).officer,
        "replaces": before.body["sha256"] if before else None,
        "signature": signature.hex() if signature else None,
    }


def refuse_forged_policies(accounts: Accounts, holds: Callable[[bytes, bytes, bytes], bool]) -> None:
    """Raise `NotWhole` if a policy was replaced without the signature that the one before it asks for.

    holds: whether a key has signed a message so.
    """
    before: Entry | None = None
    for entry in accounts.of("policy"):
        _refuse_forged_policy(accounts.identity, before, entry, holds)
        before = entry


def _refuse_forged_policy(
    identity: str, before: Entry | None, entry: Entry, holds: Callable[[bytes, bytes, bytes], bool]
) -> None:
    body, where = entry.body, f"the policy of entry {entry.row}"
    if policy_digest(body["text"]) != body["sha256"]:
        raise NotWhole(f"{where} is not the one it names by its digest")
    replaces = before.body["sha256"] if before else None
    if body["replaces"] != replaces or body["officer"] != parse_policy(body["text"]).officer:
        raise NotWhole(f"{where} replaces another than the one before it, or names another officer")
    officer = parse_policy(before.body["text"]).officer if before else None
    if officer is None:
        return
    message = _message(identity, replaces, body["text"])
    if body["signature"] is None or not holds(bytes.fromhex(officer), message, bytes.fromhex(body["signature"])):
        raise NotWhole(f"{where} is not signed by the officer whom the policy before it names")


def policy_in_force(accounts: Accounts) -> Policy | None:
    """The newest that was recorded; none if there is none."""
    recorded = accounts.newest("policy")
    return parse_policy(recorded.body["text"]) if recorded else None


def refuse_charges(accounts: Accounts, due: Sequence[Charge], act: Act) -> None:
    """Raise if the policy in force does not permit charges."""
    policy = policy_in_force(accounts)
    if policy is None:
        return
    for charge in due:
        _refuse_above("the epsilon of a release", charge.epsilon, policy.epsilon)
        _refuse_above("the delta of a release", charge.delta, policy.delta)
        _refuse_revision(accounts, policy, charge, act)
    _refuse_others("release weeks", act, policy.releases)


def under_policy(accounts: Accounts, budget: Budget) -> Budget:
    """A budget that was given, or as much of it as the policy in force permits: it also binds what was given before."""
    policy = policy_in_force(accounts)
    if policy is None:
        return budget
    return Budget(
        min(budget.epsilon, policy.budget_epsilon or budget.epsilon),
        min(budget.delta, policy.budget_delta or budget.delta),
    )


def refuse_budget(accounts: Accounts, budget: Budget, act: Act) -> None:
    """Raise if the policy in force does not permit a budget."""
    policy = policy_in_force(accounts)
    if policy is None:
        return
    _refuse_above("a budget's epsilon", budget.epsilon, policy.budget_epsilon)
    _refuse_above("a budget's delta", budget.delta, policy.budget_delta)
    _refuse_others("give budgets", act, policy.raises)


def _refuse_revision(accounts: Accounts, policy: Policy, charge: Charge, act: Act) -> None:
    again = charge.revision - 1
    if policy.revisions is not None and again > policy.revisions:
        raise PolicyRefused(_words(f"how often a week may be drawn again is at most {policy.revisions}", str(again)))
    if not (again and policy.second_person):
        return
    agreed = {_person(entry.body["by"]) for entry in accounts.all_of("approval", what="revision", **charge.which)}
    if not agreed - {_person(act.by)}:
        raise PolicyRefused(
            _words(
                f"revision {charge.revision} of the week of {charge.week} needs the approval of somebody other than "
                f"{act.by}",
                f"{f'one, by {act.by} itself' if agreed else 'none'}: `density approve` records it",
            )
        )


def _person(name: str) -> str:
    """A name as it is compared: a space or a capital makes nobody another person."""
    return " ".join(name.split()).casefold()


def _refuse_above(what: str, value: float, limit: float | None) -> None:
    if limit is not None and value > limit:
        raise PolicyRefused(_words(f"{what} must be at most {limit:g}", f"{value:g}"))


def _refuse_others(what: str, act: Act, names: Names | None) -> None:
    if names is not None and act.by not in names:
        raise PolicyRefused(_words(f"only {', '.join(names)} may {what}", act.by))


def _words(must: str, got: str) -> str:
    return f"the policy in force says: {must}; got {got}. Nothing was charged and nothing drawn"


def input_digest(settings: Settings) -> str:
    """What a way of reading files is known by: sources, columns, zones, filters, as the settings spell them.

    Paths are those of the settings file, so that the folder may move. Defaults are left out, so that a setting which a
    is added later asks nobody anew.
    """
    read = settings.city.model_dump(mode="json", exclude=set(NOT_READ_BY), exclude_defaults=True)
    return hashlib.sha256(json.dumps(read, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def acknowledgement(settings: Settings) -> dict[str, Any]:
    """What the ledger keeps of it, besides who and why."""
    return {"what": INPUT, "city": settings.city.name, "inputs": input_digest(settings)}


def acknowledged(accounts: Accounts, settings: Settings) -> bool:
    """Whether somebody has acknowledged how a city's files are read today."""
    return accounts.newest(APPROVAL, **acknowledgement(settings)) is not None


def refuse_unacknowledged(accounts: Accounts, due: Sequence[Charge], settings: Settings) -> None:
    """Raise if charges for real people are due and nobody has acknowledged how their files are read.

    A revision of a week that was charged before is not asked for again, whatever the settings have become.
    """
    new = [charge for charge in due if not accounts.charges_of(charge.population, charge.which)]
    if not new or is_simulated(new[0].population) or acknowledged(accounts, settings):
        return
    earlier = any(entry.body.get("city") == settings.city.name for entry in accounts.all_of(APPROVAL, what=INPUT))
    raise BadInput(
        "before the first charge for real people a person must look at what their files are understood as; nobody has "
        f"for these input settings of {settings.city.name} ([city]: "
        f"{'they have changed since' if earlier else 'sources, columns, zones'}): run `density check --settings FILE`, "
        "read it, and acknowledge it, whatever it says: `density check --settings FILE --acknowledge --by NAME "
        "--reason WHY`. Nothing was charged and nothing drawn"
    )
