"""What a form of the vocabulary is, and the small forms that families share."""

from collections.abc import Callable
from dataclasses import dataclass

from replan.faults.token_reader import TokenReader
from replan.model.names import BrokerId, TopicId, TopicPartition
from replan.simulator.cluster.faults import At, Fault, Schedule
from replan.simulator.controller.state import ClusterState


@dataclass(frozen=True, slots=True)
class FaultContext:
    """What a fault is read against."""

    cluster: ClusterState
    new_topic_id: Callable[[str], TopicId]
    """The id of the next topic of a name."""


Read = Callable[[TokenReader, FaultContext], Schedule]
"""Reads what follows the words that a form is known by."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One form: how it is written, what it means, and how the words behind its first ones are read."""

    form: str
    """Words in small letters are written as they are, `[…]` may be left out, `|` is a choice, the rest means
    what `docs/faults.md` says."""
    means: str
    read: Read
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


def registered(tokens: TokenReader, context: FaultContext) -> BrokerId:
    """A broker that is registered."""
    broker, known = tokens.broker(), sorted(context.cluster.brokers)
    if broker not in known:
        raise tokens.wrong(f"there is no broker {broker}; registered: {', '.join(map(str, known))}")
    return broker


def existing(tokens: TokenReader, context: FaultContext) -> TopicPartition:
    """A partition that exists."""
    name = tokens.partition()
    if context.cluster.partition(name) is None:
        raise tokens.wrong(f"there is no partition {name}")
    return name


def known_topic(tokens: TokenReader, context: FaultContext) -> str:
    """A topic that exists."""
    name = tokens.one("a topic")
    if name not in context.cluster.topics:
        raise tokens.wrong(f"there is no topic {name}")
    return name
