"""The steps from one state of a small world to the next: the process acts, something fails or heals, others act.

What a step does depends on less than the whole state: a tick on the process and the cluster, everything else on the
cluster alone. So what was found for one state serves all that have the same.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from msgspec.structs import replace
from tests.smallworld.canonical import canonical
from tests.smallworld.process import APPENDS, DEADLY, Ill, Outside, Process, Sent
from tests.smallworld.settings import LAG_QUANTA, LATEST_QUANTA, SETTLE_LOOKS
from tests.smallworld.world import Ghost, Late, Pool, SmallWorld, State

from replan.model.api import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    UNCLEAN_ELECTION,
    ConfigChange,
    ConfigOperation,
    ConfigScope,
    Replicas,
    TopicPartition,
    topic_change,
)
from replan.simulator.api import (
    AlterConfigs,
    AlterIsr,
    AlterReassignments,
    ClusterState,
    ControllerCommand,
    FenceBroker,
    UnfenceBroker,
    decide_and_apply,
)

THROTTLES = (LEADER_REPLICAS, FOLLOWER_REPLICAS, LEADER_RATE, FOLLOWER_RATE)


MOST_PROCESSES = 200_000
"""As many as fit into two gigabytes."""


class Step(NamedTuple):
    """One step: what it is, where it leads, and what the process did in it."""

    label: str
    after: State
    sent: Sent | None = None
    fault: bool = False
    """It is one of those that may go wrong."""


class Ticked(NamedTuple):
    """What one tick does."""

    process: int
    cluster: int
    late: tuple[int, ...]
    sent: Sent


class Change(NamedTuple):
    """What can happen to a cluster without the process, and what another tool has changed then."""

    label: str
    cluster: int
    changes: str = ""


class Steps:
    """All steps of one world."""

    def __init__(self, world: SmallWorld) -> None:
        self.world = world
        self.clusters: Pool[ClusterState] = Pool(lambda c: hash(canonical(c, 0.0)))
        self.processes: Pool[Process] = Pool(lambda p: p.key)
        self.commands: Pool[ControllerCommand] = Pool(lambda c: c)
        self._outside = Outside(world.plans)
        self._ticks: dict[tuple[int, int, int, Ill], Ticked] = {}
        self._healed = cache(lambda c: list(self._heals(c)))
        self._harmed = cache(lambda c: list(self._harms(c)))
        self._performed = cache(self._perform)
        self._in_sync = cache(self._targets_in_sync)

    def start(self) -> State:
        """Before anything has happened."""
        process = self.processes.number(Process())
        settled = (0,) * len(self.world.plans[0].moves)
        cluster = self.clusters.number(self.world.cluster)
        return State(cluster, process, ghost=Ghost(settled=settled), faults=self.world.faults)

    def process(self, state: State) -> Process:
        return self.processes[state.process]

    def cluster(self, state: State) -> ClusterState:
        return self.clusters[state.cluster]

    def keep(self, states: Iterable[State]) -> None:
        """Forget the processes of all other states where there are many: their memories are what takes room."""
        if self.processes.at_hand > MOST_PROCESSES:
            self._ticks.clear()
            self.processes.keep({s.process for s in states})

    def steps(self, state: State) -> Iterator[Step]:
        """All steps from a state; what heals comes first, then the process."""
        yield from self._healing(state)
        yield from self._process(state)
        if state.faults:
            for step in self._faults(state):
                yield step._replace(fault=True, after=step.after._replace(faults=state.faults - 1))

    def _healing(self, state: State) -> Iterator[Step]:
        for label, cluster, _ in self._healed(state.cluster):
            yield Step(label, state._replace(cluster=cluster))
        for i, late in enumerate(state.late):
            left = (*state.late[:i], *state.late[i + 1 :])
            arrived = self._performed(state.cluster, self.commands[late.command])
            label = f"late: {_named(self.commands[late.command])}"
            yield Step(label, state._replace(cluster=arrived, late=left))
        if state.lag:
            yield Step("brokers catch up", state._replace(lag=0))

    def _heals(self, cluster: int) -> Iterator[Change]:
        shown = self.clusters[cluster]
        for broker, registration in sorted(shown.brokers.items()):
            if registration.fenced:
                yield from self._change(cluster, f"broker {broker} returns", UnfenceBroker(broker))
        for name, partition in shown.partitions():
            for broker in partition.replicas:
                if broker not in partition.isr and shown.active(broker):
                    command = _isr(shown, name, (*partition.isr, broker))
                    yield from self._change(cluster, f"{broker} joins the ISR of {name}", command)

    def _process(self, state: State) -> Iterator[Step]:
        process = self.processes[state.process]
        if process.run is not None:
            yield self._tick("tick", state, None)
        elif process.ended is None:
            begun = self._outside.begun(process)
            yield Step("take over", state._replace(process=self.processes.number(begun)))
            if process.records:
                yield Step("time passes", self._later(state, state))
        elif process.plan + 1 < len(self.world.plans):
            another = self._outside.begun(replace(process, plan=process.plan + 1))
            settled = (0,) * len(self.world.plans[another.plan].moves)
            number = self.processes.number(another)
            ghost = state.ghost._replace(settled=settled)
            yield Step("next plan", state._replace(process=number, ghost=ghost))

    def _tick(self, label: str, state: State, ill: Ill) -> Step:
        ticked = self._ticked(state, ill)
        late = tuple(Late(command, 0) for command in ticked.late)
        after = state._replace(
            cluster=ticked.cluster, process=ticked.process, late=(*state.late, *late)
        )
        if ill is not None and ill[1] in DEADLY:  # the next process may look at once
            return Step(label, after, ticked.sent)
        return Step(label, self._later(state, after), ticked.sent)

    def _ticked(self, state: State, ill: Ill) -> Ticked:
        lag = min(state.lag, len(state.past))
        shown = state.past[lag - 1] if lag else state.cluster
        known = self._ticks.get((state.process, state.cluster, shown, ill))
        if known is None:
            process, cluster, sent = self._outside.ticked(
                self.processes[state.process],
                self.clusters[state.cluster],
                self.clusters[shown],
                ill,
            )
            known = self._ticks[state.process, state.cluster, shown, ill] = Ticked(
                self.processes.number(process),
                self.clusters.number(cluster),
                tuple(self.commands.number(c) for c in sent.late),
                sent,
            )
        return known

    def _faults(self, state: State) -> Iterator[Step]:
        yield from self._fates(state)
        for label, cluster, changes in self._harmed(state.cluster):
            ghost = _changed(state.ghost, changes)
            yield Step(label, state._replace(cluster=cluster, ghost=ghost))
        process = self.processes[state.process]
        dead = process.run is None and process.records and process.ended is None
        if self.world.lags and dead:
            number = self.processes.number(self._outside.begun(process))
            yield Step("take over; brokers lag", state._replace(process=number, lag=LAG_QUANTA))

    def _fates(self, state: State) -> Iterator[Step]:
        """The next tick, with another fate of one of its crossings."""
        if self.processes[state.process].run is None:
            return
        for number, request in enumerate(self._ticked(state, None).sent.crossings):
            for fate in self.world.fates if request else APPENDS:
                label = f"tick, {number} {fate.name.lower()}"
                yield self._tick(label, state, (number, fate))

    def _harms(self, cluster: int) -> Iterator[Change]:
        yield from self._by_brokers(cluster)
        if self.world.others_lists:
            yield from self._by_lists(cluster)
        if self.world.others_settings:
            yield from self._by_settings(cluster)
        if self.world.others_throttles:
            yield from self._by_throttles(cluster)

    def _by_brokers(self, cluster: int) -> Iterator[Change]:
        shown = self.clusters[cluster]
        for broker in sorted(shown.brokers):
            if shown.active(broker):
                yield from self._change(cluster, f"broker {broker} is fenced", FenceBroker(broker))
        for name, partition in shown.partitions():
            for broker in partition.isr:
                if broker != partition.leader:
                    command = _isr(shown, name, tuple(b for b in partition.isr if b != broker))
                    label = f"{broker} leaves the ISR of {name}"
                    yield from self._change(cluster, label, command)

    def _by_lists(self, cluster: int) -> Iterator[Change]:
        name = self.world.plans[0].moves[0].partition
        for wanted in (*self.world.others_lists, None):
            asked = AlterReassignments(((name, wanted),))
            what = "cancels" if wanted is None else f"asks for {list(wanted)} of"
            yield from self._change(cluster, f"another tool {what} {name}", asked, changes="lists")

    def _by_settings(self, cluster: int) -> Iterator[Change]:
        topic = self.world.plans[0].moves[0].partition.topic
        value = "false" if self.clusters[cluster].unclean_election(topic) else "true"
        change = topic_change(topic, UNCLEAN_ELECTION, ConfigOperation.SET, value)
        yield from self._change(
            cluster,
            f"unclean election {value}",
            AlterConfigs((change,)),
            changes="settings",
        )

    def _by_throttles(self, cluster: int) -> Iterator[Change]:
        for (scope, of), values in sorted(self.clusters[cluster].configs.items()):
            for key in sorted(values.keys() & set(THROTTLES)):
                gone = ConfigChange(ConfigScope(scope), of, key, ConfigOperation.DELETE)
                label = f"another tool wipes {key} of {of}"
                yield from self._change(cluster, label, AlterConfigs((gone,)), changes="throttles")

    def _change(
        self, cluster: int, label: str, command: ControllerCommand | None, *, changes: str = ""
    ) -> Iterator[Change]:
        """What a command changes, if anything."""
        after = cluster if command is None else self._perform(cluster, command)
        if after != cluster:
            yield Change(label, after, changes)

    def _perform(self, cluster: int, command: ControllerCommand) -> int:
        return self.clusters.number(decide_and_apply(self.clusters[cluster], command)[0])

    def _later(self, before: State, after: State) -> State:
        """One quantum later; `before`: what a look at the beginning of it shows."""
        counts = zip(
            before.ghost.settled,
            self._in_sync(before.cluster, self.processes[before.process].plan),
            strict=True,
        )
        settled = tuple([min(SETTLE_LOOKS, n + 1) if in_sync else 0 for n, in_sync in counts])
        late = tuple(
            [Late(of.command, of.quanta + 1) for of in after.late if of.quanta < LATEST_QUANTA]
        )
        may_lag = self.world.lags and (after.faults or after.lag)
        past = (before.cluster, *after.past)[:LAG_QUANTA] if may_lag else ()
        ghost = after.ghost._replace(settled=settled)
        return after._replace(late=late, past=past, ghost=ghost)

    def _targets_in_sync(self, cluster: int, plan: int) -> Sequence[bool]:
        shown = self.clusters[cluster]
        return [
            (found := shown.partition(move.partition)) is not None
            and set(move.target) <= {b for b in found.isr if shown.active(b)}
            for move in self.world.plans[plan].moves
        ]


def _changed(ghost: Ghost, what: str) -> Ghost:
    return ghost._replace(
        lists_changed=ghost.lists_changed or what == "lists",
        throttles_changed=ghost.throttles_changed or what == "throttles",
        settings_changed=ghost.settings_changed or what == "settings",
    )


def _isr(cluster: ClusterState, name: TopicPartition, isr: Replicas) -> AlterIsr | None:
    partition = cluster.partition(name)
    if partition is None or partition.leader is None:
        return None
    epochs = partition.leader_epoch, partition.partition_epoch
    return AlterIsr(partition.leader, name, *epochs, tuple(sorted(isr)))


def _named(command: ControllerCommand) -> str:
    match command:
        case AlterReassignments(items):
            return f"lists {[(str(n), wanted) for n, wanted in items]}"
        case _:
            return type(command).__name__
