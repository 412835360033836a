"""Everything that may go wrong around an application, drawn at random: faults, and what other tools and people do.

The faults themselves are in `replan.simulator.cluster.faults`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st
from tests.properties.clusters import BROKERS, lists
from tests.unit.applying.lab import MB

from replan.model.api import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    MIN_INSYNC_REPLICAS,
    UNCLEAN_ELECTION,
    BrokerId,
    ConfigChange,
    ConfigOperation,
    ElectionType,
    Replicas,
    TopicId,
    TopicPartition,
    broker_change,
    topic_change,
)
from replan.simulator.api import (
    AlterConfigs,
    AlterReassignments,
    At,
    BrokerQuestion,
    CordonDirs,
    CreateTopic,
    DeleteTopic,
    Disconnect,
    DropFromIsr,
    ElectLeaders,
    Fault,
    FenceBroker,
    Forbid,
    KillBroker,
    LagMetadata,
    LoseDisk,
    LoseRequests,
    Permission,
    Produce,
    RebalanceLeaders,
    RepeatRequests,
    ReplaceDisks,
    Schedule,
    SendRequest,
    SlowBroker,
    SlowLooks,
    StartBroker,
    StopBroker,
    UnfenceBroker,
    UnregisterBroker,
    Unresponsive,
    WriteKind,
)

ANOTHER_TOPIC_ID = TopicId("YW5vdGhlci1hbm90aGVyLQ")
LAGS = st.sampled_from([5 * MB, 90 * MB, 400 * MB, 2_000 * MB])
"""How far a follower falls behind: out of the ISR for 0.05, 1, 4 and 20 s at the speed of the network."""


@dataclass(frozen=True)
class Place:
    """What faults may name."""

    names: tuple[TopicPartition, ...]
    lists: Mapping[TopicPartition, tuple[Replicas, ...]]
    """Original, expanded and target of what moves: what another tool may ask for too."""

    def name(self, draw: st.DrawFn) -> TopicPartition:
        """A partition; mostly the first that moves."""
        return draw(st.sampled_from([*self.names, *(3 * [min(self.lists)])]))

    def broker(self, draw: st.DrawFn) -> BrokerId:
        """A broker; mostly one that the first move concerns."""
        first = self.lists[min(self.lists)]
        members = sorted({b for listed in first for b in listed})
        return draw(st.sampled_from([*BROKERS, *(3 * members)]))


Happening = Callable[[st.DrawFn, Place, float], tuple[list[At], float]]
"""Draws what happens from a second on, and says when the next thing may."""


def _away(draw: st.DrawFn, place: Place, at: float) -> tuple[list[At], float]:
    """A broker dies, stops or is fenced, and returns."""
    broker = place.broker(draw)
    back = at + draw(st.sampled_from([2, 15, 60, 300]))
    down: Fault
    up: Fault
    match draw(st.sampled_from(["kill", "stop", "fence"])):
        case "kill":
            down, up = KillBroker(broker), StartBroker(broker)
        case "stop":
            down, up = StopBroker(broker), StartBroker(broker)
        case _:
            down, up = SendRequest(FenceBroker(broker)), SendRequest(UnfenceBroker(broker))
    return [At(at, down), At(back, up)], back + 30


def _one_by_one(draw: st.DrawFn, place: Place, at: float) -> tuple[list[At], float]:
    """The replicas of a partition die one after another, the leader last, and return after a while."""
    listed = draw(st.sampled_from(place.lists[draw(st.sampled_from(sorted(place.lists)))]))
    apart = draw(st.sampled_from([1, 12, 20, 40]))
    found = [At(at + i * apart, KillBroker(b)) for i, b in enumerate(reversed(listed))]
    back = found[-1].seconds + draw(st.sampled_from([30, 120, 400]))
    order = draw(st.permutations(listed))
    found += [At(back + i, StartBroker(b)) for i, b in enumerate(order)]
    return found, back + 60


def _disk(draw: st.DrawFn, place: Place, at: float) -> tuple[list[At], float]:
    broker, back = place.broker(draw), at + draw(st.sampled_from([2, 15, 60, 300]))
    path = draw(st.sampled_from([None, "a", "b"]))
    return [At(at, LoseDisk(broker, path)), At(back, ReplaceDisks(broker))], back + 60


def _slow(draw: st.DrawFn, place: Place, at: float) -> tuple[list[At], float]:
    broker = place.broker(draw)
    return [At(at, SlowBroker(broker, 2.0 * MB)), At(at + 30, SlowBroker(broker, None))], at


def _outrun(draw: st.DrawFn, place: Place, at: float) -> tuple[list[At], float]:
    """More is produced than a broker's network carries: its replicas fall behind, and leave the ISR one by one.

    While nobody is at work they catch up under the throttle of the copies; until then nothing else dies.
    """
    name, broker, until = place.name(draw), place.broker(draw), at + draw(st.sampled_from([45, 90]))
    return [
        At(at, Produce(name, 4.0 * MB)),
        At(at, SlowBroker(broker, 1.0 * MB)),
        At(until, Produce(name, 0.0)),
        At(until, SlowBroker(broker, None)),
    ], until + 300


def _lost(draw: st.DrawFn, _place: Place, at: float) -> tuple[list[At], float]:
    late = draw(st.sampled_from([None, 0.0, 5.0, 70.0]))
    kind = draw(st.sampled_from(WriteKind))
    return [At(at, LoseRequests(kind, draw(st.sampled_from([1, 2, 3, 15])), late))], at


def _repeated(draw: st.DrawFn, _place: Place, at: float) -> tuple[list[At], float]:
    kind = draw(st.sampled_from(WriteKind))
    return [At(at, RepeatRequests(kind, draw(st.integers(1, 3))))], at


def _silence(draw: st.DrawFn, _place: Place, at: float) -> tuple[list[At], float]:
    seconds = draw(st.sampled_from([3.0, 20.0, 40.0]))
    return [At(at, Disconnect(seconds))], at + seconds + 5


def _metadata(draw: st.DrawFn, _place: Place, at: float) -> tuple[list[At], float]:
    """The home broker lags, or another one becomes it that does."""
    lag, until = draw(st.sampled_from([1.5, 4.0, 8.0, 10.0])), draw(st.sampled_from([5, 9, 60]))
    return [At(at, LagMetadata(lag)), At(at + until, LagMetadata(0.0))], at + until


def _home_changes(draw: st.DrawFn, _place: Place, at: float) -> tuple[list[At], float]:
    """Another broker becomes the home broker again and again, and each second one lags."""
    lag, old, new = (draw(st.sampled_from(s)) for s in ([8.0, 10.0], [7, 9], [1, 2, 4]))
    found: list[At] = []
    for _ in range(draw(st.integers(2, 6))):
        found += [At(at, LagMetadata(lag)), At(at + old, LagMetadata(0.0))]
        at += old + new
    return found, at


def _unresponsive(draw: st.DrawFn, place: Place, at: float) -> tuple[list[At], float]:
    """A broker lives and answers replan nothing, or not one kind of question."""
    broker, until = place.broker(draw), at + draw(st.sampled_from([5, 30, 120]))
    questions = draw(
        st.sampled_from([frozenset(BrokerQuestion), *(frozenset({q}) for q in BrokerQuestion)])
    )
    deaf, again = Unresponsive(broker, questions), Unresponsive(broker, frozenset())
    return [At(at, deaf), At(until, again)], at


def _forbidden(draw: st.DrawFn, place: Place, at: float) -> tuple[list[At], float]:
    """An ACL is taken away from replan's user, and given back: of one topic, or of the cluster."""
    topics: list[str | None] = [*sorted({n.topic for n in place.names}), None]
    topic = draw(st.sampled_from(topics))
    reading = [Permission.DESCRIBE, Permission.DESCRIBE_CONFIGS]
    lost = draw(st.sampled_from(reading if topic else [*reading, Permission.ALTER]))
    until = at + draw(st.sampled_from([3, 20, 60, 150]))
    return [
        At(at, Forbid(topic, frozenset({lost}))),
        At(until, Forbid(topic, frozenset())),
    ], until


