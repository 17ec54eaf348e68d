"""What people decide: a policy that is enforced before anything is charged, another key, a second signature."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from door import EVENT, REQUEST
from ledgers import ACT, BUDGET, KEY, opened_ledger, order

from density_assets.errors import BadInput
from density_assets.privacy.accounts import row_hash
from density_assets.privacy.acts import BY, REASON, Act, act_of, act_under, needed, of_nobody
from density_assets.privacy.charges import Budget, BudgetRefused
from density_assets.privacy.policy import (
    PolicyRefused,
    input_digest,
    parse_policy,
    policy_body,
    policy_to_sign,
    under_policy,
)
from density_assets.publication.spending import changes, decisions
from density_assets.publication.verify import Chain, signature_holds
from density_assets.settings import OperatorSettings, Settings, load_settings
from resources.ledger.book import LedgerError
from resources.ledger.deciding import KEY_CHANGE, change_key, set_policy, sign_as_second
from resources.ledger.witnesses import NOTHING
from resources.signing import make_key, open_key

BOB = Act("bob", "asked by the city")


def policy(ledger, tmp_path, text: str, signature=None) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(text)
    set_policy(ledger, file, Act("officer", "decision of September"), signature, NOTHING)


def asked(ledger, act: Act = ACT, budget: Budget = BUDGET, **changed) -> None:
    from dataclasses import replace

    release = replace(REQUEST, **changed)
    charges = [release.charge(door) for door in release.doors]
    ledger.reserve(charges, order(budget, act, release=release.record()), NOTHING)


@pytest.mark.parametrize(
    ("text", "changed", "words"),
    [
        ("epsilon = 0.2", {}, "the epsilon of a release must be at most 0.2; got 0.3"),
        ("delta = 1e-7", {}, "the delta of a release must be at most 1e-07; got 2e-06"),
        ("revisions = 0", {"revision": 2}, "how often a week may be drawn again is at most 0; got 1"),
        ('releases = ["ann"]', {}, "only ann may release weeks; got tester"),
        ("budget_epsilon = 2.0", {}, "a budget's epsilon must be at most 2; got 3"),
        ("second_person = true", {"revision": 2}, "needs the approval of somebody other than tester; got none"),
    ],
)
def test_a_policy_is_enforced_before_anything_is_charged(ledger, tmp_path, text, changed, words):
    policy(ledger, tmp_path, text)
    with pytest.raises(PolicyRefused, match="Nothing was charged") as refused:
        asked(ledger, **changed)
    assert words in str(refused.value)
    assert ledger.rows() == []


def test_a_policy_that_permits_it_is_no_obstacle(ledger, tmp_path):
    policy(ledger, tmp_path, 'epsilon = 0.3\ndelta = 2e-6\nrevisions = 1\nreleases = ["tester"]')
    asked(ledger)
    assert len(ledger.rows()) == 2


def test_a_second_person_is_another_person_and_approves_this_very_revision(ledger, tmp_path):
    policy(ledger, tmp_path, "second_person = true")
    asked(ledger)  # a first release needs nobody
    which = {"what": "revision", "city": "town", "week": "2007-09-10", "revision": 2}
    ledger.record("approval", which, ACT, NOTHING)
    ledger.record("approval", {**which, "revision": 3}, BOB, NOTHING)
    with pytest.raises(PolicyRefused, match="other than tester; got one, by tester itself"):
        asked(ledger, revision=2)
    ledger.record("approval", which, BOB, NOTHING)
    asked(ledger, revision=2)
    assert len(ledger.rows()) == 4


def test_who_may_raise_a_budget_and_how_far(ledger, tmp_path):
    policy(ledger, tmp_path, 'raises = ["bob"]\nbudget_epsilon = 5.0')
    with pytest.raises(PolicyRefused, match="only bob may give budgets"):
        ledger.give_budget("subscribers", Budget(4.0, 1e-6), ACT, NOTHING)
    with pytest.raises(PolicyRefused, match="at most 5"):
        ledger.give_budget("subscribers", Budget(6.0, 1e-6), BOB, NOTHING)
    ledger.give_budget("subscribers", Budget(4.0, 1e-6), BOB, NOTHING)
    assert ledger.accounts().budget("subscribers") == Budget(4.0, 1e-6)


def test_a_policy_also_binds_a_budget_that_was_given_before(ledger, tmp_path):
    ledger.give_budget("subscribers", Budget(8.0, 1e-5), ACT, NOTHING)
    policy(ledger, tmp_path, "budget_epsilon = 0.1\nbudget_delta = 1e-6")
    assert under_policy(ledger.accounts(), Budget(8.0, 1e-5)) == Budget(0.1, 1e-6)
    with pytest.raises(BudgetRefused, match=r"may cost epsilon 0\.1 at delta 1e-06"):
        asked(ledger)
    assert ledger.rows() == []


@pytest.mark.parametrize("name", ["tester ", "Tester", " TESTER"])
def test_a_space_or_a_capital_makes_nobody_a_second_person(ledger, tmp_path, name):
    policy(ledger, tmp_path, "second_person = true")
    which = {"what": "revision", "city": "town", "week": "2007-09-10", "revision": 2}
    ledger.record("approval", which, Act(name, "ok"), NOTHING)
    with pytest.raises(PolicyRefused, match="other than tester"):
        asked(ledger, revision=2)


def signed_policy(ledger, tmp_path, officer, text: str, message: bytes | None = None):
    """Record a policy with the officer's signature, on what is to be signed or on something else."""
    signature = tmp_path / "policy.sig"
    signature.write_bytes(officer.sign(policy_to_sign(ledger.accounts(), text) if message is None else message))
    policy(ledger, tmp_path, text, signature)
    return signature.read_bytes()


