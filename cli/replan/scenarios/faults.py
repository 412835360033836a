"""`fault`, `lag`, `slow`, `produce`: requests that get lost, clusters that are silent, followers that fall behind."""

from replan.model.names import TopicPartition
from replan.scenarios.brokers import registered
from replan.scenarios.story import Story
from replan.scenarios.words import Words
from replan.simulator.faults import (
    At,
    Disconnect,
    DropFromIsr,
    LagMetadata,
    LoseRequests,
    Produce,
    RepeatRequests,
    RequestKind,
    Schedule,
    SlowBroker,
)

KINDS = {
    "reassign": RequestKind.REASSIGN,
    "elect": RequestKind.ELECT,
    "configs": RequestKind.CONFIGURE,
}


def fault(_story: Story, words: Words) -> Schedule:
    """Something between us and the controller.

    `fault unknown outcome of [2] reassign|elect|configs with effect|without effect|late by 70s`: the next requests;
    `fault repeated [2] reassign`: they reach the controller twice, and only the second answer comes back;
    `fault silence 30s`: nobody answers; `fault metadata 2s behind`: brokers show what was then.
    """
    if words.phrase("silence"):
        return (At(0, Disconnect(words.seconds())),)
    if words.phrase("metadata"):
        seconds = words.seconds()
        words.expect("behind")
        return (At(0, LagMetadata(seconds)),)
    if words.phrase("repeated"):
        times, kind = _requests(words)
        return (At(0, RepeatRequests(kind, times)),)
    words.expect("unknown", "outcome", "of")
    times, kind = _requests(words)
    return (At(0, LoseRequests(kind, times, _effect(words))),)


def _requests(words: Words) -> tuple[int, RequestKind]:
    """How many of which kind: `reassign`, `2 reassign`, `3 elect`."""
    times = next((n for n in range(2, 10) if words.phrase(str(n))), 1)
    return times, words.choose("a kind of request", KINDS)


def _effect(words: Words) -> float | None:
    if words.phrase("with", "effect"):
        return 0.0
    if words.phrase("without", "effect"):
        return None
    words.expect("late", "by")
    return words.seconds()


def lag(story: Story, words: Words) -> Schedule:
    """`lag orders-0 broker 2 by 20MB`: a follower falls so far behind, and its leader drops it from the ISR."""
    name = existing(story, words)
    words.expect("broker")
    broker = words.broker()
    words.expect("by")
    return (At(0, DropFromIsr(name, broker, words.bytes())),)


def produce(story: Story, words: Words) -> Schedule:
    """`produce orders-0 2MB/s`: from now on so much is written to it."""
    return (At(0, Produce(existing(story, words), words.rate())),)


def slow(story: Story, words: Words) -> Schedule:
    """`slow 4 to 1MB/s`: from now on its network carries no more in each direction; `slow 4 to usual` ends it."""
    broker = registered(story, words)
    words.expect("to")
    speed = None if words.phrase("usual") else words.rate()
    return (At(0, SlowBroker(broker, speed)),)


def existing(story: Story, words: Words) -> TopicPartition:
    """A partition that exists."""
    name = words.partition()
    if story.plane.simulation.cluster.partition(name) is None:
        raise words.wrong(f"there is no partition {name}")
    return name