def _slow_looks(draw: st.DrawFn, _place: Place, at: float) -> tuple[list[At], float]:
    """What is seen is so old before anything is written of it: a slow cluster, or a process that stands still."""
    seconds = draw(st.sampled_from([2.0, 5.0, 11.0, 20.0, 40.0]))
    until = at + draw(st.sampled_from([30, 120]))
    return [At(at, SlowLooks(seconds)), At(until, SlowLooks(0.0))], at


def _flaps(draw: st.DrawFn, place: Place, at: float) -> tuple[list[At], float]:
    """Replicas leave the ISR, for one look or for many, once or again and again."""
    name, broker = place.name(draw), place.broker(draw)
    times, every = draw(st.integers(1, 4)), draw(st.sampled_from([1, 2, 7]))
    lag = draw(LAGS)
    return [At(at + i * every, DropFromIsr(name, broker, lag)) for i in range(times)], at


def _reassigned(draw: st.DrawFn, place: Place, at: float) -> tuple[list[At], float]:
    name = place.name(draw)
    wanted = draw(st.sampled_from([None, *place.lists.get(name, ()), draw(lists())]))
    return [At(at, SendRequest(AlterReassignments(((name, wanted),))))], at


def _elected(draw: st.DrawFn, place: Place, at: float) -> tuple[list[At], float]:
    if draw(st.booleans()):
        return [At(at, SendRequest(RebalanceLeaders()))], at
    names = (place.name(draw),)
    return [At(at, SendRequest(ElectLeaders(names, ElectionType.PREFERRED)))], at


def _throttled(draw: st.DrawFn, place: Place, at: float) -> tuple[list[At], float]:
    """Throttle lists and rates are set, added to, and wiped."""
    return [At(at, SendRequest(AlterConfigs((draw(throttle_changes(place.names)),))))], at


