"""What the user of a command may not read: said before anything else, as what is not shown is not absent or healthy."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from replan.commands.frame.output import note
from replan.errors import ClusterRefused
from replan.model.declared.topic_patterns import literal_prefix, matches
from replan.wording import NAMES_SHOWN, capped, listed

if TYPE_CHECKING:  # what a snapshot is made of takes longer to import than `--help` to print
    from replan.model.declared.placement import Placement
    from replan.model.snapshot import Snapshot


def note_unread(snapshot: "Snapshot") -> None:
    """Warn of topics that this user may not describe, and of those whose settings it may not read."""
    if snapshot.hidden:
        note(
            f"warning: Describe is not allowed on {_listed(snapshot.hidden)}: nothing here says anything of these "
            "topics; this user needs the ACL Describe on Topic"
        )
    unread = [name for name, of in snapshot.all_settings().items() if of.is_unread]
    if unread:
        note(
            f"warning: DescribeConfigs is not allowed on {_listed(unread)}: taken as with Kafka's defaults "
            "(min.insync.replicas 1, no unclean election, no throttles); `apply` leaves out what is otherwise"
        )


def check_shown(placement: "Placement", snapshot: "Snapshot") -> None:
    """Raise ClusterRefused where a placement is about topics that are there and that this user may not describe.

    Those that it names, or means by a pattern that begins with a part of their name, and all where it drains a broker:
    whether that is empty is not known. `*` and the leader blacklist go by what this user sees.
    """
    standing = {} if placement.standing is None else placement.standing.topics
    named = {
        *placement.topics,
        *placement.rules,
        *(rule.pattern for rule in placement.leader_rules.values()),
        *(name.topic for name in placement.preferred_leaders),
        *(topic for group in placement.apart for topic in group.topics),
        *placement.requirements,
        *placement.recovery,
        *standing,
    }
    by_prefix = [name for name in named if literal_prefix(name)]
    meant = [
        topic for topic in sorted(snapshot.hidden) if any(matches(n, topic) for n in by_prefix)
    ]
    if meant:
        raise ClusterRefused(
            f"Describe is not allowed on {_listed(meant)}, which the placement names\n  {_ASK}"
        )
    if (placement.replica_blacklist or placement.replica_racks) and snapshot.hidden:
        brokers = sorted({e.broker for e in placement.replica_blacklist})
        drained = listed([*brokers, *(f"rack {e.rack}" for e in placement.replica_racks)])
        raise ClusterRefused(
            f"Describe is not allowed on {_listed(sorted(snapshot.hidden))}, so nobody can say whether a broker is "
            f"empty that the placement drains ({drained})\n  {_ASK}"
        )


_ASK = "this user needs the ACL Describe on Topic; ask for it, or use another user"


def _listed(topics: Sequence[str]) -> str:
    return listed(capped(topics, limit=NAMES_SHOWN))
