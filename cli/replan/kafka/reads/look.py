"""What one tick reads: a single round, the home broker's questions in order and meanwhile each broker's own.

The home broker is asked for the list of what runs first. It works on the requests of a connection one after another, so
what it then shows of partitions may lag behind that list, and is never older than what it showed in the look before.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from kafka.errors import KafkaError
from msgspec.structs import replace

from replan.errors import ClusterRefused
from replan.kafka.failures import (
    LIST_REASSIGNMENTS,
    METADATA,
    raise_for,
    reason,
)
from replan.kafka.messages import RESPONSES, ListPartitionReassignments
from replan.kafka.reads import brokers, configs
from replan.kafka.reads.log_dirs import (
    all_cordoned,
    cordons_question,
    directories_and_sizes,
    log_dirs_in,
    places_question,
    sizes_question,
    tells_cordoned,
)
from replan.kafka.reads.partitions import (
    Page,
    PartitionColumns,
    pages,
    partitions_questions,
    states,
    was_cut,
)
from replan.kafka.reads.patience import REQUEST_SECONDS, Reads
from replan.kafka.wire.frames import Question
from replan.kafka.wire.wire import cluster_question
from replan.model.broker import Broker
from replan.model.columns import number_column, take
from replan.model.configs import Configs, TopicSettings
from replan.model.control_plane import Look, TopicPermission, Wanted, agreeing
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.partition import Reassignment
from replan.model.snapshot import TOPICS_SCHEMA, Snapshot, partitions_table

BROKER_ANSWER_SECONDS = 3.0
"""For what a broker is asked about itself; after that it counts as silent. A tick has to end within half of the settle
time although some broker is silent."""


def read_look(reads: Reads, wanted: Wanted) -> Look:
    """Read what is wanted, once; only a failure that shows at once is tried again.

    Raises:
        ClusterUnreachable: no broker answers within the time of one request.
        ClusterRefused: a broker says no to a whole request.
    """
    earlier = reads.earlier
    rows = partitions_questions(reads, wanted.partitions)
    settings = configs.topics_questions(reads, wanted.topics)
    of_home = [running_question(reads), *rows, cluster_question(), *settings]
    questions = _questions(reads, wanted)
    answers, of_brokers = reads.round(
        of_home,
        {broker: list(of.values()) for broker, of in questions.items()},
        min(REQUEST_SECONDS, reads.patience_seconds),
        broker_seconds=BROKER_ANSWER_SECONDS,
    )
    listed, pages = answers[0], answers[1 : len(rows) + 1]
    described, told_settings = answers[len(rows) + 1], answers[len(rows) + 2 :]
    for question, page in zip(rows, pages, strict=True):
        if question.operation is METADATA:
            earlier.partitions |= {t.name: t.count for t in page.topics if not t.hidden}
        elif was_cut(question, page):
            earlier.page = page.rows
            return read_look(reads, wanted)
    told, silent = _told(questions, of_brokers)
    settings_of = {t: of_topic for answer in told_settings for t, of_topic in answer.items()}
    partitions, unclear = agreeing(states(pages, wanted.partitions), listed)
    members = {m for state in partitions.values() for m in state.replicas} | set(wanted.registered)
    earlier.cordoned |= told["cordons"]
    earlier.brokers = _brokers(reads, brokers.note_addresses(reads.wire, described), members)
    return Look(
        brokers=earlier.brokers,
        running=listed,
        partitions=partitions,
        unclear=unclear,
        topics={
            topic: of_topic for topic, of_topic in settings_of.items() if not of_topic.is_unread
        },
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


def _brokers(reads: Reads, described: Any, members: Collection[BrokerId]) -> dict[BrokerId, Broker]:
    """The brokers as they are listed now; cordons are those that were read last."""
    earlier = reads.earlier
    by_id = brokers.described_brokers(described)
    if not brokers.tells_fenced(described):
        by_id = brokers.registered_brokers(reads, by_id, members, earlier.brokers)
    return {
        b: replace(broker, cordoned=earlier.cordoned.get(b, False)) for b, broker in by_id.items()
    }


def _questions(reads: Reads, wanted: Wanted) -> dict[BrokerId, dict[str, Question]]:
    """What brokers are asked of themselves; who is not live is not asked."""
    live = reads.wire.addresses
    questions: dict[BrokerId, dict[str, Question]] = {}
    for broker in sorted(live.keys() & set(wanted.rates_of)):
        questions.setdefault(broker, {})["rates"] = configs.rates_question(reads, broker)
    if tells_cordoned(reads.wire):
        for broker in sorted(live.keys() & set(wanted.cordons_of)):
            questions.setdefault(broker, {})["cordons"] = cordons_question()
    for broker in sorted(live.keys() & wanted.sizes_of.keys()):
        questions.setdefault(broker, {})["sizes"] = sizes_question(wanted.sizes_of[broker])
    for broker in sorted(live.keys() & wanted.places_of.keys()):
        questions.setdefault(broker, {})["places"] = places_question(wanted.places_of[broker])
    return questions


def _told(
    questions: Mapping[BrokerId, Mapping[str, Question]],
    answers: Mapping[BrokerId, Sequence[Any]],
) -> tuple[dict[str, dict[BrokerId, Any]], dict[BrokerId, str]]:
    """What brokers said of themselves, by subject, and who said nothing."""
    told: dict[str, dict[BrokerId, Any]] = {
        "rates": {},
        "cordons": {},
        "sizes": {},
        "places": {},
    }
    silent: dict[BrokerId, str] = {}
    for broker, of_broker in answers.items():
        for subject, answer in zip(questions[broker], of_broker, strict=True):
            if isinstance(answer, KafkaError):
                silent[broker] = reason(answer)
            else:
                told[subject][broker] = answer
    return told, silent


# A whole cluster at one moment, as a snapshot; each fact comes from exactly one source.
#
# | fact                                    | source                                                       |
# | --------------------------------------- | ------------------------------------------------------------ |
# | cluster id, brokers, racks, fenced      | DescribeCluster (before 4.1 fenced: see `brokers`)           |
# | cordoned, directories, sizes            | DescribeLogDirs of each live broker                          |
# | what runs, with its lists               | ListPartitionReassignments                                   |
# | other lists, ISR, leaders, epochs, ELR, | DescribeTopicPartitions                                      |
# | offline replicas                        |                                                              |
# | settings of topics, rates of brokers    | DescribeConfigs                                              |
# | what the cluster can do                 | ApiVersions, when the connection was made                    |

_BROKER_SECONDS = 5.0


def observe(reads: Reads, *, observed_at: str, lenient: bool = False) -> Snapshot:
    """Ask for everything; a broker that does not answer in time is named as silent.

    Topics that this user may not describe are named, settings of topics that it may not read marked as not known.
    A topic that is deleted while this is read is left out, also where it is made again between two of its pages: there
    was a moment without it, and the pages show neither of the two whole.
    `lenient`: so are rates of brokers that it may not read left out.
    """
    described = brokers.ask_brokers(reads)
    registered = brokers.described_brokers(described)
    live = [b.id for b in registered.values() if b.live]
    columns = _partitions(reads)
    answers, sizes, others = directories_and_sizes(reads, live, columns.topics, columns.rows)
    if not brokers.tells_fenced(described):
        registered = brokers.registered_brokers(reads, registered, columns.members())
    whole = [name for name in columns.names if name not in columns.torn]
    topics, partitions = observed_tables(columns, configs.of_topics(reads, whole), sizes)
    return Snapshot(
        cluster_id=described.cluster_id,
        observed_at=observed_at,
        features=brokers.features(reads.wire),
        brokers=tuple(
            replace(b, cordoned=all_cordoned(answers.get(b.id, ()))) for b in registered.values()
        ),
        topics=topics,
        partitions=partitions,
        log_dirs=tuple(log_dirs_in(answers)),
        broker_configs={
            b: of_broker
            for b, of_broker in _rates(reads, live, lenient=lenient).items()
            if of_broker
        },
        silent=tuple(broker for broker in live if broker not in answers),
        offline=columns.offline(frozenset(live)),
        hidden=_hidden(reads, others),
    )


def _hidden(reads: Reads, topics: Collection[str]) -> tuple[str, ...]:
    """The topics of these that this user may not describe: a broker lists without a word those that it may.

    What brokers hold logs of needs no permission on topics (DescribeLogDirs), and asked by name each shows why it was
    not listed: it is gone meanwhile, or may not be described.
    """
    named = (topic for page in pages(reads, topics) for topic in page.topics)
    return tuple(sorted({topic.name for topic in named if topic.hidden}))


def _partitions(reads: Reads) -> PartitionColumns:
    columns = PartitionColumns(reads.ask(running_question(reads)))
    for page in pages(reads, None):
        columns.add(page)
    return columns


def _rates(reads: Reads, live: Sequence[BrokerId], *, lenient: bool) -> dict[BrokerId, Configs]:
    questions = {broker: configs.rates_question(reads, broker) for broker in live}
    try:
        told = reads.ask_each(questions, limit_seconds=_BROKER_SECONDS)
    except ClusterRefused:
        if not lenient:
            raise
        return {}
    return dict(sorted(told.items()))


def observed_tables(
    columns: PartitionColumns, configured: Mapping[str, TopicSettings], sizes: Any
) -> tuple[pa.Table, pa.Table]:
    """Both tables, without the topics that have no settings: they were deleted meanwhile."""
    kept = np.array([name in configured for name in columns.names], dtype=bool)
    topics = _topics_table(
        [(topic.name, topic.id) for topic in columns.topics if topic.name in configured],
        configured,
    )
    codes = np.asarray(columns.codes())
    rows = kept[codes] if len(kept) else np.array([], dtype=bool)
    places = (np.cumsum(kept) - 1).astype(np.int32)
    arrays = {**columns.columns(), "bytes": number_column(sizes, np.int64)}
    if not kept.all():
        arrays = {name: take(array, np.flatnonzero(rows)) for name, array in arrays.items()}
        codes = places[codes[rows]]
    names = topics.column("name").combine_chunks()
    return topics, partitions_table(names, codes, arrays)


def _topics_table(
    names: list[tuple[str, Any]], configured: Mapping[str, TopicSettings]
) -> pa.Table:
    settings = [configured[name] for name, _ in names]
    return pa.Table.from_pydict(
        {
            "name": [name for name, _ in names],
            "id": [topic_id for _, topic_id in names],
            "min_insync_replicas": [s.min_insync_replicas for s in settings],
            "min_insync_source": [int(s.min_insync_source) for s in settings],
            "unclean_election": [s.unclean_election for s in settings],
            "leader_throttled": [s.leader_throttled for s in settings],
            "follower_throttled": [s.follower_throttled for s in settings],
        },
        schema=TOPICS_SCHEMA,
    )


# What runs, as the active controller lists it: ListPartitionReassignments (KIP-455).

LISTING_TIMEOUT_MS = 15_000


def running_question(reads: Reads) -> Question:
    """The question for everything that runs on the cluster; the answer is a mapping by partition."""

    def make() -> Question:
        message = ListPartitionReassignments(timeout_ms=LISTING_TIMEOUT_MS, topics=None)
        return Question(LIST_REASSIGNMENTS, message, _running, forwarded=True, repeated=True)

    return reads.kept("reassignments", None, make)


def _running(body: memoryview, version: int) -> dict[TopicPartition, Reassignment]:
    told = RESPONSES[ListPartitionReassignments.API_KEY][version].decode(body)
    raise_for(told.error_code, told.error_message)
    return {
        TopicPartition(topic.name, row.partition_index): Reassignment(
            _ids(row.replicas), _ids(row.adding_replicas), _ids(row.removing_replicas)
        )
        for topic in told.topics or ()
        for row in topic.partitions
    }


def _ids(told: Collection[int]) -> Replicas:
    return tuple(map(BrokerId, told))
