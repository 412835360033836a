"""What the user of a command may not read: said before anything else, as what is not shown is not absent or healthy."""

from replan.commands.frame.output import note
from replan.errors import ClusterRefused
from replan.model.declared.placement import Placement
from replan.model.snapshot import Snapshot
from replan.wording import capped, listed

_SHOWN = 20


def note_unread(seen: Snapshot) -> None:
    """Warn of topics that this user may not describe, and of those whose settings it may not read."""
    if seen.hidden:
        named = listed(capped(list(seen.hidden), limit=_SHOWN))
        note(
            f"warning: Describe is not allowed on {named}: nothing here says anything of these topics; "
            "this user needs the ACL Describe on Topic"
        )
    unread = [name for name, of in seen.all_settings().items() if of.is_unread]
    if unread:
        named = listed(capped(unread, limit=_SHOWN))
        note(
            f"warning: DescribeConfigs is not allowed on {named}: taken as with Kafka's defaults "
            "(min.insync.replicas 1, no unclean election, no throttles); `apply` leaves out what is otherwise"
        )


def check_shown(placement: Placement, seen: Snapshot) -> None:
    """Raise ClusterRefused where a placement names topics that are there and that this user may not describe."""
    hidden = sorted(placement.topics.keys() & set(seen.hidden))
    if hidden:
        named = listed(capped(hidden, limit=_SHOWN))
        raise ClusterRefused(
            f"Describe is not allowed on {named}, which the placement names\n"
            "  this user needs the ACL Describe on Topic; ask for it, or use another user"
        )
