"""Decoded messages into the model: partitions, log directories, brokers, without a cluster."""

import uuid
from collections.abc import Sequence
from typing import Any

import pytest
from kafka.protocol.admin import (
    DescribeClusterResponse,
    DescribeLogDirsResponse,
    DescribeTopicPartitionsResponse,
)

from replan.kafka.reads.brokers import listed, tells_fenced, with_members
from replan.kafka.reads.log_dirs import TopicRows, cordoned, directories, largest_replicas
from replan.kafka.reads.partitions import PartitionColumns, topic_id
from replan.model.broker import Broker, LogDir
from replan.model.names import BrokerId, TopicPartition, replicas
from replan.model.partition import Reassignment

Topic = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
Partition = Topic.DescribeTopicPartitionsResponsePartition
Result = DescribeLogDirsResponse.DescribeLogDirsResult
LoggedTopic = Result.DescribeLogDirsTopic
Log = LoggedTopic.DescribeLogDirsPartition
ID = uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")


def topic(name: str, *lists: Sequence[int], first: int = 0) -> Any:
    """A topic as a page of DescribeTopicPartitions tells it; everything in sync, the first leads."""
    return Topic(
        error_code=0,
        name=name,
        topic_id=ID,
        partitions=[
            Partition(
                error_code=0,
                partition_index=number,
                leader_id=brokers[0],
                leader_epoch=number,
                replica_nodes=list(brokers),
                isr_nodes=list(brokers),
                eligible_leader_replicas=None,
                last_known_elr=[],
                offline_replicas=[],
            )
            for number, brokers in enumerate(lists, start=first)
        ],
    )


def told(path: str, *logs: tuple[str, int, int], **more: Any) -> Any:
    """A directory as DescribeLogDirs tells it; logs as (topic, partition, bytes)."""
    fields = {"error_code": 0, "total_bytes": 100, "usable_bytes": 60, "is_cordoned": False} | more
    return Result(
        log_dir=path,
        topics=[
            LoggedTopic(
                name=name,
                partitions=[
                    Log(
                        partition_index=number,
                        partition_size=size,
                        offset_lag=0,
                        is_future_key=False,
                    )
                ],
            )
            for name, number, size in logs
        ],
        **fields,
    )


def answer(*results: Any) -> Any:
    return DescribeLogDirsResponse(error_code=0, results=list(results))


def test_pages_become_columns_topic_by_topic() -> None:
    columns = PartitionColumns({})
    columns.add(topic("clicks", [1, 2], [2, 1]))
    columns.add(topic("orders", [3, 1, 2]))

    assert columns.names == ["clicks", "orders"]
    assert columns.codes().to_pylist() == [0, 0, 1]
    found = {name: column.to_pylist() for name, column in columns.columns().items()}
    assert found == {
        "partition": [0, 1, 0],
        "leader": [1, 2, 3],
        "leader_epoch": [0, 1, 0],
        "replicas": [[1, 2], [2, 1], [3, 1, 2]],
        "isr": [[1, 2], [2, 1], [3, 1, 2]],
        "adding": [[], [], []],
        "removing": [[], [], []],
        "elr": [[], [], []],
        "last_known_elr": [[], [], []],
    }
    assert columns.members() == {1, 2, 3}


def test_a_topic_that_a_page_cuts_in_two_is_one_topic() -> None:
    columns = PartitionColumns({})
    columns.add(topic("orders", [1], [2]))
    columns.add(topic("orders", [3], first=2))

    assert columns.names == ["orders"]
    assert columns.codes().to_pylist() == [0, 0, 0]
    assert columns.rows().row("orders", 2) == 2


def test_a_topic_without_partitions_is_no_topic() -> None:
    columns = PartitionColumns({})
    columns.add(Topic(error_code=3, name="gone", topic_id=ID, partitions=[]))

    assert columns.names == []
    assert columns.rows().row("gone", 0) == -1
    assert columns.members() == frozenset()


