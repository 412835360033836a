"""(placement, snapshot) -> plan: a pure function; the same input gives the same plan, whatever its order.

The way: check that placement and cluster fit (`against_cluster`), lay the overlays (`wanted`), find what differs
(`kernel`), make a move of each difference or a refusal (`refusals`), put the moves in order (`order`).
Only partitions that differ become objects.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from replan.model.configs import TopicSettings
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.partition import PartitionState
from replan.model.placement import LeaderBlacklist, Placement
from replan.model.snapshot import Snapshot
from replan.planning.against_cluster import check_cluster, check_names
from replan.planning.drift import partition_counts
from replan.planning.kernel import differing, observed_rows
from replan.planning.moves import Move
from replan.planning.order import admission_order
from replan.planning.plan import Plan, Refusal
from replan.planning.refusals import refusals
from replan.planning.wanted import blacklist_reaches, wanted_table


@dataclass(frozen=True, slots=True)
class _Difference:
    kind: str
    declared: Replicas
    explicit: bool


@dataclass(frozen=True, slots=True)
class _Facts:
    placement: Placement
    settings: Mapping[str, TopicSettings]
    nameable: frozenset[BrokerId]


def make_plan(placement: Placement, snapshot: Snapshot) -> Plan:
    """Plan what brings the cluster from the snapshot to the placement.

    Raises WrongCluster or BadManifest where the two do not belong together; everything that safety refuses
    is in `Plan.refusals`, and the other partitions are planned all the same.
    """
    check_cluster(placement, snapshot)
    check_names(placement, snapshot)
    wanted = wanted_table(placement, snapshot)
    facts = _Facts(
        placement,
        snapshot.all_settings(),
        # An unregistered broker is refused with 39, a fully cordoned one from 4.4 on (KAFKA-20832).
        frozenset(b.id for b in snapshot.brokers if not b.cordoned),
    )
    judged: list[tuple[Move, PartitionState]] = []
    refused: list[Refusal] = []
    remember: set[TopicPartition] = set()
    for difference, seen in _differences(wanted, snapshot):
        move = _move(difference, seen, facts)
        reasons = refusals(move, seen, snapshot)
        refused.extend(reasons)
        if not reasons:
            judged.append((move, seen))
            if not difference.explicit:
                remember.add(move.partition)
    return Plan(
        cluster_id=snapshot.cluster_id,
        observed_at=snapshot.observed_at,
        manifest_digest=placement.digest,
        racks={b.id: b.rack for b in sorted(snapshot.brokers, key=lambda b: b.id)},
        moves=tuple(admission_order(judged)),
        throttle=placement.move_throttle,
        refusals=tuple(sorted(refused, key=lambda r: (r.subject, r.rule))),
        warnings=tuple(_warnings(placement, snapshot, [m for m, _ in judged])),
        remember=frozenset(remember),
    )


def _differences(
    wanted: pa.Table, snapshot: Snapshot
) -> Iterator[tuple[_Difference, PartitionState]]:
    """What differs beside what stands there; partitions already on their way are left out."""
    table = differing(wanted, snapshot.partitions)
    table = table.filter(pc.not_equal(table.column("kind"), "running"))
    explicit = wanted.filter(wanted.column("explicit"))
    declared = observed_rows(table, explicit) >= 0
    states = snapshot.states(observed_rows(table, snapshot.partitions))
    for found, named, seen in zip(table.to_pylist(), declared, states, strict=True):
        yield _Difference(found["kind"], tuple(found["declared"]), bool(named)), seen


def _move(difference: _Difference, seen: PartitionState, facts: _Facts) -> Move:
    topic = seen.partition.topic
    settings, entry = facts.settings[topic], facts.placement.topics.get(topic)
    return Move(
        partition=seen.partition,
        topic_id=seen.topic_id,
        original=seen.replicas,
        target=difference.declared,
        min_insync_replicas=settings.min_insync_replicas,
        unclean_election=settings.unclean_election,
        reason=_reason(difference, seen, facts.placement),
        bytes=seen.bytes,
        unnameable=frozenset(seen.replicas) - facts.nameable,
        below_min_isr=entry is not None and entry.below_min_isr,
        leader=seen.leader,
    )


def _reason(difference: _Difference, seen: PartitionState, placement: Placement) -> str:
    shunned = _moved_back(difference, seen, placement)
    if shunned is not None:
        why = f": {shunned.reason}" if shunned.reason else ""
        return f"broker {shunned.broker} is on the leader blacklist{why}"
    preferred = placement.preferred_leaders.get(seen.partition)
    if preferred is not None and difference.declared[0] == preferred.broker != seen.replicas[0]:
        return f"preferred leader {preferred.broker}"
    if difference.kind == "leader":
        return f"leader is {seen.leader}, first of the list is {difference.declared[0]}"
    if not difference.explicit:
        return "the order from before the leader blacklist"
    return {"replicas": "declared replicas", "order": "declared order"}[difference.kind]


def _moved_back(
    difference: _Difference, seen: PartitionState, placement: Placement
) -> LeaderBlacklist | None:
    """The blacklist entry for which the order changes: its broker leads, or stands later than before."""
    if difference.kind == "replicas":
        return None
    for entry in placement.leader_blacklist:
        if entry.broker in seen.replicas and blacklist_reaches(entry, seen.partition.topic):
            later = difference.declared.index(entry.broker) > seen.replicas.index(entry.broker)
            if later or entry.broker == seen.leader:
                return entry
    return None


def _warnings(placement: Placement, snapshot: Snapshot, moves: list[Move]) -> Iterator[str]:
    registered = snapshot.broker_ids()
    for entry in sorted(placement.leader_blacklist, key=lambda e: e.broker):
        if entry.broker not in registered:
            yield f"{entry.where}: broker {entry.broker} is not registered; its blacklist entry does nothing"
        if entry.expires is not None and entry.expires < snapshot.observed_at:
            yield (
                f"{entry.where}: the blacklist entry of broker {entry.broker} expired on {entry.expires}; "
                "it stays in force until it is taken out"
            )
    for fewer in partition_counts(placement, snapshot):
        yield (
            f"{fewer.topic}: {fewer.declared} partitions are declared, {fewer.observed} exist; Kafka cannot remove "
            "partitions, nothing is planned for those beyond"
        )
    yield from _about_moves(snapshot, moves)


def _about_moves(snapshot: Snapshot, moves: list[Move]) -> Iterator[str]:
    live = snapshot.live_brokers()
    fenced = sorted({b for m in moves for b in m.new} - live)
    for broker in fenced:
        yield f"broker {broker} is fenced: replicas are added to it only once it is back"
    unclean = sorted({m.partition.topic for m in moves if m.unclean_election})
    for topic in unclean:
        yield (
            f"{topic}: unclean.leader.election.enable is true: Kafka itself may elect a replica that lost "
            "records; consider setting it to false"
        )
