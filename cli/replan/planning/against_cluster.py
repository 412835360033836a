"""Mistakes of the manifest that only show against a cluster: unknown brokers, topics, partitions.

They are the author's to mend, all of them told at once, each with its place in the file. What is a matter of
safety rather than of a mistake is in `refusals`.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from replan.errors import BadManifest, WrongCluster
from replan.model.columns import PAD, row, to_matrix
from replan.model.names import BrokerId, TopicPartition
from replan.model.placement import Placement
from replan.model.snapshot import Snapshot
from replan.planning.kernel import observed_rows

SHOWN = 20


def check_cluster(placement: Placement, snapshot: Snapshot) -> None:
    """Refuse to compare a placement with another cluster than the one it names."""
    if placement.cluster_id is not None and placement.cluster_id != snapshot.cluster_id:
        raise WrongCluster(
            f"the placement is for cluster {placement.cluster_id}"
            + (f" ({placement.cluster_name})" if placement.cluster_name else "")
            + f", but the cluster that answered is {snapshot.cluster_id}; "
            "check --bootstrap-server, or `cluster.id` in the placement file"
        )


def check_names(placement: Placement, snapshot: Snapshot) -> None:
    """Raise BadManifest with every name that this cluster does not know."""
    mistakes = [
        *_unknown_topics(placement, snapshot),
        *_unknown_brokers(placement, snapshot),
        *_unknown_partitions(placement, snapshot),
        *_preferred_leaders(placement, snapshot),
        *_throttled_brokers(placement, snapshot),
    ]
    if mistakes:
        more = len(mistakes) - SHOWN
        raise BadManifest("\n".join(mistakes[:SHOWN]) + (f"\nand {more} more" if more > 0 else ""))


def _unknown_topics(placement: Placement, snapshot: Snapshot) -> Iterator[str]:
    for name, entry in sorted(placement.topics.items()):
        if snapshot.topic_row(name) is None:
            yield (
                f"{entry.where}: topic {name} does not exist in the cluster; "
                "create it first, or take it out of `assignments`"
            )


def _unknown_brokers(placement: Placement, snapshot: Snapshot) -> Iterator[str]:
    registered = sorted(snapshot.broker_ids())
    lists = to_matrix(placement.explicit.column("replicas"))
    unknown = ~np.isin(lists, np.array([*registered, PAD], dtype=np.int32))
    for at in np.flatnonzero(unknown.any(axis=1)):
        found = placement.explicit.slice(int(at), 1).to_pylist()[0]
        missing = [b for b in row(lists, int(at)) if b not in registered]
        file = placement.topics[found["topic"]].where.file
        yield (
            f"{file}:{found['line']}:{found['column']}: {found['topic']}-{found['partition']}: "
            f"broker {_ids(missing)} is not registered in the cluster; registered: {ranges(registered)}"
        )


def _unknown_partitions(placement: Placement, snapshot: Snapshot) -> Iterator[str]:
    rows = observed_rows(placement.explicit, snapshot.partitions)
    for found in placement.explicit.take(pa.array(np.flatnonzero(rows < 0))).to_pylist():
        topic = found["topic"]
        if snapshot.topic_row(topic) is None:
            continue
        entry = placement.topics[topic]
        count = len(snapshot.topic_rows(topic))
        yield (
            f"{entry.where.file}:{found['line']}:{found['column']}: {topic}-{found['partition']} does not exist: "
            f"the topic has {count} partitions; adding partitions is not supported yet: "
            f"`kafka-topics.sh --alter --topic {topic} --partitions {found['partition'] + 1}` does it"
        )


def _preferred_leaders(placement: Placement, snapshot: Snapshot) -> Iterator[str]:
    declared = {
        TopicPartition(f["topic"], f["partition"]): tuple(f["replicas"])
        for f in placement.explicit.filter(_of_topics(placement)).to_pylist()
    }
    for tp, preferred in sorted(placement.preferred_leaders.items()):
        seen = snapshot.partition(tp)
        if seen is None:
            yield f"{preferred.where}: {tp} does not exist in the cluster"
            continue
        running = seen.running
        brokers = declared.get(tp, seen.replicas if running is None else running.target)
        if preferred.broker not in brokers:
            yield (
                f"{preferred.where}: broker {preferred.broker} is no replica of {tp}, whose list is "
                f"{list(brokers)}; name one of them, or change the list under `assignments`"
            )


def _of_topics(placement: Placement) -> pa.Array:
    topics = sorted({tp.topic for tp in placement.preferred_leaders})
    return pc.is_in(
        placement.explicit.column("topic").cast(pa.string()),
        value_set=pa.array(topics, pa.string()),
    )


def _throttled_brokers(placement: Placement, snapshot: Snapshot) -> Iterator[str]:
    if placement.move_throttle is None:
        return
    registered = sorted(snapshot.broker_ids())
    for broker in sorted(placement.move_throttle.brokers):
        if broker not in registered:
            yield (
                f"throttles.moves.brokers: broker {broker} is not registered in the cluster; "
                f"registered: {ranges(registered)}"
            )


def _ids(brokers: list[int]) -> str:
    return ", ".join(str(b) for b in brokers)


def ranges(brokers: list[BrokerId]) -> str:
    """Sorted ids in short: `1-5, 9`."""
    parts: list[list[int]] = []
    for broker in brokers:
        if parts and broker == parts[-1][-1] + 1:
            parts[-1][-1] = broker
        else:
            parts.append([broker, broker])
    return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in parts) or "none"
