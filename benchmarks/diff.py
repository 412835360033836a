"""How long the comparison takes: the diff, and a whole plan, at 10,000 to 1,000,000 partitions.

Each size runs in a fresh process, so that the peak of resident memory is its own. Run from the top of the repository:

    python benchmarks/diff.py              # sizes 10000 100000 1000000
    python benchmarks/diff.py 50000        # others
"""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from replan.model.broker import Broker
from replan.model.columns import EXPLICIT_SCHEMA, from_matrix
from replan.model.declared.placement import Placement, TopicEntry
from replan.model.declared.where import Where
from replan.model.names import BrokerId
from replan.model.snapshot import TOPICS_SCHEMA, Features, Snapshot, partitions_table
from replan.planning.comparison.diff import differing
from replan.planning.making.planner import make_plan

SIZES = (10_000, 100_000, 1_000_000)
PER_TOPIC = 100
BROKERS = 100
DIFFERING = 1_000
"""Of each size; for the last column, a hundred thousand at most."""
TRIES = 3


@dataclass(frozen=True)
class Measured:
    """One size; the best of several tries, in milliseconds."""

    partitions: int
    diff_ms: float
    plan_few_ms: float
    plan_many_ms: float
    many: int
    inputs_mb: float
    peak_mb: float


def lists(partitions: int, moved: int) -> pa.ListArray:
    """Three replicas each, spread evenly; of the first `moved`, the last one stands elsewhere."""
    first = np.arange(partitions, dtype=np.int32)
    matrix = np.stack([1 + (first + i) % BROKERS for i in range(3)], axis=1).astype(np.int32)
    matrix[:moved, 2] = 1 + (first[:moved] + 3) % BROKERS
    return from_matrix(matrix)


def snapshot(partitions: int) -> Snapshot:
    """A healthy cluster of topics with a hundred partitions each."""
    names = pa.array([f"topic-{i:06}" for i in range(partitions // PER_TOPIC)])
    topics = len(names)
    settings = {
        "name": names,
        "id": pa.array([f"id-{i:019}" for i in range(topics)]),
        "min_insync_replicas": [2] * topics,
        "min_insync_source": [1] * topics,
        "unclean_election": [False] * topics,
        "leader_throttled": [None] * topics,
        "follower_throttled": [None] * topics,
    }
    index = np.arange(partitions, dtype=np.int32)
    none = from_matrix(np.full((partitions, 0), -1, dtype=np.int32))
    columns = {
        "partition": pa.array(index % PER_TOPIC),
        "leader": pa.array(1 + index % BROKERS, pa.int32()),
        "leader_epoch": pa.array(np.zeros(partitions, dtype=np.int32)),
        "replicas": lists(partitions, 0),
        "isr": lists(partitions, 0),
        **dict.fromkeys(("adding", "removing", "elr", "last_known_elr"), none),
        "bytes": pa.array(np.full(partitions, 10**9)),
    }
    return Snapshot(
        cluster_id="benchmark",
        observed_at="2026-11-21T03:00:00Z",
        features=Features(),
        brokers=tuple(Broker(BrokerId(b), f"rack-{b % 3}") for b in range(1, BROKERS + 1)),
        topics=pa.Table.from_pydict(settings, schema=TOPICS_SCHEMA),
        partitions=partitions_table(names, pa.array(index // PER_TOPIC), columns),
    )


def placement(seen: Snapshot, moved: int) -> Placement:
    """Every partition declared, the first `moved` of them elsewhere than they are."""
    rows = seen.partitions
    ones = pa.array(np.ones(rows.num_rows, dtype=np.int32))
    topic, partition = (rows.column(c).combine_chunks() for c in ("topic", "partition"))
    arrays = [topic, partition, lists(rows.num_rows, moved), ones, ones]
    names = seen.topics.column("name").to_pylist()
    entry = TopicEntry(Where("placement.yaml", 1, 1), PER_TOPIC)
    return Placement(
        pa.Table.from_arrays(arrays, schema=EXPLICIT_SCHEMA), dict.fromkeys(names, entry)
    )


def best_ms(run: Callable[[], object]) -> float:
    """The least of a few tries, in milliseconds."""
    taken = []
    for _ in range(TRIES):
        start = time.process_time()
        run()
        taken.append(time.process_time() - start)
    return 1000 * min(taken)


def peak_mb() -> float:
    """Peak resident memory of this process so far, in megabytes (Linux counts in kibibytes)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def measure(partitions: int) -> Measured:
    """One size, in this process."""
    seen = snapshot(partitions)
    few, many = placement(seen, DIFFERING), placement(seen, min(partitions, 100_000))
    inputs = peak_mb()
    diff = best_ms(lambda: differing(few.explicit, seen.partitions))
    assert differing(few.explicit, seen.partitions).num_rows == DIFFERING
    plan_few = best_ms(lambda: make_plan(few, seen))
    peak = peak_mb()
    plan_many = best_ms(lambda: make_plan(many, seen))
    count = min(partitions, 100_000)
    return Measured(partitions, diff, plan_few, plan_many, count, inputs, peak)


def main(sizes: list[int]) -> None:
    """Measure each size in a process of its own, and print a table."""
    head = (
        "partitions",
        "diff",
        f"plan, {DIFFERING:,} differ",
        "plan, most differ",
        "inputs",
        "peak",
    )
    print("| " + " | ".join(head) + " |")
    print("| " + " | ".join("---:" for _ in head) + " |")
    for size in sizes:
        path = str(Path(__file__).parents[1] / "cli")
        done = subprocess.run(
            [sys.executable, __file__, "--one", str(size)],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        )
        found = Measured(**json.loads(done.stdout))
        print(
            f"| {found.partitions:,} | {found.diff_ms:,.1f} ms | {found.plan_few_ms:,.0f} ms "
            f"| {found.plan_many_ms:,.0f} ms ({found.many:,}) | {found.inputs_mb:,.0f} MB | {found.peak_mb:,.0f} MB |",
            flush=True,
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(asdict(measure(int(sys.argv[2])))))
    else:
        main([int(a) for a in sys.argv[1:]] or list(SIZES))
