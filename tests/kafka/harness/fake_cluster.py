"""A cluster that exists on the wire only: any number of brokers and partitions, in one process without a JVM.

For what real brokers cannot show quickly: a thousand brokers, a million partitions, a broker that stays silent, an
answer that no broker gives twice. It answers what replan asks, keeps configurations, and changes nothing else. It runs
in a thread (tests), or as a process of its own (benchmarks, so that the client's CPU is measured alone):

    python -m tests.kafka.harness.fake_cluster --brokers 100 --partitions 100000 --moves 500
"""

import argparse
import asyncio
import json
import resource
import struct
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from kafka.protocol import admin, metadata
from tests.kafka.harness import fake_topics
from tests.kafka.harness.fake_topics import FakeTopics

FACTOR = 3
ERROR, INDEX_AND_LEADER = ">h", ">iii"
REQUESTS: dict[int, Any] = {
    request.API_KEY: request
    for request in (
        metadata.ApiVersionsRequest,
        metadata.MetadataRequest,
        admin.DescribeClusterRequest,
        admin.DescribeTopicPartitionsRequest,
        admin.DescribeConfigsRequest,
        admin.DescribeLogDirsRequest,
        admin.ListPartitionReassignmentsRequest,
        admin.AlterPartitionReassignmentsRequest,
        admin.ElectLeadersRequest,
        admin.IncrementalAlterConfigsRequest,
    )
} | fake_topics.REQUESTS

