"""All constraints of a refused partition: what the placement says of it, with places, and what the cluster is like.

The order in which they are collected is the order in which they are tried to be spared, so that of several
explanations the one is given whose author can change it: first what passes by itself, then drains, then keys.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from replan.model.configs import TopicSettings
from replan.model.declared.intents import Intents
from replan.model.declared.placement import Placement
from replan.model.declared.policy import Requirement
from replan.model.declared.rules import BalanceMeasure, Spread, TopicRule
from replan.model.names import BrokerId, TopicPartition
from replan.model.partition import PartitionState, may_add_empty_replica
from replan.model.snapshot import Snapshot
from replan.planning.comparison.alignment import (
    Alignment,
    DeclaredList,
    declared_lists,
)
from replan.planning.comparison.apart import Separated
from replan.planning.feasibility.one_partition import Case, RackOf
from replan.planning.plans.conflicts import Constraint, ConstraintKind
from replan.planning.plans.moves import Move


class RefusedPartitions(Struct, frozen=True):
    """What is known of all refused partitions, and of the brokers."""

    placement: Placement
    racks: RackOf
    live: frozenset[BrokerId]
    facts: tuple[Constraint, ...]
    """Fenced and cordoned brokers."""
    drains: tuple[Constraint, ...]
    settings: Mapping[str, TopicSettings]
    rules: Mapping[str, TopicRule]
    required: Mapping[str, Requirement]
    states: Mapping[TopicPartition, PartitionState]
    lists: Mapping[TopicPartition, DeclaredList]
    """The declared lists, with their places."""
    partitions: Mapping[str, int]
    """Of each topic."""
    factors: Mapping[str, int]
    """Replicas of the first partition of each topic: a new one gets as many."""
    held: Mapping[str, tuple[tuple[int, int], ...]]
    """Brokers, and how many replicas each holds, of topics whose rule says how many it may."""
    apart: Separated
    """Brokers that topics leave to those that they are declared apart from."""
    room: Mapping[BrokerId, int]
    """The most that each broker can ever take, of those that say it; nothing where no bound can be proved."""

    @classmethod
    def of(
        cls,
        aligned: Alignment,
        names: Sequence[TopicPartition],
        moves: Sequence[Move],
        apart: Separated,
    ) -> "RefusedPartitions":
        """Look all of it up; `moves`: all that were asked for, with and without room."""
        placement, snapshot = aligned.placement, aligned.snapshot
        topics = sorted({name.topic for name in names})
        registered = sorted(snapshot.brokers, key=lambda b: b.id)
        return cls(
            placement,
            {b.id: b.rack for b in registered},
            frozenset(snapshot.live_brokers()),
            tuple(
                Constraint(kind, brokers=(b.id,))
                for b in registered
                for kind, holds in (
                    (ConstraintKind.FENCED, b.fenced),
                    (ConstraintKind.CORDONED, b.cordoned),
                )
                if holds
            ),
            _drains(placement),
            snapshot.all_settings(),
            aligned.intents.rules,
            aligned.intents.required,
            snapshot.states_of(names),
            declared_lists(placement, names),
            snapshot.partition_counts(),
            {
                state.partition.topic: len(state.replicas)
                for topic in topics
                for state in snapshot.states(snapshot.topic_rows(topic)[:1])
            },
            _held_of(aligned.intents.rules, snapshot, topics),
            apart,
            _most_room(placement, snapshot, moves),
        )

    def alike(self, name: TopicPartition) -> object:
        """What decides the conflicts of a partition but for room: those of which it is equal have the same."""
        topic, state, rule = name.topic, self.states.get(name), self.rules.get(name.topic)
        entry, settings = self.placement.topics.get(topic) or rule, self.settings.get(topic)
        required, listed = self.required.get(topic), self.lists.get(name)
        return (
            None if state is None else (state.replicas, state.isr),
            None if listed is None else listed.replicas,
            None if rule is None else rule.pattern,
            None if settings is None else (settings.min_insync_replicas, settings.unclean_election),
            None if required is None else required.where,
            entry is not None and entry.below_min_isr,
            topic if topic in self.held else None,
            self.apart.get(topic),
        )

    def case(self, name: TopicPartition, *, with_room: bool) -> Case:
        """One partition; with the room on disks where that is what it was refused for."""
        state, rule = self.states.get(name), self.rules.get(name.topic)
        held = () if state is None else tuple(sorted(state.replicas))
        listed = self.lists.get(name)
        base = listed.replicas if listed else () if rule or state is None else tuple(state.replicas)
        entry = self.placement.topics.get(name.topic) or rule
        constraints = (
            *self.facts,
            *(self._room(state) if with_room and state else ()),
            *self._of_topic(name, state),
            *(self._unknown_racks(rule) if rule and not base else ()),
            *self.drains,
            *self._apart(name.topic),
            *(self._keys(name, rule) if not base else ()),
            *([Constraint(ConstraintKind.LIST, number=len(base))] if base else []),
        )
        racks = {self.racks.get(b) or b for b in self.live.intersection(held)}
        below = entry is not None and entry.below_min_isr
        of_topic = self.held.get(name.topic, ())
        return Case(
            held, tuple(sorted(base)), below, len(racks), constraints=constraints, of_topic=of_topic
        )

    def _room(self, state: PartitionState) -> Iterator[Constraint]:
        for broker, most in sorted(self.room.items()):
            if most < state.bytes and broker not in state.replicas:
                yield Constraint(
                    ConstraintKind.NO_ROOM, brokers=(broker,), number=state.bytes, available=most
                )

    def _of_topic(self, name: TopicPartition, state: PartitionState | None) -> Iterator[Constraint]:
        required, settings = self.required.get(name.topic), self.settings.get(name.topic)
        if state is None or settings is None:
            return
        live_isr = state.live_isr(self.live.__contains__)
        if settings.unclean_election and not may_add_empty_replica(live_isr):
            yield Constraint(ConstraintKind.UNCLEAN_ELECTION, number=len(live_isr))
        yield Constraint(ConstraintKind.MIN_INSYNC_REPLICAS, number=settings.min_insync_replicas)
        if required is not None and required.racks:
            yield Constraint(
                ConstraintKind.REQUIRED_RACKS, str(required.where), number=required.racks
            )

    def _unknown_racks(self, rule: TopicRule) -> Iterator[Constraint]:
        if rule.in_rack is None and rule.spread in (Spread.RACK, Spread.IN_RACK):
            for broker, rack in self.racks.items():
                if rack is None:
                    yield Constraint(ConstraintKind.WITHOUT_RACK, brokers=(broker,))

    def _apart(self, topic: str) -> Iterator[Constraint]:
        for others in self.apart.get(topic, ()):
            yield Constraint(
                ConstraintKind.APART,
                str(others.entry.where),
                tuple(sorted(others.brokers)),
                text=", ".join(others.entry.topics),
            )

    def _keys(self, name: TopicPartition, rule: TopicRule | None) -> Iterator[Constraint]:
        if rule is None:
            return

        def place(key: str) -> str:
            return str(rule.places.get(key, rule.where))

        racks = self.racks
        if rule.brokers is not None:
            named = tuple(b for b, rack in racks.items() if rule.brokers.means(BrokerId(b), rack))
            yield Constraint(ConstraintKind.BROKERS, place("brokers"), named)
        if rule.in_rack is not None:
            inside = tuple(b for b, rack in racks.items() if rack == rule.in_rack)
            yield Constraint(ConstraintKind.IN_RACK, place("inRack"), inside, text=rule.in_rack)
        elif rule.spread in (Spread.RACK, Spread.IN_RACK):
            yield Constraint(ConstraintKind.SPREAD, place("spread"), text=rule.spread)
        yield from self._numbers(name, rule)

    def _numbers(self, name: TopicPartition, rule: TopicRule) -> Iterator[Constraint]:
        """How many replicas a rule wants, or allows."""
        for rack, number in rule.replicas_per_rack.items():
            yield Constraint(
                ConstraintKind.REPLICAS_PER_RACK,
                str(rule.place("replicasPerRack")),
                tuple(b for b, of in self.racks.items() if of == rack),
                number=number,
                text=rack,
            )
        if rule.max_replicas_per_broker is not None:
            yield Constraint(
                ConstraintKind.MAX_REPLICAS_PER_BROKER,
                str(rule.place("maxReplicasPerBroker")),
                number=rule.max_replicas_per_broker,
                available=self.partitions.get(name.topic, 0),
            )
        if rule.replicas_per_rack:
            return
        if rule.replication_factor is not None:
            where, factor = str(rule.place("replicationFactor")), rule.replication_factor
            yield Constraint(ConstraintKind.REPLICATION_FACTOR, where, number=factor)
        else:
            state = self.states.get(name)
            present = self.factors.get(name.topic, 0) if state is None else len(state.replicas)
            yield Constraint(ConstraintKind.REPLICATION_FACTOR, number=present)

    def count_of(self, name: TopicPartition) -> tuple[Constraint, ...]:
        """How many partitions its topic is to have, where it is one of those that are to be created."""
        rule = Intents.of(self.placement, [name.topic]).entries.get(name.topic)
        if name in self.states or not isinstance(rule, TopicRule) or rule.partition_count is None:
            return ()
        where = str(rule.place("partitionCount"))
        return (Constraint(ConstraintKind.PARTITION_COUNT, where, number=rule.partition_count),)

    def placed(self, constraint: Constraint, name: TopicPartition) -> Constraint:
        """A list with its line in the placement, where it is declared there."""
        if constraint.kind is not ConstraintKind.LIST or name not in self.lists:
            return constraint
        declared = self.lists[name]
        return Constraint(
            ConstraintKind.LIST, str(declared.where), declared.replicas, len(declared.replicas)
        )


def _drains(placement: Placement) -> tuple[Constraint, ...]:
    """The entries of the blacklist of replicas: one of a rack stands for all its brokers."""
    by_place: dict[str, list[int]] = {}
    for entry in sorted(placement.replica_blacklist, key=lambda e: e.broker):
        by_place.setdefault(str(entry.where), []).append(entry.broker)
    return tuple(
        Constraint(ConstraintKind.DRAINED, where, tuple(brokers))
        for where, brokers in by_place.items()
    )


def _held_of(
    ruled: Mapping[str, TopicRule], snapshot: Snapshot, topics: Sequence[str]
) -> dict[str, tuple[tuple[int, int], ...]]:
    """What each broker holds of those topics whose rule says how many it may."""
    by_topic: dict[str, tuple[tuple[int, int], ...]] = {}
    for topic in topics:
        if topic in ruled and ruled[topic].max_replicas_per_broker is not None:
            rows = snapshot.states(snapshot.topic_rows(topic))
            holds = Counter(int(broker) for state in rows for broker in state.replicas)
            by_topic[topic] = tuple(sorted(holds.items()))
    return by_topic


def _most_room(
    placement: Placement, snapshot: Snapshot, moves: Sequence[Move]
) -> dict[BrokerId, int]:
    """What the roomiest directory of each broker takes once everything that may leave the broker has left.

    Where bytes are balanced anything may leave, so there is no such bound.
    """
    if placement.balance is not None and placement.balance.balances(BalanceMeasure.BYTES):
        return {}
    leaving: dict[BrokerId, int] = {}
    for move in moves:
        for broker in move.original:
            leaving[broker] = leaving.get(broker, 0) + move.bytes
    most: dict[BrokerId, int] = {}
    unknown: set[BrokerId] = set()
    for d in snapshot.log_dirs:
        if d.takes_new:
            room = d.room()
            if room is None:
                unknown.add(d.broker)
                continue
            most[d.broker] = max(most.get(d.broker, 0), room + leaving.get(d.broker, 0))
    return {broker: room for broker, room in most.items() if broker not in unknown}
