"""What is read in which tick: all that moves in each, and what changes slowly on a period of its own.

A throttle rate costs a request to its broker, and so do the sizes of replicas. They are read at once where something
waits for them (a change of this process is to be read back, a copy is about to begin), and else now and then. What was
read last stands in for what is not read.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from replan.applying.journal.steps import MoveRecord
from replan.applying.reasons.requests import MetadataBehind, NotPermitted
from replan.applying.settings import Settings
from replan.model.configs import Configs
from replan.model.control_plane import Look, Wanted, by_broker
from replan.model.names import BrokerId, TopicId, TopicPartition

Observation = Look
"""One look at everything that a tick needs."""


@dataclass(frozen=True, slots=True)
class Readings:
    """What was read last of what is not read in every tick, and when."""

    rates: Mapping[BrokerId, Configs] = field(default_factory=dict)
    rates_at: float = float("-inf")
    sizes_at: float = float("-inf")

    def wanted(
        self,
        every_tick: Wanted,
        now: float,
        settings: Settings,
        *,
        urgent: Collection[BrokerId],
        copying: Mapping[TopicPartition, Collection[BrokerId]],
    ) -> Wanted:
        """What to read now.

        The rates of `urgent` brokers are, and of those that are new; `copying` has its replicas.
        """
        due = now - self.rates_at >= settings.rates_seconds
        rates_of = [b for b in every_tick.rates_of if due or b in urgent or b not in self.rates]
        period = settings.sizes_period(len(set().union(*copying.values())))
        sizes_of = {} if now - self.sizes_at < period else by_broker(copying)
        return replace(every_tick, rates_of=rates_of, sizes_of=sizes_of)

    def after(
        self, every_tick: Wanted, asked: Wanted, look: Look, now: float
    ) -> tuple["Readings", Look]:
        """What is known after a look, and the look with it; a broker that did not answer has no rates."""
        live = {b for b in every_tick.rates_of if look.live(b)} - (
            look.silent.keys() & set(asked.rates_of)
        )
        rates = {b: found for b, found in {**self.rates, **look.rates}.items() if b in live}
        read = set(asked.rates_of) >= set(every_tick.rates_of)
        readings = Readings(
            rates, now if read else self.rates_at, now if asked.sizes_of else self.sizes_at
        )
        return readings, replace(look, rates=rates)


def unshown(seen: Look, name: TopicPartition) -> MetadataBehind | NotPermitted | None:
    """Why nothing can be concluded of a partition now; None where what a look shows of it is all there is.

    What is not shown is not gone.
    """
    missing = seen.forbidden.get(name.topic)
    if missing is not None:
        return NotPermitted(name.topic, missing)
    return MetadataBehind() if name in seen.unclear else None


def runs_own(seen: Look, own: MoveRecord) -> bool:
    """Whether what runs on a partition is a list that was asked for of it."""
    running = seen.running.get(own.partition)
    asked_for = running is not None and running.target in own.past
    return asked_for and not made_again(seen, own.partition, own.topic_id)


def made_again(seen: Look, name: TopicPartition, topic_id: TopicId) -> bool:
    """Whether the topic of this id was deleted, and another one has its name: what runs there is another tool's."""
    state = seen.partitions.get(name)
    return state is not None and state.topic_id != topic_id
