"""Whether the user of a connection may do what commands need, and whether the clocks agree. Pure.

`doctor` asks for all commands, `plan` and `apply` for one plan.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from replan.model.access import Access, ClockDifference
from replan.model.configs import ConfigScope
from replan.planning.findings.checkup import NAMED, Check, CheckKind, Level, Missing, Resource
from replan.planning.plans.plan import Plan


@dataclass(frozen=True, slots=True)
class Need:
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
    known = set(operations) if "Describe" in allowed else set(operations) & _IMPLY_DESCRIBE
    for operation in operations:
        if operation in known - allowed:
            yield Missing(operation, Resource.CLUSTER)


def _on_topics(operation: str, topics: Collection[str], access: Access) -> Iterator[Missing]:
    """Of those that the cluster says something about: one that is gone is no matter of permissions."""
    without = sorted(t for t in topics if operation not in access.topics.get(t, {operation}))
    if without:
        yield Missing(operation, Resource.TOPIC, len(without), tuple(without[:NAMED]))


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
    throttle = plan.throttle
    limits = throttle is not None and (throttle.rate is not None or bool(throttle.brokers))
    standing = [s.setting for s in plan.standing]
    rates = limits or any(s.scope is ConfigScope.BROKER for s in standing)
    acts = bool(plan.moves or plan.log_moves or plan.recoveries)
    cluster = ["Describe", "DescribeConfigs", *["Alter"] * acts, *["AlterConfigs"] * rates]
    limited = {m.partition.topic for m in plan.moves if m.new and limits} | set(throttled)
    limited |= {s.name for s in standing if s.scope is ConfigScope.TOPIC}
    found = [
        *_on_cluster(cluster, access),
        *_on_topics("Describe", topics_of(plan), access),
        *_on_topics("DescribeConfigs", topics_of(plan), access),
        *_on_topics("AlterConfigs", limited, access),
        *_on_topics("Alter", {c.topic for c in plan.creates}, access),
    ]
    for need in NEEDS[:2]:
        found += _missing_on_journals(need, access, journals)
    return tuple(found)


def topics_of(plan: Plan) -> frozenset[str]:
    """The topics that a plan changes."""
    named = {move.partition.topic for move in plan.moves}
    named |= {move.partition.topic for move in plan.log_moves}
    named |= {recovery.partition.topic for recovery in plan.recoveries}
    settings = {s.setting.name for s in plan.standing if s.setting.scope is ConfigScope.TOPIC}
    return frozenset(named | settings | {c.topic for c in plan.creates})


def clock_check(found: ClockDifference) -> Check:
    """Whether the clocks differ by more than the measurement and `CLOCK_SECONDS`."""
    apart = abs(found.ahead_seconds) - found.within_seconds > CLOCK_SECONDS
    return Check(CheckKind.CLOCK, Level.LOOK if apart else Level.OK, int(apart), clock=found)
