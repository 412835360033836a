"""All faults by their forms: what each is called, what it means, and how its words are read."""

import base64
import hashlib
from collections.abc import Callable, Sequence

from msgspec import Struct

from replan.faults.token_reader import TokenReader
from replan.model.configs import (
    MIN_INSYNC_REPLICAS,
    ConfigChange,
    ConfigOperation,
    ConfigScope,
    topic_change,
)
from replan.model.control_plane import Accepted, Answer, ElectionType, OutcomeUnknown, Rejected
from replan.model.names import BrokerId, TopicId, TopicPartition
from replan.simulator.cluster.apply_fault import RESTART_SECONDS
from replan.simulator.cluster.disks import path_of
from replan.simulator.cluster.faults import (
    At,
    BrokerQuestion,
    Disconnect,
    DropFromIsr,
    Fault,
    Forbid,
    KillBroker,
    LagMetadata,
    LoseDisk,
    LoseRequests,
    Permission,
    Produce,
    RepeatRequests,
    ReplaceDisks,
    Schedule,
    SendRequest,
    SlowBroker,
    SlowLooks,
    StartBroker,
    StopBroker,
    Unresponsive,
    WriteKind,
)
from replan.simulator.controller.commands import (
    AlterConfigs,
    AlterReassignments,
    CordonDirs,
    CreatePartitions,
    CreateTopic,
    DeleteTopic,
    ElectLeaders,
    FenceBroker,
    RebalanceLeaders,
    UnfenceBroker,
    UnregisterBroker,
)
from replan.simulator.controller.decide import decide_and_apply
from replan.simulator.controller.state import ClusterState


def made_topic_id(of: str) -> TopicId:
    """The id of a topic that is created in a simulation: the same for the same text."""
    digest = hashlib.sha256(of.encode()).digest()
    return TopicId(base64.urlsafe_b64encode(digest[:16]).decode().rstrip("="))


class FaultContext(Struct, frozen=True):
    """What a fault is read against."""

    cluster: ClusterState
    new_topic_id: Callable[[str], TopicId]
    """The id of the next topic of a name."""


FaultReader = Callable[[TokenReader, FaultContext], Schedule]
"""Reads what follows the words that a form is known by."""


class Kind(Struct, frozen=True):
    """One form: how it is written, what it means, and how the words behind its first ones are read."""

    form: str
    """Words in small letters are written as they are, `[…]` may be left out, `|` is a choice, the rest means
    what `docs/faults.md` says."""
    means: str
    read: FaultReader
    leads: int = 1
    """How many of its words it is known by."""

    @property
    def begins(self) -> tuple[str, ...]:
        """The words that it is known by."""
        return tuple(self.form.split()[: self.leads])


def once(fault: Fault) -> Schedule:
    """It happens, and nothing ends it."""
    return (At(0, fault),)


def lasting(tokens: TokenReader, fault: Fault, end: Fault) -> Schedule:
    """It happens; with `for TIME` it is over after so long."""
    if not tokens.phrase("for"):
        return once(fault)
    return At(0, fault), At(tokens.seconds(), end)


def registered_broker(tokens: TokenReader, context: FaultContext) -> BrokerId:
    """A broker that is registered."""
    broker, registered = tokens.broker(), sorted(context.cluster.brokers)
    if broker not in registered:
        raise tokens.wrong(
            f"there is no broker {broker}; registered: {', '.join(map(str, registered))}"
        )
    return broker


def existing_partition(tokens: TokenReader, context: FaultContext) -> TopicPartition:
    """A partition that exists."""
    name = tokens.partition()
    if context.cluster.partition(name) is None:
        raise tokens.wrong(f"there is no partition {name}")
    return name


def existing_topic(tokens: TokenReader, context: FaultContext) -> str:
    """A topic that exists."""
    name = tokens.one("a topic")
    if name not in context.cluster.topics:
        raise tokens.wrong(f"there is no topic {name}")
    return name


# Faults of brokers: they die, stop, return, are fenced, cordoned, unregistered, slow.

Make = Callable[[BrokerId], Fault]


