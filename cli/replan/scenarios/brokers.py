"""`kill`, `start`, `restart`, `shutdown`, `fence`, `unfence`, `cordon`, `uncordon`: what befalls brokers."""

from replan.model.names import BrokerId
from replan.scenarios.story import Story
from replan.scenarios.words import Words
from replan.simulator.commands import (
    CordonDirs,
    FenceBroker,
    UnfenceBroker,
    UnregisterBroker,
)
from replan.simulator.faults import Ask, At, KillBroker, Schedule, StartBroker, StopBroker


def kill(story: Story, words: Words) -> Schedule:
    """`kill 3`: its process dies; it is fenced when its session ends, after 9 s."""
    return (At(0, KillBroker(registered(story, words))),)


def start(story: Story, words: Words) -> Schedule:
    """`start 3`: its process starts again."""
    return (At(0, StartBroker(registered(story, words))),)


def shutdown(story: Story, words: Words) -> Schedule:
    """`shutdown 3`: a controlled shutdown; its leaderships are moved first."""
    return (At(0, StopBroker(registered(story, words))),)


def restart(story: Story, words: Words) -> Schedule:
    """`restart 3 [for 20s]`: a controlled shutdown, and its start some time later."""
    broker = registered(story, words)
    away = words.seconds() if words.phrase("for") else 10.0
    return At(0, StopBroker(broker)), At(away, StartBroker(broker))


def fence(story: Story, words: Words) -> Schedule:
    """`fence 3`: the controller fences it, though its process runs."""
    return (At(0, Ask(FenceBroker(registered(story, words)))),)


def unfence(story: Story, words: Words) -> Schedule:
    """`unfence 3`: it may serve again."""
    return (At(0, Ask(UnfenceBroker(registered(story, words)))),)


def unregister(story: Story, words: Words) -> Schedule:
    """`unregister 3`: the controller forgets a broker that is dead."""
    return (At(0, Ask(UnregisterBroker(registered(story, words)))),)


def cordon(story: Story, words: Words) -> Schedule:
    """`cordon 3`: all its log directories take nothing new (KIP-1066)."""
    broker = registered(story, words)
    dirs = story.plane.simulation.cluster.brokers[broker].log_dirs
    return (At(0, Ask(CordonDirs(broker, frozenset(dirs)))),)


def uncordon(story: Story, words: Words) -> Schedule:
    """`uncordon 3`: they take new replicas again."""
    return (At(0, Ask(CordonDirs(registered(story, words), frozenset()))),)


def registered(story: Story, words: Words) -> BrokerId:
    """A broker that is registered."""
    broker = words.broker()
    known = sorted(story.plane.simulation.cluster.brokers)
    if broker not in known:
        raise words.wrong(f"there is no broker {broker}; registered: {', '.join(map(str, known))}")
    return broker
