"""Faults of brokers: they die, stop, return, are fenced, cordoned, unregistered, slow."""

from collections.abc import Callable, Sequence

from replan.faults.kinds import FaultContext, Kind, Read, lasting, once, registered
from replan.faults.token_reader import TokenReader
from replan.model.names import BrokerId
from replan.simulator.cluster.apply_fault import RESTART_SECONDS
from replan.simulator.cluster.disks import path_of
from replan.simulator.cluster.faults import (
    Ask,
    At,
    Fault,
    KillBroker,
    LoseDisk,
    Question,
    ReplaceDisks,
    Schedule,
    SlowBroker,
    StartBroker,
    StopBroker,
    Unresponsive,
)
from replan.simulator.controller.commands import (
    CordonDirs,
    FenceBroker,
    UnfenceBroker,
    UnregisterBroker,
)

Make = Callable[[BrokerId], Fault]


def _restart(tokens: TokenReader, context: FaultContext) -> Schedule:
    broker = registered(tokens, context)
    away = tokens.seconds() if tokens.phrase("for") else RESTART_SECONDS
    return At(0, StopBroker(broker)), At(away, StartBroker(broker))


def _slow(tokens: TokenReader, context: FaultContext) -> Schedule:
    broker = registered(tokens, context)
    tokens.expect("to")
    usual = SlowBroker(broker, None)
    if tokens.phrase("usual"):
        return once(usual)
    return lasting(tokens, SlowBroker(broker, tokens.rate()), usual)


def _cordon(tokens: TokenReader, context: FaultContext) -> Schedule:
    broker = registered(tokens, context)
    dirs = frozenset(context.cluster.brokers[broker].log_dirs)
    return lasting(tokens, Ask(CordonDirs(broker, dirs)), Ask(CordonDirs(broker, frozenset())))


def _lose_disk(tokens: TokenReader, context: FaultContext) -> Schedule:
    broker = registered(tokens, context)
    path = None if not tokens or tokens.comes("for") else _directory(tokens, broker, context)
    return lasting(tokens, LoseDisk(broker, path), ReplaceDisks(broker))


def _directory(tokens: TokenReader, broker: BrokerId, context: FaultContext) -> str:
    """One of a broker's log directories that works."""
    path = tokens.one("a log directory")
    known = [path_of(d) for d in context.cluster.brokers[broker].log_dirs]
    if path not in known:
        raise tokens.wrong(
            f"broker {broker} has no log directory {path}; it has {', '.join(known)}"
        )
    return path


def _unresponsive(tokens: TokenReader, context: FaultContext) -> Schedule:
    broker = registered(tokens, context)
    kinds = {question.value: question for question in Question}
    to = frozenset(Question)
    if tokens.phrase("to"):
        to = frozenset({tokens.choose("rates, sizes or changes", kinds)})
    return lasting(tokens, Unresponsive(broker, to), Unresponsive(broker, frozenset()))


def _of_broker(make: Make, end: Make | None = None) -> Read:
    """A fault that names only its broker; with `end`, what ends it after `for TIME`."""

    def read(tokens: TokenReader, context: FaultContext) -> Schedule:
        broker = registered(tokens, context)
        return once(make(broker)) if end is None else lasting(tokens, make(broker), end(broker))

    return read


KINDS: Sequence[Kind] = (
    Kind(
        "kill BROKER [for TIME]",
        "the process dies, and gets nothing more of what is written; the controller fences it after 9 s; it starts "
        "again after `for`",
        _of_broker(KillBroker, StartBroker),
    ),
    Kind(
        "stop BROKER [for TIME]",
        "a controlled shutdown: its leaderships move first; it starts again after `for`",
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
        _of_broker(lambda b: Ask(FenceBroker(b)), lambda b: Ask(UnfenceBroker(b))),
    ),
    Kind("unfence BROKER", "it may serve again", _of_broker(lambda b: Ask(UnfenceBroker(b)))),
    Kind(
        "cordon BROKER [for TIME]",
        "all its log directories accept no new replicas (KIP-1066)",
        _cordon,
    ),
    Kind(
        "uncordon BROKER",
        "they accept new replicas again",
        _of_broker(lambda b: Ask(CordonDirs(b, frozenset()))),
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
        _of_broker(lambda b: Ask(UnregisterBroker(b))),
    ),
)
