"""Encoded messages into the model: partitions, log directories, brokers, without a cluster."""

import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from kafka.protocol.admin import (
    DescribeClusterResponse,
    DescribeLogDirsResponse,
    DescribeTopicPartitionsResponse,
)
from kafka.protocol.metadata import MetadataResponse

from replan.kafka.api import (
    Directory,
    Logs,
    Page,
    PartitionColumns,
    all_cordoned,
    described_brokers,
    log_dirs_in,
    logs_told,
    metadata,
    partitions_described,
    states,
    tells_fenced,
    topic_bases,
    with_members,
)
from replan.model.api import Broker, BrokerId, LogDir, Reassignment, TopicPartition, replicas

Topic = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
Partition = Topic.DescribeTopicPartitionsResponsePartition
Result = DescribeLogDirsResponse.DescribeLogDirsResult
LoggedTopic = Result.DescribeLogDirsTopic
Log = LoggedTopic.DescribeLogDirsPartition
ID = uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")


def topic(name: str, *lists: Sequence[int], first: int = 0) -> Any:
    """A topic as a page of DescribeTopicPartitions shows it; everything in sync, the first leads."""
    return Topic(
        error_code=0,
        name=name,
        topic_id=ID,
        is_internal=False,
        topic_authorized_operations=-(2**31),
        partitions=[
            row(number, brokers, brokers) for number, brokers in enumerate(lists, start=first)
        ],
    )


def row(number: int, lists: Sequence[int], isr: Sequence[int], **more: Any) -> Any:
    """A partition of such a topic."""
    fields: dict[str, Any] = {
        "eligible_leader_replicas": None,
        "last_known_elr": [],
        "offline_replicas": [],
    }
    return Partition(
        error_code=0,
        partition_index=number,
        leader_id=lists[0],
        leader_epoch=number,
        replica_nodes=list(lists),
        isr_nodes=list(isr),
        **{**fields, **more},
    )


def page(*topics: Any, cursor: tuple[str, int] | None = None) -> Page:
    """What is read of a page with these topics, encoded as a broker encodes it."""
    of = DescribeTopicPartitionsResponse
    following = cursor and of.Cursor(topic_name=cursor[0], partition_index=cursor[1])
    told = of(version=0, throttle_time_ms=0, topics=list(topics), next_cursor=following)
    return partitions_described(memoryview(told.encode(version=0)), 0)


def told(path: str, *logs: tuple[str, int, int], **more: Any) -> Any:
    """A directory as DescribeLogDirs reports it; logs as (topic, partition, bytes)."""
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


def answer(*results: Any, version: int = 5, **bases: int) -> Logs:
    """What is read of a broker's answer; `bases` has what stands for each topic."""
    response = DescribeLogDirsResponse(
        version=version, throttle_time_ms=0, error_code=0, results=list(results)
    )
    encoded = memoryview(response.encode(version=version))
    return logs_told(topic_bases(bases))(encoded, version)


def columns_of(*pages: Page, running: dict[TopicPartition, Reassignment] | None = None) -> Any:
    """The columns of some pages."""
    columns = PartitionColumns(running or {})
    for each in pages:
        columns.add(each)
    return columns


def test_pages_become_columns_topic_by_topic() -> None:
    columns = columns_of(page(topic("clicks", [1, 2], [2, 1])), page(topic("orders", [3, 1, 2])))

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


def test_rows_of_different_shapes_are_read_one_after_another() -> None:
    many = [*range(1, 140)]  # the length of the list takes two bytes
    odd = [
        row(0, [1, 2, 3], [1, 2, 3]),
        row(1, [1, 2, 3], [1]),
        row(2, [1, 2, 3], [1], eligible_leader_replicas=[2], last_known_elr=[3]),
        row(3, many, many, offline_replicas=[7]),
        row(4, [1, 2, 3], [1, 2, 3]),
        row(5, [1, 2, 3], [3, 2, 1], eligible_leader_replicas=[]),
    ]
    mixed = topic("orders")
    mixed.partitions = odd

    found = columns_of(page(mixed, topic("payments", [4])))

    lists = {name: column.to_pylist() for name, column in found.columns().items()}
    assert lists["partition"] == [0, 1, 2, 3, 4, 5, 0]
    assert lists["replicas"] == [[1, 2, 3]] * 3 + [many, [1, 2, 3], [1, 2, 3], [4]]
    assert lists["isr"] == [[1, 2, 3], [1], [1], many, [1, 2, 3], [3, 2, 1], [4]]
    assert lists["elr"] == [[], [], [2], [], [], [], []]
    assert lists["last_known_elr"] == [[], [], [3], [], [], [], []]


