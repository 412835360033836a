"""What befalls brokers: they die, stop, return, are fenced, cordoned, forgotten, slow."""

from collections.abc import Sequence

from replan.faults.kinds import Kind, Surroundings, lasting, once, registered
from replan.faults.token_reader import Words
from replan.model.names import BrokerId
from replan.simulator.cluster.apply_fault import RESTART_SECONDS
from replan.simulator.cluster.disks import path_of
from replan.simulator.cluster.faults import (
    Ask,
    At,
    KillBroker,
    LoseDisk,
    ReplaceDisks,
    Schedule,
    SlowBroker,
    StartBroker,
    StopBroker,
)
from replan.simulator.controller.commands import (
    CordonDirs,
    FenceBroker,
    UnfenceBroker,
    UnregisterBroker,
)


def _kill(words: Words, around: Surroundings) -> Schedule:
    broker = registered(words, around)
    return lasting(words, KillBroker(broker), StartBroker(broker))


def _stop(words: Words, around: Surroundings) -> Schedule:
    broker = registered(words, around)
    return lasting(words, StopBroker(broker), StartBroker(broker))


def _start(words: Words, around: Surroundings) -> Schedule:
    return once(StartBroker(registered(words, around)))


def _restart(words: Words, around: Surroundings) -> Schedule:
    broker = registered(words, around)
    away = words.seconds() if words.phrase("for") else RESTART_SECONDS
    return At(0, StopBroker(broker)), At(away, StartBroker(broker))


def _slow(words: Words, around: Surroundings) -> Schedule:
    broker = registered(words, around)
    words.expect("to")
    usual = SlowBroker(broker, None)
    if words.phrase("usual"):
        return once(usual)
    return lasting(words, SlowBroker(broker, words.rate()), usual)


def _fence(words: Words, around: Surroundings) -> Schedule:
    broker = registered(words, around)
    return lasting(words, Ask(FenceBroker(broker)), Ask(UnfenceBroker(broker)))


def _unfence(words: Words, around: Surroundings) -> Schedule:
    return once(Ask(UnfenceBroker(registered(words, around))))


def _cordon(words: Words, around: Surroundings) -> Schedule:
    broker = registered(words, around)
    dirs = frozenset(around.cluster.brokers[broker].log_dirs)
    return lasting(words, Ask(CordonDirs(broker, dirs)), Ask(CordonDirs(broker, frozenset())))


def _uncordon(words: Words, around: Surroundings) -> Schedule:
    return once(Ask(CordonDirs(registered(words, around), frozenset())))


def _lose_disk(words: Words, around: Surroundings) -> Schedule:
    broker = registered(words, around)
    path = None if not words or words.comes("for") else _directory(words, broker, around)
    return lasting(words, LoseDisk(broker, path), ReplaceDisks(broker))


def _directory(words: Words, broker: BrokerId, around: Surroundings) -> str:
    """One of a broker's log directories that works."""
    path = words.one("a log directory")
    known = [path_of(d) for d in around.cluster.brokers[broker].log_dirs]
    if path not in known:
        raise words.wrong(f"broker {broker} has no log directory {path}; it has {', '.join(known)}")
    return path


def _replace_disks(words: Words, around: Surroundings) -> Schedule:
    return once(ReplaceDisks(registered(words, around)))


def _unregister(words: Words, around: Surroundings) -> Schedule:
    return once(Ask(UnregisterBroker(registered(words, around))))


KINDS: Sequence[Kind] = (
    Kind(
        "kill BROKER [for TIME]",
        "its process dies: it is fenced after 9 s, and starts again after `for`",
        _kill,
    ),
    Kind(
        "stop BROKER [for TIME]",
        "a controlled shutdown: its leaderships are moved first",
        _stop,
    ),
    Kind("start BROKER", "a dead or stopped one starts again, and serves after 3 s", _start),
    Kind("restart BROKER [for TIME]", "stopped, and started again after `for`, or 10 s", _restart),
    Kind(
        "slow BROKER to RATE|usual [for TIME]",
        "its network carries no more in each direction; `usual` ends it",
        _slow,
    ),
    Kind("fence BROKER [for TIME]", "by the controller, though its process runs", _fence),
    Kind("unfence BROKER", "it may serve again", _unfence),
    Kind(
        "cordon BROKER [for TIME]",
        "all its log directories take nothing new (KIP-1066)",
        _cordon,
    ),
    Kind("uncordon BROKER", "they take new replicas again", _uncordon),
    Kind(
        "lose disk BROKER [DIR] [for TIME]",
        "the disk of a log directory fails, its last one where none is named; what lies there is out of sync until "
        "`for` is over: then it is replaced. Without its first one the broker dies",
        _lose_disk,
        leads=2,
    ),
    Kind(
        "replace disks BROKER",
        "its lost disks by empty ones, and it is restarted for that",
        _replace_disks,
        leads=2,
    ),
    Kind("unregister BROKER", "the controller forgets it, dead or not", _unregister),
)