def test_a_policy_with_the_officers_key_is_replaced_by_the_officer_only(ledger, tmp_path):
    officer, other = make_key(tmp_path / "officer.pem"), make_key(tmp_path / "other.pem")
    policy(ledger, tmp_path, f'epsilon = 0.2\nofficer = "{officer.public.hex()}"')
    looser = "epsilon = 9.0\n"
    with pytest.raises(BadInput, match="signed with the officer's key only"):
        policy(ledger, tmp_path, looser)
    for signer, message in ((other, None), (officer, b"epsilon = 1.0\n"), (officer, looser.encode())):
        with pytest.raises(BadInput, match="signed with the officer's key only"):
            signed_policy(ledger, tmp_path, signer, looser, message)
    signed_policy(ledger, tmp_path, officer, looser)
    asked(ledger)


@pytest.mark.parametrize("name", ["nosuch", "."])
def test_a_signature_that_is_no_file_is_bad_input(ledger, tmp_path, name):
    with pytest.raises(BadInput, match="a signature must be a readable file"):
        policy(ledger, tmp_path, "epsilon = 0.2", tmp_path / name)


def test_an_old_policy_is_not_put_back_with_its_old_signature(ledger, tmp_path):
    officer = make_key(tmp_path / "officer.pem")
    named = f'officer = "{officer.public.hex()}"\n'
    policy(ledger, tmp_path, named)
    lax = f"epsilon = 5.0\n{named}"
    old = signed_policy(ledger, tmp_path, officer, lax)
    signed_policy(ledger, tmp_path, officer, f"epsilon = 0.1\n{named}")
    (tmp_path / "old.sig").write_bytes(old)
    with pytest.raises(BadInput, match="a policy is recorded once"):
        policy(ledger, tmp_path, lax, tmp_path / "old.sig")
    with pytest.raises(BadInput, match="signed with the officer's key only"):
        policy(ledger, tmp_path, f"# again\n{lax}", tmp_path / "old.sig")