def _restart(tokens: TokenReader, context: FaultContext) -> Schedule:
    broker = registered_broker(tokens, context)
    away = tokens.seconds() if tokens.phrase("for") else RESTART_SECONDS
    return At(0, StopBroker(broker)), At(away, StartBroker(broker))


def _slow(tokens: TokenReader, context: FaultContext) -> Schedule:
    broker = registered_broker(tokens, context)
    tokens.expect("to")
    usual = SlowBroker(broker, None)
    if tokens.phrase("usual"):
        return once(usual)
    return lasting(tokens, SlowBroker(broker, tokens.rate()), usual)


def _lose_disk(tokens: TokenReader, context: FaultContext) -> Schedule:
    broker = registered_broker(tokens, context)
    path = None if not tokens or tokens.comes("for") else _directory(tokens, broker, context)
    return lasting(tokens, LoseDisk(broker, path), ReplaceDisks(broker))


def _directory(tokens: TokenReader, broker: BrokerId, context: FaultContext) -> str:
    """One of a broker's log directories that works."""
    path = tokens.one("a log directory")
    paths = [path_of(d) for d in context.cluster.brokers[broker].log_dirs]
    if path not in paths:
        raise tokens.wrong(
            f"broker {broker} has no log directory {path}; it has {', '.join(paths)}"
        )
    return path


def _unresponsive(tokens: TokenReader, context: FaultContext) -> Schedule:
    broker = registered_broker(tokens, context)
    kinds = {question.value: question for question in BrokerQuestion}
    to = frozenset(BrokerQuestion)
    if tokens.phrase("to"):
        to = frozenset({tokens.choose("rates, sizes or changes", kinds)})
    return lasting(tokens, Unresponsive(broker, to), Unresponsive(broker, frozenset()))


def _of_broker(make: Make, end: Make | None = None) -> FaultReader:
    """A fault that names only its broker; with `end`, what ends it after `for TIME`."""

    def read(tokens: TokenReader, context: FaultContext) -> Schedule:
        broker = registered_broker(tokens, context)
        return once(make(broker)) if end is None else lasting(tokens, make(broker), end(broker))

    return read


def _kill_rack(tokens: TokenReader, context: FaultContext) -> Schedule:
    rack, brokers = tokens.one("a rack"), context.cluster.brokers
    in_rack = [b for b in sorted(brokers) if brokers[b].rack == rack]
    if not in_rack:
        racks = sorted({broker.rack for broker in brokers.values() if broker.rack is not None})
        raise tokens.wrong(f"there is no rack {rack}; known: {', '.join(racks) or 'none'}")
    ends = lasting(tokens, KillBroker(in_rack[0]), StartBroker(in_rack[0]))
    return tuple(
        At(ends[at].seconds, make(b))
        for at, make in enumerate((KillBroker, StartBroker)[: len(ends)])
        for b in in_rack
    )