def test_a_replica_that_is_offline_on_a_live_broker_has_lost_its_disk() -> None:
    lost = topic("orders", [3, 7])
    lost.partitions = [row(0, [3, 7], [3], offline_replicas=[7])]
    found = columns_of(page(topic("clicks", [1], [2])), page(lost))

    assert found.offline({1, 2, 3, 7}) == {TopicPartition("orders", 0): (7,)}
    assert found.offline({1, 2, 3}) == {}


def test_a_topic_that_a_page_cuts_in_two_is_one_topic() -> None:
    columns = columns_of(page(topic("orders", [1], [2])), page(topic("orders", [3], first=2)))

    assert columns.names == ["orders"]
    assert columns.codes().to_pylist() == [0, 0, 0]
    assert [(t.first, t.count) for t in columns.topics] == [(0, 3)]


@pytest.mark.parametrize("code", [3, 0])
def test_a_topic_that_is_not_there_is_no_topic(code: int) -> None:
    gone = topic("gone")
    gone.error_code = code

    assert columns_of(page(topic("orders", [1]), gone)).names == ["orders"]


def test_what_runs_comes_from_the_controllers_list_as_a_whole() -> None:
    """Metadata may be behind or ahead of it; the three lists must fit each other."""
    running = Reassignment(replicas(1, 2, 4, 3), adding=replicas(4), removing=replicas(3))
    other = Reassignment(replicas(5, 6), adding=replicas(6), removing=())
    columns = columns_of(
        page(topic("clicks", [5]), topic("orders", [1, 2, 3], [1, 2, 3], [2, 3])),
        running={
            TopicPartition("orders", 1): running,
            TopicPartition("clicks", 0): other,
            TopicPartition("gone", 0): other,
            TopicPartition("orders", 9): other,
        },
    )

    found = columns.columns()
    assert found["replicas"].to_pylist() == [[5, 6], [1, 2, 3], [1, 2, 4, 3], [2, 3]]
    assert found["adding"].to_pylist() == [[6], [], [4], []]
    assert found["removing"].to_pylist() == [[], [], [3], []]
    assert found["isr"].to_pylist() == [[5], [1, 2, 3], [1, 2, 3], [2, 3]]


def test_a_topic_id_is_printed_as_kafka_prints_it() -> None:
    assert page(topic("orders", [1])).topics[0].id == "ASNFZ4mrze8BI0VniavN7w"


@pytest.mark.parametrize("version", [12, 13])
def test_metadata_gives_the_wanted_partitions_in_whatever_order(version: int) -> None:
    of = MetadataResponse
    topic_of = of.MetadataResponseTopic
    row_of = topic_of.MetadataResponsePartition
    response = of(
        version=version,
        throttle_time_ms=0,
        brokers=[of.MetadataResponseBroker(node_id=1, host="h", port=9092, rack=None)],
        cluster_id="c",
        controller_id=1,
        topics=[
            topic_of(
                error_code=0,
                name="orders",
                topic_id=ID,
                is_internal=False,
                partitions=[
                    row_of(
                        error_code=0,
                        partition_index=number,
                        leader_id=leader,
                        leader_epoch=7,
                        replica_nodes=[1, 2],
                        isr_nodes=[2],
                        offline_replicas=[],
                    )
                    for number, leader in ((3, 2), (0, -1), (1, 1))
                ],
                authorized_operations=set(),
            )
        ],
        error_code=0,
    )
    read = metadata(memoryview(response.encode(version=version)), version)

    wanted = [TopicPartition("orders", n) for n in (0, 3, 9)]
    found = states([read], wanted)

    assert sorted(found) == wanted[:2]
    assert [found[n].leader for n in wanted[:2]] == [None, 2]
    assert {(s.replicas, s.isr, s.leader_epoch) for s in found.values()} == {((1, 2), (2,), 7)}