@pytest.mark.parametrize("how", ["unsigned", "signed by another", "of another ledger"])
def test_a_policy_written_into_the_ledger_past_the_officer_is_not_believed(ledger, tmp_path, how):
    """By SQL, well chained: the ledger's readers ask for the signature again, here and outside."""
    officer, other = make_key(tmp_path / "officer.pem"), make_key(tmp_path / "other.pem")
    policy(ledger, tmp_path, f'officer = "{officer.public.hex()}"\n')
    accounts, text = ledger.accounts(), "epsilon = 9.0\n"
    signatures = {
        "signed by another": other.sign(policy_to_sign(accounts, text)),
        "of another ledger": officer.sign(
            policy_to_sign(accounts, text).replace(accounts.identity.encode(), b"0" * 32)
        ),
    }
    body = policy_body(accounts, text, signatures.get(how))
    with ledger.book.writing() as writer:
        record = {"format": 1, "kind": "policy", "at": "2026-11-18", "previous": accounts.head}
        record["body"] = json.dumps({**body, **BOB.record()}, sort_keys=True, separators=(",", ":"))
        writer.append({"row": len(accounts.entries) + 1, **record, "hash": row_hash(record)})
    with pytest.raises(LedgerError, match="policy"):
        ledger.accounts()
    chain = Chain({"format": "density ledger 1", "entries": ledger.book.read()})
    assert any("the policy of row" in wrong for wrong in chain.wrong)


@pytest.mark.parametrize("text", ["epsilom = 1", "epsilon = true", "epsilon = -1", "[epsilon", "officer = 'abc'"])
def test_a_policy_nobody_can_follow_is_refused(text):
    with pytest.raises(BadInput, match="policy"):
        parse_policy(text)


def test_a_new_key_is_vouched_for_by_the_old_one(ledger, tmp_path):
    accounts, old, new = ledger.accounts(), make_key(tmp_path / "old.pem"), make_key(tmp_path / "new.pem")
    change_key(ledger, accounts, new.public.hex(), old, BOB, NOTHING)
    (entry,) = ledger.accounts().of("key")
    assert ledger.accounts().key == new.public.hex()
    assert ledger.accounts().key_at(1) == accounts.key
    assert signature_holds(old.public, KEY_CHANGE + new.public, bytes.fromhex(entry.body["signed"]))
    with pytest.raises(BadInput, match="must differ"):
        change_key(ledger, ledger.accounts(), new.public.hex(), new, BOB, NOTHING)


def test_a_second_person_signs_the_manifest_as_it_is(tmp_path):
    manifest, key = tmp_path / "manifest_2007-09-10.json", make_key(tmp_path / "mine.pem")
    manifest.write_text("{}\n")
    signature, public = sign_as_second(manifest, str(tmp_path / "mine.pem"))
    assert signature.name == f"manifest_2007-09-10.{key.fingerprint[:16]}.sig"
    assert public.name == f"key_{key.fingerprint[:16]}.pem"
    assert signature_holds(key.public, manifest.read_bytes(), signature.read_bytes())
    with pytest.raises(BadInput, match="the manifest_"):
        sign_as_second(tmp_path / "mine.pem", str(tmp_path / "mine.pem"))


def test_auditors_see_who_decided_what_and_what_changed(ledger, tmp_path):
    policy(ledger, tmp_path, "epsilon = 1.0")
    asked(ledger)
    ledger.give_budget("subscribers", Budget(4.0, 1e-5), BOB, NOTHING)
    asked(ledger, week="2007-09-17", epsilon=0.2, parameters={"weight_l": 2})
    asked(ledger, BOB, revision=2)
    accounts, digest = ledger.accounts(), input_digest(order().settings)
    said = [(decision.by, decision.what) for decision in decisions(accounts, "subscribers")]
    assert said == [
        ("tester", "opened the ledger"),
        ("tester", "opened it for records of real people"),
        ("tester", f"acknowledged what the files of embedded are understood as (input settings {digest[:12]})"),
        ("officer", f"set the policy {next(accounts.of('policy')).body['sha256'][:12]}"),
        ("tester", "gave subscribers a budget of (3, 1e-05)"),
        ("bob", "gave subscribers a budget of (4, 1e-05)"),
        ("bob", "asked for revision 2 of the week of 2007-09-10, town"),
    ]
    first, second = changes(accounts, "subscribers")
    assert (first.before, first.after) == ("2007-09-10", "2007-09-17")
    assert first.differences == {"epsilon": ("0.3", "0.2"), "weight_l": ("1", "2")}
    assert second.after == "2007-09-10, revision 2"
    assert json.dumps(list(second.differences)) == '["epsilon", "weight_l"]'


