"""A scenario's text into blocks and back, and the lines of what happened.

A block is prose, a command with its indented body, `----`, and its output: the form of the interaction tests of etcd's
raft. What happened stands line by line, with its second: what was asked, what the cluster did, what waits and why.
Nothing here knows what commands mean.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from replan.applying.reasons.reason import HoldReason
from replan.applying.views.progress import Progress
from replan.model.names import TopicPartition
from replan.simulator.cluster.disks import path_of
from replan.simulator.cluster.physical_state import Simulation
from replan.simulator.controller.state import BrokerRegistration, ClusterState, Partition
from replan.wording import brokers

RULE = "----"


class ScenarioBlock(Struct, frozen=True):
    """One command; `output` is what is under its rule."""

    line: int
    command: str
    body: tuple[str, ...]
    output: tuple[str, ...]
    above: tuple[str, ...]
    """Everything from the end of the block before to this block's rule, as it is written."""


def read_blocks(text: str) -> tuple[list[ScenarioBlock], tuple[str, ...]]:
    """The commands, and the prose after the last one."""
    lines = text.splitlines()
    blocks: list[ScenarioBlock] = []
    start = at = 0
    while at < len(lines):
        if not lines[at].strip() or lines[at].startswith("#"):
            at += 1
            continue
        first = at
        rule = at = _while(lines, first + 1, lambda line: line.startswith((" ", "\t")))
        if lines[at : at + 1] == [RULE]:
            at = _while(lines, at + 1, lambda line: bool(line.strip()))
        body, output = lines[first + 1 : rule], lines[rule + 1 : at]
        above = tuple(lines[start:rule])
        blocks.append(ScenarioBlock(first + 1, lines[first], tuple(body), tuple(output), above))
        start = at
    return blocks, tuple(lines[start:])


def _while(lines: Sequence[str], at: int, holds: Callable[[str], bool]) -> int:
    while at < len(lines) and holds(lines[at]):
        at += 1
    return at


def write_blocks(
    blocks: Sequence[ScenarioBlock], outputs: Sequence[Sequence[str]], below: Sequence[str]
) -> str:
    """The same scenario with other outputs; a blank line ends an output, and an empty one needs no rule."""
    lines: list[str] = []
    for block, output in zip(blocks, outputs, strict=True):
        lines += _apart(lines, block.above) if lines else block.above
        lines += [RULE, *output, ""] if output else []
    lines += _apart(lines, below)
    return "\n".join(lines).rstrip("\n") + "\n"


def _apart(lines: Sequence[str], following: Sequence[str]) -> Sequence[str]:
    """What follows, without the blank line that is there already."""
    ended = bool(lines) and not lines[-1]
    return following[1:] if ended and following and not following[0].strip() else following


MOMENT_WIDTH = 6


class Transcript:
    """Collects lines until they are taken."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._before: ClusterState | None = None
        self._holds: dict[TopicPartition, HoldReason] = {}
        self.asking = False
        """While a request of replan is under way: the list that it asks for is recorded already."""

        self.briefly = False
        """Only notes are recorded, until the lines are taken."""

    def take(self) -> list[str]:
        """The lines since the last time."""
        lines, self._lines, self.briefly = self._lines, [], False
        return lines

    def add(self, seconds: float, text: str, *, note: bool = False) -> None:
        """One line."""
        if self.briefly and not note:
            return
        moment = f"{seconds:.0f}s"
        self._lines.append(f"{moment:{MOMENT_WIDTH}}{text}")

    def begin(self, simulation: Simulation) -> None:
        """Begin from this state, in silence."""
        self._before = simulation.cluster

    def watch(self, simulation: Simulation) -> None:
        """Record what differs from the state before."""
        before, after = self._before, simulation.cluster
        self._before = after
        if before is None:
            return
        for text in (*_brokers(before, after), *_topics(before, after)):
            self.add(simulation.world.now, text)
        for name, partition in after.partitions():
            was = before.partition(name)
            if was is not None and was != partition:
                self._partition(simulation.world.now, name, was, partition)

    def _partition(
        self, now: float, name: TopicPartition, before: Partition, after: Partition
    ) -> None:
        parts = list(_changes(before, after, listed=not self.asking))
        if parts:
            self.add(now, f"{name}: {', '.join(parts)}")

    def request_follows(self, name: TopicPartition) -> None:
        """A request for a partition follows: its wait is over."""
        self._holds.pop(name, None)

    def process_begins(self) -> None:
        """A new process records everything that waits, whatever another one recorded."""
        self._holds = {}

    def progress(self, progress: Progress, now: float) -> None:
        """Record notes, and waits that are new; a countdown once."""
        for text in map(str, progress.notes):
            self.add(now, f"note: {text}", note=True)
        for name, reason in sorted((progress.holds or {}).items()):
            if reason != self._holds.get(name):
                self.add(now, f"{name} waits: {reason}")
            self._holds[name] = reason


def _changes(before: Partition, after: Partition, *, listed: bool) -> Iterator[str]:
    if listed and after.replicas != before.replicas:
        yield f"replicas {brokers(after.replicas)}"
        if after.adding:
            yield f"adding {brokers(after.adding)}"
        if after.removing:
            yield f"removing {brokers(after.removing)}"
    if set(after.isr) != set(before.isr):
        yield f"in sync {brokers(tuple(sorted(after.isr)))}"
    if after.leader != before.leader:
        yield "no leader" if after.leader is None else f"leader {after.leader}"
    if before.reassigning and not after.reassigning:
        yield "reassignment over"


def _brokers(before: ClusterState, after: ClusterState) -> Iterator[str]:
    for broker, registration in sorted(after.brokers.items()):
        was = before.brokers.get(broker)
        word = _broker_state(registration)
        if was is not None and word != _broker_state(was):
            yield f"broker {broker} {word}"
        if was is not None and was.epoch == registration.epoch:
            for directory in was.log_dirs:
                if directory not in registration.log_dirs:
                    yield f"broker {broker} has lost its disk {path_of(directory)}"
    for broker in sorted(before.brokers.keys() - after.brokers.keys()):
        yield f"broker {broker} is not registered any more"


def _broker_state(registration: BrokerRegistration) -> str:
    if registration.fenced:
        return "is fenced"
    if registration.shutting_down:
        return "is shutting down"
    return "is cordoned" if registration.cordoned else "serves"


def _topics(before: ClusterState, after: ClusterState) -> Iterator[str]:
    for name in sorted(before.topics.keys() | after.topics.keys()):
        was, is_now = before.topics.get(name), after.topics.get(name)
        if is_now is None:
            yield f"topic {name} is deleted"
        elif was is None or was.id != is_now.id:
            yield f"topic {name} is created: {_lists(is_now.partitions)}"
        elif len(is_now.partitions) > len(was.partitions):
            new = {p: is_now.partitions[p] for p in is_now.partitions if p not in was.partitions}
            yield f"topic {name} gets more partitions: {_lists(new)}"


def _lists(partitions: Mapping[int, Partition]) -> str:
    return " ".join(f"{p} {brokers(partition.replicas)}" for p, partition in partitions.items())
