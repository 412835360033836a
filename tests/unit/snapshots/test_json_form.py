"""The JSON form: defaults, laws, and what it says about documents that are wrong."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from tests.goldens import check_cases
from tests.unit.snapshots.strategies import broken, snapshots

from replan.documents.api import decoded, parse_document, render_document
from replan.errors import BadFile
from replan.model.api import (
    LEADER_RATE,
    BrokerId,
    ConfigSource,
    ConfigValue,
    Snapshot,
    TopicPartition,
    replicas,
)
from replan.snapshots.api import (
    SnapshotForm,
    derived_topic_id,
    from_content,
    from_document,
    to_document,
)

SCHEMA = json.loads((Path(__file__).parents[3] / "schema" / "snapshot.v1.json").read_text())
VALIDATOR = Draft202012Validator(SCHEMA)


def document(**parts: object) -> dict[str, object]:
    """The least document there can be, and these parts of it."""
    head = {"formatVersion": 1, "kind": "replan.snapshot", "clusterId": "c"}
    return {**head, "observedAt": "2026-11-21T03:00:00Z", **parts}


def one_partition(**keys: object) -> dict[str, object]:
    return document(
        brokers=[{"id": 1}, {"id": 2}, {"id": 3}],
        topics=[{"name": "orders", "partitions": [{"replicas": [1, 2, 3], **keys}]}],
    )


def refusal(found: dict[str, object]) -> str | None:
    """What the reader says to a document; None where it takes it."""
    try:
        from_document(found, "f")
    except BadFile as problem:
        return str(problem)
    return None


@given(snapshots())
def test_a_snapshot_survives_its_document_and_the_text_of_it(snapshot: Snapshot) -> None:
    text = render_document(to_document(snapshot))
    assert from_document(parse_document(text, "f"), "f") == snapshot


@given(snapshots())
def test_the_schema_accepts_what_is_written(snapshot: Snapshot) -> None:
    VALIDATOR.validate(to_document(snapshot))


@given(st.data())
def test_what_the_schema_refuses_the_reader_refuses_and_nothing_else_happens(
    data: st.DataObject,
) -> None:
    found: Any = data.draw(broken(to_document(data.draw(snapshots()))))
    if not isinstance(found, dict):
        return
    note(json.dumps(found))
    message = refusal(found)
    assert message is None or message.startswith("f: $")
    assert message is not None or VALIDATOR.is_valid(found)


def without_escapes(text: str) -> str:
    return re.sub(r"\\(u[0-9a-f]{4}|.)", "", text)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """The text of a document, of which something may be wrong: a value, a key twice, something that is no JSON."""
    found: Any = to_document(draw(snapshots()))
    for _ in range(draw(st.integers(0, 2))):
        found = draw(broken(found))
    text = json.dumps(found, ensure_ascii=False)
    if draw(st.integers(0, 3)):
        text = without_escapes(text)
    for before, after in draw(st.lists(st.sampled_from(SPELLINGS), max_size=2)):
        at = draw(st.sampled_from([found.start() for found in re.finditer(before, text)] or [-1]))
        if at >= 0:
            text = text[:at] + re.sub(before, after, text[at:], count=1)
    return text


SPELLINGS = (
    (r'"(\w+)": ([^,{}\[\]]+)', r'"\1": \2, "\1": \2'),
    (r'"(\w+)": ([^,{}\[\]]+)', r'"\1": 0, "\1" : \2'),
    (r'"(\w+)": (\[[^][]*\])', r'"\1": [], "\1": \2'),
    (r'"(\w+)":', r'"\1" :'),
    (r'"(\w)', r'"\\u0072\1'),
    (r'"(\w+)"', r'"\1:"'),
    (r"(\d)", r"\g<1>.0"),
    (r"(\d)", r"\g<1>e1"),
    (r"(\d)", r"-\1"),
    (r"(\d)", r"0\1"),
    (r"(\d)", "NaN"),
    (r"[]}]", ""),
    (r",", ",,"),
)
"""What is exchanged in a text for what: the same document, another, a wrong one or none."""


@given(texts())
def test_a_text_is_read_as_its_nodes_are(text: str) -> None:
    note(text)
    reads: tuple[Callable[[], Snapshot], ...] = (
        lambda: from_content(text.encode(), "f"),
        lambda: from_document(parse_document(text, "f"), "f"),
    )
    outcomes: list[object] = []
    for read in reads:
        try:
            outcomes.append(read())
        except BadFile as problem:
            outcomes.append(str(problem))
    assert outcomes[0] == outcomes[1]


def test_what_is_in_order_is_not_read_twice() -> None:
    topics = [
        {"name": "a:b", "throttledReplicas": {"leader": "0:1"}},
        {
            "name": "é",
            "partitions": [
                {"replicas": [1, 2], "bytes": 0, "leader": None},
                {"replicas": [3], "partition": 3, "isr": [], "adding": []},
            ],
        },
    ]
    for text in (
        render_document(document(topics=topics)),
        json.dumps(document(topics=topics), ensure_ascii=True),
    ):
        assert isinstance(decoded(text.encode(), SnapshotForm)[0], SnapshotForm)


@pytest.mark.parametrize("beside", [{}, {"bytes": 5}, {"leader": None, "isr": []}])
@pytest.mark.parametrize(
    "key",
    ["clusterId", "rack", "name", "leaderEpoch", "bytes", "partition", "replicas", "isr", "leader"],
)
def test_a_key_twice_is_refused_whatever_else_is_said(key: str, beside: dict[str, object]) -> None:
    """What other partitions leave out is no room for it."""
    said = {"partition": 0, "replicas": [1], "isr": [], "leader": None}
    partitions = [{**said, "leaderEpoch": 5, "bytes": 5}, {"replicas": [1], **beside}]
    topics = [{"name": "a:b", "partitions": partitions}, {"name": "c"}]
    text = json.dumps(document(brokers=[{"id": 1, "rack": "a"}], topics=topics))
    assert from_content(text.encode(), "f") == from_document(json.loads(text), "f")
    value = r'("[^"]*"|[^][{},"]+|\[[^]]*\])'
    twice = re.sub(f'"{key}": {value}', r"\g<0>, \g<0>", text, count=1)
    with pytest.raises(BadFile, match=f'the key "{key}" is given twice in one object'):
        from_content(twice.encode(), "f")


def test_what_is_left_out_is_derived() -> None:
    snapshot = from_document(
        document(
            brokers=[{"id": 1}, {"id": 3}],
            topics=[{"name": "orders", "partitions": [{"replicas": [3, 1]}]}],
        ),
        "f",
    )
    state = snapshot.partition(TopicPartition("orders", 0))
    settings = snapshot.settings("orders")
    assert state is not None
    assert settings is not None
    assert state.isr == (3, 1)
    assert state.leader == 3
    assert state.topic_id == "bJA8DxqC3ET2CmP3v1yulQ"
    assert (settings.min_insync_replicas, settings.min_insync_source) == (
        1,
        ConfigSource.KAFKA_DEFAULT,
    )


@pytest.mark.parametrize(
    ("registered", "isr", "leader"), [((1, 2), (2, 1), 2), ((1, 3), (3, 1), 3), ((4,), (), None)]
)
def test_a_broker_that_is_not_registered_is_in_sync_only_where_it_is_written(
    registered: tuple[int, ...], isr: tuple[int, ...], leader: int | None
) -> None:
    brokers = [{"id": b} for b in registered]
    found = one_partition(replicas=[3, 2, 1])
    state = from_document(found | {"brokers": brokers}, "f").partition(TopicPartition("orders", 0))
    assert state is not None
    assert (state.isr, state.leader) == (isr, leader)


def test_sizes_of_which_no_sum_can_be_made_are_refused_with_the_largest() -> None:
    message = refusal(one_partition(bytes=2**59))
    assert message is not None
    assert "the largest is orders-0 with 576,460,752,303,423,488: correct its `bytes`" in message
    assert refusal(one_partition(bytes=2**58)) is None


def test_a_partition_whose_isr_is_empty_has_no_leader() -> None:
    state = from_document(one_partition(isr=[]), "f").partition(TopicPartition("orders", 0))
    assert state is not None
    assert state.leader is None


def test_a_partition_may_have_no_leader_although_replicas_are_in_sync() -> None:
    state = from_document(one_partition(leader=None), "f").partition(TopicPartition("orders", 0))
    assert state is not None
    assert (state.leader, state.isr) == (None, (1, 2, 3))


def test_a_stated_min_isr_is_the_topics_own_unless_said_otherwise() -> None:
    topics = [{"name": "a", "minInsyncReplicas": 1}, {"name": "b", "minInsyncSource": "broker"}]
    snapshot = from_document(document(topics=topics), "f")
    found = [settings.min_insync_source for n in "ab" if (settings := snapshot.settings(n))]
    assert found == [ConfigSource.TOPIC, ConfigSource.BROKER]


def test_topics_and_partitions_and_brokers_are_put_in_order() -> None:
    topics = [
        {"name": "b", "partitions": [{"replicas": [1], "partition": 4}, {"replicas": [2]}]},
        {"name": "a", "partitions": [{"replicas": [3]}]},
    ]
    snapshot = from_document(
        document(topics=topics, brokers=[{"id": 2}, {"id": 1}], silent=[2, 1]), "f"
    )
    names = [str(s.partition) for s in snapshot.states(range(3))]
    assert names == ["a-0", "b-1", "b-4"]
    assert [b.id for b in snapshot.brokers] == [1, 2]
    assert snapshot.silent == replicas(1, 2)


def test_a_config_of_a_broker_is_its_own_unless_said_otherwise() -> None:
    snapshot = from_document(
        document(brokers=[{"id": 1, "configs": {LEADER_RATE: {"value": "5"}}}]), "f"
    )
    assert snapshot.broker_configs == {
        BrokerId(1): {LEADER_RATE: ConfigValue("5", ConfigSource.BROKER)}
    }


def test_what_the_simulator_keeps_beside_the_state_is_not_looked_at() -> None:
    extra = document(simulation={"clock": [3]}, **{"$schema": "snapshot.v1.json"})
    assert from_document(extra, "f") == from_document(document(), "f")


def test_a_made_up_topic_id_is_one_that_kafka_could_have_given() -> None:
    ids = {derived_topic_id(f"topic-{n}") for n in range(1000)}
    assert len(ids) == 1000
    assert all(len(i) == 22 and not i.startswith("-") for i in ids)


def test_a_snapshot_with_everything_is_written_so() -> None:
    full: dict[str, object] = document(
        features={"eligibleLeaderReplicas": True},
        brokers=[
            {
                "id": 1,
                "rack": "a",
                "fenced": True,
                "logDirs": [{"path": "/d1", "totalBytes": 9, "logs": 2}, {"path": "/d2"}],
                "configs": {LEADER_RATE: {"value": "5", "source": "clusterDefault"}},
            }
        ],
        topics=[
            {
                "name": "orders",
                "minInsyncReplicas": 2,
                "throttledReplicas": {"leader": "0:1"},
                "partitions": [
                    {"replicas": [1, 2, 3], "bytes": 1000},
                    {"replicas": [2, 3, 4], "isr": [2, 3], "leader": 3, "adding": [4]},
                ],
            }
        ],
        silent=[2],
        remembered=[{"topic": "orders", "partition": 0, "topicId": "t", "order": [3, 1]}],
    )
    assert to_document(from_document(full, "f")) == full
    assert render_document(full) == (
        """{
  "formatVersion": 1,
  "kind": "replan.snapshot",
  "clusterId": "c",
  "observedAt": "2026-11-21T03:00:00Z",
  "features": {"eligibleLeaderReplicas": true},
  "brokers": [
    {
      "id": 1,
      "rack": "a",
      "fenced": true,
      "logDirs": [
        {"path": "/d1", "totalBytes": 9, "logs": 2},
        {"path": "/d2"}
      ],
      "configs": {"leader.replication.throttled.rate": """
        """{"value": "5", "source": "clusterDefault"}}
    }
  ],
  "topics": [
    {
      "name": "orders",
      "minInsyncReplicas": 2,
      "throttledReplicas": {"leader": "0:1"},
      "partitions": [
        {"replicas": [1, 2, 3], "bytes": 1000},
        {"replicas": [2, 3, 4], "isr": [2, 3], "leader": 3, "adding": [4]}
      ]
    }
  ],
  "silent": [2],
  "remembered": [
    {"topic": "orders", "partition": 0, "topicId": "t", "order": [3, 1]}
  ]
}
"""
    )


WRONG_DOCUMENTS: list[dict[str, object]] = [
    {},
    document(kind="replan.plan"),
    document(formatVersion=2),
    document(observedAt="2026-11-21 03:00"),
    document(observedAt="2026-02-30T00:00:00Z"),
    document(topic=[]),
    document(features={"zzz": True}),
    document(topics={}),
    document(topics=[{}]),
    document(topics=[{"name": ""}]),
    document(topics=[{"name": "a"}, {"name": "a"}]),
    document(topics=[{"name": "a", "id": "x"}, {"name": "b", "id": "x"}]),
    document(topics=[{"name": "a", "minInsyncReplicas": 0}]),
    document(topics=[{"name": "a", "minInsyncSource": "default"}]),
    one_partition(replicas=[1, "2"]),
    one_partition(replicas=[1, 2, 1]),
    one_partition(replicas=[]),
    one_partition(isr=[1, 9]),
    one_partition(leader=9),
    one_partition(leader=True),
    document(
        topics=[{"name": "a", "partitions": [{"replicas": [1]}, {"replicas": [1], "partition": 0}]}]
    ),
    document(brokers=[{"id": 1}, {"id": 1}]),
    document(brokers=[{"id": 1, "logDirs": [{"path": "/d", "logs": 1.5}]}]),
    document(brokers=[{"id": 1, "configs": {"k": {"value": 5}}}]),
    *(
        document(brokers=[{"id": 1, "configs": {LEADER_RATE: {"value": rate}}}])
        for rate in ("", "1.5", "-1", str(2**63))
    ),
    document(topics=[{"name": "a", "partitions": [{"replicas": [1], "bytes": 10**100}]}]),
    document(topics=[{"name": "a", "partitions": [{"replicas": list(range(40_000))}]}]),
    document(remembered=[{"topic": "a", "partition": 0, "topicId": "t", "order": [1]}] * 2),
]


def changed(found: dict[str, object]) -> str:
    """What of it is not as in the least document."""
    parts = {key: value for key, value in found.items() if value != document().get(key)}
    text = json.dumps(parts)
    return text if len(text) < 200 else f"{text[:80]}…"


def test_a_wrong_document_is_refused_with_its_place() -> None:
    """In `goldens/wrong.txt`."""
    told = [(changed(found), refusal(found) or "taken") for found in WRONG_DOCUMENTS]
    check_cases(Path(__file__).parent / "goldens" / "wrong.txt", told)