def test_a_name_and_a_reason_come_from_the_command_or_the_environment():
    environment = {"DENSITY_BY": "ann", "DENSITY_REASON": "weekly"}
    assert act_of(None, None, environment=environment) == Act("ann", "weekly")
    assert act_of("bob", None, environment=environment) == Act("bob", "weekly")
    assert act_of("bob", None, environment={}) is None
    with pytest.raises(BadInput, match=r"^a release must say who and why"):
        needed(None, "a release")
    assert Act("x" * 200, "why").by
    for wrong in ("", " ", "a\nb", "x" * 201):
        with pytest.raises(BadInput, match="one line of 1 to 200"):
            Act(wrong, "why")


def test_without_a_word_the_operator_acts_and_on_people_who_do_not_exist_nobody(monkeypatch, town):
    for name in (BY, REASON):
        monkeypatch.delenv(name, raising=False)
    real, invented = load_settings(town.settings), Settings()
    operated = real.model_copy(update={"operator": OperatorSettings(name="desk", reason="weekly")})
    assert act_under(real, None, None) is None
    assert act_under(invented, None, None) == of_nobody()
    assert act_under(operated, None, None, "schedule") == Act("desk", "weekly", "schedule")
    assert act_under(operated, "ann", "a study") == Act("ann", "a study")
    monkeypatch.setenv(BY, "bob")
    monkeypatch.setenv(REASON, "a correction")
    assert act_under(operated, None, None) == Act("bob", "a correction")


def test_events_are_what_they_were(ledger):
    """A charge of the ledger gives back the very events it was made of."""
    asked(ledger)
    assert all(row.charge.events == (EVENT,) for row in ledger.rows())


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_keys_and_policies_are_made_and_signed_with_openssl(ledger, tmp_path):
    """The lines of docs/operations.md, as they stand there."""
    text = (Path(__file__).parents[4] / "docs" / "operations.md").read_text()
    (block,) = (part for part in text.split("```") if "openssl genpkey" in part)
    lines = [line for line in block.splitlines()[1:] if line.startswith("openssl")]
    *make_key, sign = lines

    def run(line: str) -> str:
        return subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    _, public, digest = (run(line) for line in make_key)
    assert open_key(tmp_path / "mine.pem").public.hex() == public.strip()
    assert open_key(tmp_path / "mine.pem").fingerprint == digest.split()[0]
    policy(ledger, tmp_path, f'epsilon = 0.3\nofficer = "{public.strip()}"')
    (tmp_path / "policy.bytes").write_bytes(policy_to_sign(ledger.accounts(), "epsilon = 0.2\n"))
    run(sign)
    policy(ledger, tmp_path, "epsilon = 0.2\n", tmp_path / "policy.sig")


def test_a_publication_is_noted_unless_the_newest_of_its_week_and_vintage_says_the_same(tmp_path):
    """Who publishes a first list again after another one has published once more."""
    ledger = opened_ledger(tmp_path)
    week = {"city": "town", "week": "2007-09-10", "revision": 1, "row": 1, "charges": [], "key": KEY, "signature": ""}
    first, other = {**week, "manifest": "A", "replaces": "B"}, {**week, "manifest": "B", "replaces": "A"}
    for said in (first, other, first, first, {**first, "upto": "2007-09-17"}, first, other):
        ledger.publish(said, ACT)
    noted = [(entry.body["manifest"], entry.body.get("upto")) for entry in ledger.accounts().of("published")]
    assert noted == [("A", None), ("B", None), ("A", None), ("A", "2007-09-17"), ("B", None)]
