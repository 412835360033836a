"""The health of a snapshot's partitions in the four words of Kafka's metrics, and what runs.

under-replicated, under-min-ISR, at-min-ISR, offline, as kafka.cluster.Partition counts them, the first that fits; the
effective minimum is min(min.insync.replicas, assigned replicas) since Kafka 3.7 (KAFKA-15583).
"""

from enum import StrEnum

import numpy as np
from msgspec import Struct

from replan.model.columns import PAD, Ints, distinct, list_lengths, take, to_matrix
from replan.model.names import BrokerId, Replicas
from replan.model.partition import PartitionState
from replan.model.snapshot import Snapshot, effective_minimums
from replan.planning.available import BrokerDown


class HealthState(StrEnum):
    """What is wrong with a partition; the worst first."""

    OFFLINE = "offline"
    UNDER_MIN_ISR = "under-min-ISR"
    AT_MIN_ISR = "at-min-ISR"
    UNDER_REPLICATED = "under-replicated"

    @property
    def stops_writes(self) -> bool:
        """Whether nobody can write to it with acks=all."""
        return self in {HealthState.OFFLINE, HealthState.UNDER_MIN_ISR}


HEALTH_STATES = tuple(HealthState)


class Unhealthy(Struct, frozen=True):
    """One partition that is not whole."""

    state: PartitionState
    health: HealthState
    min_insync: int
    """The effective minimum."""
    offline: Replicas = ()
    """Its replicas that are offline on live brokers."""
    elr_gone: bool = False
    """It is under its minimum without reassignment, and its ELR is empty: something has cleared it (KIP-966)."""


class Health(Struct, frozen=True):
    """A whole cluster."""

    partitions: int
    unhealthy: tuple[Unhealthy, ...]
    """Worst first, then by name."""
    running: tuple[PartitionState, ...]
    down: tuple[BrokerDown, ...]
    """Of the whole cluster, whatever topics are judged."""
    unclean: tuple[str, ...] = ()
    """Topics whose partitions Kafka itself may give to a replica that lost records."""
    hidden: tuple[str, ...] = ()
    """Topics that could not be judged, as this user may not describe them."""
    unread: tuple[str, ...] = ()
    """Topics with a partition that has a leader and lacks an in-sync replica, of which this user may not read whether
    that is under its min ISR."""

    @property
    def stops_writes(self) -> bool:
        """Whether nobody can write to some partition."""
        return any(partition.health.stops_writes for partition in self.unhealthy)

    def count(self, health: HealthState) -> int:
        """How many partitions are in this state."""
        return sum(1 for partition in self.unhealthy if partition.health is health)


def brokers_down(snapshot: Snapshot) -> tuple[BrokerDown, ...]:
    """Every broker that is fenced, or that a list names and nobody has registered; by id."""
    table = snapshot.partitions
    lists = to_matrix(table.column("replicas"))
    live, registered = snapshot.live_brokers(), snapshot.broker_ids()
    named = set(distinct(lists)) - {PAD}
    down = sorted((named | registered) - live)
    if not down:
        return ()
    leaderless = snapshot.without_leader
    short = ~leaderless & (
        _lengths(snapshot, "isr") < effective_minimums(snapshot.partitions, snapshot.topics)
    )
    of_brokers = []
    for broker in down:
        holds = (lists == broker).any(axis=1)
        numbers = (int((holds & of).sum()) for of in (holds, leaderless, short))
        of_brokers.append(BrokerDown(BrokerId(broker), broker in registered, *numbers))
    return tuple(of_brokers)


def _lengths(snapshot: Snapshot, column: str) -> Ints:
    return list_lengths(snapshot.partitions.column(column))


def health_of(snapshot: Snapshot, topics: frozenset[str] = frozenset()) -> Health:
    """Judge all partitions, or those of some topics."""
    assigned, in_sync, adding = (
        _lengths(snapshot, column) for column in ("replicas", "isr", "adding")
    )
    minimum = effective_minimums(snapshot.partitions, snapshot.topics)
    expected = (
        assigned - adding
    )  # OngoingReassignmentState.replicationFactor leaves the adding ones out
    leaderless = snapshot.without_leader
    word = np.select(
        [
            leaderless,
            in_sync < minimum,
            (in_sync == minimum) & (in_sync < expected),
            in_sync < expected,
        ],
        [0, 1, 2, 3],
        default=-1,
    )
    chosen = _chosen(snapshot, topics)
    rows = np.flatnonzero((word >= 0) & chosen)
    unhealthy = [
        Unhealthy(
            state,
            HEALTH_STATES[int(word[at])],
            int(minimum[at]),
            snapshot.offline.get(state.partition, ()),
            elr_gone(state, int(minimum[at]), snapshot),
        )
        for at, state in zip(rows, snapshot.states(rows), strict=True)
    ]
    by_minimum = {HealthState.AT_MIN_ISR, HealthState.UNDER_REPLICATED}
    lacking = {u.state.partition.topic for u in unhealthy if u.health in by_minimum}
    return Health(
        partitions=int(chosen.sum()),
        unhealthy=tuple(
            sorted(unhealthy, key=lambda u: (HEALTH_STATES.index(u.health), u.state.partition))
        ),
        running=tuple(snapshot.states(np.flatnonzero(snapshot.moving & chosen))),
        down=brokers_down(snapshot),
        unclean=unclean_topics(snapshot, topics),
        hidden=() if topics else snapshot.hidden,
        unread=tuple(sorted(t for t in lacking if _is_unread(snapshot, t))),
    )


def _is_unread(snapshot: Snapshot, topic: str) -> bool:
    settings = snapshot.settings(topic)
    return settings is not None and settings.is_unread


def elr_gone(state: PartitionState, minimum: int, snapshot: Snapshot) -> bool:
    """Whether an ELR should be there and is not.

    Whoever leaves the ISR while it is under the minimum joins the ELR (PartitionChangeBuilder.maybePopulateTargetElr).
    A write to min.insync.replicas of the topic clears it (ClearElrRecord, from 4.0 on), as an unclean election does; a
    member that restarts uncleanly leaves it.
    """
    expected = snapshot.features.eligible_leader_replicas and len(state.isr) < minimum
    return expected and state.running is None and not state.eligible


def unclean_topics(snapshot: Snapshot, topics: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """The topics, of all or of some, where unclean.leader.election.enable is on; by name."""
    on = take(snapshot.topics, np.flatnonzero(snapshot.topics.column("unclean_election")))
    names: list[str] = on.column("name").to_pylist()
    return tuple(name for name in names if not topics or name in topics)


def _chosen(
    snapshot: Snapshot, topics: frozenset[str]
) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    chosen = np.full(snapshot.partitions.num_rows, not topics)
    for name in topics:
        rows = snapshot.topic_rows(name)
        chosen[rows.start : rows.stop] = True
    return chosen
