"""What a first look at a cluster should say: each check with what it found, as values. Read only, and pure.

The sentences are in `reporting.cluster.checkup_text`. What is asked of the cluster is asked by the command `doctor`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from replan.model.access import ClockDifference
from replan.model.names import BrokerId
from replan.model.snapshot import Features, Snapshot
from replan.planning.findings.health import Health, HealthState, judge

NAMED = 20
NOBODY: Mapping[BrokerId, str] = MappingProxyType({})


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


@dataclass(frozen=True, slots=True)
class Missing:
    """An operation that is not allowed, and on what: how many topics, and the first of them."""

    operation: str
    resource: Resource
    count: int = 1
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
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


def cluster_checks(snapshot: Snapshot, silent: Mapping[BrokerId, str] = NOBODY) -> Iterator[Check]:
    """What the state of the cluster itself says; `silent`: why brokers do not answer, where that is known."""
    yield Check(CheckKind.REACHED, Level.OK, snapshot.partitions.num_rows, (snapshot.cluster_id,))
    down = [b.id for b in snapshot.brokers if not b.live]
    yield _named(CheckKind.BROKERS, Level.WRONG, down)
    without = [b.id for b in snapshot.brokers if b.rack is None]
    racks = {b.rack for b in snapshot.brokers if b.rack is not None}
    yield _named(CheckKind.RACKS, Level.LOOK, without if racks else [])
    why = [f"{b} ({silent[b]})" if b in silent else str(b) for b in snapshot.silent]
    yield _named(CheckKind.SIZES, Level.LOOK, why)
    health = judge(snapshot)
    yield from _health(health)
    yield Check(CheckKind.ELIGIBLE_LEADERS, _eligible_leaders(snapshot.features))
    settings = snapshot.all_settings()
    unclean = sorted(name for name, of in settings.items() if of.unclean_election)
    yield _named(CheckKind.UNCLEAN_ELECTION, Level.LOOK, unclean)
    yield _named(CheckKind.REASSIGNMENTS, Level.LOOK, [s.partition for s in health.running])


def _health(health: Health) -> Iterator[Check]:
    """A check of each state that partitions are in, the worst first; one where all are well."""
    kinds = {
        CheckKind.LEADERLESS: HealthState.OFFLINE,
        CheckKind.UNDER_MIN_ISR: HealthState.UNDER_MIN_ISR,
        CheckKind.AT_MIN_ISR: HealthState.AT_MIN_ISR,
    }
    found = {
        kind: [u.state.partition for u in health.unhealthy if u.health is state]
        for kind, state in kinds.items()
    }
    if not any(found.values()):
        yield Check(CheckKind.HEALTH, Level.OK)
    yield from (_named(kind, Level.WRONG, ill) for kind, ill in found.items() if ill)


def _eligible_leaders(features: Features) -> Level:
    """ELR (KIP-966) is on by default from Kafka 4.1 on, where the guard of KIP-860 came, too.

    There somebody may turn it on; before, it is missing or a preview, and no failure of who runs the cluster.
    """
    if features.eligible_leader_replicas:
        return Level.OK
    return Level.LOOK if features.replication_factor_guard else Level.NOTE


def throttles_check(leftover: int, unknown: Sequence[str]) -> Check:
    """Throttles that replan left without an open application, and those that its journal does not know."""
    names = (*(["replan's own"] if leftover else []), *unknown[:NAMED])
    found = leftover + len(unknown)
    return Check(CheckKind.THROTTLES, Level.LOOK if found else Level.OK, found, tuple(names))


def _named(kind: CheckKind, level: Level, found: Sequence[object]) -> Check:
    return Check(kind, level if found else Level.OK, len(found), tuple(map(str, found[:NAMED])))
