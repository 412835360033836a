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
from replan.kafka.reads.log_dirs import cordons, places, sizes, tells_cordoned
from replan.kafka.reads.partitions import states, wanted_rows
from replan.kafka.reads.patience import REQUEST_SECONDS, Reading, Reads
from replan.kafka.reads.reassignments import listing
from replan.kafka.reads.rows import Page
from replan.model.broker import Broker
from replan.model.configs import TopicSettings
from replan.model.control_plane import Look, TopicPermission, Wanted, agreeing
from replan.model.names import BrokerId

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
    asked = _questions(reads, wanted)
    answers, of_brokers = reads.round(
        of_home,
        {broker: list(of.values()) for broker, of in asked.items()},
        min(REQUEST_SECONDS, reads.patience_seconds),
        broker_seconds=BROKER_SECONDS,
    )
    listed, pages = answers[0], answers[1 : len(rows) + 1]
    described, told_settings = answers[len(rows) + 1], answers[len(rows) + 2 :]
    for reading, page in zip(rows, pages, strict=True):
        if reading.operation is METADATA:
            known.partitions |= {t.name: t.count for t in page.topics if not t.hidden}
    told, silent = _told(asked, of_brokers)
    settings_of = {t: found for answer in told_settings for t, found in answer.items()}
    partitions, unclear = agreeing(states(pages, wanted.partitions), listed)
    members = {m for state in partitions.values() for m in state.replicas} | set(wanted.registered)
    known.cordoned |= told["cordons"]
    known.brokers = _brokers(reads, brokers.noted(reads.wire, described), members, known)
    return Look(
        brokers=known.brokers,
        running=listed,
        partitions=partitions,
        unclear=unclear,
        topics={topic: found for topic, found in settings_of.items() if not found.is_unread},
        forbidden=_forbidden(pages, settings_of),
        rates=told["rates"],
        sizes=told["sizes"],
        places=told["places"],
        silent=silent,
        features=brokers.features(reads.wire),
    )


def _forbidden(
    pages: Sequence[Page], settings: Mapping[str, TopicSettings]
) -> dict[str, TopicPermission]:
    """The topics of which this user may not read all that was asked; Describe goes first, as nothing shows without."""
    unread = {t: TopicPermission.DESCRIBE_CONFIGS for t, of in settings.items() if of.is_unread}
    hidden = {t.name: TopicPermission.DESCRIBE for page in pages for t in page.topics if t.hidden}
    return unread | hidden


def _brokers(
    reads: Reads, described: Any, members: Collection[BrokerId], known: Known
) -> dict[BrokerId, Broker]:
    """The brokers as they are listed now; cordons are those that were read last."""
    found = brokers.listed(described)
    if not brokers.tells_fenced(described):
        found = brokers.registered(reads, found, members, known.brokers)
    return {
        b: replace(broker, cordoned=known.cordoned.get(b, False)) for b, broker in found.items()
    }


def _questions(reads: Reads, wanted: Wanted) -> dict[BrokerId, dict[str, Reading]]:
    """What brokers are asked of themselves; who is not live is not asked."""
    live = reads.wire.addresses
    asked: dict[BrokerId, dict[str, Reading]] = {}
    for broker in sorted(live.keys() & set(wanted.rates_of)):
        asked.setdefault(broker, {})["rates"] = configs.asking_broker(reads, broker)
    if tells_cordoned(reads.wire):
        for broker in sorted(live.keys() & set(wanted.cordons_of)):
            asked.setdefault(broker, {})["cordons"] = cordons()
    for broker in sorted(live.keys() & wanted.sizes_of.keys()):
        asked.setdefault(broker, {})["sizes"] = sizes(wanted.sizes_of[broker])
    for broker in sorted(live.keys() & wanted.places_of.keys()):
        asked.setdefault(broker, {})["places"] = places(wanted.places_of[broker])
    return asked


def _told(
    asked: Mapping[BrokerId, Mapping[str, Reading]], answers: Mapping[BrokerId, Sequence[Any]]
) -> tuple[dict[str, dict[BrokerId, Any]], dict[BrokerId, str]]:
    """What brokers said of themselves, by subject, and who said nothing."""
    told: dict[str, dict[BrokerId, Any]] = {
        "rates": {},
        "cordons": {},
        "sizes": {},
        "places": {},
    }
    silent: dict[BrokerId, str] = {}
    for broker, found in answers.items():
        for subject, answer in zip(asked[broker], found, strict=True):
            if isinstance(answer, KafkaError):
                silent[broker] = reason(answer)
            else:
                told[subject][broker] = answer
    return told, silent