BROKER_KINDS: Sequence[Kind] = (
    Kind(
        "kill BROKER [for TIME]",
        "the process dies, and gets nothing more of what is written; the controller fences it after 9 s; it starts "
        "again after `for`",
        _of_broker(KillBroker, StartBroker),
    ),
    Kind(
        "kill rack RACK [for TIME]", "all brokers of the rack die at once, as above", _kill_rack, 2
    ),
    Kind(
        "stop BROKER [for TIME]",
        "a controlled shutdown: its leaderships move first; it starts again after `for`, once it has ended",
        _of_broker(StopBroker, StartBroker),
    ),
    Kind(
        "start BROKER",
        "starts a dead or stopped broker, which serves after 3 s; from 4.0 on not before 9 s after its end, when its "
        "session is over",
        _of_broker(StartBroker),
    ),
    Kind(
        "restart BROKER [for TIME]",
        "a controlled shutdown, and a start after `for`, or 10 s",
        _restart,
    ),
    Kind(
        "slow BROKER to RATE|usual [for TIME]",
        "limits its network to this rate in each direction; `usual` ends that. A follower that lacks what was written "
        "30 s ago leaves the ISR",
        _slow,
    ),
    Kind(
        "unresponsive BROKER [to rates|sizes|changes] [for TIME]",
        "it serves, and answers replan nothing about itself: its throttle rates, the sizes and cordons of its log "
        "directories, changes of its configuration",
        _unresponsive,
    ),
    Kind(
        "fence BROKER [for TIME]",
        "the controller fences it although its process runs",
        _of_broker(lambda b: SendRequest(FenceBroker(b)), lambda b: SendRequest(UnfenceBroker(b))),
    ),
    Kind(
        "unfence BROKER", "it may serve again", _of_broker(lambda b: SendRequest(UnfenceBroker(b)))
    ),
    Kind(
        "cordon BROKER [for TIME]",
        "all its log directories accept no new replicas (KIP-1066)",
        _of_broker(
            lambda b: SendRequest(CordonDirs(b)), lambda b: SendRequest(CordonDirs(b, frozenset()))
        ),
    ),
    Kind(
        "uncordon BROKER",
        "they accept new replicas again",
        _of_broker(lambda b: SendRequest(CordonDirs(b, frozenset()))),
    ),
    Kind(
        "lose disk BROKER [DIR] [for TIME]",
        "the disk of a log directory fails (the last one, if none is named); its replicas are out of sync until the "
        "disk is replaced, after `for`. A broker that loses its first directory dies",
        _lose_disk,
        leads=2,
    ),
    Kind(
        "replace disks BROKER",
        "replaces its failed disks by empty ones, and restarts it",
        _of_broker(ReplaceDisks),
        leads=2,
    ),
    Kind(
        "unregister BROKER",
        "removes its registration, dead or not",
        _of_broker(lambda b: SendRequest(UnregisterBroker(b))),
    ),
)


# What other tools and people do on the same cluster. The controller may refuse it, and the refusal is reported.

AWAY_SECONDS = 1.0
"""Between the deletion of a topic and the next one of its name."""


def _reassign(tokens: TokenReader, _around: FaultContext) -> Schedule:
    name = tokens.partition()
    return once(SendRequest(AlterReassignments(((name, tokens.replicas()),))))


def _cancel(tokens: TokenReader, _around: FaultContext) -> Schedule:
    return once(SendRequest(AlterReassignments(((tokens.partition(), None),))))


def _elect(tokens: TokenReader, _around: FaultContext) -> Schedule:
    kinds = {"preferred": ElectionType.PREFERRED, "unclean": ElectionType.UNCLEAN}
    kind = tokens.choose("a kind of election", kinds)
    return once(SendRequest(ElectLeaders((tokens.partition(),), kind)))


def _config(tokens: TokenReader, _around: FaultContext) -> Schedule:
    scope, name = ConfigScope.BROKER, ""
    if not tokens.phrase("brokers"):
        scope = tokens.choose("topic, broker or brokers", {s.value: s for s in ConfigScope})
        name = tokens.one("whose configuration")
    operation = tokens.choose("an operation", {o.name.lower(): o for o in ConfigOperation})
    key = tokens.one("a key")
    value = "" if operation is ConfigOperation.DELETE else tokens.one("a value")
    return once(SendRequest(AlterConfigs((ConfigChange(scope, name, key, operation, value),))))


def _min_isr(tokens: TokenReader, context: FaultContext) -> Schedule:
    topic, minimum = existing_topic(tokens, context), str(tokens.number("a minimum"))
    change = topic_change(topic, MIN_INSYNC_REPLICAS, ConfigOperation.SET, minimum)
    return once(SendRequest(AlterConfigs((change,))))


def _delete_topic(tokens: TokenReader, _around: FaultContext) -> Schedule:
    return once(SendRequest(DeleteTopic(tokens.one("a topic"))))


def _recreate_topic(tokens: TokenReader, context: FaultContext) -> Schedule:
    name, lists = existing_topic(tokens, context), tuple(tokens.lists())
    minimum = str(context.cluster.min_insync_replicas(name))
    created = CreateTopic(name, context.new_topic_id(name), lists, {MIN_INSYNC_REPLICAS: minimum})
    return At(0, SendRequest(DeleteTopic(name))), At(AWAY_SECONDS, SendRequest(created))


