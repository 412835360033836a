"""A giant cluster in parts, by topic: whether it can be compared so, and what each part is compared with.

It can where what is declared of a topic is judged without the others: where nothing is to be chosen, and no partition
to be created. Then the parts find together what the whole finds.
"""

from collections.abc import Iterable, Iterator
from itertools import compress
from typing import get_type_hints

import numpy as np
import pyarrow as pa
from msgspec import Struct, convert, msgpack
from msgspec.structs import replace

from replan.model.columns import EXPLICIT_SCHEMA, Ints, number_column, positions_in, topics_of
from replan.model.declared.placement import Placement, defaults
from replan.planning.findings.drift import Drift
from replan.planning.findings.drift_classes import DriftRule

OF_A_TOPIC = (
    *("topics", "cluster_name", "cluster_id", "preferred_leaders", "leader_blacklist"),
    *("last_leaders", "move_throttle", "acknowledged", "digest"),
)
"""What may be declared beside lists."""
OF_PLANS = ("limits", "in_stages", "reconcile", "throttle_places")
"""What no comparison asks for."""
PART_KEY = b"part"


class ClusterTopics(Struct, frozen=True):
    """Those of a cluster, by name, and how many partitions each has."""

    names: pa.Array
    counts: Ints

    def numbers(self, parts: int) -> Ints:
        """In which of so many parts each is, from 0; those of a part follow each other, and have as many partitions."""
        before = np.maximum(np.cumsum(self.counts) - 1, 0)
        return np.asarray(before * parts // max(int(self.counts.sum()), 1))


class ClusterPart(Struct, frozen=True):
    """Some topics of a cluster with their partitions, judged without the others."""

    placement: Placement
    """With what is declared of its topics; that of topics that there are not is in the first part."""
    topics: pa.Array
    """The names of those that there are."""
    first: bool
    """Whether it says what is said once of a cluster."""

    def drift(self, whole: Drift) -> Drift:
        """What it has to say of what is found in it: mistakes are those of its lists."""
        mine = (
            d for d in whole.differences if d.topic or self.first or d.rule is DriftRule.CONTRADICTS
        )
        return replace(whole, differences=tuple(mine))

    def table(self) -> pa.Table:
        """As its lists, with all else in the metadata."""
        others = {name: getattr(self.placement, name) for name in OF_A_TOPIC}
        said = msgpack.encode([others, self.topics.to_pylist(), self.first])
        return self.placement.explicit.replace_schema_metadata({PART_KEY: said})

    @classmethod
    def of(cls, rows: pa.Table) -> "ClusterPart":
        """The part that is in such a table."""
        others, topics, first = msgpack.decode(rows.schema.metadata[PART_KEY])
        kinds = get_type_hints(Placement)
        explicit = _coded(rows.combine_chunks(), others["topics"])
        placement = Placement(explicit, **{n: convert(of, kinds[n]) for n, of in others.items()})
        return cls(placement, pa.array(topics, pa.string()), first)


def parts_by_topic(placement: Placement, there: ClusterTopics, parts: int) -> Iterator[ClusterPart]:
    """So many parts, or fewer where topics are large; none where the cluster has to be compared whole."""
    counts = dict(zip(there.names.to_pylist(), there.counts.tolist(), strict=True))
    if not _judges_each_topic(placement) or any(
        topic in counts and (entry.partition_count or 0) > counts[topic]
        for topic, entry in placement.topics.items()
    ):
        return
    numbers = there.numbers(parts)
    of_topic = dict(zip(counts, numbers.tolist(), strict=True))
    mine = np.array([of_topic.get(topic, 0) for topic in placement.topics], dtype=np.int64)
    codes = np.asarray(placement.explicit["topic"].combine_chunks().indices)
    leaders = placement.preferred_leaders.items()
    for number in sorted({0, *of_topic.values()}):
        topics = dict(compress(placement.topics.items(), mine == number))
        rows = placement.explicit.filter(pa.array(mine[codes] == number))
        own = replace(
            placement,
            explicit=_coded(rows, topics),
            topics=topics,
            preferred_leaders={n: of for n, of in leaders if of_topic.get(n.topic, 0) == number},
        )
        yield ClusterPart(own, there.names.filter(pa.array(numbers == number)), first=number == 0)


def _coded(rows: pa.Table, topics: Iterable[str]) -> pa.Table:
    """Lists of these topics, each by its place among them."""
    names = pa.array(topics, pa.string())
    names_there, codes = topics_of(rows)
    at = number_column(positions_in(names_there, names)[codes])
    columns = [pa.DictionaryArray.from_arrays(at, names), *rows.columns[1:]]
    return pa.table(columns, schema=EXPLICIT_SCHEMA)


def _judges_each_topic(placement: Placement) -> bool:
    usual, throttle = defaults(Placement), placement.move_throttle
    others = usual.keys() - {*OF_A_TOPIC, *OF_PLANS}
    return (
        all(getattr(placement, name) == usual[name] for name in others)
        and not any(entry.until_caught_up for entry in placement.leader_entries)
        and (throttle is None or not throttle.brokers)
    )
