"""Faults of partitions: followers fall behind, once or again and again; more or less is written."""

from collections.abc import Sequence

from replan.faults.kinds import FaultContext, Kind, existing, once, registered
from replan.faults.token_reader import TokenReader
from replan.model.names import BrokerId, TopicPartition
from replan.simulator.cluster.faults import Ask, At, DropFromIsr, Produce, Schedule
from replan.simulator.controller.commands import RebalanceLeaders

USUAL_LAG_BYTES = 1_000_000


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
    return tuple(At(i * every, DropFromIsr(name, broker, USUAL_LAG_BYTES)) for i in range(times))


def _replica(tokens: TokenReader, context: FaultContext) -> tuple[TopicPartition, BrokerId]:
    name = existing(tokens, context)
    tokens.expect("broker")
    return name, registered(tokens, context)


def _produce(tokens: TokenReader, context: FaultContext) -> Schedule:
    return once(Produce(existing(tokens, context), tokens.rate()))


def _rebalance(_words: TokenReader, _around: FaultContext) -> Schedule:
    return once(Ask(RebalanceLeaders()))


KINDS: Sequence[Kind] = (
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
