"""What Kafka would say to the new partitions and the throttles of a plan: asked with `validate_only`, which changes
nothing (KIP-195, KIP-339).

So a policy or a limit of the cluster shows in the review, not while applying. It needs Alter or AlterConfigs, as the
change itself does: who only plans may lack it, and gets a note.
"""

from replan.applying.journal.ledger import Ledger
from replan.applying.reasons.ends import as_sentence, throttle_advice
from replan.applying.throttles import ThrottledCopy, ThrottleInput, WantedThrottles, throttle_tick
from replan.commands.frame.output import note
from replan.commands.inputs.target import Target
from replan.errors import ClusterRefused, ClusterUnreachable, Exit
from replan.model.control_plane import Accepted, Answer, NewPartitions, OutcomeUnknown, Rejected
from replan.model.error_codes import ErrorCode
from replan.model.snapshot import Snapshot
from replan.planning.plans.creates import Create
from replan.planning.plans.plan import Plan

_FOR_GOOD = frozenset({ErrorCode.INVALID_CONFIG, ErrorCode.POLICY_VIOLATION})
"""What is missing in ACLs is noted beside, a broker that restarts passes."""


def try_changes(made: Plan, cluster: Target, snapshot: Snapshot) -> Exit:
    """Ask a live cluster, and note what it says; REFUSED where it would take some of them neither now nor later."""
    return max(try_creates(made, cluster, snapshot), try_throttles(made, cluster, snapshot))


def try_throttles(made: Plan, cluster: Target, snapshot: Snapshot) -> Exit:
    """The same of the throttle of its copies, as the first tick of `apply` would set it."""
    copies = [ThrottledCopy(move) for move in made.moves if move.new]
    wanted = WantedThrottles.of(copies, made.throttle)
    if not (wanted.entries or wanted.rates):
        return Exit.OK
    rates = {b: snapshot.broker_configs.get(b, {}) for b in snapshot.live_brokers()}
    view = ThrottleInput(snapshot.all_settings(), rates)
    changes = throttle_tick(wanted, Ledger(), view, keep_rates=False).additions
    try:
        with cluster.connect() as connection:
            answers = connection.control_plane.would_alter(changes)
    except (ClusterRefused, ClusterUnreachable) as error:
        note(f"note: whether Kafka takes the throttle was not tried: {error}")
        return Exit.OK
    refused = {r: a for r, a in answers.items() if isinstance(a, Rejected) and a.code in _FOR_GOOD}
    for (scope, name), answer in sorted(refused.items()):
        note(
            f"Kafka refuses the throttle of {scope} {name}: {answer.name}: {as_sentence(answer.message)} No copy "
            f"starts without it: {throttle_advice(answer.code)}"
        )
    return Exit.REFUSED if refused else Exit.OK


def try_creates(made: Plan, cluster: Target, snapshot: Snapshot) -> Exit:
    """Ask a live cluster, and note what it says; REFUSED where it would take some of them neither now nor later."""
    if not made.creates:
        return Exit.OK
    added = {c.topic: NewPartitions(c.count, c.lists) for c in made.creates}
    try:
        with cluster.connect() as connection:
            answers = connection.control_plane.would_create(added)
    except (ClusterRefused, ClusterUnreachable) as error:
        note(f"note: whether Kafka takes the new partitions was not tried: {error}")
        return Exit.OK
    return max((_noted(c, answers[c.topic], snapshot) for c in made.creates), default=Exit.OK)


def _noted(create: Create, answer: Answer, snapshot: Snapshot) -> Exit:
    from replan.applying.steps.creating import rejection_passes

    match answer:
        case Accepted():
            return Exit.OK
        case OutcomeUnknown(reason):
            note(
                f"note: whether Kafka takes the new partitions of {create.topic} is not known: {reason}"
            )
        case Rejected(code) if code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            note(
                f"note: the new partitions of {create.topic} were not tried: that needs Alter on the topic, as adding "
                "them does"
            )
        case Rejected():
            brokers = {b.id: b for b in snapshot.brokers}
            now = rejection_passes(answer, [brokers.get(b) for b in create.brokers])
            when = "for the moment refuses" if now else "refuses"
            note(
                f"Kafka {when} the new partitions of {create.topic}: {answer.name}: {answer.message}"
            )
            return Exit.OK if now else Exit.REFUSED
    return Exit.OK
