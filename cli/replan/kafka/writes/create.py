"""New partitions of topics that exist: CreatePartitions (KIP-195) with the replicas of each, sent once."""

from collections.abc import Iterator, Mapping
from typing import Any

from replan.kafka.failures import CREATE_PARTITIONS
from replan.kafka.messages import CreatePartitions
from replan.kafka.wire.wire import Wire
from replan.kafka.writes.send_once import TIMEOUT_MS, send_once
from replan.model.control_plane import Answer, NewPartitions


def create_partitions(
    wire: Wire, added: Mapping[str, NewPartitions], *, validate_only: bool = False
) -> dict[str, Answer]:
    """Add partitions, or let the controller say whether it would; one answer for each topic."""
    return send_once(wire, CREATE_PARTITIONS, _request(added, validate_only), added.keys(), _rows)


def _request(added: Mapping[str, NewPartitions], validate_only: bool) -> Any:
    topic = CreatePartitions.CreatePartitionsTopic
    return CreatePartitions(
        topics=[
            topic(
                name=name,
                count=new.count,
                assignments=[
                    topic.CreatePartitionsAssignment(broker_ids=list(replicas))
                    for replicas in new.lists
                ],
            )
            for name, new in added.items()
        ],
        timeout_ms=TIMEOUT_MS,
        validate_only=validate_only,
    )


def _rows(response: Any) -> Iterator[tuple[str, int, str | None]]:
    for row in response.results:
        yield row.name, row.error_code, row.error_message
