"""Elections: ElectLeaders (KIP-460), sent once per chunk.

One request with exactly 10,000 elections makes the active controller resign (seen on 3.9 to 4.4), so chunks
are far below that.
"""

from collections.abc import Collection, Iterator
from typing import Any

from replan.kafka.failures import ELECT_LEADERS
from replan.kafka.messages import ElectLeaders
from replan.kafka.wire.wire import Wire
from replan.kafka.writes.send_once import TIMEOUT_MS, Row, chunks, send_once
from replan.model.control_plane import Answer, ElectionType
from replan.model.names import TopicPartition

PARTITIONS_PER_REQUEST = 1000


def elect(
    wire: Wire, partitions: Collection[TopicPartition], kind: ElectionType
) -> dict[TopicPartition, Answer]:
    """Ask for elections; an election that is not needed is answered with 84."""
    answers: dict[TopicPartition, Answer] = {}
    for chunk in chunks(dict.fromkeys(partitions), PARTITIONS_PER_REQUEST):
        answers |= send_once(wire, ELECT_LEADERS, _request(chunk, kind), chunk, _rows)
    return answers


def _request(partitions: Collection[TopicPartition], kind: ElectionType) -> Any:
    numbers: dict[str, list[int]] = {}
    for name in partitions:
        numbers.setdefault(name.topic, []).append(name.partition)
    topic = ElectLeaders.TopicPartitions
    return ElectLeaders(
        election_type=int(kind),
        topic_partitions=[topic(topic=name, partitions=of) for name, of in numbers.items()],
        timeout_ms=TIMEOUT_MS,
        min_version=1,  # version 0 knows only preferred elections
    )


def _rows(response: Any) -> Iterator[Row]:
    for topic in response.replica_election_results:
        for row in topic.partition_result:
            yield TopicPartition(topic.topic, row.partition_id), row.error_code, row.error_message
