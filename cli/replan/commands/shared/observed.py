"""What there is to plan from, or to compare with.

A snapshot needs nothing of the applier, and does not import it; how a cluster is read is in `with_journal`.
"""

from replan.commands.shared.target import Observed, Target
from replan.commands.shared.unread import note_unread
from replan.model.declared.placement import Placement


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
    from replan.commands.shared.with_journal import observed_with_journal

    return observed_with_journal(cluster, placement, log_ends=log_ends, lenient=lenient)