def _add_partitions(tokens: TokenReader, context: FaultContext) -> Schedule:
    name, lists = existing_topic(tokens, context), tuple(tokens.lists())
    count = len(context.cluster.topics[name].partitions) + len(lists)
    return once(SendRequest(CreatePartitions(name, count, lists)))


EXTERNAL_KINDS: Sequence[Kind] = (
    Kind("foreign reassign PARTITION LIST", "another tool starts a reassignment", _reassign, 2),
    Kind(
        "foreign cancel PARTITION",
        "another tool cancels the running reassignment, also replan's",
        _cancel,
        2,
    ),
    Kind("foreign elect preferred|unclean PARTITION", "another tool elects a leader", _elect, 2),
    Kind(
        "foreign config SCOPE set|append|subtract|delete KEY [VALUE]",
        "another tool changes a configuration, throttles included; `delete` has no value",
        _config,
        2,
    ),
    Kind("foreign min-isr TOPIC COUNT", "another tool sets min.insync.replicas", _min_isr, 2),
    Kind("foreign delete-topic TOPIC", "another tool deletes the topic", _delete_topic, 2),
    Kind(
        "foreign recreate-topic TOPIC LISTS",
        "it is deleted, and a second later another topic of its name is created",
        _recreate_topic,
        2,
    ),
    Kind(
        "foreign add-partitions TOPIC LISTS",
        "another tool adds partitions with these lists",
        _add_partitions,
        2,
    ),
)


# Faults of partitions: followers fall behind, once or again and again; more or less is written.

USUAL_LAG_BYTES = 1_000_000
MOST_FLAPS = 100_000
"""Of one `flap`: more is a slip of the key, and would fill the memory."""


def _lag(tokens: TokenReader, context: FaultContext) -> Schedule:
    name, broker = _replica(tokens, context)
    size = tokens.bytes() if tokens.phrase("by") else USUAL_LAG_BYTES
    return once(DropFromIsr(name, broker, size))


def _flap(tokens: TokenReader, context: FaultContext) -> Schedule:
    name, broker = _replica(tokens, context)
    tokens.expect("every")
    every = tokens.seconds()
    if every <= 0:
        raise tokens.wrong("every 0 s is too often")
    tokens.expect("for")
    times = max(1, int(tokens.seconds() / every))
    if times > MOST_FLAPS:
        raise tokens.wrong(f"{times:,} times are too many; write at most {MOST_FLAPS:,}")
    return tuple(At(i * every, DropFromIsr(name, broker, USUAL_LAG_BYTES)) for i in range(times))


def _replica(tokens: TokenReader, context: FaultContext) -> tuple[TopicPartition, BrokerId]:
    name = existing_partition(tokens, context)
    tokens.expect("broker")
    return name, registered_broker(tokens, context)


def _produce(tokens: TokenReader, context: FaultContext) -> Schedule:
    return once(Produce(existing_partition(tokens, context), tokens.rate()))


def _rebalance(_words: TokenReader, _around: FaultContext) -> Schedule:
    return once(SendRequest(RebalanceLeaders()))


PARTITION_KINDS: Sequence[Kind] = (
    Kind(
        "lag PARTITION broker BROKER [by SIZE]",
        "a follower falls behind by this much (1 MB) and leaves the ISR",
        _lag,
    ),
    Kind(
        "flap PARTITION broker BROKER every TIME for TIME",
        "it leaves the ISR and returns, again and again",
        _flap,
    ),
    Kind(
        "produce PARTITION RATE",
        "producers write at this rate from now on; `0` stops them",
        _produce,
    ),
    Kind("rebalance", "the controller's automatic leader rebalance runs now", _rebalance),
)


# Faults of requests: lost, late or sent twice; an unresponsive cluster; brokers with stale metadata.
#
# The controller's answers in words, and what it refuses of a fault.


def _unknown(tokens: TokenReader, _around: FaultContext) -> Schedule:
    times, kind = _requests(tokens)
    return once(LoseRequests(kind, times, _effect(tokens)))