FORWARDED = frozenset({43, 44, 45, 46})
"""ElectLeaders, IncrementalAlterConfigs, Alter- and ListPartitionReassignments."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How big the cluster is, how much of it moves, and which Kafka it passes for."""

    brokers: int = 3
    partitions: int = 100
    per_topic: int = 50
    moves: int = 0
    version: tuple[int, int] = (4, 3)

    @property
    def topics(self) -> int:
        """Topics `t00000`, `t00001` and so on."""
        return -(-self.partitions // self.per_topic)

    def size(self, topic: int) -> int:
        """How many partitions a topic has."""
        return min(self.per_topic, self.partitions - topic * self.per_topic)

    def replicas(self, topic: int, partition: int) -> list[int]:
        """Where a partition lies: on neighbours."""
        first = topic * self.per_topic + partition
        return [(first + i) % self.brokers + 1 for i in range(min(FACTOR, self.brokers))]

    def moving(self) -> Iterator[tuple[int, int]]:
        """The partitions that get one more replica: one of each topic, then another of each."""
        for number in range(self.moves):
            topic = number % self.topics
            yield topic, (number // self.topics + 7 * topic) % self.size(topic)

    def adding(self, topic: int, partition: int) -> int:
        """The broker that gets a replica."""
        return (topic * self.per_topic + partition + FACTOR) % self.brokers + 1

    @property
    def highest(self) -> dict[int, int]:
        """The highest version of each request that this Kafka knows."""
        since_4_1, since_4_3 = self.version >= (4, 1), self.version >= (4, 3)
        return (
            {
                18: 4,
                3: 12,
                60: 2 if since_4_1 else 1,
                75: 0,
                32: 4,
                35: 5 if since_4_3 else 4,
            }
            | {
                46: 0,
                45: 1 if since_4_1 else 0,
                43: 2,
                44: 1,
            }
            | fake_topics.HIGHEST
        )


@dataclass(slots=True)
class Trouble:
    """What is wrong with the cluster; may be changed while it runs."""

    silent: set[tuple[int, int]] = field(default_factory=set)
    """Brokers and API keys that are never answered."""
    hanging_up: set[tuple[int, int]] = field(default_factory=set)
    """Brokers and API keys that are done, and answered with the end of the connection."""
    topic_errors: dict[str, int] = field(default_factory=dict)
    """What topics are described with, instead of their partitions."""
    advertised: dict[int, tuple[str, int]] = field(default_factory=dict)
    """Addresses that brokers advertise and that are not theirs."""
    shown: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    """Replica lists as metadata show them, where they differ from the controller's."""
    fenced: set[int] = field(default_factory=set)
    frozen: set[int] = field(default_factory=set)
    """Brokers that answer nothing from now on, what they have of connections included."""
    older: set[int] = field(default_factory=set)
    """Brokers of before 4.1 in the middle of an upgrade: without the guard of KIP-860."""
    frozen_controller: bool = False
    """Whether what brokers forward is never answered."""
    metadata_offsets: dict[int, int] = field(default_factory=dict)
    """How far brokers have read the controllers' log; 100 where nothing is said."""
    config_errors: dict[str, list[int]] = field(default_factory=dict)
    """By topic or broker, the codes of the next answers on its configuration."""
    policy: dict[str, str] = field(default_factory=dict)
    """What the alter.config.policy says to every change of a key, instead of taking it (44)."""
    hidden: set[str] = field(default_factory=set)
    """Topics that this user may not describe: never listed, and answered with 29 where they are named."""
    unread: set[str] = field(default_factory=set)
    """Topics whose settings this user may not read: answered with 29 for as long as they are here."""
    left_out: set[str] = field(default_factory=set)
    """Topics and brokers that the answers to writes leave out."""
    default_rates: bool = False
    """Whether brokers tell the rates that nobody has set, as Kafka's defaults."""
    log_dirs_code: int = 0
    """What every question for log directories is answered with, if not with them."""
    largest_page: int = 2000
    """How many partitions one page has at most (max.request.partition.size.limit)."""
    made_again: dict[str, int] = field(default_factory=dict)
    """Topics that are deleted and made again behind their first page, and how many partitions they have then;
    0: only after the last page."""
    unequal_sizes: bool = False
    """Whether the replicas of a partition have different sizes, and each broker has the largest of some."""


@dataclass(slots=True)
class Counts:
    """What was asked, since it was last read."""

    requests: int = 0
    received: int = 0
    sent: int = 0
    keys: dict[int, int] = field(default_factory=dict)
    """Requests by API key."""
    by_broker: dict[int, set[int]] = field(default_factory=dict)
    """The API keys of what each broker was asked."""


class FakeCluster:
    """The cluster, served by a thread of its own while it is entered."""

    def __init__(self, shape: Shape) -> None:
        self.shape, self.trouble, self.counts = shape, Trouble(), Counts()
        self.ports: dict[int, int] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._writers: set[asyncio.StreamWriter] = set()
        self._servers: list[asyncio.Server] = []
        self._logs: dict[int, bytes] = {}
        self.topics = FakeTopics()
        """Those with records, which are made by name beside the many of the shape."""
        self._kept: dict[tuple[int, str], dict[str, str]] = {}
        """Configurations that were set, of topics (2) and brokers (4)."""

    @property
    def bootstrap(self) -> str:
        """The first broker's address."""
        return f"127.0.0.1:{self.ports[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()
        return self

    def __exit__(self, *_raised: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _open(self) -> None:
        for broker in range(1, self.shape.brokers + 1):
            serve = partial(self._serve, broker)
            server = await asyncio.start_server(serve, "127.0.0.1", 0)
            self._servers.append(server)
            self.ports[broker] = server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        for server in self._servers:
            server.close()
        for writer in list(self._writers):
            writer.close()
        await asyncio.sleep(0)
        tasks = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
        await asyncio.wait(tasks, timeout=5) if tasks else None

    async def _serve(
        self, broker: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._writers.add(writer)
        try:
            while True:
                size = struct.unpack(">i", await reader.readexactly(4))[0]
                frame = await reader.readexactly(size)
                answer = self._answer(broker, frame)
                if (broker, struct.unpack_from(">h", frame)[0]) in self.trouble.hanging_up:
                    return
                self.counts.requests += 1
                self.counts.received += size + 4
                if answer is None:
                    await reader.read()  # nor what comes after it: a broker works in order
                    return
                self.counts.sent += len(answer) + 4
                writer.write(struct.pack(">i", len(answer)) + answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    def _answer(self, broker: int, frame: bytes) -> bytes | None:
        key, version, correlation, named = struct.unpack_from(">hhih", frame)
        self.counts.keys[key] = self.counts.keys.get(key, 0) + 1
        self.counts.by_broker.setdefault(broker, set()).add(key)
        trouble = self.trouble
        if (broker, key) in trouble.silent or broker in trouble.frozen:
            return None
        if key in FORWARDED and trouble.frozen_controller:
            return None
        request = REQUESTS[key]
        flexible = request.flexible_version_q(version)
        asked = request.decode(frame[10 + max(named, 0) + flexible :], version=version)
        header = struct.pack(">i", correlation) + (b"\0" if flexible and key != 18 else b"")
        return header + self._body(broker, key, version, asked)

    def _body(self, broker: int, key: int, version: int, asked: Any) -> bytes:
        by_hand = {3: self._metadata, 75: self._partitions, 35: self._log_dirs}
        if key in by_hand:
            return by_hand[key](broker, version, asked)
        messages = {
            18: lambda: self._versions(broker),
            60: lambda: self._cluster(version, asked),
            32: lambda: self._configs(asked),
            46: lambda: self._running(asked),
            44: lambda: self._altered(asked),
        }
        if key in fake_topics.REQUESTS:
            message = self.topics.answer(key, asked, (broker, *self._address(broker)))
        else:
            message = messages[key]() if key in messages else self._accepted(key, asked)
        return bytes(message.encode(version=version))

    def _versions(self, broker: int) -> Any:
        response = metadata.ApiVersionsResponse
        return response(
            error_code=0,
            api_keys=[
                response.ApiVersion(api_key=key, min_version=0, max_version=highest)
                for key, highest in (
                    self.shape.highest | ({45: 0} if broker in self.trouble.older else {})
                ).items()
            ],
            throttle_time_ms=0,
            supported_features=[],
            finalized_features_epoch=self.trouble.metadata_offsets.get(broker, 100),
            finalized_features=[],
        )

    def _address(self, broker: int) -> tuple[str, int]:
        return self.trouble.advertised.get(broker, ("127.0.0.1", self.ports[broker]))

    def _cluster(self, version: int, asked: Any) -> Any:
        response = admin.DescribeClusterResponse
        fenced = self.trouble.fenced
        shows_fenced = version >= 2 and asked.include_fenced_brokers
        return response(
            throttle_time_ms=0,
            error_code=0,
            error_message=None,
            endpoint_type=1,
            cluster_id="fake-cluster",
            controller_id=1,
            brokers=[
                response.DescribeClusterBroker(
                    broker_id=b,
                    host=self._address(b)[0],
                    port=self._address(b)[1],
                    rack=f"r{b % 3}",
                    is_fenced=b in fenced,
                )
                for b in self.ports
                if shows_fenced or b not in fenced
            ],
        )

    def _metadata(self, _broker: int, version: int, asked: Any) -> bytes:
        """Version 12 by hand: the partitions as fast as may be."""
        if version < 12:
            raise NotImplementedError(f"Metadata {version}")
        brokers = [
            struct.pack(">i", b)
            + _text(host)
            + struct.pack(">i", port)
            + _text(f"r{b % 3}")
            + b"\0"
            for b, (host, port) in ((b, self._address(b)) for b in self.ports)
            if b not in self.trouble.fenced
        ]
        names = None if asked.topics is None else [t.name for t in asked.topics]
        topics = [
            self._topic(number, 0, self.shape.size(number), eligible=False)
            if number is not None
            else self._kept_topic(name, eligible=False)
            for name, number in self._named(names)
        ]
        return (
            struct.pack(">i", 0)
            + _array(brokers)
            + _text("fake-cluster")
            + struct.pack(">i", 1)
            + _array(topics)
            + b"\0"
        )

    def _named(self, names: list[str] | None) -> Iterator[tuple[str, int | None]]:
        hidden = self.trouble.hidden
        if names is None:
            every = ((f"t{number:05d}", number) for number in range(self.shape.topics))
            yield from (topic for topic in every if topic[0] not in hidden)
            return
        for name in sorted(names):
            known = name[:1] == "t" and name[1:].isdecimal() and int(name[1:]) < self.shape.topics
            yield name, int(name[1:]) if known else None

    def _partitions(self, _broker: int, _version: int, asked: Any) -> bytes:
        """DescribeTopicPartitions: a page, from the cursor on."""
        left = min(asked.response_partition_limit, self.trouble.largest_page)
        start = ("", 0)
        if asked.cursor is not None:
            start = (asked.cursor.topic_name, asked.cursor.partition_index)
        topics: list[bytes] = []
        following = b"\xff"
        for name, number in self._named([t.name for t in asked.topics] or None):
            if name < start[0]:
                continue
            first = start[1] if name == start[0] else 0
            if first and self.trouble.made_again.get(name) == 0:
                continue
            if number is None:
                topics.append(self._kept_topic(name, eligible=True))
                continue
            if not left:
                following = b"\1" + _text(name) + struct.pack(">i", first) + b"\0"
                break
            end = min(self.shape.size(number), first + left)
            topics.append(self._topic(number, first, end, eligible=True))
            left -= end - first
            if end < self.shape.size(number):
                following = b"\1" + _text(name) + struct.pack(">i", end) + b"\0"
                break
        return struct.pack(">i", 0) + _array(topics) + following + b"\0"

    def _topic(self, topic: int, first: int, end: int, *, eligible: bool) -> bytes:
        name = f"t{topic:05d}"
        if error := self._topic_error(name):
            return _missing(name, error)
        number = topic + 1
        if first and name in self.trouble.made_again:
            number += self.shape.topics
            end = max(first, min(end, self.trouble.made_again[name]))
        head = struct.pack(">h", 0) + _text(name) + uuid.UUID(int=number).bytes + b"\0"
        rows = self._rows(topic, first, end, eligible=eligible)
        return head + _varint(end - first + 1) + rows + struct.pack(">i", -(2**31)) + b"\0"

    def _topic_error(self, name: str) -> int:
        return 29 if name in self.trouble.hidden else self.trouble.topic_errors.get(name, 0)

    def _kept_topic(self, name: str, *, eligible: bool) -> bytes:
        """One of those with records, or that there is none."""
        topic = self.topics.topics.get(name)
        if topic is None or self._topic_error(name):
            return _missing(name, self._topic_error(name) or 3)
        rows = [
            struct.pack(">hiii", 0, number, -1 if topic.leaderless else topic.replicas[0], 0)
            + _ids(topic.replicas)
            + _ids(topic.replicas)
            + (b"\1\1\1" if eligible else b"\1")
            + b"\0"
            for number in range(topic.partitions)
        ]
        head = struct.pack(">h", 0) + _text(name) + topic.id.bytes + b"\0"
        return head + _array(rows) + struct.pack(">i", -(2**31)) + b"\0"

    def _rows(self, topic: int, first: int, end: int, *, eligible: bool) -> bytes:
        factor = min(FACTOR, self.shape.brokers)
        ids, rest = f"({factor},)>i4", f"S{4 if eligible else 2}"
        head = [("e", ">i2"), ("p", ">i4"), ("l", ">i4"), ("le", ">i4")]
        lists = [("n", "u1"), ("r", ids), ("m", "u1"), ("i", ids), ("rest", rest)]
        layout = np.dtype([*head, *lists])
        rows = np.zeros(end - first, layout)
        rows["p"] = np.arange(first, end)
        start = topic * self.shape.per_topic + rows["p"][:, None]
        rows["r"] = rows["i"] = (start + np.arange(factor)) % self.shape.brokers + 1
        rows["l"], rows["n"], rows["m"] = rows["r"][:, 0], factor + 1, factor + 1
        plain = _with_empty_lists(rows, eligible=eligible)
        special = self._special(topic, first, end)
        if not special:
            return plain
        width = layout.itemsize
        parts, at = [], 0
        for partition, shown in sorted(special.items()):
            parts += [
                plain[at : (partition - first) * width],
                self._row(topic, partition, shown, eligible),
            ]
            at = (partition - first + 1) * width
        return b"".join((*parts, plain[at:]))

    def _special(self, topic: int, first: int, end: int) -> dict[int, list[int]]:
        """The partitions of a range whose lists are not the usual ones."""
        name = f"t{topic:05d}"
        found = {
            p: self._controllers[topic, p]
            for p in range(first, end)
            if (topic, p) in self._controllers
        }
        shown = self.trouble.shown
        if shown:
            found |= {p: shown[name, p] for p in range(first, end) if (name, p) in shown}
        return found

    def _row(self, topic: int, partition: int, shown: list[int], eligible: bool) -> bytes:
        in_sync = [b for b in shown if b in self.shape.replicas(topic, partition)]
        leader = in_sync[0] if in_sync else -1
        head = struct.pack(">hiii", 0, partition, leader, 0)
        empty = b"\1\1\1" if eligible else b"\1"
        return head + _ids(shown) + _ids(in_sync) + empty + b"\0"

    @cached_property
    def _controllers(self) -> dict[tuple[int, int], list[int]]:
        return {
            (t, p): [*self.shape.replicas(t, p), self.shape.adding(t, p)]
            for t, p in self.shape.moving()
        }

    def _running(self, asked: Any) -> Any:
        response = admin.ListPartitionReassignmentsResponse
        topic_of = response.OngoingTopicReassignment
        wanted = None
        if asked.topics is not None:
            wanted = {(t.name, p) for t in asked.topics for p in t.partition_indexes}
        rows: dict[str, list[Any]] = {}
        for (topic, partition), replicas in self._controllers.items():
            name = f"t{topic:05d}"
            if wanted is None or (name, partition) in wanted:
                row = topic_of.OngoingPartitionReassignment(
                    partition_index=partition,
                    replicas=replicas,
                    adding_replicas=replicas[-1:],
                    removing_replicas=[],
                )
                rows.setdefault(name, []).append(row)
        topics = [topic_of(name=name, partitions=of) for name, of in rows.items()]
        return response(throttle_time_ms=0, error_code=0, error_message=None, topics=topics)

    def _configs(self, asked: Any) -> Any:
        response = admin.DescribeConfigsResponse
        result = response.DescribeConfigsResult
        values = {
            "min.insync.replicas": "2",
            "unclean.leader.election.enable": "false",
            "cleanup.policy": "delete",
        }
        kept = self._kept
        return response(
            throttle_time_ms=0,
            results=[
                result(
                    error_code=self._config_error(resource.resource_name),
                    error_message=None,
                    resource_type=resource.resource_type,
                    resource_name=resource.resource_name,
                    configs=[
                        result.DescribeConfigsResourceResult(
                            name=name,
                            value=own.get(name, values.get(name, "")),
                            read_only=False,
                            config_source=resource.resource_type // 2 if name in own else 5,
                            is_sensitive=False,
                            synonyms=[],
                            config_type=2,
                            documentation=None,
                        )
                        for own in [self._own(resource, kept)]
                        for name in resource.configuration_keys or ()
                        if resource.resource_type == 2 or name in own or self.trouble.default_rates
                    ],
                )
                for resource in asked.resources
            ],
        )

    def _own(self, resource: Any, kept: Mapping[tuple[int, str], dict[str, str]]) -> dict[str, str]:
        """What was set of a topic or a broker."""
        topic = self.topics.topics.get(resource.resource_name)
        made = {} if topic is None or resource.resource_type != 2 else topic.settings
        return made | kept.get((resource.resource_type, resource.resource_name), {})

    def _altered(self, asked: Any) -> Any:
        response = admin.IncrementalAlterConfigsResponse
        policy = {
            where.resource_name: self.trouble.policy[config.name]
            for where in asked.resources
            for config in where.configs
            if config.name in self.trouble.policy
        }
        for where in asked.resources:
            own = self._kept.setdefault((where.resource_type, where.resource_name), {})
            for config in where.configs:
                if not asked.validate_only and where.resource_name not in policy:
                    _alter(own, config.name, config.config_operation, config.value or "")
        return response(
            throttle_time_ms=0,
            responses=[
                response.AlterConfigsResourceResponse(
                    error_code=44 if where.resource_name in policy else 0,
                    error_message=policy.get(where.resource_name),
                    resource_type=where.resource_type,
                    resource_name=where.resource_name,
                )
                for where in asked.resources
                if where.resource_name not in self.trouble.left_out
            ],
        )

    def _accepted(self, key: int, asked: Any) -> Any:
        """Yes to every write, whatever it asks."""
        if key != 45:
            raise NotImplementedError(f"API {key}")
        of = admin.AlterPartitionReassignmentsResponse
        topic = of.ReassignableTopicResponse
        row = topic.ReassignablePartitionResponse
        return of(
            throttle_time_ms=0,
            allow_replication_factor_change=True,
            error_code=0,
            error_message=None,
            responses=[
                topic(
                    name=t.name,
                    partitions=[
                        row(partition_index=p.partition_index, error_code=0, error_message=None)
                        for p in t.partitions
                    ],
                )
                for t in asked.topics
                if t.name not in self.trouble.left_out
            ],
        )

    def _config_error(self, name: str) -> int:
        if name in self.trouble.unread:
            return 29
        codes = self.trouble.config_errors.get(name)
        return codes.pop(0) if codes else 0

    def _log_dirs(self, broker: int, version: int, asked: Any) -> bytes:
        if self.trouble.log_dirs_code:
            return struct.pack(">ih", 0, self.trouble.log_dirs_code) + _array([]) + b"\0"
        if asked.topics is None:
            if broker not in self._logs:
                self._logs[broker] = _array(list(self._all_logs(broker)))
            topics = self._logs[broker]
        else:
            topics = _array(list(self._some_logs(broker, asked.topics)))
        more = struct.pack(">qq", 10**12, 5 * 10**11) + (b"\0" if version >= 5 else b"")
        directory = struct.pack(">h", 0) + _text("/data") + topics + more + b"\0"
        return struct.pack(">ih", 0, 0) + _array([directory]) + b"\0"

    def _all_logs(self, broker: int) -> Iterator[bytes]:
        layout = np.dtype(
            [("p", ">i4"), ("s", ">i8"), ("lag", ">i8"), ("future", "u1"), ("t", "u1")]
        )
        everywhere = np.arange(self.shape.partitions)
        apart = (broker - 1 - everywhere) % self.shape.brokers
        here = everywhere[apart < FACTOR]
        topics, first = np.unique(here // self.shape.per_topic, return_index=True)
        rows = np.zeros(len(here), layout)
        rows["p"], rows["s"] = here % self.shape.per_topic, 1_000_000
        if self.trouble.unequal_sizes:
            rows["s"] += (here + broker) % self.shape.brokers
        ends = [*first.tolist()[1:], len(here)][: len(topics)]
        encoded, width = rows.tobytes(), layout.itemsize
        for topic, start, end in zip(topics.tolist(), first.tolist(), ends, strict=True):
            rows_of = encoded[start * width : end * width]
            yield _text(f"t{topic:05d}") + _varint(end - start + 1) + rows_of + b"\0"

    def _some_logs(self, broker: int, asked: Any) -> Iterator[bytes]:
        for wanted in asked:
            number = int(wanted.topic[1:])
            here = [
                p
                for p in wanted.partitions
                if broker in self._controllers.get((number, p), self.shape.replicas(number, p))
            ]
            if here:
                rows = b"".join(struct.pack(">iqqBB", p, 1_000_000, 0, 0, 0) for p in here)
                yield _text(wanted.topic) + _varint(len(here) + 1) + rows + b"\0"


def _alter(own: dict[str, str], name: str, operation: int, value: str) -> None:
    """SET, DELETE, APPEND or SUBTRACT, as AlterConfigOp numbers them."""
    items, given = [i for i in own.get(name, "").split(",") if i], value.split(",")
    if operation == 1:
        own.pop(name, None)
    else:
        wanted = (value, "", ",".join(dict.fromkeys([*items, *given])))
        own[name] = (*wanted, ",".join(i for i in items if i not in given))[operation]


def _missing(name: str, error: int) -> bytes:
    return (
        struct.pack(">h", error)
        + _text(name)
        + bytes(16)
        + b"\0"
        + _varint(1)
        + struct.pack(">i", -(2**31))
        + b"\0"
    )


def _with_empty_lists(rows: Any, *, eligible: bool) -> bytes:
    """The rows, each ending in empty lists (no offline replicas, and no ELR where that is shown) and no tags."""
    width, tail = rows.dtype.itemsize, b"\1\1\1\0" if eligible else b"\1\0"
    matrix = np.frombuffer(rows.tobytes(), dtype=np.uint8).reshape(len(rows), width).copy()
    matrix[:, width - len(tail) :] = np.frombuffer(tail, dtype=np.uint8)
    return matrix.tobytes()


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _text(value: str) -> bytes:
    encoded = value.encode()
    return _varint(len(encoded) + 1) + encoded


def _ids(brokers: list[int]) -> bytes:
    return _varint(len(brokers) + 1) + struct.pack(f">{len(brokers)}i", *brokers)


def _array(items: list[bytes]) -> bytes:
    return _varint(len(items) + 1) + b"".join(items)


def main() -> None:
    """Serve until the standard input ends; each line on it is answered with the counts since the last."""
    parser = argparse.ArgumentParser()
    for name, default in (("brokers", 3), ("partitions", 100), ("per-topic", 50), ("moves", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--kafka", default="4.3")
    given = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    major, minor = given.kafka.split(".")
    shape = Shape(
        given.brokers, given.partitions, given.per_topic, given.moves, (int(major), int(minor))
    )
    with FakeCluster(shape) as cluster:
        sys.stdout.write(cluster.bootstrap + "\n")
        sys.stdout.flush()
        for _line in sys.stdin:
            counts = cluster.counts
            cluster.counts = Counts()
            told = {"requests": counts.requests, "received": counts.received, "sent": counts.sent}
            sys.stdout.write(
                json.dumps(told | {"keys": counts.keys, "cpu": time.process_time()}) + "\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
