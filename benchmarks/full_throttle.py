"""How much of a declared rate copies get: 24 partitions of 25 MB to one new broker at 20 MB/s, on five real brokers.

    python -m benchmarks.full_throttle             the table of benchmarks/README.md, each row once
    python -m benchmarks.full_throttle 3           the median of three
    python -m benchmarks.full_throttle 1 replan 16 one row: by whom, and batches of how many kB

Beside replan at its default settings stands Kafka's own tool, which moves all partitions at once. *copied* is until all
new replicas are in the ISR, *whole* until everything is confirmed, assigned and restored. What the rate allows at the
least is bytes ÷ rate. Logs are written in batches of Kafka's default size (16 kB), and of nearly a megabyte, of which a
fetch has only one whole. *in 30 s* is the most that arrived in any half minute, in parts of the rate.
"""

import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from msgspec import Struct, field

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.prediction import BATCH_BYTES, MEGABYTE, QUIET_SECONDS, predict, timed
from tests.kafka.harness.clients import create_topic, fill, until
from tests.kafka.harness.layout import Layout
from tests.kafka.harness.one_jvm import OneJvmCluster
from tests.kafka.harness.tools import run_tool_warm

from replan.applying.api import Settings
from replan.kafka.api import KafkaControlPlane, SystemClock, open_cluster
from replan.model.api import BrokerId, TopicPartition, Wanted
from replan.placement_file.api import load_placement
from replan.planning.api import Plan, make_plan

PARTITIONS, BYTES, RATE, NEW = 24, 25 * MEGABYTE, 20 * MEGABYTE, BrokerId(5)
LISTS = [[1 + (i + k) % 4 for k in range(3)] for i in range(PARTITIONS)]
TARGET = [[*replicas[:2], NEW] for replicas in LISTS]
BATCHES = {16: (4_000, 16_384), 900: (100_000, 1_000_000)}
"""Bytes of records and of producer's batches, by the kB of the batches in the logs."""
WINDOW_SECONDS, LIMIT_SECONDS = 30.0, 240.0
HEADER = """\
| by | batches | copied | ÷ least | whole | in 30 s | predicted: copied | whole | load |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""


class Run(Struct, frozen=True):
    """Seconds of one run, and the most that arrived in any half minute, in parts of the rate."""

    copied: float
    whole: float
    peak: float


class Watch(Struct):
    """Looks at the new replicas five times a second, in a thread of its own."""

    bootstrap: str
    names: Sequence[TopicPartition]
    seen: list[tuple[float, int, bool]] = field(default_factory=list)
    """When, how many bytes were there, and whether all were in sync."""
    over: threading.Event = field(default_factory=threading.Event)

    def look_on(self) -> None:
        """Look until it is over."""
        with open_cluster(self.bootstrap, None) as plane:
            while not self.over.wait(0.2):
                look = plane.look(Wanted(partitions=self.names, sizes_of={NEW: self.names}))
                in_sync = sum(NEW in state.isr for state in look.partitions.values())
                there = sum(look.sizes.get(NEW, {}).values())
                self.seen.append((time.monotonic(), there, in_sync == len(self.names)))

    @property
    def all_in_sync(self) -> bool:
        """Whether the last look showed that."""
        return bool(self.seen) and self.seen[-1][2]

    def peak(self) -> float:
        """The most that arrived in any half minute, in parts of the rate."""
        most = max(
            there - before
            for at, before, _ in self.seen
            for later, there, _ in self.seen
            if 0 <= later - at <= WINDOW_SECONDS
        )
        return most / (RATE * WINDOW_SECONDS)


def main() -> None:
    """Print the table, or the row that is asked for."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    by = [sys.argv[2]] if len(sys.argv) > 2 else ["Kafka's tool", "replan"]
    batches = [int(sys.argv[3])] if len(sys.argv) > 3 else list(BATCHES)
    print(HEADER, flush=True)
    number = 0
    for kilobytes in batches:
        for way in by:
            with OneJvmCluster(Layout()) as cluster:
                runs = []
                for _ in range(times):
                    number += 1
                    runs.append(measured(cluster, way, f"topic-{number}", kilobytes))
            print(row(way, kilobytes, *zip(*runs, strict=True)), flush=True)


