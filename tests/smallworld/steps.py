"""The steps from one state of a small world to the next: the process acts, something fails or heals, others act."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from tests.smallworld.world import (
    APPENDS,
    LAG_QUANTA,
    LATEST_SECONDS,
    QUANTUM,
    Fate,
    Outside,
    Sent,
    State,
)

from replan.model.configs import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    UNCLEAN_ELECTION,
    ConfigChange,
    ConfigOperation,
    ConfigScope,
    topic_change,
)
from replan.model.names import Replicas, TopicPartition
from replan.planning.plans.plan import Plan
from replan.simulator.controller.commands import (
    AlterConfigs,
    AlterIsr,
    AlterReassignments,
    Command,
    FenceBroker,
    UnfenceBroker,
)
from replan.simulator.controller.decide import perform
from replan.simulator.controller.state import ClusterState

SETTLED_QUANTA = 4
THROTTLES = (LEADER_REPLICAS, FOLLOWER_REPLICAS, LEADER_RATE, FOLLOWER_RATE)


@dataclass(frozen=True)
class SmallWorld:
    """What is explored: a cluster, one plan or two in a row, and what may happen."""

    name: str
    cluster: ClusterState
    plans: Sequence[Plan]
    faults: int
    """How many things may go wrong on one path."""
    others_lists: Sequence[Replicas] = ()
    """Lists that another tool may ask for, for the first partition."""
    others_settings: bool = False
    """Another tool may turn unclean election on and off."""
    others_throttles: bool = False
    """Another tool may wipe throttles."""
    lags: bool = False
    """Brokers that another process asks may lag by 10 s."""
    fates: Sequence[Fate] = tuple(Fate)

    @cached_property
    def outside(self) -> Outside:
        return Outside(self.plans)

    @property
    def start(self) -> State:
        return State(self.cluster, faults=self.faults)


@dataclass(frozen=True, slots=True)
class Step:
    """One step: what it is, where it leads, and what the process did in it."""

    label: str
    after: State
    sent: Sent = field(default_factory=Sent)


def steps(world: SmallWorld, state: State) -> Iterator[Step]:
    """All steps from a state."""
    yield from _process(world, state)
    yield from heals(state)
    if state.faults:
        for step in _faults(world, state):
            yield replace(step, after=replace(step.after, faults=state.faults - 1))


def _process(world: SmallWorld, state: State) -> Iterator[Step]:
    if state.run is None:
        yield from _no_process(world, state)
        return
    after, sent = world.outside.ticked(state)
    yield Step("tick", _later(world, state, after), sent)


def _no_process(world: SmallWorld, state: State) -> Iterator[Step]:
    if state.ended is None:
        yield Step("take over", world.outside.begun(state))
        if state.records:
            yield Step("time passes", _later(world, state, state))
    elif state.plan + 1 < len(world.plans):
        another = replace(state, plan=state.plan + 1, ended=None)
        yield Step("next plan", world.outside.begun(another))


def heals(state: State) -> Iterator[Step]:
    """What makes things better, or comes to an end by itself."""
    cluster = state.cluster
    for broker, registration in sorted(cluster.brokers.items()):
        if registration.fenced:
            yield _acted(state, f"broker {broker} returns", UnfenceBroker(broker))
    for name, partition in cluster.partitions():
        if partition.leader is None:
            continue
        for broker in partition.replicas:
            if broker not in partition.isr and cluster.active(broker):
                isr = (*partition.isr, broker)
                command = _isr(cluster, name, isr)
                if command is not None:
                    yield _acted(state, f"{broker} joins the ISR of {name}", command)
    for i, late in enumerate(state.late):
        left = (*state.late[:i], *state.late[i + 1 :])
        arrived = replace(state, late=left)
        yield _acted(arrived, f"late: {_named(late.command)}", late.command)
    if state.lag:
        yield Step("brokers catch up", replace(state, lag=0))


def _faults(world: SmallWorld, state: State) -> Iterator[Step]:
    yield from _fates(world, state)
    yield from _of_brokers(state)
    if world.lags and state.run is None and state.records and state.ended is None:
        lagging = replace(state, lag=LAG_QUANTA)
        yield Step("take over; brokers lag", world.outside.begun(lagging))
    if world.others_lists:
        yield from _of_others_lists(world, state)
    if world.others_settings:
        yield _of_others_settings(world, state)
    if world.others_throttles:
        yield from _of_others_throttles(state)


def _of_brokers(state: State) -> Iterator[Step]:
    cluster = state.cluster
    for broker in sorted(cluster.brokers):
        if cluster.active(broker):
            yield _acted(state, f"broker {broker} is fenced", FenceBroker(broker))
    for name, partition in cluster.partitions():
        for broker in partition.isr:
            if partition.leader not in {None, broker}:
                command = _isr(cluster, name, tuple(b for b in partition.isr if b != broker))
                if command is not None:
                    yield _acted(state, f"{broker} leaves the ISR of {name}", command)


def _of_others_lists(world: SmallWorld, state: State) -> Iterator[Step]:
    name = world.plans[0].moves[0].partition
    listed = replace(state, ghost=replace(state.ghost, lists_changed=True))
    for wanted in world.others_lists:
        asked = AlterReassignments(((name, wanted),))
        yield _acted(listed, f"another tool: {name} {list(wanted)}", asked)
    partition = state.cluster.partition(name)
    if partition is not None and partition.reassigning:
        cancel = AlterReassignments(((name, None),))
        yield _acted(listed, f"another tool cancels {name}", cancel)


def _of_others_settings(world: SmallWorld, state: State) -> Step:
    topic = world.plans[0].moves[0].partition.topic
    value = "false" if state.cluster.unclean_election(topic) else "true"
    change = topic_change(topic, UNCLEAN_ELECTION, ConfigOperation.SET, value)
    changed = replace(state, ghost=replace(state.ghost, settings_changed=True))
    return _acted(changed, f"unclean election {value}", AlterConfigs((change,)))


def _of_others_throttles(state: State) -> Iterator[Step]:
    wiped = replace(state, ghost=replace(state.ghost, throttles_changed=True))
    for (scope, of), values in sorted(state.cluster.configs.items()):
        for key in sorted(values.keys() & set(THROTTLES)):
            gone = ConfigChange(ConfigScope(scope), of, key, ConfigOperation.DELETE)
            yield _acted(wiped, f"another tool wipes {key} of {of}", AlterConfigs((gone,)))


def _fates(world: SmallWorld, state: State) -> Iterator[Step]:
    """The next tick, with another fate of one of its crossings."""
    if state.run is None:
        return
    _, usual = world.outside.ticked(state)
    for number, request in enumerate(usual.crossings):
        for fate in world.fates if request else APPENDS:
            after, sent = world.outside.ticked(state, (number, fate))
            label = f"tick, {number} {fate.name.lower()}"
            yield Step(label, _later(world, state, after), sent)


def _acted(state: State, label: str, command: Command) -> Step:
    cluster, _ = perform(state.cluster, command)
    return Step(label, state if cluster is state.cluster else replace(state, cluster=cluster))


def _isr(cluster: ClusterState, name: TopicPartition, isr: Replicas) -> AlterIsr | None:
    partition = cluster.partition(name)
    if partition is None or partition.leader is None:
        return None
    epochs = partition.leader_epoch, partition.partition_epoch
    return AlterIsr(partition.leader, name, *epochs, tuple(sorted(isr)))


def _named(command: Command) -> str:
    match command:
        case AlterReassignments(items):
            return f"lists {[(str(n), wanted) for n, wanted in items]}"
        case _:
            return type(command).__name__


def _later(world: SmallWorld, before: State, after: State) -> State:
    """One quantum later; `before`: what a look at the beginning of it shows."""
    now = after.now + QUANTUM
    settled = {
        move.partition: min(SETTLED_QUANTA, before.ghost.settled.get(move.partition, 0) + 1)
        for move in world.plans[before.plan].moves
        if (partition := before.cluster.partition(move.partition)) is not None
        and set(move.target) <= {b for b in partition.isr if before.cluster.active(b)}
    }
    return replace(
        after,
        now=now,
        late=tuple(late for late in after.late if now - late.sent_at <= LATEST_SECONDS),
        past=(after.cluster, *after.past)[:LAG_QUANTA] if world.lags else (),
        ghost=replace(after.ghost, settled=settled),
    )


def calm(world: SmallWorld, state: State) -> Step | None:
    """The next tick with everything healed before; None where nothing is left to do."""
    while (
        healed := next((h.after for h in heals(state) if h.after is not state), None)
    ) is not None:
        state = healed
    return next(_process(world, state), None)