def _repeated(tokens: TokenReader, _around: FaultContext) -> Schedule:
    times, kind = _requests(tokens)
    return once(RepeatRequests(kind, times))


def _controller(tokens: TokenReader, _around: FaultContext) -> Schedule:
    effect = _effect(tokens)
    to_controller = [kind for kind in WriteKind if kind is not WriteKind.MOVE_LOGS]
    return tuple(At(0, LoseRequests(kind, 1, effect)) for kind in to_controller)


def _silence(tokens: TokenReader, _around: FaultContext) -> Schedule:
    tokens.expect("for")
    return once(Disconnect(tokens.seconds()))


def _metadata(tokens: TokenReader, _around: FaultContext) -> Schedule:
    seconds = tokens.seconds()
    tokens.expect("behind")
    return lasting(tokens, LagMetadata(seconds), LagMetadata(0.0))


def _slow_looks(tokens: TokenReader, _around: FaultContext) -> Schedule:
    return lasting(tokens, SlowLooks(tokens.seconds()), SlowLooks(0.0))


def _forbid(tokens: TokenReader, around: FaultContext) -> Schedule:
    permission = tokens.choose("a permission", {p.value: p for p in Permission})
    tokens.expect("on")
    topic = existing_topic(tokens, around) if tokens.phrase("topic") else None
    if topic is None:
        tokens.expect("cluster")
    return lasting(tokens, Forbid(topic, frozenset({permission})), Forbid(topic, frozenset()))


def _requests(tokens: TokenReader) -> tuple[int, WriteKind]:
    """How many of which kind: `reassign`, `2 reassign`, `3 elect`."""
    times = tokens.number("how many") if tokens.comes_number() else 1
    if times < 1:
        raise tokens.wrong(f"{times} requests; write 1 or more")
    return times, tokens.choose("a kind of request", {kind.value: kind for kind in WriteKind})


def _effect(tokens: TokenReader) -> float | None:
    if tokens.phrase("with", "effect"):
        return 0.0
    if tokens.phrase("without", "effect"):
        return None
    tokens.expect("late", "by")
    return tokens.seconds()


REQUEST_KINDS: Sequence[Kind] = (
    Kind(
        "unknown outcome of [COUNT] reassign|elect|configs|create|log-dirs with effect|without effect|late by TIME",
        "the next such request of replan times out: only its answer is lost, or it never arrives, or it arrives later",
        _unknown,
        3,
    ),
    Kind(
        "repeated [COUNT] reassign|elect|configs|create|log-dirs",
        "the next such request of replan reaches the controller twice, and only the second answer comes back",
        _repeated,
    ),
    Kind(
        "controller moves with effect|without effect|late by TIME",
        "the controller fails over: of each kind but log-dirs, which brokers answer by themselves, the request under "
        "way or the next one has an unknown outcome",
        _controller,
        2,
    ),
    Kind(
        "looks take TIME [for TIME]",
        "every look of replan at the cluster takes so long",
        _slow_looks,
        2,
    ),
    Kind(
        "forbid describe|describe-configs|alter|alter-configs on topic TOPIC|cluster [for TIME]",
        "replan's user loses this ACL, as the last one that it lost there; everybody else keeps it",
        _forbid,
    ),
    Kind("silence for TIME", "no broker answers replan", _silence),
    Kind(
        "metadata TIME behind [for TIME]",
        "brokers show partitions as they were that long ago; the controller is up to date",
        _metadata,
    ),
)


def answer_in_words(answer: Answer) -> str | None:
    """An answer that is not simply yes."""
    match answer:
        case Accepted():
            return None
        case Rejected(code, name, message):
            return f"{code} {name}{': ' + message if message else ''}"
        case OutcomeUnknown(reason):
            return f"outcome unknown, {reason}"


def fault_refusals(cluster: ClusterState, fault: Fault) -> list[str]:
    """What the controller would refuse of a fault now, with its codes and words."""
    if not isinstance(fault, SendRequest):
        return []
    _, decision = decide_and_apply(cluster, fault.command)
    answers = [decision.whole, *(answer for _, answer in decision.each)]
    return [text for answer in answers if (text := answer_in_words(answer)) is not None]
