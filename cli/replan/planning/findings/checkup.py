"""What a first look at a cluster says, and what this user may do there: each check with what it found, as values.

`doctor` asks for all commands, `plan` and `apply` for one plan; the sentences are in `reporting.cluster.checkup_text`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType

from msgspec import Struct

from replan.model.access import Access, ClockDifference
from replan.model.declared.placement import MoveThrottle, Side
from replan.model.names import BrokerId
from replan.model.snapshot import Features, Snapshot
from replan.planning.findings.health import Health, HealthState, health_of
from replan.planning.plans.plan import Plan
from replan.wording import NAMES_SHOWN

NOBODY_SILENT: Mapping[BrokerId, str] = MappingProxyType({})


class CheckKind(StrEnum):
    """What is checked, in the order in which it is shown."""

    REACHED = "reached"
    PERMISSIONS_TO_PLAN = "permissions-to-plan"
    PERMISSIONS_TO_APPLY = "permissions-to-apply"
    PERMISSIONS_TO_ADD_PARTITIONS = "permissions-to-add-partitions"
    PERMISSIONS_TO_SAVE_RECORDS = "permissions-to-save-records"
    CLOCK = "clock"
    BROKERS = "brokers"
    RACKS = "racks"
    SIZES = "sizes"
    HEALTH = "health"
    LEADERLESS = "leaderless"
    UNDER_MIN_ISR = "under-min-isr"
    AT_MIN_ISR = "at-min-isr"
    ELIGIBLE_LEADERS = "eligible-leaders"
    UNCLEAN_ELECTION = "unclean-election"
    REASSIGNMENTS = "reassignments"
    JOURNAL = "journal"
    JOURNAL_TOPIC = "journal-topic"
    APPLICATION = "application"
    THROTTLES = "throttles"


class Level(StrEnum):
    """What to make of it."""

    OK = "ok"
    NOTE = "note"
    """Good to know; nothing to do."""
    LOOK = "look"
    """Nothing is broken, and a person should know."""
    WRONG = "wrong"
    """Something will not work, or does not."""


class Resource(StrEnum):
    """What an ACL is about (org.apache.kafka.common.resource.ResourceType)."""

    CLUSTER = "Cluster"
    TOPIC = "Topic"
    TRANSACTIONAL_ID = "TransactionalId"


class Missing(Struct, frozen=True):
    """An operation that is not allowed, and on what: how many topics, and the first of them."""

    operation: str
    resource: Resource
    count: int = 1
    names: tuple[str, ...] = ()


class Check(Struct, frozen=True):
    """One check: how many things it is about, and the first of them."""

    kind: CheckKind
    level: Level
    count: int = 0
    names: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()
    """Of a check of permissions."""
    clock: ClockDifference | None = None
    """Of the check of clocks."""


def unreadable_check(problem: str) -> Check:
    """The state of the cluster is refused to this user; the permissions say why."""
    return Check(CheckKind.REACHED, Level.WRONG, 1, (problem,))


def cluster_checks(
    snapshot: Snapshot, silent: Mapping[BrokerId, str] = NOBODY_SILENT
) -> Iterator[Check]:
    """What the state of the cluster itself says; `silent`: why brokers do not answer, where that is known."""
    yield Check(CheckKind.REACHED, Level.OK, snapshot.partitions.num_rows, (snapshot.cluster_id,))
    health = health_of(snapshot)
    yield _named(CheckKind.BROKERS, Level.WRONG, [down.broker for down in health.down])
    unreported = snapshot.brokers_of_unknown_rack()
    without = [b.id for b in snapshot.brokers if b.rack is None and b.id not in unreported]
    racks = {b.rack for b in snapshot.brokers if b.rack is not None}
    yield _named(CheckKind.RACKS, Level.LOOK, without if racks else [])
    why = [f"{b} ({silent[b]})" if b in silent else str(b) for b in snapshot.silent]
    yield _named(CheckKind.SIZES, Level.LOOK, why)
    yield from _health(health)
    yield Check(CheckKind.ELIGIBLE_LEADERS, _eligible_leaders(snapshot.features))
    yield _named(CheckKind.UNCLEAN_ELECTION, Level.LOOK, health.unclean)
    yield _named(CheckKind.REASSIGNMENTS, Level.LOOK, [s.partition for s in health.running])


def _health(health: Health) -> Iterator[Check]:
    """A check of each state that partitions are in, the worst first; one where all are well."""
    kinds = {
        CheckKind.LEADERLESS: HealthState.OFFLINE,
        CheckKind.UNDER_MIN_ISR: HealthState.UNDER_MIN_ISR,
        CheckKind.AT_MIN_ISR: HealthState.AT_MIN_ISR,
    }
    by_kind = {
        kind: [u.state.partition for u in health.unhealthy if u.health is state]
        for kind, state in kinds.items()
    }
    if not any(by_kind.values()):
        yield Check(CheckKind.HEALTH, Level.OK)
    yield from (_named(kind, Level.WRONG, ill) for kind, ill in by_kind.items() if ill)


def _eligible_leaders(features: Features) -> Level:
    """ELR (KIP-966) is on by default from Kafka 4.1 on, where the guard of KIP-860 came, too.

    There somebody may turn it on; before, it is missing or a preview, and no failure of who runs the cluster.
    """
    if features.eligible_leader_replicas:
        return Level.OK
    return Level.LOOK if features.replication_factor_guard else Level.NOTE


def throttles_check(leftover: int, unknown: Sequence[str]) -> Check:
    """Throttles that replan left without an open application, and those of nobody that nothing needs."""
    names = (*(["replan's own"] if leftover else []), *unknown[:NAMES_SHOWN])
    stale = leftover + len(unknown)
    return Check(CheckKind.THROTTLES, Level.LOOK if stale else Level.OK, stale, tuple(names))


def _named(kind: CheckKind, level: Level, items: Sequence[object]) -> Check:
    return Check(
        kind, level if items else Level.OK, len(items), tuple(map(str, items[:NAMES_SHOWN]))
    )


class Need(Struct, frozen=True):
    """The operations that some commands need, by resource; `reporting.cluster.checkup_text` names the commands."""

    kind: CheckKind
    cluster: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    journal: tuple[str, ...] = ()
    """On the topics of the journal and its lock, once they exist; before, whoever writes them creates them."""
    optional: bool = False
    """Few need it, so that nothing is wrong without."""


NEEDS = (
    Need(
        CheckKind.PERMISSIONS_TO_PLAN,
        cluster=("Describe", "DescribeConfigs"),
        topics=("Describe", "DescribeConfigs"),
        journal=("Describe", "DescribeConfigs", "Read"),
    ),
    Need(
        CheckKind.PERMISSIONS_TO_APPLY,
        cluster=("Alter", "AlterConfigs"),
        topics=("AlterConfigs",),
        journal=("Write",),
    ),
    Need(CheckKind.PERMISSIONS_TO_ADD_PARTITIONS, topics=("Alter",), optional=True),
    Need(CheckKind.PERMISSIONS_TO_SAVE_RECORDS, topics=("Read",), optional=True),
)
"""docs/operations.md has the same table in prose."""
_IMPLY_DESCRIBE = frozenset({"Describe", "Alter"})
"""Kafka answers nothing else to who may not describe the cluster (AuthHelper): these are then known to be missing."""
CLOCK_SECONDS = 10.0
"""Beyond this, dates in a placement, the ages of snapshots and the times in a journal mislead."""


def permission_checks(access: Access, journals: Collection[str]) -> Iterator[Check]:
    """What the user may do, by command. `journals`: its topic and that of the lock, none where it is a file."""
    for need in NEEDS:
        missing = tuple(_missing(need, access, journals))
        level = Level.OK
        if missing:
            level = Level.NOTE if need.optional else Level.WRONG
        elif need.cluster and access.cluster is None:
            level = Level.LOOK
        yield Check(need.kind, level, len(missing), missing=missing)


def _missing(need: Need, access: Access, journals: Collection[str]) -> Iterator[Missing]:
    yield from _on_cluster(need.cluster, access)
    for operation in need.topics:
        yield from _on_topics(operation, access.topics.keys() - {*journals}, access)
    yield from _missing_on_journals(need, access, journals)


def _on_cluster(operations: Collection[str], access: Access) -> Iterator[Missing]:
    allowed = access.cluster
    if allowed is None:
        return
    visible = set(operations) if "Describe" in allowed else set(operations) & _IMPLY_DESCRIBE
    for operation in operations:
        if operation in visible - allowed:
            yield Missing(operation, Resource.CLUSTER)


def _on_topics(operation: str, topics: Collection[str], access: Access) -> Iterator[Missing]:
    """Of those that the cluster says something about: one that is gone is no matter of permissions."""
    without = sorted(t for t in topics if operation not in access.topics.get(t, {operation}))
    if without:
        yield Missing(operation, Resource.TOPIC, len(without), tuple(without[:NAMES_SHOWN]))


def _missing_on_journals(
    need: Need, access: Access, journals: Collection[str]
) -> Iterator[Missing]:
    writes = "Write" in need.journal
    for journal in journals:
        for operation in need.journal if journal in access.topics else ():
            if operation not in access.topics[journal]:
                yield Missing(operation, Resource.TOPIC, 1, (journal,))
        if writes and journal in access.not_created:
            yield Missing("Create", Resource.TOPIC, 1, (journal,))
    if writes and journals and access.describes_transactions is False:
        yield Missing("Write", Resource.TRANSACTIONAL_ID, 1, (access.transactional_id,))


def missing_to_apply(
    plan: Plan, access: Access, journals: Collection[str], throttled: Collection[str] = ()
) -> tuple[Missing, ...]:
    """What the user lacks to perform this plan, and no more: one without a throttle needs no AlterConfigs.

    What the cluster does not say counts as allowed. `journals`: its topic and that of the lock, none where it is a
    file. `throttled`: topics with copies of other tools that are to be throttled, too.
    """
    needed = {change.needs for change in plan.all_changes}
    needed |= {("AlterConfigs", topic) for topic in _limited(plan, throttled)}
    cluster = sorted(operation for operation, topic in needed if topic is None)
    missing = [
        *_on_cluster(["Describe", "DescribeConfigs", *cluster], access),
        *_on_topics("Describe", plan.topics, access),
        *_on_topics("DescribeConfigs", plan.topics, access),
    ]
    for operation in ("AlterConfigs", "Alter"):
        topics = {topic for of, topic in needed if of == operation and topic is not None}
        missing += _on_topics(operation, topics, access)
    for need in NEEDS[:2]:
        missing += _missing_on_journals(need, access, journals)
    return tuple(missing)


def _limited(plan: Plan, throttled: Collection[str]) -> set[str | None]:
    """The topics whose copies get a throttle, as `applying.throttles` sets it; with None where brokers get a rate."""
    throttle = plan.throttle or MoveThrottle(None)

    def limits(brokers: Iterable[BrokerId], side: Side) -> bool:
        return any(throttle.rate_of(broker, side) is not None for broker in brokers)

    limited: set[str | None] = {
        m.topic
        for m in plan.moves
        if m.new and (limits(m.new, Side.FOLLOWER) or limits(m.original, Side.LEADER))
    }
    others = bool(throttled) and (throttle.rate is not None or bool(throttle.brokers))
    if limited or others or limits((m.broker for m in plan.log_moves), Side.FOLLOWER):
        limited.add(None)
    return limited | set(throttled)


def clock_check(difference: ClockDifference) -> Check:
    """Whether the clocks differ by more than the measurement and `CLOCK_SECONDS`."""
    apart = abs(difference.ahead_seconds) - difference.within_seconds > CLOCK_SECONDS
    return Check(CheckKind.CLOCK, Level.LOOK if apart else Level.OK, int(apart), clock=difference)