def test_what_runs_comes_from_the_controllers_list_as_a_whole() -> None:
    """Metadata may be behind or ahead of it; the three lists must fit each other."""
    running = Reassignment(replicas(1, 2, 4, 3), adding=replicas(4), removing=replicas(3))
    columns = PartitionColumns({TopicPartition("orders", 1): running})
    columns.add(topic("orders", [1, 2, 3], [1, 2, 3]))

    found = columns.columns()
    assert found["replicas"].to_pylist() == [[1, 2, 3], [1, 2, 4, 3]]
    assert found["adding"].to_pylist() == [[], [4]]
    assert found["removing"].to_pylist() == [[], [3]]
    assert found["isr"].to_pylist() == [[1, 2, 3], [1, 2, 3]]


def test_a_topic_id_is_printed_as_kafka_prints_it() -> None:
    assert topic_id(topic("orders", [1])) == "ASNFZ4mrze8BI0VniavN7w"


def test_directories_are_told_by_broker_and_path() -> None:
    answers = {
        BrokerId(2): answer(told("/b", ("orders", 0, 7), ("orders", 1, 8))),
        BrokerId(1): answer(
            told("/z", total_bytes=-1, usable_bytes=-1),
            told("/a", error_code=56, is_cordoned=True),
        ),
    }

    assert list(directories(answers)) == [
        LogDir(BrokerId(1), "/a", 100, 60, cordoned=True, error="KAFKA_STORAGE_ERROR"),
        LogDir(BrokerId(1), "/z", None, None),
        LogDir(BrokerId(2), "/b", 100, 60, logs=2),
    ]


@pytest.mark.parametrize(
    ("dirs", "expected"),
    [
        ([], set()),
        ([(1, True), (1, True)], {1}),
        ([(1, True), (1, False)], set()),
        ([(1, False), (2, True)], {2}),
    ],
)
def test_a_broker_is_cordoned_when_all_its_directories_are(
    dirs: list[tuple[int, bool]], expected: set[int]
) -> None:
    found = [LogDir(BrokerId(b), f"/{i}", cordoned=c) for i, (b, c) in enumerate(dirs)]

    assert cordoned(found) == expected


def test_the_largest_replica_counts_and_strangers_do_not() -> None:
    rows = TopicRows({"clicks": (0, 2), "orders": (2, 1)}, 3)
    answers = {
        BrokerId(1): answer(told("/a", ("clicks", 1, 5), ("orders", 0, 9), ("orders", 7, 99))),
        BrokerId(2): answer(told("/a", ("clicks", 1, 6), ("gone", 0, 50))),
    }

    assert largest_replicas(answers, rows).tolist() == [0, 6, 9]


def test_the_copy_that_a_broker_makes_for_itself_is_counted_as_a_log_and_not_as_a_size() -> None:
    future = answer(told("/a", ("orders", 0, 9)))
    future.results[0].topics[0].partitions[0].is_future_key = True
    answers = {BrokerId(1): future}

    assert largest_replicas(answers, TopicRows({"orders": (0, 1)}, 1)).tolist() == [0]
    assert [d.logs for d in directories(answers)] == [1]


def described(version: int) -> Any:
    broker = DescribeClusterResponse.DescribeClusterBroker
    return DescribeClusterResponse(
        version=version,
        error_code=0,
        cluster_id="c",
        controller_id=1,
        brokers=[
            broker(broker_id=2, host="h", port=1, rack=None, is_fenced=version >= 2),
            broker(broker_id=1, host="h", port=1, rack="a", is_fenced=False),
        ],
    )


def test_fenced_brokers_are_told_from_version_2_on() -> None:
    assert tells_fenced(described(2))
    assert listed(described(2)) == {
        1: Broker(BrokerId(1), "a"),
        2: Broker(BrokerId(2), None, fenced=True),
    }


def test_before_that_members_that_nobody_lists_count_as_fenced() -> None:
    assert not tells_fenced(described(1))
    assert with_members(listed(described(1)), [1, 2, 7]) == {
        1: Broker(BrokerId(1), "a"),
        2: Broker(BrokerId(2)),
        7: Broker(BrokerId(7), None, fenced=True),
    }
