"""What one tick reads: a single round, the home broker's questions in order and meanwhile each broker's own.

The home broker is asked for the list of what runs first. It works on the requests of a connection one after another, so
what it then shows of partitions may lag behind that list, and is never older than what it showed in the look before.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kafka.errors import KafkaError

from replan.kafka.failures import METADATA, reason
from replan.kafka.reads import brokers, configs
from replan.kafka.reads.log_dirs import Sizes, all_cordoned, cordons, tells_cordoned
from replan.kafka.reads.partitions import states, wanted_rows
from replan.kafka.reads.patience import REQUEST_SECONDS, Reading, Reads
from replan.kafka.reads.reassignments import listing
from replan.model.broker import Broker
from replan.model.configs import Configs
from replan.model.control_plane import Look, Wanted, agreeing
from replan.model.names import BrokerId, TopicPartition

BROKER_SECONDS = 3.0
"""For what a broker is asked about itself; after that it counts as silent. A tick has to end within half of the settle
time although some broker is silent."""


@dataclass(slots=True)
class Known:
    """What earlier looks of this process found, and the next ones need."""

    brokers: dict[BrokerId, Broker] = field(default_factory=dict)
    """As they were listed last: before 4.1 a fenced broker is not listed any more."""
    partitions: dict[str, int] = field(default_factory=dict)
    """How many partitions each topic has."""
    cordoned: dict[BrokerId, bool] = field(default_factory=dict)
    """Whether all directories of a broker were cordoned when it was asked last."""


def look(reads: Reads, wanted: Wanted, known: Known) -> Look:
    """Read what is wanted, once; only a failure that shows at once is tried again.

    Raises:
        ClusterUnreachable: no broker answers within the time of one request.
        ClusterRefused: a broker says no to a whole request.
    """
    rows = wanted_rows(reads, wanted.partitions, known.partitions)
    settings = configs.asking_topics(reads, wanted.topics)
    of_home = [listing(reads), *rows, brokers.describing(), *settings]
    asked = _Asked(reads, wanted)
    answers, of_brokers = reads.round(
        of_home,
        asked.readings(),
        min(REQUEST_SECONDS, reads.patience_seconds),
        broker_seconds=BROKER_SECONDS,
    )
    listed, pages = answers[0], answers[1 : len(rows) + 1]
    described, told_settings = answers[len(rows) + 1], answers[len(rows) + 2 :]
    for reading, page in zip(rows, pages, strict=True):
        if reading.operation is METADATA:
            known.partitions |= {topic.name: topic.count for topic in page.topics}
    told = asked.told(of_brokers)
    partitions, unclear = agreeing(states(pages, wanted.partitions), listed)
    members = {m for state in partitions.values() for m in state.replicas} | set(wanted.registered)
    known.cordoned |= told.cordoned
    known.brokers = _brokers(brokers.noted(reads.wire, described), members, known)
    return Look(
        brokers=known.brokers,
        running=listed,
        partitions=partitions,
        unclear=unclear,
        topics={topic: settings for answer in told_settings for topic, settings in answer.items()},
        rates=told.rates,
        sizes=told.sizes,
        silent=told.silent,
        features=brokers.features(reads.wire),
    )


def _brokers(described: Any, members: Collection[BrokerId], known: Known) -> dict[BrokerId, Broker]:
    """The brokers as they are listed now; cordons are those that were read last."""
    found = brokers.listed(described)
    if not brokers.tells_fenced(described):
        found = brokers.with_members(found, members, known.brokers)
    return {
        b: replace(broker, cordoned=known.cordoned.get(b, False)) for b, broker in found.items()
    }


@dataclass(slots=True)
class _Told:
    """What brokers told of themselves."""

    rates: dict[BrokerId, Configs] = field(default_factory=dict)
    cordoned: dict[BrokerId, bool] = field(default_factory=dict)
    sizes: dict[BrokerId, dict[TopicPartition, int]] = field(default_factory=dict)
    silent: dict[BrokerId, str] = field(default_factory=dict)


class _Asked:
    """What brokers are asked of themselves; who is not live is not asked."""

    def __init__(self, reads: Reads, wanted: Wanted) -> None:
        live = reads.wire.addresses
        self._sizes = {b: Sizes(of) for b, of in sorted(wanted.sizes_of.items()) if b in live}
        self._readings: dict[BrokerId, dict[str, Reading]] = {}
        for broker in sorted(live.keys() & set(wanted.rates_of)):
            self._add(broker, "rates", configs.asking_broker(reads, broker))
        if tells_cordoned(reads.wire):
            for broker in sorted(live.keys() & set(wanted.cordons_of)):
                self._add(broker, "cordons", cordons())
        for broker, of in self._sizes.items():
            self._add(broker, "sizes", of.reading)

    def _add(self, broker: BrokerId, what: str, reading: Reading) -> None:
        self._readings.setdefault(broker, {})[what] = reading

    def readings(self) -> dict[BrokerId, list[Reading]]:
        """The questions to each broker."""
        return {broker: list(of.values()) for broker, of in self._readings.items()}

    def told(self, answers: Mapping[BrokerId, Sequence[Any]]) -> _Told:
        """The answers, understood."""
        told = _Told()
        for broker, found in answers.items():
            for what, answer in zip(self._readings[broker], found, strict=True):
                if isinstance(answer, KafkaError):
                    told.silent[broker] = reason(answer)
                elif what == "rates":
                    told.rates[broker] = answer
                elif what == "cordons":
                    told.cordoned[broker] = all_cordoned(answer.directories)
                else:
                    told.sizes[broker] = self._sizes[broker].told(answer)
        return told
