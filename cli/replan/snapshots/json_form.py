"""A snapshot as one JSON document: what the keys mean, and what is left out because it follows.

The head is in `head`, text and layout are in `documents.json_text`, files in `files`. What is in order is read in one
go, its topics typed; anything else by nodes, which say what is wrong.

`topics` nests partitions in their topics, which are two Arrow tables here; `brokers` has their log directories and
configs.

People write these documents too (a cluster to simulate, a case for a test), so only what cannot be derived has to be
said. When reading: a partition's number is its position, its ISR its replicas on registered brokers, its leader the
first member of its ISR, a topic's id is made from its name. Writing leaves the same things out.
"""

from base64 import urlsafe_b64encode
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa
from msgspec import UNSET, Struct, UnsetType, ValidationError, convert, field
from msgspec.json import encode
from msgspec.structs import astuple, replace

from replan.documents.files import decoded_text
from replan.documents.json_text import Node, NotJson, decoded, optional, parse_document, shown
from replan.documents.typed import BrokerIds, Int32, Int64, Positive, ReplicaList, Text
from replan.errors import BadFile
from replan.model.broker import Broker, LogDir
from replan.model.columns import Ints, distinct, list_column, number_column, take
from replan.model.configs import Configs, ConfigSource, ConfigValue, can_hold
from replan.model.names import BrokerId, Replicas, TopicId, TopicPartition
from replan.model.snapshot import (
    TOPICS_SCHEMA,
    RememberedOrder,
    Snapshot,
    partitions_table,
    topic_codes,
)
from replan.snapshots.head import Tables, check_head, head_of, snapshot_of

NOT_SAID = -1


class ListedPartition(Struct, rename="camel", forbid_unknown_fields=True, frozen=True, gc=False):
    """A partition of a document, as far as types can say what it has to be."""

    replicas: ReplicaList
    leader_epoch: Int32 = NOT_SAID
    bytes: Int64 = NOT_SAID
    partition: Int32 | UnsetType = UNSET
    isr: BrokerIds | UnsetType = UNSET
    leader: Int32 | UnsetType | None = UNSET
    adding: BrokerIds | UnsetType = UNSET
    removing: BrokerIds | UnsetType = UNSET
    elr: BrokerIds | UnsetType = UNSET
    last_known_elr: BrokerIds | UnsetType = UNSET


class ListedThrottles(Struct, forbid_unknown_fields=True, frozen=True):
    """The throttled replicas of a topic, as Kafka's settings spell them."""

    leader: str | UnsetType | None = UNSET
    follower: str | UnsetType | None = UNSET


