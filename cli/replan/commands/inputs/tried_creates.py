"""What Kafka would say to the new partitions of a plan: asked with `validate_only`, which changes nothing (KIP-195).

So a policy or a limit of the cluster shows in the review, not while applying. It needs Alter on the topics, as adding
them does: who only plans may lack it, and gets a note.
"""

from replan.commands.frame.output import note
from replan.commands.inputs.target import Target
from replan.errors import ClusterRefused, ClusterUnreachable, Exit
from replan.model.control_plane import Accepted, Answer, NewPartitions, OutcomeUnknown, Rejected
from replan.model.snapshot import Snapshot
from replan.planning.plans.creates import Create
from replan.planning.plans.plan import Plan

NOT_AUTHORIZED = 29


def try_creates(made: Plan, cluster: Target, seen: Snapshot) -> Exit:
    """Ask a live cluster, and note what it says; REFUSED where it would take some of them neither now nor later."""
    if not made.creates or cluster.snapshot is not None:
        return Exit.OK
    added = {c.topic: NewPartitions(c.count, c.lists) for c in made.creates}
    try:
        with cluster.connect() as connection:
            answers = connection.control_plane.would_create(added)
    except (ClusterRefused, ClusterUnreachable) as error:
        note(f"note: whether Kafka takes the new partitions was not tried: {error}")
        return Exit.OK
    return max((_noted(c, answers[c.topic], seen) for c in made.creates), default=Exit.OK)


def _noted(create: Create, answer: Answer, seen: Snapshot) -> Exit:
    from replan.applying.steps.creating import brokers_of, passes

    match answer:
        case Accepted():
            return Exit.OK
        case OutcomeUnknown(reason):
            note(
                f"note: whether Kafka takes the new partitions of {create.topic} is not known: {reason}"
            )
        case Rejected(code) if code == NOT_AUTHORIZED:
            note(
                f"note: the new partitions of {create.topic} were not tried: that needs Alter on the topic, as adding "
                "them does"
            )
        case Rejected():
            known = {b.id: b for b in seen.brokers}
            now = passes(answer, [known.get(b) for b in brokers_of(create)])
            when = "for the moment refuses" if now else "refuses"
            note(
                f"Kafka {when} the new partitions of {create.topic}: {answer.name}: {answer.message}"
            )
            return Exit.OK if now else Exit.REFUSED
    return Exit.OK
