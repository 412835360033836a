"""The one vocabulary of requests: what is asked of the cluster for one partition.

`next_request` chooses among them, the preview of a plan lists them, the applier sends them and writes them down.
Not here: when one is safe (`next_request`), which API carries it (`model.control_plane`), whether it had an effect
(`applying`).
"""

from enum import StrEnum

from msgspec import Struct

from replan.model.names import Replicas

SLOTS = 5
"""Copies of a broker at once, unless `apply --slots` says another number."""
SETTLE_SECONDS = 15.0
"""How long all replicas of a target must stay in sync, unless `apply --settle` says another time. Longer than
broker.session.timeout.ms (9 s): a killed broker counts as in sync for so long."""


class RequestKind(StrEnum):
    """What a request is for; previews and journals use these words."""

    EXPAND = "expand"
    """The original with the new replicas behind: data is copied, nothing else changes (AlterPartitionReassignments)."""
    ASSIGN = "assign"
    """The target: drops, orders, and moves leadership if the leader leaves; no data moves."""
    ELECT = "elect"
    """A preferred election (ElectLeaders)."""
    CANCEL = "cancel"
    """An end to the reassignment that runs. No move needs it: it takes back an echo of an earlier request."""


class Request(Struct, frozen=True):
    """One request for one partition."""

    kind: RequestKind
    replicas: Replicas = ()
    """The list asked for; for an election the leader alone; empty for a cancel."""


CANCEL = Request(RequestKind.CANCEL)
