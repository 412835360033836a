"""What befalls partitions: followers fall behind, once or again and again; more or less is written."""

from collections.abc import Sequence

from replan.faults.kinds import Kind, Surroundings, existing, once, registered
from replan.faults.token_reader import Words
from replan.model.names import BrokerId, TopicPartition
from replan.simulator.cluster.faults import Ask, At, DropFromIsr, Produce, Schedule
from replan.simulator.controller.commands import RebalanceLeaders

USUAL_LAG_BYTES = 1_000_000


def _lag(words: Words, around: Surroundings) -> Schedule:
    name, broker = _replica(words, around)
    size = words.bytes() if words.phrase("by") else USUAL_LAG_BYTES
    return once(DropFromIsr(name, broker, size))


def _flap(words: Words, around: Surroundings) -> Schedule:
    name, broker = _replica(words, around)
    words.expect("every")
    every = words.seconds()
    if every <= 0:
        raise words.wrong("every 0 s is too often")
    words.expect("for")
    times = max(1, int(words.seconds() / every))
    return tuple(At(i * every, DropFromIsr(name, broker, USUAL_LAG_BYTES)) for i in range(times))


def _replica(words: Words, around: Surroundings) -> tuple[TopicPartition, BrokerId]:
    name = existing(words, around)
    words.expect("broker")
    return name, registered(words, around)


def _produce(words: Words, around: Surroundings) -> Schedule:
    return once(Produce(existing(words, around), words.rate()))


def _rebalance(_words: Words, _around: Surroundings) -> Schedule:
    return once(Ask(RebalanceLeaders()))


KINDS: Sequence[Kind] = (
    Kind(
        "lag PARTITION broker BROKER [by SIZE]",
        "a follower falls so far behind (1 MB) and out of the ISR",
        _lag,
    ),
    Kind(
        "flap PARTITION broker BROKER every TIME for TIME",
        "it falls out of the ISR again and again, and returns",
        _flap,
    ),
    Kind(
        "produce PARTITION RATE", "so much is written to it from now on; `0` is nothing", _produce
    ),
    Kind("rebalance", "auto.leader.rebalance.enable acts", _rebalance),
)
