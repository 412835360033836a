"""Why a partition moves, as a value: which rule of the placement asks for it. The sentence is in `reporting`."""

from enum import StrEnum

from replan.documents.forms import Broker, Form, Text


class ReasonKind(StrEnum):
    """What asks for a move, and which fields say more."""

    DECLARED = "declared"
    """An explicit list has other replicas."""
    DRAIN = "drain"
    """`broker` is to hold nothing; `note`: why."""
    RULE = "rule"
    """The entry of `assignments` that is called `rule`."""
    BALANCE = "balance"
    """The list keeps its rule, and moves for the balance of all."""
    ORDER = "order"
    """An explicit list has another order, or the racks of the entry of `preferredLeaders` that is called `rule`."""
    LEADER = "leader"
    """`leader` leads, and not `broker`, the first of the list."""
    PREFERRED_LEADER = "preferred-leader"
    """`broker` is the preferred leader: by id, or by the entry of `preferredLeaders` that is called `rule`."""
    LEADER_BLACKLIST = "leader-blacklist"
    """`broker` is to lead nothing; `note`: why."""
    LAST_LEADER = "last-leader"
    """`broker` is to stand last, by `lastLeaders`."""
    REMEMBERED_ORDER = "remembered-order"
    """The order from before a recovery changed it."""
    BLACKLIST_LIFTED = "blacklist-lifted"
    """The order from before the leader blacklist changed it, on which `broker` is no longer."""
    GIVEN_UP = "given-up"
    """The list from before a move that was given up after it had begun to add replicas."""
    BACK = "back"
    """Where it was before application `note` touched it."""


class MoveReason(Form, frozen=True):
    """One reason; fields that its kind does not name are None."""

    kind: ReasonKind
    broker: Broker | None = None
    leader: Broker | None = None
    rule: Text | None = None
    note: Text | None = None
    owner: Text | None = None
    """Whom to ask about the entry of a blacklist."""
    review_by: Text | None = None
    """When such an entry is to be looked at again, RFC 3339."""
    order: "MoveReason | None" = None
    """Why the list gets its order, where its replicas change and something else asks for the order."""
