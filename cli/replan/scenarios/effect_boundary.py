"""What a process does to the outside, recorded as it happens; and the places where it can be killed.

Every append to the journal and every writing request is one effect. A process can be killed just before or just after
the N-th. Reading passes through. Throttles are recorded in few words: the two lists of a topic and the two rates of a
broker are named by their side, leader or follower.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar, assert_never

from msgspec import Struct, field

from replan.applying.journal.protocol import Journal
from replan.applying.journal.records import Record
from replan.faults.kinds import answer_in_words
from replan.model.configs import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    LOG_DIRS_RATE,
    THROTTLE_RATES,
    THROTTLED_LISTS,
    ConfigChange,
    ConfigOperation,
    ConfigResource,
    ConfigScope,
)
from replan.model.control_plane import (
    Answer,
    Clock,
    ClusterWriter,
    ElectionType,
    NewPartitions,
    ReplicaName,
)
from replan.model.names import Replicas, TopicPartition
from replan.planning.plans.moves import Move
from replan.scenarios.reader import Transcript
from replan.scenarios.session import Killed
from replan.wording import brokers, rate

SIDES = {
    LEADER_REPLICAS: "leader",
    FOLLOWER_REPLICAS: "follower",
    LEADER_RATE: "leader",
    FOLLOWER_RATE: "follower",
    LOG_DIRS_RATE: "log directories",
}
LEADERS = (LEADER_REPLICAS, LEADER_RATE)
StoredConfigs = Mapping[ConfigResource, Mapping[str, str]]


def changes_in_words(changes: Sequence[ConfigChange]) -> str:
    """One request: `orders leader +0:1,0:2, follower +0:4; leader rate 1 MB/s on 1,2`."""
    by_topic: dict[str, list[str]] = {}
    by_rate: dict[str, list[str]] = {}
    for change in sorted(changes, key=lambda c: (c.name, c.key not in LEADERS)):
        if change.scope is ConfigScope.TOPIC:
            by_topic.setdefault(change.name, []).append(_list_change(change))
        else:
            by_rate.setdefault(_rate_change(change), []).append(change.name)
    parts = [f"{topic} {', '.join(lists)}" for topic, lists in by_topic.items()]
    parts += [f"{what} on {','.join(names)}" for what, names in by_rate.items()]
    return "; ".join(parts)


def _list_change(change: ConfigChange) -> str:
    side = SIDES.get(change.key, change.key)
    match change.operation:
        case ConfigOperation.APPEND:
            return f"{side} +{change.value}"
        case ConfigOperation.SUBTRACT:
            return f"{side} -{change.value}"
        case ConfigOperation.SET:
            return f"{side} = {change.value}"
        case ConfigOperation.DELETE:
            return f"{side} list removed"
        case _:
            assert_never(change.operation)


def _rate_change(change: ConfigChange) -> str:
    side = SIDES.get(change.key, change.key)
    if change.operation is ConfigOperation.DELETE:
        return f"no {side} rate"
    return f"{side} rate {rate(int(change.value))}"


def standing_in_words(stored: StoredConfigs) -> list[str]:
    """All throttles that are set, as they are stored, empty overrides too."""
    lines = [
        f"{name}: {words}"
        for (scope, name), values in sorted(stored.items())
        if scope is ConfigScope.TOPIC and (words := ", ".join(_values(values)))
    ]
    alike: dict[str, list[str]] = {}
    of_brokers = [(name, v) for (scope, name), v in stored.items() if scope is ConfigScope.BROKER]
    for name, values in sorted(of_brokers, key=lambda item: (len(item[0]), item[0])):
        words = ", ".join(_values(values))
        if words:
            alike.setdefault(words, []).append(name)
    return lines + [f"{_brokers(names)}: {words}" for words, names in alike.items()]


def _brokers(names: Sequence[str]) -> str:
    named = [n for n in names if n]
    one = "broker" if len(named) == 1 else "brokers"
    known_brokers = [f"{one} {','.join(named)}"] if named else []
    return " and ".join([*(["default of all brokers"] if "" in names else []), *known_brokers])


def _values(values: Mapping[str, str]) -> Iterator[str]:
    for key in THROTTLED_LISTS:
        if key in values:
            yield f"{SIDES[key]} list {values[key] or 'empty'}"
    for key in THROTTLE_RATES:
        if key in values:
            yield f"{SIDES[key]} rate {rate(int(values[key]))}"


_T = TypeVar("_T")


class Crash(Struct, frozen=True):
    """Where a process dies."""

    effect: int
    before: bool


class Boundary(Struct):
    """Counts effects, and kills."""

    transcript: Transcript
    clock: Clock
    moves: Mapping[TopicPartition, Move]
    crash: Crash | None = None
    effects: int = 0
    expanded: set[TopicPartition] = field(default_factory=set)
    """Of which a list with the new replicas behind was asked for."""

    def add(self, text: str) -> None:
        """Record a line at this moment."""
        self.transcript.add(self.clock.now(), text)

    def begins(self, partitions: Iterable[TopicPartition]) -> None:
        """A request for these follows."""
        for name in partitions:
            self.transcript.request_follows(name)

    def cross(self, effect: Callable[[], _T], *texts: str) -> _T:
        """Record one effect and perform it, unless the process dies before it; it may die after it."""
        self.effects += 1
        here = self.crash is not None and self.crash.effect == self.effects
        if here and self.crash is not None and self.crash.before:
            raise Killed
        for text in texts:
            self.add(text)
        self.transcript.asking = True
        try:
            result = effect()
        finally:
            self.transcript.asking = False
        if here:
            raise Killed
        return result

    def name_of(self, partition: TopicPartition, wanted: Replicas | None) -> str:
        """Which request of a move a list is."""
        move = self.moves.get(partition)
        if wanted is None:
            return "cancel"
        phase = "assign" if move is not None and wanted == move.target else "list"
        behind = move is not None and bool(move.new) and wanted[-len(move.new) :] == move.new
        first = partition not in self.expanded and move is not None and wanted == move.expanded
        if behind and (phase == "list" or first):
            phase = "expand"
            self.expanded.add(partition)
        return f"{phase} {brokers(wanted)}"


class RecordedJournal(Struct, frozen=True):
    """A journal whose every append is an effect."""

    kept: Journal
    boundary: Boundary

    def read(self) -> Sequence[Record]:
        """All records."""
        return self.kept.read()

    def append(self, records: Sequence[Record]) -> None:
        """Keep records."""
        if records:
            self.boundary.cross(lambda: self.kept.append(records))


class RecordedWriter(Struct, frozen=True):
    """A cluster's writing side: every request is an effect, and is recorded."""

    real: ClusterWriter
    boundary: Boundary

    def reassign(
        self,
        lists: Mapping[TopicPartition, Replicas | None],
        *,
        allow_replication_factor_change: bool,
    ) -> Mapping[TopicPartition, Answer]:
        """Ask for lists."""
        requests = [
            f"asks {name}: {self.boundary.name_of(name, wanted)}"
            for name, wanted in sorted(lists.items())
        ]
        self.boundary.begins(lists)
        return self._recorded(
            lambda: self.real.reassign(
                lists, allow_replication_factor_change=allow_replication_factor_change
            ),
            *requests,
        )

    def elect(
        self, partitions: Collection[TopicPartition], kind: ElectionType
    ) -> Mapping[TopicPartition, Answer]:
        """Ask for elections."""
        self.boundary.begins(partitions)
        requests = (f"asks {name}: elect ({kind.name.lower()})" for name in sorted(partitions))
        return self._recorded(lambda: self.real.elect(partitions, kind), *requests)

    def create_partitions(self, added: Mapping[str, NewPartitions]) -> Mapping[str, Answer]:
        """Add partitions."""
        requests = (
            f"asks {topic}: {new.count} partitions, new {' '.join(map(brokers, new.lists))}"
            for topic, new in sorted(added.items())
        )
        return self._recorded(lambda: self.real.create_partitions(added), *requests)

    def move_logs(self, paths: Mapping[ReplicaName, str]) -> Mapping[ReplicaName, Answer]:
        """Copy replicas to other log directories."""
        requests = [f"asks {name}: to {path} on {b}" for (name, b), path in sorted(paths.items())]
        return self._recorded(lambda: self.real.move_logs(paths), *requests)

    def alter_configs(self, changes: Sequence[ConfigChange]) -> Mapping[ConfigResource, Answer]:
        """Change configurations."""
        request = f"throttles: {changes_in_words(changes)}"
        return self._recorded(lambda: self.real.alter_configs(changes), request)

    def _recorded(
        self, request: Callable[[], Mapping[_T, Answer]], *requests: str
    ) -> Mapping[_T, Answer]:
        answers = self.boundary.cross(request, *requests)
        for subject, answer in answers.items():
            text = answer_in_words(answer)
            if text is not None:
                self.boundary.add(f"answer for {_subject(subject)}: {text}")
        return answers


def _subject(subject: object) -> str:
    match subject:
        case (scope, name) if not isinstance(subject, TopicPartition):
            return f"{scope} {name}"
        case _:
            return str(subject)
