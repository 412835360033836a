"""The cluster that a plan is rehearsed on: the snapshot come to life, with the speeds and rates that are assumed.

Here are also the two clusters that it is compared with (nothing is done, and everything was done before), and random
faults, drawn from a seed: the same ones for the same plan and seed.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count
from random import Random
from types import MappingProxyType

import numpy as np
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from replan.faults.kinds import FaultContext, made_topic_id
from replan.faults.read import FaultSpec, read_fault, schedule_of
from replan.model.broker import Broker, LogDir
from replan.model.columns import from_lists
from replan.model.configs import (
    FOLLOWER_RATE,
    LEADER_RATE,
    THROTTLED_LISTS,
    Configs,
    ConfigScope,
    ConfigSource,
    ConfigValue,
    SettingName,
    elements,
)
from replan.model.control_plane import ReplicaName
from replan.model.names import BrokerId, Replicas, TopicId, TopicPartition
from replan.model.snapshot import TOPICS_SCHEMA, Features, Snapshot, partitions_table
from replan.placement_file.units import format_rate
from replan.planning.change import PlannedStep
from replan.planning.plans.moves import Move
from replan.planning.plans.plan import Plan
from replan.planning.recovery.recovery import Recovery
from replan.rehearsal.options import Options
from replan.simulator.cluster.apply_fault import scheduled
from replan.simulator.cluster.faults import LoseDisk
from replan.simulator.cluster.physical_state import Simulation
from replan.simulator.controller.state import Partition, Topic
from replan.simulator.persistence.from_snapshot import (
    check_cluster_state,
    consistent,
    first_rebalance,
    from_snapshot,
    initial_lags,
)

COARSE_GRAIN_SECONDS = 0.5
AT_NO_PATH: Mapping[ReplicaName, str] = MappingProxyType({})


def cluster_of(snapshot: Snapshot, version: str | None = None) -> Simulation:
    """A snapshot come to life; raises ValueError where no cluster can be so.

    `version` of Kafka; None: the oldest that has the features of the snapshot.
    """
    return from_snapshot(_with_own_throttle(snapshot), version or kafka_version_of(snapshot))


def _with_own_throttle(snapshot: Snapshot) -> Snapshot:
    """The snapshot with the throttle that its open application keeps on the copies that run."""
    own = snapshot.application
    if own is None or not own.rates:
        return snapshot
    entries: dict[str, tuple[list[str], list[str]]] = {}
    for state in snapshot.states(np.flatnonzero(snapshot.moving).tolist()):
        if state.running is not None and state.partition in own.targets:
            sides = entries.setdefault(state.partition.topic, ([], []))
            for side, of in zip(sides, (state.running.original, state.running.adding), strict=True):
                side += [f"{state.partition.partition}:{broker}" for broker in of]
    rows = snapshot.topics.to_pylist()
    for row in rows:
        of_topic = entries.get(row["name"], ([], []))
        for column, side in zip(("leader_throttled", "follower_throttled"), of_topic, strict=True):
            if side:
                row[column] = ",".join(dict.fromkeys([*elements(row[column] or ""), *side]))
    configs = dict(snapshot.broker_configs)
    for broker, rate in own.rates.items():
        throttle = ConfigValue(str(rate), ConfigSource.BROKER)
        configs[broker] = {
            **configs.get(broker, {}),
            LEADER_RATE: throttle,
            FOLLOWER_RATE: throttle,
        }
    topics = pa.Table.from_pylist(rows, schema=TOPICS_SCHEMA)
    return replace(snapshot, topics=topics, broker_configs=configs)


def with_version(simulation: Simulation, version: str) -> Simulation:
    """The same cluster under another version of Kafka; raises ValueError where that cannot have such a state."""
    world, cluster = simulation.world, replace(simulation.cluster, version=version)
    check_cluster_state(cluster)
    by_need = cluster.rules.rebalance_waits_for_imbalance
    if by_need != simulation.cluster.rules.rebalance_waits_for_imbalance:
        world = replace(world, next_rebalance=first_rebalance(cluster, world.speeds, world.now))
    return Simulation(cluster, world)


class _Row(Struct, frozen=True):
    """A partition as it was when a plan was made, as far as the plan says."""

    topic: int
    """Its place among the topics of the plan."""
    number: int
    step: Move | Recovery | None
    beside: Sequence[PlannedStep]
    """What else the plan does with it."""
    replicas: Replicas

    @property
    def leader(self) -> int:
        if isinstance(self.step, Recovery):
            return -1
        leader = None if self.step is None else self.step.leader
        return self.replicas[0] if leader is None else leader

    @property
    def leader_epoch(self) -> int:
        return self.step.leader_epoch if isinstance(self.step, Recovery) else 0

    @property
    def isr(self) -> Replicas:
        """Of a partition without a leader those that were in sync last, as far as the plan knows."""
        if not isinstance(self.step, Recovery):
            return self.replicas
        return tuple(c.broker for c in self.step.candidates if c.eligible)

    @property
    def bytes(self) -> int:
        if self.step is not None:
            return self.step.bytes
        return max((sum(s.copies.values()) for s in self.beside), default=0)


def snapshot_of_plan(plan: Plan) -> Snapshot:
    """The cluster that a plan was made from, as far as the plan says: every replica in sync, nothing else there.

    Partitions that the plan does not touch, and that its topics must have, stand empty on one broker. Those that it
    recovers have no leader, and the logs that their replicas spoke of; brokers that did not are down.
    """
    topics = sorted(plan.topics)
    before = {s.setting: s.before for s in plan.standing if s.before is not None}
    down = {c.broker for r in plan.recoveries for c in r.candidates if not c.alive}
    return Snapshot(
        cluster_id=plan.cluster_id,
        observed_at="2026-01-01T00:00:00Z",
        features=Features(True, True),
        brokers=tuple(Broker(b, rack, fenced=b in down) for b, rack in sorted(plan.racks.items())),
        topics=_topics(plan, topics, before),
        broker_configs=_broker_configs(before),
        log_dirs=_log_dirs(plan),
        partitions=_partitions(topics, list(_rows(plan, topics))),
        logs={
            r.partition: {
                c.broker: c.log for c in r.candidates if c.known_log is not None and c.log
            }
            for r in plan.recoveries
        },
    )


def _rows(plan: Plan, topics: Sequence[str]) -> Iterator[_Row]:
    moved_or_led: Sequence[Move | Recovery] = (*plan.moves, *plan.recoveries)
    steps = {step.partition: step for step in moved_or_led}
    beside: dict[TopicPartition, list[PlannedStep]] = {}
    for other in plan.beside_moves:
        for name in other.partitions:
            beside.setdefault(name, []).append(other)
    sizes = dict.fromkeys(topics, 1)
    for name in (*beside, *(move.partition for move in plan.moves)):
        sizes[name.topic] = max(sizes[name.topic], name.partition + 1)
    growing = {create.topic: create for create in plan.creates}
    sizes |= {topic: create.present for topic, create in growing.items()}
    one = tuple(sorted(plan.racks))[:1]
    for code, topic in enumerate(topics):
        # Kafka takes new partitions only as long as the others of their topic.
        idle = growing[topic].lists[0] if topic in growing else one
        for number in range(sizes[topic]):
            name = TopicPartition(topic, number)
            step, others = steps.get(name), beside.get(name, ())
            named = [b for other in others for b in other.brokers]
            yield _Row(
                code,
                number,
                step,
                others,
                _lying(named, idle) if step is None else step.original,
            )


def _partitions(topics: Sequence[str], rows: Sequence[_Row]) -> pa.Table:
    nobody = from_lists([()] * len(rows))
    return partitions_table(
        pa.array(topics, pa.string()),
        [row.topic for row in rows],
        {
            "partition": pa.array([row.number for row in rows], pa.int32()),
            "leader": pa.array([row.leader for row in rows], pa.int32()),
            "leader_epoch": pa.array([row.leader_epoch for row in rows], pa.int32()),
            "replicas": from_lists([row.replicas for row in rows]),
            "isr": from_lists([row.isr for row in rows]),
            **dict.fromkeys(("adding", "removing", "elr", "last_known_elr"), nobody),
            "bytes": pa.array([row.bytes for row in rows], pa.int64()),
        },
    )


def _log_dirs(plan: Plan) -> tuple[LogDir, ...]:
    """The directories that replicas move between, with those that move."""
    lying: dict[tuple[BrokerId, str], dict[str, list[int]]] = {}
    for move in plan.log_moves:
        of = lying.setdefault((move.broker, move.source), {})
        of.setdefault(move.partition.topic, []).append(move.partition.partition)
        lying.setdefault((move.broker, move.target), {})
    return tuple(
        LogDir(
            broker,
            path,
            logs=sum(map(len, by_topic.values())),
            replicas={topic: tuple(sorted(numbers)) for topic, numbers in by_topic.items()},
        )
        for (broker, path), by_topic in sorted(lying.items())
    )


def _broker_configs(settings: Mapping[SettingName, str]) -> dict[BrokerId, Configs]:
    configs: dict[BrokerId, dict[str, ConfigValue]] = {}
    for name, value in settings.items():
        if name.scope is ConfigScope.BROKER:
            of_broker = configs.setdefault(BrokerId(int(name.name)), {})
            of_broker[name.key] = ConfigValue(value, ConfigSource.BROKER)
    return dict(configs)


def _lying(named: Sequence[BrokerId], idle: Replicas) -> Replicas:
    """A list with the brokers that its steps name, as long as those of its topic."""
    return tuple(dict.fromkeys((*named, *idle)))[: max(len(named), len(idle))]


def _topics(plan: Plan, names: list[str], settings: Mapping[SettingName, str]) -> pa.Table:
    ids = {str(c.topic): c.topic_id for c in plan.all_changes if c.topic_id is not None}
    moves = {move.topic: move for move in reversed(plan.moves)}
    rows = []
    for name in names:
        move = moves.get(name)
        listed = [
            settings.get(SettingName(ConfigScope.TOPIC, name, key)) for key in THROTTLED_LISTS
        ]
        rows.append(
            {
                "name": name,
                "id": ids.get(name, TopicId(name)),
                "min_insync_replicas": 1 if move is None else move.min_insync_replicas,
                "min_insync_source": int(ConfigSource.TOPIC),
                "unclean_election": move is not None and move.unclean_election,
                "leader_throttled": listed[0],
                "follower_throttled": listed[1],
            }
        )
    return pa.Table.from_pylist(rows, schema=TOPICS_SCHEMA)


def kafka_version_of(snapshot: Snapshot) -> str:
    """The oldest version of Kafka with these features, whose rules ask for most.

    Log directories can be cordoned since 4.3 (KIP-1066), the guard of KIP-860 came with 4.1, ELR with 4.0. Of 4.1 to
    4.4 nothing else can be seen; 4.1 and 4.2 complete a reassignment only once the whole target is in sync.
    """
    cordoned = (
        place.cordoned for place in chain[Broker | LogDir](snapshot.brokers, snapshot.log_dirs)
    )
    if any(cordoned):
        return "4.3"
    if snapshot.features.replication_factor_guard:
        return "4.1"
    return "4.0" if snapshot.features.eligible_leader_replicas else "3.9"


def fault_context(simulation: Simulation) -> FaultContext:
    """What faults are read against; topics that are created again get ids of their own."""
    made = count(1)
    return FaultContext(simulation.cluster, lambda name: made_topic_id(f"{name} {next(made)}"))


def with_assumptions(simulation: Simulation, options: Options, *, exact: bool) -> Simulation:
    """The cluster with speeds, produce rates and faults as they are assumed; faults count from its present.

    Unless it is to be `exact`, copies that end close together end at once.
    """
    world = simulation.world
    produce = dict(world.produce)
    if options.produce is not None:
        produce = {name: options.produce for name, _ in simulation.cluster.partitions()}
    produce |= options.rates
    speeds = options.speeds(world.speeds)
    if not exact:
        speeds = replace(speeds, grain_seconds=COARSE_GRAIN_SECONDS)
    world = replace(world, speeds=speeds, produce={n: r for n, r in produce.items() if r})
    schedule = schedule_of(options.faults, world.now)
    return replace(simulation, world=scheduled(world, schedule))


def with_plan_applied(
    simulation: Simulation, plan: Plan, places: Mapping[ReplicaName, str] = AT_NO_PATH
) -> Simulation:
    """The same cluster as if the plan had been performed long before.

    `places`: the log directories that new replicas came to lie in when it was performed; the same disks are to fail.
    """
    cluster, world = simulation.cluster, simulation.world
    topics = dict(cluster.topics)
    opened: dict[str, dict[int, Partition]] = {}
    for move in plan.moves:
        topic, number = move.partition
        partition = cluster.partition(move.partition)
        if partition is None:
            continue
        serving = tuple(b for b in move.target if world.serves(b) and cluster.active(b))
        in_sync = serving or move.target[:1]
        stays = partition.leader if partition.leader in serving and not move.elect else in_sync[0]
        opened.setdefault(topic, dict(topics[topic].partitions))[number] = Partition(
            replicas=move.target,
            isr=in_sync,
            leader=stays if serving else None,
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
        )
    topics |= {name: Topic(topics[name].id, partitions) for name, partitions in opened.items()}
    moved = replace(cluster, topics=topics)
    lags = initial_lags(moved, world)
    kept = {replica: world.lags.get(replica, lag) for replica, lag in lags.items()}
    new = {(m.partition, b) for m in plan.moves for b in m.new}
    placed = {replica: path for replica, path in places.items() if replica in new}
    world = replace(world, lags=kept, behind={}, placed={**world.placed, **placed})
    return consistent(Simulation(moved, world))


BETWEEN_FAULTS_SECONDS = 30.0
"""From the end of one fault to the next: a broker that starts has time to serve, and to catch up."""
SHORTEST_SECONDS = 5.0
"""Within which the first fault is drawn, however quick the plan."""


def drawn_faults(
    seed: int, plan: Plan, horizon_seconds: float, context: FaultContext
) -> tuple[FaultSpec, ...]:
    """One to three faults at brokers of the plan, from within the time that it takes undisturbed.

    At most one broker is away at a time, and it comes back; after a lost disk, whose copies take long, nothing more is
    drawn. Only accidents are drawn: what other tools do is for --fault.
    """
    chance = Random(seed)  # noqa: S311 - a rehearsal is no secret
    brokers = sorted({b for m in plan.moves for b in (*m.original, *m.target)})
    brokers = [b for b in brokers if b in context.cluster.brokers]
    moves = [m for m in plan.moves if context.cluster.partition(m.partition) is not None]
    if not brokers or not moves:
        return ()
    moment, drawn = 0.0, list[FaultSpec]()
    for _ in range(chance.randint(1, 3)):
        moment += chance.uniform(0, max(SHORTEST_SECONDS, horizon_seconds / 2))
        lagging = f"lag {chance.choice(moves).partition}"
        fault = read_fault(_drawn(chance, brokers, lagging, round(moment)), context)
        drawn.append(fault)
        moment = fault.schedule[-1].seconds + BETWEEN_FAULTS_SECONDS
        if any(isinstance(at.fault, LoseDisk) for at in fault.schedule):
            break
    return tuple(drawn)


def _drawn(chance: Random, brokers: Sequence[BrokerId], lagging: str, at: int) -> str:
    broker, away = chance.choice(brokers), chance.choice([30, 120, 600])
    outcome = chance.choice(["with effect", "without effect", "late by 70s"])
    return chance.choice(
        [
            f"kill {broker} at {at}s for {away}s",
            f"kill {broker} at {at}s for {away}s",
            f"stop {broker} at {at}s for {away}s",
            f"lose disk {broker} at {at}s for {away}s",
            f"slow {broker} to {format_rate(5_000_000)} at {at}s for {away}s",
            f"{lagging} broker {broker} by 50MB at {at}s",
            f"unknown outcome of reassign {outcome} at {at}s",
            f"controller moves {outcome} at {at}s",
            f"silence at {at}s for 30s",
            f"metadata 5s behind at {at}s for {away}s",
        ]
    )