def row(
    way: str, kilobytes: int, runs: Sequence[Run], predictions: Sequence[tuple[float, float]]
) -> str:
    """One row of the table."""
    copied, least = median(run.copied for run in runs), PARTITIONS * BYTES / RATE
    ours = way == "replan"
    cells = (
        way,
        f"{kilobytes} kB",
        f"{copied:.1f} s",
        f"{copied / least:.2f}",
        f"{median(run.whole for run in runs):.1f} s",
        f"{max(run.peak for run in runs):.2f}",
        f"{predictions[0][0]:.1f} s" if ours else "",
        f"{predictions[0][1]:.1f} s" if ours else "",
        f"{os.getloadavg()[0]:.1f}",
    )
    return f"| {' | '.join(cells)} |"


def measured(
    cluster: OneJvmCluster, way: str, topic: str, kilobytes: int
) -> tuple[Run, tuple[float, float]]:
    """One run, and what the simulator says of it: until copied, and until all is done."""
    create_topic(cluster.bootstrap, topic, LISTS)
    record, batch = BATCHES[kilobytes]
    fill(cluster.bootstrap, topic, BYTES, record_bytes=record, batch_bytes=batch)
    names = [TopicPartition(topic, p) for p in range(PARTITIONS)]
    with (
        tempfile.TemporaryDirectory() as folder,
        open_cluster(cluster.bootstrap, None) as plane,
    ):
        time.sleep(QUIET_SECONDS)
        file = Path(folder) / "placement.yaml"
        lists = ", ".join(f"{p}: {target}" for p, target in enumerate(TARGET))
        file.write_text(
            f"version: 1\nassignments: {{{topic}: {{partitions: {{{lists}}}}}}}\n"
            "throttles: {moves: {rate: 20MB/s}}\n"
        )
        snapshot = plane.observe()
        plan = make_plan(load_placement([file]), snapshot)
        useful = min(batch, BATCH_BYTES)
        predicted = predict(plan, snapshot, {}, batch_bytes=useful, settings=Settings())
        watch = Watch(cluster.bootstrap, names)
        thread = threading.Thread(target=watch.look_on)
        thread.start()
        began = time.monotonic()
        try:
            if way == "replan":
                by_replan(plan, plane)
            else:
                by_the_tool(cluster, topic, Path(folder), watch)
            whole = time.monotonic() - began
        finally:
            watch.over.set()
            thread.join()
    copied = next(at for at, _, in_sync in watch.seen if in_sync) - began
    return Run(copied, whole, watch.peak()), (predicted.copied, predicted.whole)


def by_replan(plan: Plan, plane: KafkaControlPlane) -> None:
    """Perform the plan at the default settings."""
    timed(plan, plane, SystemClock(), Settings())


def by_the_tool(cluster: OneJvmCluster, topic: str, folder: Path, watch: Watch) -> None:
    """All at once, then `--verify` as soon as all are in sync, which restores the throttles."""
    moves = [
        {"topic": topic, "partition": p, "replicas": target} for p, target in enumerate(TARGET)
    ]
    file = folder / "moves.json"
    file.write_text(json.dumps({"version": 1, "partitions": moves}))
    for action in (("--execute", "--throttle", str(RATE)), ("--verify",)):
        run_tool_warm(
            cluster.ground.kafka,
            "kafka-reassign-partitions",
            *("--bootstrap-server", cluster.bootstrap),
            *("--reassignment-json-file", str(file)),
            *action,
        )
        until(lambda: watch.all_in_sync, "all in sync", limit_seconds=LIMIT_SECONDS)


if __name__ == "__main__":
    main()
