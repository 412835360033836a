"""What a form of the vocabulary is, and the small forms that families share."""

from collections.abc import Callable
from dataclasses import dataclass

from replan.faults.token_reader import Words
from replan.model.names import BrokerId, TopicId, TopicPartition
from replan.simulator.cluster.faults import At, Happening, Schedule
from replan.simulator.controller.state import ClusterState


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a fault is read against."""

    cluster: ClusterState
    new_topic_id: Callable[[str], TopicId]
    """The id of the next topic of a name."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One form: how it is written, what it means, and how the words behind its first ones are read."""

    form: str
    """Words in small letters are written as they are, `[…]` may be left out, `|` is a choice, the rest stands for
    what `docs/faults.md` says."""
    means: str
    read: Callable[[Words, Surroundings], Schedule]
    leads: int = 1
    """How many of its words it is known by."""

    @property
    def begins(self) -> tuple[str, ...]:
        """The words that it is known by."""
        return tuple(self.form.split()[: self.leads])


def once(happening: Happening) -> Schedule:
    """It happens, and nothing ends it."""
    return (At(0, happening),)


def lasting(words: Words, happening: Happening, end: Happening) -> Schedule:
    """It happens; with `for TIME` it is over after so long."""
    if not words.phrase("for"):
        return once(happening)
    return At(0, happening), At(words.seconds(), end)


def registered(words: Words, around: Surroundings) -> BrokerId:
    """A broker that is registered."""
    broker, known = words.broker(), sorted(around.cluster.brokers)
    if broker not in known:
        raise words.wrong(f"there is no broker {broker}; registered: {', '.join(map(str, known))}")
    return broker


def existing(words: Words, around: Surroundings) -> TopicPartition:
    """A partition that exists."""
    name = words.partition()
    if around.cluster.partition(name) is None:
        raise words.wrong(f"there is no partition {name}")
    return name


def known_topic(words: Words, around: Surroundings) -> str:
    """A topic that exists."""
    name = words.one("a topic")
    if name not in around.cluster.topics:
        raise words.wrong(f"there is no topic {name}")
    return name
