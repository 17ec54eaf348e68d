"""When heads of the ledger are kept outside the home, and what is read back of them; how each is kept: `anchors.py`."""

from collections.abc import Sequence

from filelock import FileLock

from resources.anchors import Keeper, TimeStamps, anchor, heads, signed_head
from resources.keys import Keys
from resources.ledger.ledger import Ledger, today
from resources.ledger.witnesses import Named, Witnesses


def anchored(kept_by: Sequence[Keeper]) -> Witnesses:
    """What anchors say of a ledger."""
    said = [(head, keeper) for keeper in kept_by for head in heads(keeper)]
    return Witnesses(
        hashes=tuple(Named(head.head, f"the anchor {keeper.name}") for head, keeper in said),
        ledgers=tuple(Named(head.ledger, f"the anchor {keeper.name}") for head, keeper in said),
    )


def read_back(kept_by: Sequence[Keeper]) -> list[Keeper]:
    """Those whose heads are read back: a time stamp of every draw would be no witness of it."""
    return [keeper for keeper in kept_by if not isinstance(keeper, TimeStamps)]


def anchor_newest(kept_by: Sequence[Keeper], ledger: Ledger, keys: Keys, *, create: bool = False) -> None:
    """Let anchors keep the ledger's newest entry, once it is opened.

    create: whether a file that is not there is made; else it is refused, as if it had been taken away.
    """
    if not (kept_by and ledger.accounts().opened):
        return
    # Heads are kept in the order of the ledger, whichever machine notes them.
    with FileLock(keys.home / "anchor.lock", mode=0o600), ledger.book.alone("anchor"):
        accounts = ledger.accounts()
        head = signed_head(keys.signer(accounts.key), accounts.identity, len(accounts.entries), accounts.head, today())
        for keeper in kept_by:
            anchor(head, keeper, create=create)
