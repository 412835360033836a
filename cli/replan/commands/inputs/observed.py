"""What there is to plan from, or to compare with: a snapshot, or a cluster with what its journal says of it.

A snapshot needs nothing of the applier, and does not import it; how a cluster is read is in `with_journal`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field

from replan.commands.inputs.target import Target
from replan.commands.inputs.unread import note_unread
from replan.model.declared.placement import Placement
from replan.model.names import TopicPartition
from replan.model.snapshot import Snapshot

if TYPE_CHECKING:
    from replan.applying.journal.ledger import Ledger
    from replan.applying.views.standing import OpenApplication


class Observed(Struct, frozen=True):
    """What there is to plan from."""

    snapshot: Snapshot
    """As `as_planned_from` has it: without the throttles that moves have set."""
    application: "OpenApplication | None" = None
    """The one that is open there."""
    ledger: "Ledger | None" = None
    """What its journal says; a snapshot has none."""
    journal_unread: bool = False
    """It could not be read, or an application is open in another one: nobody knows what is open, or what that moves."""
    log_ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Where the leaders' logs end, where that was asked for."""


def observed(
    cluster: Target,
    placement: Placement | None = None,
    *,
    log_ends: bool = False,
    lenient: bool = False,
) -> Observed:
    """The cluster with what its journal says; notes what a person should know of that before anything else.

    For a placement the logs are read that it takes to plan from it. `lenient`: settings that the user may not read are
    left out, and a note says so.
    """
    if cluster.snapshot is not None:
        snapshot = cluster.observe()
        note_unread(snapshot)
        return Observed(snapshot)
    from replan.commands.inputs.with_journal import observed_with_journal

    return observed_with_journal(cluster, placement, log_ends=log_ends, lenient=lenient)