@st.composite
def throttle_changes(draw: st.DrawFn, names: Sequence[TopicPartition]) -> ConfigChange:
    if draw(st.booleans()):
        key = draw(st.sampled_from([LEADER_REPLICAS, FOLLOWER_REPLICAS]))
        topic = draw(st.sampled_from(sorted({n.topic for n in names})))
        value = draw(st.sampled_from(["0:1", "7:8", "0:4,1:2", "*"]))
        operations = [ConfigOperation.SET, ConfigOperation.DELETE]
        if value != "*":
            operations += [ConfigOperation.APPEND, ConfigOperation.SUBTRACT]
        operation = draw(st.sampled_from(operations))
        if operation is ConfigOperation.DELETE:
            value = ""
        return topic_change(topic, key, operation, value)
    key, broker = (
        draw(st.sampled_from([LEADER_RATE, FOLLOWER_RATE])),
        draw(st.sampled_from(BROKERS)),
    )
    if draw(st.booleans()):
        return broker_change(broker, key, ConfigOperation.DELETE)
    rate = str(draw(st.sampled_from([3, 8, 500])) * MB)
    return broker_change(broker, key, ConfigOperation.SET, rate)


def _settings_changed(draw: st.DrawFn, place: Place, at: float) -> tuple[list[At], float]:
    """min.insync.replicas or unclean election of a topic changes in flight; sometimes it changes back."""
    topic = draw(st.sampled_from(sorted({n.topic for n in place.names})))
    key, value = draw(
        st.sampled_from(
            [
                (UNCLEAN_ELECTION, "true"),
                (UNCLEAN_ELECTION, "false"),
                (MIN_INSYNC_REPLICAS, "1"),
                (MIN_INSYNC_REPLICAS, "2"),
                (MIN_INSYNC_REPLICAS, "3"),
            ]
        )
    )
    change = topic_change(topic, key, ConfigOperation.SET, value)
    return [At(at, SendRequest(AlterConfigs((change,))))], at


def _recreated(draw: st.DrawFn, place: Place, at: float) -> tuple[list[At], float]:
    """A topic is deleted, and perhaps created again."""
    topic = draw(st.sampled_from(sorted({n.topic for n in place.names})))
    found = [At(at, SendRequest(DeleteTopic(topic)))]
    if draw(st.booleans()):
        count = max(n.partition for n in place.names if n.topic == topic) + 1
        made = tuple(draw(lists(2, 3)) for _ in range(count))
        found.append(At(at + 1, SendRequest(CreateTopic(topic, ANOTHER_TOPIC_ID, made))))
    return found, at + 1


def _cordoned(draw: st.DrawFn, place: Place, at: float) -> tuple[list[At], float]:
    broker, until = place.broker(draw), at + draw(st.sampled_from([10, 60]))
    dirs = frozenset({"data", "a", "b"})
    return [
        At(at, SendRequest(CordonDirs(broker, dirs))),
        At(until, SendRequest(CordonDirs(broker, frozenset()))),
    ], at


def _unregistered(draw: st.DrawFn, place: Place, at: float) -> tuple[list[At], float]:
    """A broker dies for ever and is removed; often a new one, while it may be copying."""
    new = sorted({b for listed in place.lists.values() for b in set(listed[-1]) - set(listed[0])})
    often = bool(new) and draw(st.integers(0, 1)) == 1
    broker = draw(st.sampled_from(new)) if often else place.broker(draw)
    gone = at + draw(st.sampled_from([12, 60]))
    return [At(at, KillBroker(broker)), At(gone, SendRequest(UnregisterBroker(broker)))], gone + 30


FAULTS: Mapping[str, Happening] = {
    "away": _away,
    "one by one": _one_by_one,
    "disk": _disk,
    "slow": _slow,
    "outrun": _outrun,
    "lost": _lost,
    "repeated": _repeated,
    "silence": _silence,
    "metadata": _metadata,
    "home changes": _home_changes,
    "flaps": _flaps,
    "unresponsive": _unresponsive,
    "slow looks": _slow_looks,
    "forbidden": _forbidden,
}
"""What no other tool does, and what ends by itself."""
OTHERS: Mapping[str, Happening] = {
    "reassigned": _reassigned,
    "elected": _elected,
    "throttled": _throttled,
    "settings": _settings_changed,
    "recreated": _recreated,
    "cordoned": _cordoned,
    "unregistered": _unregistered,
}
"""What other tools do."""


@st.composite
def schedules(draw: st.DrawFn, place: Place, kinds: Sequence[Happening]) -> Schedule:
    """Faults one after another: one broker is away at a time, or all of a partition; all else comes when it likes."""
    found: list[At] = []
    moment = 0.0
    for _ in range(draw(st.integers(0, 5))):
        moment += draw(st.sampled_from([0, 1, 2, 3, 5, 10, 16, 25, 60]))
        happens = draw(st.sampled_from(kinds))
        acts, moment = happens(draw, place, moment)
        found += acts
    return tuple(sorted(found, key=lambda at: at.seconds))