class ListedTopic(Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """A topic of a document, as far as types can say what it has to be."""

    name: Text
    id: Text | UnsetType = UNSET
    min_insync_replicas: Positive | UnsetType = UNSET
    min_insync_source: str | UnsetType = UNSET
    unclean_leader_election: bool | UnsetType = UNSET
    throttled_replicas: ListedThrottles | UnsetType = UNSET
    partitions: tuple[ListedPartition, ...] | UnsetType = UNSET


class SnapshotForm(Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """A document: its topics, and what nodes read."""

    schema: object = field(default=UNSET, name="$schema")
    format_version: object = UNSET
    kind: object = UNSET
    cluster_id: object = UNSET
    observed_at: object = UNSET
    features: object = UNSET
    brokers: object = UNSET
    topics: tuple[ListedTopic, ...] | UnsetType = UNSET
    silent: object = UNSET
    hidden: object = UNSET
    remembered: object = UNSET
    offline: object = UNSET
    logs: object = UNSET
    application: object = UNSET
    simulation: object = UNSET


HEAD_KEYS = SnapshotForm.__struct_encode_fields__
LISTED_TOPIC_KEYS = ListedTopic.__struct_encode_fields__
THROTTLED_KEYS = ListedThrottles.__struct_encode_fields__
PARTITION_KEYS = ListedPartition.__struct_encode_fields__
RARE_KEYS = PARTITION_KEYS[3:]
_LISTS = (
    ("adding", "adding"),
    ("removing", "removing"),
    ("elr", "elr"),
    ("last_known_elr", "lastKnownElr"),
)


def derived_topic_id(name: str) -> str:
    """The id of a topic whose document names none: the same for the same name, never starting with '-'."""
    digest = bytearray(sha256(f"replan topic {name}".encode()).digest()[:16])
    digest[0] &= 0x7F
    return urlsafe_b64encode(bytes(digest)).decode().rstrip("=")


def source_word(source: ConfigSource) -> str:
    """A config source as documents spell it: `topic`, `clusterDefault`, …"""
    first, *rest = source.name.lower().split("_")
    return first + "".join(word.capitalize() for word in rest)


CONFIG_SOURCES = {source_word(source): source for source in ConfigSource}


def read_config_source(node: Node) -> ConfigSource:
    """A config source out of its word."""
    if isinstance(node.value, str) and node.value in CONFIG_SOURCES:
        return CONFIG_SOURCES[node.value]
    raise node.wrong(f"unknown source {shown(node.value)}; one of {', '.join(CONFIG_SOURCES)}")


def read_topics(
    root: Node, registered: frozenset[int], keys: int | None
) -> tuple[pa.Table, pa.Table]:
    """The topics and the partitions under a document's `topics`, in order of their names.

    `registered`: the brokers of the document. Kafka takes a broker out of every ISR when it is unregistered, so where
    no ISR is written it has only these. `keys`: how many the partitions have in a file whose topics were read typed.
    """
    node = root.get("topics")
    try:
        listed = () if node is None else convert(node.value, tuple[ListedTopic, ...])
        topics = sorted(listed, key=attrgetter("name"))
        return _topics(topics), _partitions(topics, registered, keys)
    except (ValidationError, _Unreadable):
        _complain(root)
        raise


def _topics(topics: Sequence[ListedTopic]) -> pa.Table:
    names = [topic.name for topic in topics]
    ids = [derived_topic_id(t.name) if t.id is UNSET else t.id for t in topics]
    _require(len(set(names)) == len(set(ids)) == len(topics))
    throttles = [topic.throttled_replicas or ListedThrottles() for topic in topics]
    return pa.Table.from_pydict(
        {
            "name": names,
            "id": ids,
            "min_insync_replicas": [topic.min_insync_replicas or 1 for topic in topics],
            "min_insync_source": [_source(topic) for topic in topics],
            "unclean_election": [topic.unclean_leader_election or False for topic in topics],
            "leader_throttled": [None if t.leader is UNSET else t.leader for t in throttles],
            "follower_throttled": [None if t.follower is UNSET else t.follower for t in throttles],
        },
        TOPICS_SCHEMA,
    )


def _source(topic: ListedTopic) -> ConfigSource:
    if topic.min_insync_source is UNSET:
        stated = topic.min_insync_replicas is not UNSET
        return ConfigSource.TOPIC if stated else ConfigSource.KAFKA_DEFAULT
    _require(topic.min_insync_source in CONFIG_SOURCES)
    return CONFIG_SOURCES[topic.min_insync_source]


class _Unreadable(ValueError):
    """A topic or a partition is not as it has to be; which one, and why, `_complain` says."""


def _partitions(
    topics: Sequence[ListedTopic], registered: frozenset[int], keys: int | None
) -> pa.Table:
    """The partitions of all topics, column by column: there are hundreds of thousands, and hardly one is wrong.

    Raises _Unreadable where one is, and NotJson where they say less than their file has `keys`.
    """
    nested = [topic.partitions or () for topic in topics]
    sizes = np.array([len(partitions) for partitions in nested], np.int64)
    codes = np.repeat(np.arange(len(topics)), sizes)
    size = len(codes)
    lists = [p.replicas for partitions in nested for p in partitions]
    epochs = np.fromiter(
        [p.leader_epoch for partitions in nested for p in partitions], np.int32, size
    )
    sums = np.fromiter([p.bytes for partitions in nested for p in partitions], np.int64, size)
    stated = size + sum(np.count_nonzero(column != NOT_SAID) for column in (epochs, sums))
    rare = {} if stated == keys else _with_rare_keys(chain.from_iterable(nested))
    stated += sum(len(RARE_KEYS) - astuple(p).count(UNSET) for p in rare.values())
    if keys not in (None, stated):
        raise NotJson("a key is given twice in one object")
    numbers = np.arange(size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    for row, partition in rare.items():
        if partition.partition is not UNSET:
            numbers[row] = partition.partition
    replicas = _list_column(size, slice(None), lists)
    isr = _isr(lists, replicas, rare, registered)
    nothing = _list_column(size, [], [])
    table = partitions_table(
        pa.array([topic.name for topic in topics], pa.string()),
        codes,
        {
            "partition": number_column(numbers),
            "replicas": replicas,
            "isr": isr,
            "leader": number_column(_leaders(rare, replicas, isr)),
            "leader_epoch": number_column(np.maximum(epochs, 0)),
            **{
                column: _list_column(size, list(rare), said) if any(said) else nothing
                for column, _ in _LISTS
                for said in [[getattr(p, column) or () for p in rare.values()]]
            },
            "bytes": number_column(np.maximum(sums, 0), np.int64),
        },
    )
    return _in_order(table, codes, numbers)


def _require(holds: object) -> None:
    if not holds:
        raise _Unreadable


def _with_rare_keys(partitions: Iterable[ListedPartition]) -> dict[int, ListedPartition]:
    """Those of which more is said than replicas, leader epoch and bytes, by row."""
    return {
        row: p
        for row, p in enumerate(partitions)
        if not (
            p.isr is UNSET
            and p.leader is UNSET
            and p.partition is UNSET
            and p.adding is UNSET
            and p.removing is UNSET
            and p.elr is UNSET
            and p.last_known_elr is UNSET
        )
    }


def _list_column(size: int, rows: list[int] | slice, lists: Sequence[Replicas]) -> pa.ListArray:
    """A column of `size` lists: these in these rows, empty in others. Each list has to name a broker once."""
    lengths = np.zeros(size, np.int64)
    lengths[rows] = np.fromiter(map(len, lists), np.int64, len(lists))
    values = np.fromiter(chain.from_iterable(lists), np.int32, int(lengths.sum()))
    column = list_column(values, lengths)
    if lists:
        members = _members(column)
        _require((members[1:] != members[:-1]).all())
    return column


def _members(column: pa.ListArray) -> Ints:
    """Each row with each broker in its list, as one number; sorted."""
    rows = np.repeat(np.arange(len(column)), np.diff(column.offsets))
    return np.sort(rows << 32 | np.asarray(column.values), kind="stable")


def _are_among(some: Ints, members: Ints) -> bool:
    """Whether these are all members; both are sorted."""
    both = np.sort(np.concatenate((members, some)), kind="stable")
    return int(np.count_nonzero(np.diff(both, prepend=-1))) == len(members)


def _isr(
    lists: Sequence[Replicas],
    replicas: pa.ListArray,
    rare: Mapping[int, ListedPartition],
    registered: frozenset[int],
) -> pa.ListArray:
    """Who is in sync; where none is written, the replicas on registered brokers."""
    stated = {row: p.isr for row, p in rare.items() if p.isr is not UNSET}
    all_registered = registered.issuperset(distinct(np.asarray(replicas.values)))
    if all_registered and not stated:
        return replicas
    in_sync = list(lists) if all_registered else [_assumed(of, registered) for of in lists]
    for row, brokers in stated.items():
        in_sync[row] = brokers
    isr = _list_column(len(lists), slice(None), in_sync)
    _require(_are_among(_members(isr), _members(replicas)))
    return isr


def _leaders(
    rare: Mapping[int, ListedPartition], replicas: pa.ListArray, isr: pa.ListArray
) -> Ints:
    """Who leads, -1 for nobody; where nothing is written, the first that is in sync."""
    offsets = np.asarray(isr.offsets)
    some = offsets[1:] > offsets[:-1]
    leaders = np.full(len(isr), -1)
    leaders[some] = np.asarray(isr.values)[offsets[:-1][some]]
    stated = {row: p.leader for row, p in rare.items() if p.leader is not UNSET}
    if stated:
        leaders[list(stated)] = [-1 if leader is None else leader for leader in stated.values()]
        led = np.flatnonzero(leaders >= 0)
        _require(_are_among(led << 32 | leaders[led], _members(replicas)))
    return leaders


def _in_order(table: pa.Table, codes: Ints, numbers: Ints) -> pa.Table:
    """The partitions of each topic by their numbers, of which no two are the same."""
    keys = codes << 32 | numbers
    if (np.diff(keys) > 0).all():
        return table
    order = np.argsort(keys)
    _require((np.diff(keys[order]) > 0).all())
    return take(table, order)


def _assumed(replicas: Iterable[BrokerId], registered: Collection[int]) -> Replicas:
    """The ISR where none is written."""
    return tuple(broker for broker in replicas if broker in registered)


def _complain(root: Node) -> None:
    """Raise BadFile with the place of the first topic or partition that is not as it has to be."""
    nodes: dict[str, Node] = {}
    for node in root.elements("topics"):
        node.mapping(LISTED_TOPIC_KEYS)
        name = node.child("name").text()
        if name in nodes:
            raise node.child("name").wrong(f"topic {name} is listed twice; keep one")
        nodes[name] = node
    owners: dict[str, str] = {}
    by_name = sorted(nodes.items())
    for (name, node), topic_id in [(topic, _check_topic(*topic)) for topic in by_name]:
        other = owners.setdefault(topic_id, name)
        if other != name:
            raise node.wrong(
                f"topics {other} and {name} have the same id, {topic_id}; correct one of them"
            )
    for _, topic in by_name:
        for _, node in _nodes_by_number(topic):
            _check(node)


def _check_topic(name: str, node: Node) -> str:
    """Raise BadFile where it is not as it has to be; its id where it is."""
    throttled, written = node.get("throttledReplicas"), node.get("id")
    if throttled is not None:
        throttled.mapping(THROTTLED_KEYS)
    topic_id = derived_topic_id(name) if written is None else written.text()
    optional(node.get("minInsyncReplicas"), lambda n: n.int32(1), 1)
    optional(node.get("minInsyncSource"), read_config_source, ConfigSource.UNKNOWN)
    optional(node.get("uncleanLeaderElection"), Node.flag, False)
    for _, listed in node.members("throttledReplicas"):
        if listed.value is not None:
            listed.any_text()
    return topic_id


def _nodes_by_number(topic: Node) -> list[tuple[int, Node]]:
    by_number: dict[int, Node] = {}
    for position, node in enumerate(topic.elements("partitions")):
        node.mapping(PARTITION_KEYS)
        number = optional(node.get("partition"), Node.int32, position)
        if number in by_number:
            raise node.wrong(f"partition {number} is listed twice; keep one")
        by_number[number] = node
    return sorted(by_number.items(), key=lambda entry: entry[0])


def _check(node: Node) -> None:
    replicas = node.child("replicas").broker_list()
    if not replicas:
        raise node.child("replicas").wrong("a partition has at least one replica")
    isr, leader = node.get("isr"), node.get("leader")
    for broker in () if isr is None else isr.broker_list():
        if isr is not None and broker not in replicas:
            raise isr.wrong(f"broker {broker} is in sync but no replica of {list(replicas)}")
    if leader is not None and leader.value is not None and leader.int32() not in replicas:
        raise leader.wrong(f"leader {leader.value} is no replica of {list(replicas)}")
    optional(node.get("leaderEpoch"), Node.int32, 0)
    optional(node.get("bytes"), Node.int64, 0)
    for _, key in _LISTS:
        if (listed := node.get(key)) is not None:
            listed.broker_list()


def write_topics(
    topics: pa.Table, partitions: pa.Table, registered: Collection[int]
) -> list[dict[str, object]]:
    """The tables as the document's list of topics, defaults left out."""
    written = [_write_topic(row) for row in topics.to_pylist()]
    nested: list[list[dict[str, object]]] = [[] for _ in written]
    columns = partitions.drop_columns(["topic"])
    codes = topic_codes(partitions)
    for batch_start in range(0, len(codes), 50_000):
        rows = columns.slice(batch_start, 50_000).to_pylist()
        for code, row in zip(codes[batch_start : batch_start + 50_000], rows, strict=True):
            nested[code].append(_write_partition(row, len(nested[code]), registered))
    return [
        {**topic, "partitions": listed} if listed else topic
        for topic, listed in zip(written, nested, strict=True)
    ]


def _write_topic(row: Mapping[str, Any]) -> dict[str, object]:
    written: dict[str, object] = {"name": row["name"]}
    if row["id"] != derived_topic_id(str(row["name"])):
        written["id"] = row["id"]
    assumed = ConfigSource.KAFKA_DEFAULT
    if row["min_insync_replicas"] != 1:
        written["minInsyncReplicas"] = row["min_insync_replicas"]
        assumed = ConfigSource.TOPIC
    if row["min_insync_source"] != assumed:
        written["minInsyncSource"] = source_word(ConfigSource(row["min_insync_source"]))
    if row["unclean_election"]:
        written["uncleanLeaderElection"] = True
    sides = {side: row[f"{side}_throttled"] for side in THROTTLED_KEYS}
    throttled = {side: listed for side, listed in sides.items() if listed is not None}
    if throttled:
        written["throttledReplicas"] = throttled
    return written


def _write_partition(
    row: Mapping[str, Any], position: int, registered: Collection[int]
) -> dict[str, object]:
    written: dict[str, object] = {}
    if row["partition"] != position:
        written["partition"] = row["partition"]
    written["replicas"] = row["replicas"]
    isr, leader = row["isr"], row["leader"]
    if tuple(isr) != _assumed(row["replicas"], registered):
        written["isr"] = isr
    if leader != (isr[0] if isr else -1):
        written["leader"] = None if leader == -1 else leader
    if row["leader_epoch"]:
        written["leaderEpoch"] = row["leader_epoch"]
    for column, key in _LISTS:
        if row[column]:
            written[key] = row[column]
    if row["bytes"]:
        written["bytes"] = row["bytes"]
    return written


LISTED_BROKER_KEYS = ("id", "rack", "fenced", "cordoned", "logDirs", "configs")
LOG_DIR_KEYS = ("path", "totalBytes", "usableBytes", "logs", "cordoned", "error", "replicas")
CONFIG_KEYS = ("value", "source")


def brokers_of_json(
    root: Node,
) -> tuple[tuple[Broker, ...], tuple[LogDir, ...], dict[BrokerId, Configs]]:
    """What is under the key `brokers`, by id; raises BadFile."""
    brokers: dict[BrokerId, Broker] = {}
    log_dirs: dict[BrokerId, list[LogDir]] = {}
    configs: dict[BrokerId, Configs] = {}
    for node in root.elements("brokers"):
        node.mapping(LISTED_BROKER_KEYS)
        broker = BrokerId(node.child("id").int32())
        if broker in brokers:
            raise node.child("id").wrong(f"broker {broker} is listed twice; keep one")
        brokers[broker] = Broker(
            broker,
            optional(node.get("rack"), _text_or_null, None),
            optional(node.get("fenced"), Node.flag, False),
            optional(node.get("cordoned"), Node.flag, False),
        )
        log_dirs[broker] = [_read_log_dir(entry, broker) for entry in node.elements("logDirs")]
        found_configs = {key: _read_config(key, entry) for key, entry in node.members("configs")}
        if found_configs:
            configs[broker] = found_configs
    in_order = sorted(brokers)
    return (
        tuple(brokers[b] for b in in_order),
        tuple(log_dir for b in in_order for log_dir in log_dirs[b]),
        {b: configs[b] for b in in_order if b in configs},
    )


def _read_log_dir(node: Node, broker: BrokerId) -> LogDir:
    node.mapping(LOG_DIR_KEYS)
    return LogDir(
        broker,
        node.child("path").text(),
        optional(node.get("totalBytes"), _bytes_or_null, None),
        optional(node.get("usableBytes"), _bytes_or_null, None),
        optional(node.get("logs"), Node.int32, 0),
        optional(node.get("cordoned"), Node.flag, False),
        optional(node.get("error"), _text_or_null, None),
        {topic: _numbers(of) for topic, of in node.members("replicas")},
    )


def _numbers(node: Node) -> tuple[int, ...]:
    if not isinstance(node.value, list):
        raise node.wrong(f"expected a list of partitions, found {shown(node.value)}")
    return tuple(
        Node(number, node.source, node, position).int32()
        for position, number in enumerate(node.value)
    )


def _read_config(key: str, node: Node) -> ConfigValue:
    node.mapping(CONFIG_KEYS)
    value = node.child("value")
    text = value.any_text()
    if not can_hold(key, text):
        raise value.wrong(f"{key} is a whole number of bytes per second, found {shown(text)}")
    return ConfigValue(
        text,
        optional(node.get("source"), read_config_source, ConfigSource.BROKER),
    )


def write_broker(broker: Broker, snapshot: Snapshot) -> dict[str, object]:
    """One broker."""
    configs = snapshot.broker_configs.get(broker.id, {})
    return {
        "id": broker.id,
        **_without_defaults(
            {
                "rack": (broker.rack, None),
                "fenced": (broker.fenced, False),
                "cordoned": (broker.cordoned, False),
                "logDirs": ([_write_log_dir(d) for d in snapshot.dirs_of.get(broker.id, ())], []),
                "configs": ({k: _write_config(v) for k, v in sorted(configs.items())}, {}),
            }
        ),
    }


def _write_log_dir(log_dir: LogDir) -> dict[str, object]:
    return {
        "path": log_dir.path,
        **_without_defaults(
            {
                "totalBytes": (log_dir.total_bytes, None),
                "usableBytes": (log_dir.usable_bytes, None),
                "logs": (log_dir.logs, 0),
                "cordoned": (log_dir.cordoned, False),
                "error": (log_dir.error, None),
                "replicas": ({t: list(of) for t, of in sorted(log_dir.replicas.items())}, {}),
            }
        ),
    }


def _write_config(config: ConfigValue) -> dict[str, object]:
    source = {} if config.source is ConfigSource.BROKER else {"source": source_word(config.source)}
    return {"value": config.value, **source}


def _without_defaults(fields: Mapping[str, tuple[object, object]]) -> dict[str, object]:
    return {key: value for key, (value, default) in fields.items() if value != default}


def _text_or_null(node: Node) -> str | None:
    return None if node.value is None else node.text()


def _bytes_or_null(node: Node) -> int | None:
    return None if node.value is None else node.int64()


REMEMBERED_KEYS = ("topic", "partition", "topicId", "order", "left", "recovered")


def to_document(snapshot: Snapshot) -> dict[str, object]:
    """The snapshot as a JSON document; what is known of an unregistered broker is left out."""
    parts: dict[str, object] = {
        **head_of(snapshot),
        "brokers": [write_broker(broker, snapshot) for broker in snapshot.brokers],
        "topics": write_topics(snapshot.topics, snapshot.partitions, snapshot.broker_ids()),
        "remembered": [_write_remembered(p, o) for p, o in sorted(snapshot.remembered.items())],
    }
    return {key: parts[key] for key in HEAD_KEYS if parts.get(key)}


def from_content(content: bytes, source: str) -> Snapshot:
    """Read a file's JSON document; raises BadFile naming `source` and the place of what is wrong."""
    try:
        form, colons = decoded(content, SnapshotForm)
        return from_document(_stated(form), source, colons - _colons_beside_partitions(form))
    except (NotJson, BadFile):  # reading it node by node says what is wrong, and where
        return from_document(parse_document(decoded_text(content, source), source), source)


def _colons_beside_partitions(form: SnapshotForm) -> int:
    """How many colons are in what it says beside its partitions, in which each stands behind a key."""
    topics = form.topics and [replace(t, partitions=t.partitions and ()) for t in form.topics]
    return encode(replace(form, topics=topics)).count(b":")


def _stated(form: Struct) -> dict[str, object]:
    """What is given of an object, by its keys."""
    given = zip(form.__struct_encode_fields__, astuple(form), strict=True)
    return {key: value for key, value in given if value is not UNSET}


def from_document(document: Mapping[str, object], source: str, keys: int | None = None) -> Snapshot:
    """Read a parsed JSON document; raises BadFile naming `source` and the JSON path of what is wrong.

    A key `simulation` at the top is the simulator's and is not read. `keys`: see `read_topics`.
    """
    root = Node(dict(document), source)
    check_head(root)
    root.mapping(HEAD_KEYS)
    brokers, log_dirs, configs = brokers_of_json(root)
    topics, partitions = read_topics(root, frozenset(broker.id for broker in brokers), keys)
    return snapshot_of(
        root,
        Tables(
            brokers=brokers,
            topics=topics,
            partitions=partitions,
            log_dirs=log_dirs,
            configs=configs,
            remembered=_read_remembered(root),
        ),
    )


def _read_remembered(root: Node) -> dict[TopicPartition, RememberedOrder]:
    remembered: dict[TopicPartition, RememberedOrder] = {}
    for node in root.elements("remembered"):
        node.mapping(REMEMBERED_KEYS)
        name = TopicPartition(node.child("topic").text(), node.child("partition").int32())
        if name in remembered:
            raise node.wrong(f"{name} is remembered twice; keep one")
        remembered[name] = RememberedOrder(
            node.child("order").broker_list(),
            TopicId(node.child("topicId").text()),
            optional(node.get("left"), Node.broker_list, ()),
            optional(node.get("recovered"), Node.flag, False),
        )
    return dict(sorted(remembered.items()))


def _write_remembered(name: TopicPartition, remembered: RememberedOrder) -> dict[str, object]:
    return {
        "topic": name.topic,
        "partition": name.partition,
        "topicId": remembered.topic_id,
        "order": list(remembered.order),
        **({"left": list(remembered.left)} if remembered.left else {}),
        **({"recovered": True} if remembered.recovered else {}),
    }
