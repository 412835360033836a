"""The diff against a naive oracle, on any tables, in any order and any chunks."""

from collections.abc import Mapping, Sequence

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import snapshot
from tests.readings import differing
from tests.strategies import partition_states, replica_lists

from replan.model.api import PartitionState, Replicas, TopicPartition, from_lists
from replan.planning.api import DIFFERENCE_SCHEMA, partition_rows

NAMES = st.builds(TopicPartition, st.sampled_from(("a", "a.b", "b", "ä")), st.integers(0, 4))
Row = dict[str, object]


def oracle(
    declared: Mapping[TopicPartition, Replicas], observed: Mapping[TopicPartition, PartitionState]
) -> list[Row]:
    """What differs, one partition after another."""
    rows = []
    for name, wanted in sorted(declared.items()):
        seen = observed.get(name)
        stands: Replicas = ()
        leader = None
        if seen is None:
            kind = "missing"
        else:
            stands = tuple(b for b in seen.replicas if b not in seen.removing)
            leader = seen.leader
            kind = _kind(wanted, stands, seen)
        if kind:
            rows.append(
                {
                    "topic": name.topic,
                    "partition": name.partition,
                    "kind": kind,
                    "wanted": list(wanted),
                    "observed": list(stands),
                    "leader": -1 if leader is None else leader,
                }
            )
    return rows


def _kind(wanted: Replicas, observed: Replicas, seen: PartitionState) -> str:
    if set(wanted) != set(observed):
        return "replicas"
    if wanted != observed:
        return "order"
    if seen.adding or seen.removing:
        return "running"
    led_by_another = seen.leader is not None and seen.leader != wanted[0]
    return "leader" if led_by_another and wanted[0] in seen.isr else ""


def declared_table(rows: Sequence[tuple[TopicPartition, Replicas]]) -> pa.Table:
    return pa.table(
        {
            "topic": pa.array([name.topic for name, _ in rows], pa.string()),
            "partition": pa.array([name.partition for name, _ in rows], pa.int32()),
            "replicas": from_lists(wanted for _, wanted in rows),
        }
    )


@st.composite
def tables(
    draw: st.DrawFn,
) -> tuple[dict[TopicPartition, Replicas], dict[TopicPartition, PartitionState]]:
    observed = {n: draw(partition_states(n)) for n in draw(st.lists(NAMES, unique=True))}
    declared: dict[TopicPartition, Replicas] = {}
    for name in draw(st.lists(NAMES, unique=True)):
        seen = observed.get(name)
        near = [] if seen is None else [tuple(b for b in seen.replicas if b not in seen.removing)]
        base = draw(st.sampled_from([*near, *near, draw(replica_lists())]))
        declared[name] = tuple(draw(st.permutations(base))) if draw(st.booleans()) else base
    return declared, observed


def scattered(table: pa.Table, data: st.DataObject) -> pa.Table:
    """The same rows in another order, in several chunks with dictionaries of their own."""
    order = data.draw(st.permutations(range(table.num_rows)))
    shuffled = table.take(pa.array(order, pa.int64()))
    cut = data.draw(st.integers(0, table.num_rows))
    parts = []
    for part in (shuffled.slice(0, cut), shuffled.slice(cut)):
        topic = part.column("topic").cast(pa.string())
        if data.draw(st.booleans()):
            topic = topic.dictionary_encode()
        parts.append(part.set_column(0, "topic", topic))
    if parts[0].schema != parts[1].schema:
        parts = [p.set_column(0, "topic", p.column("topic").cast(pa.string())) for p in parts]
    return pa.concat_tables(parts)


@given(tables(), st.data())
def test_the_diff_finds_what_one_finds_by_looking_at_each_partition(
    pair: tuple[dict[TopicPartition, Replicas], dict[TopicPartition, PartitionState]],
    data: st.DataObject,
) -> None:
    """Whatever the order and the chunks of both tables are, and however topics are written in them."""
    declared, observed = pair
    found = differing(
        scattered(declared_table(list(declared.items())), data),
        scattered(snapshot(list(observed.values())).partitions, data),
    )
    assert found.schema == DIFFERENCE_SCHEMA
    assert found.to_pylist() == oracle(declared, observed)


@given(tables(), st.data())
def test_the_observed_row_of_a_declared_partition_bears_its_name(
    pair: tuple[dict[TopicPartition, Replicas], dict[TopicPartition, PartitionState]],
    data: st.DataObject,
) -> None:
    declared, observed = pair
    left = scattered(declared_table(list(declared.items())), data)
    right = scattered(snapshot(list(observed.values())).partitions, data)
    columns = [right.column(c).to_pylist() for c in ("topic", "partition")]
    names = list(zip(*columns, strict=True))
    for at, wanted in zip(partition_rows(left, right), left.to_pylist(), strict=True):
        name = (wanted["topic"], wanted["partition"])
        assert names[at] == name if at >= 0 else name not in names