def test_directories_are_reported_by_broker_and_path() -> None:
    answers = {
        BrokerId(2): answer(told("/b", ("orders", 0, 7), ("orders", 1, 8))),
        BrokerId(1): answer(
            told("/z", total_bytes=-1, usable_bytes=-1),
            told("/a", error_code=56, is_cordoned=True),
        ),
    }

    assert list(log_dirs_in({b: told.directories for b, told in answers.items()})) == [
        LogDir(BrokerId(1), "/a", 100, 60, cordoned=True, error="KAFKA_STORAGE_ERROR"),
        LogDir(BrokerId(1), "/z", None, None),
        LogDir(BrokerId(2), "/b", 100, 60, logs=2),
    ]


def test_before_4_3_nothing_is_cordoned() -> None:
    assert [d.cordoned for d in answer(told("/a"), version=4).directories] == [False]


@pytest.mark.parametrize(
    ("dirs", "expected"), [([], False), ([True, True], True), ([True, False], False)]
)
def test_a_broker_is_cordoned_when_all_its_directories_are(
    dirs: list[bool], expected: bool
) -> None:
    assert all_cordoned([Directory(0, "/a", 1, 1, cordoned, 0) for cordoned in dirs]) is expected


def test_logs_come_as_columns_and_those_of_strangers_are_only_counted() -> None:
    found = answer(
        told("/a", ("clicks", 1, 5), ("orders", 0, 9)),
        told("/b", ("orders", 7, 99), ("gone", 0, 50)),
        clicks=4,
        orders=6,
    )

    assert found.bases.tolist() == [4, 6, 6]
    assert found.partitions.tolist() == [1, 0, 7]
    assert found.sizes.tolist() == [5, 9, 99]
    assert [d.logs for d in found.directories] == [2, 2]
    assert found.sizes.dtype == np.int64


def test_long_names_and_many_logs_of_one_topic_are_read() -> None:
    name = "t" * 249  # Kafka's longest; its length takes two bytes
    logs = [
        Log(partition_index=n, partition_size=n * 10, offset_lag=0, is_future_key=False)
        for n in range(300)
    ]
    directory = told("/a")
    directory.topics = [LoggedTopic(name=name, partitions=logs)]

    found = answer(directory, **{name: 1})

    assert found.sizes.tolist() == [n * 10 for n in range(300)]


def test_the_copy_that_a_broker_makes_for_itself_is_counted_as_a_log_and_not_as_a_size() -> None:
    future = told("/a", ("orders", 0, 9))
    future.topics[0].partitions[0].is_future_key = True

    found = answer(future, orders=0)

    assert found.sizes.tolist() == []
    assert [d.logs for d in found.directories] == [1]


def described(version: int) -> Any:
    broker = DescribeClusterResponse.DescribeClusterBroker
    return DescribeClusterResponse(
        version=version,
        error_code=0,
        cluster_id="c",
        controller_id=1,
        brokers=[
            broker(broker_id=2, host="h", port=1, rack="", is_fenced=version >= 2),
            broker(broker_id=1, host="h", port=1, rack="a", is_fenced=False),
        ],
    )


def test_fenced_brokers_are_reported_from_version_2_on() -> None:
    assert tells_fenced(described(2))
    assert described_brokers(described(2)) == {
        1: Broker(BrokerId(1), "a"),
        2: Broker(BrokerId(2), None, fenced=True),
    }


def test_before_that_members_that_nobody_lists_count_as_fenced() -> None:
    assert not tells_fenced(described(1))
    assert with_members(described_brokers(described(1)), [1, 2, 7]) == {
        1: Broker(BrokerId(1), "a"),
        2: Broker(BrokerId(2)),
        7: Broker(BrokerId(7), None, fenced=True),
    }
