"""Whether the user of a connection may do what commands need, and whether the clocks agree; `doctor` asks. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from replan.model.access import Access, ClockDifference
from replan.planning.findings.checkup import NAMED, Check, CheckKind, Level, Missing, Resource


@dataclass(frozen=True, slots=True)
class Need:
    """The operations that some commands need, by resource; `reporting.cluster.checkup_text` names the commands."""

    kind: CheckKind
    cluster: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    journal: tuple[str, ...] = ()
    """On the topic of the journal, once it exists; before, whoever writes it creates it."""
    optional: bool = False
    """Few need it, so that nothing is wrong without."""


NEEDS = (
    Need(
        CheckKind.PERMISSIONS_TO_PLAN,
        cluster=("Describe", "DescribeConfigs"),
        topics=("Describe", "DescribeConfigs"),
        journal=("Describe", "Read"),
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


def permission_checks(access: Access, journal: str | None) -> Iterator[Check]:
    """What the user may do, by command. `journal`: its topic, None where it is a file."""
    for need in NEEDS:
        missing = tuple(_missing(need, access, journal))
        level = Level.OK
        if missing:
            level = Level.NOTE if need.optional else Level.WRONG
        elif need.cluster and access.cluster is None:
            level = Level.LOOK
        yield Check(need.kind, level, len(missing), missing=missing)


def _missing(need: Need, access: Access, journal: str | None) -> Iterator[Missing]:
    allowed = access.cluster
    if allowed is not None:
        known = set(need.cluster) if "Describe" in allowed else set(need.cluster) & _IMPLY_DESCRIBE
        for operation in need.cluster:
            if operation in known - allowed:
                yield Missing(operation, Resource.CLUSTER)
    others = sorted(t for t in access.topics if t != journal)
    for operation in need.topics:
        without = [topic for topic in others if operation not in access.topics[topic]]
        if without:
            yield Missing(operation, Resource.TOPIC, len(without), tuple(without[:NAMED]))
    if journal is not None:
        yield from _missing_on_journal(need, access, journal)


def _missing_on_journal(need: Need, access: Access, journal: str) -> Iterator[Missing]:
    if journal in access.topics:
        for operation in need.journal:
            if operation not in access.topics[journal]:
                yield Missing(operation, Resource.TOPIC, 1, (journal,))
    if "Write" not in need.journal:
        return
    if access.creates_journal is False:
        yield Missing("Create", Resource.TOPIC, 1, (journal,))
    if access.describes_transactions is False:
        yield Missing("Write", Resource.TRANSACTIONAL_ID)


def clock_check(found: ClockDifference) -> Check:
    """Whether the clocks differ by more than the measurement and `CLOCK_SECONDS`."""
    apart = abs(found.ahead_seconds) - found.within_seconds > CLOCK_SECONDS
    return Check(CheckKind.CLOCK, Level.LOOK if apart else Level.OK, int(apart), clock=found)
