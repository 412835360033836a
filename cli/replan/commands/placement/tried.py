"""What Kafka would say to the new partitions and the throttles of a plan: asked with `validate_only`, which changes
nothing (KIP-195, KIP-339).

So a policy or a limit of the cluster shows in the review, not while applying. It needs Alter or AlterConfigs, as the
change itself does: who only plans may lack it, and gets a note.
"""

from collections.abc import Iterator

from msgspec import Struct

from replan.applying.journal.ledger import Ledger
from replan.applying.reasons.ends import as_sentence, throttle_advice
from replan.applying.throttles import ThrottledCopy, ThrottleInput, WantedThrottles, throttle_tick
from replan.commands.shared.target import Target
from replan.errors import ClusterRefused, ClusterUnreachable
from replan.model.control_plane import Accepted, Answer, NewPartitions, OutcomeUnknown, Rejected
from replan.model.error_codes import ErrorCode
from replan.model.snapshot import Snapshot
from replan.planning.plans.creates import Create
from replan.planning.plans.plan import Plan

_FOR_GOOD = frozenset({ErrorCode.INVALID_CONFIG, ErrorCode.POLICY_VIOLATION})
"""What is missing in ACLs is noted beside, a broker that restarts passes."""


class Tried(Struct, frozen=True):
    """What a cluster says to a change of a plan that it would not simply make."""

    text: str
    refused: bool = False
    """It would take it neither now nor later."""


def tried_changes(made: Plan, cluster: Target, snapshot: Snapshot) -> tuple[Tried, ...]:
    """Ask a live cluster; nothing where it would take all of them."""
    return (*_creates(made, cluster, snapshot), *_throttles(made, cluster, snapshot))


def _throttles(made: Plan, cluster: Target, snapshot: Snapshot) -> Iterator[Tried]:
    """The throttle of its copies, as the first tick of `apply` would set it."""
    copies = [ThrottledCopy(move) for move in made.moves if move.new]
    wanted = WantedThrottles.of(copies, made.throttle)
    if not (wanted.entries or wanted.rates):
        return
    rates = {b: snapshot.broker_configs.get(b, {}) for b in snapshot.live_brokers()}
    view = ThrottleInput(snapshot.all_settings(), rates)
    changes = throttle_tick(wanted, Ledger(), view, keep_rates=False).additions
    try:
        with cluster.connect() as connection:
            answers = connection.control_plane.would_alter(changes)
    except (ClusterRefused, ClusterUnreachable) as error:
        yield Tried(f"note: whether Kafka takes the throttle was not tried: {error}")
        return
    refused = {r: a for r, a in answers.items() if isinstance(a, Rejected) and a.code in _FOR_GOOD}
    for (scope, name), answer in sorted(refused.items()):
        yield Tried(
            f"Kafka refuses the throttle of {scope} {name}: {answer.name}: {as_sentence(answer.message)} No copy "
            f"starts without it: {throttle_advice(answer.code)}",
            refused=True,
        )


def _creates(made: Plan, cluster: Target, snapshot: Snapshot) -> Iterator[Tried]:
    if not made.creates:
        return
    added = {c.topic: NewPartitions(c.count, c.lists) for c in made.creates}
    try:
        with cluster.connect() as connection:
            answers = connection.control_plane.would_create(added)
    except (ClusterRefused, ClusterUnreachable) as error:
        yield Tried(f"note: whether Kafka takes the new partitions was not tried: {error}")
        return
    for create in made.creates:
        yield from _answered(create, answers[create.topic], snapshot)


def _answered(create: Create, answer: Answer, snapshot: Snapshot) -> Iterator[Tried]:
    from replan.applying.steps.creating import rejection_passes

    match answer:
        case Accepted():
            pass
        case OutcomeUnknown(reason):
            yield Tried(
                f"note: whether Kafka takes the new partitions of {create.topic} is not known: {reason}"
            )
        case Rejected(code) if code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            yield Tried(
                f"note: the new partitions of {create.topic} were not tried: that needs Alter on the topic, as adding "
                "them does"
            )
        case Rejected():
            brokers = {b.id: b for b in snapshot.brokers}
            now = rejection_passes(answer, [brokers.get(b) for b in create.brokers])
            when = "for the moment refuses" if now else "refuses"
            yield Tried(
                f"Kafka {when} the new partitions of {create.topic}: {answer.name}: {answer.message}",
                refused=not now,
            )
