"""How long a plan takes in the simulator, and how long it then really takes: moves of several shapes on real brokers.

    python -m benchmarks.prediction            # all shapes, and the table into benchmarks/README.md
    python -m benchmarks.prediction --only one-partition --keep-readme

Five brokers in one JVM. Both runs perform the same plan with the same code, `apply_plan`, with the same settings; the
simulator begins with the snapshot that was observed on the real cluster. It also gets what no snapshot has: the produce
rate of the load, the size of the batches that the harness writes, and nothing of what was measured.
"""

import argparse
import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from confluent_kafka import Producer
from tests.kafka.harness.clients import create_topic, fill
from tests.kafka.harness.layout import Layout
from tests.kafka.harness.one_jvm import OneJvmCluster

from replan.applying.journal.protocol import MemoryJournal
from replan.applying.run.loop import apply_plan
from replan.applying.settings import Settings
from replan.applying.views.progress import Progress
from replan.errors import Exit
from replan.kafka.clock import SystemClock
from replan.kafka.control_plane import open_cluster
from replan.model.control_plane import Clock, ControlPlane
from replan.model.names import TopicPartition
from replan.model.snapshot import Snapshot
from replan.placement_file.load import load_placement
from replan.planning.making.planner import make_plan
from replan.planning.plans.plan import Plan
from replan.planning.plans.plan_file import digest
from replan.reporting.application.outcome_text import outcome_text
from replan.simulator.clock import VirtualClock
from replan.simulator.control_plane import SimulatedControlPlane
from replan.simulator.persistence.from_snapshot import from_snapshot

MEGABYTE = 1_000_000
BATCH_BYTES = 900_160
"""What `fill` writes: nine records of 100,000 bytes and their headers fit producer's batches of 1,000,000."""
SETTINGS = Settings(settle_seconds=6.0)
RECORD_BYTES = 10_000
QUIET_SECONDS = 12.0
"""Until the quota windows of the shape before are forgotten (11 s)."""
README = Path(__file__).with_name("README.md")
HEADING = "## Predicted against measured"

Lists = list[list[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A move to be predicted: where partitions are, where they go, how large they are, what holds them back."""

    name: str
    lists: Lists
    target: Lists
    megabytes: int
    """Of each partition."""
    throttle: str
    """In the placement's words."""
    shown_rate: str
    produced: float = 0.0
    """Bytes per second written to each partition meanwhile."""


SHAPES = (
    Shape(
        name="one partition",
        lists=[[1, 2, 3]],
        target=[[4, 2, 3]],
        megabytes=200,
        throttle="rate: 10MB/s",
        shown_rate="10 MB/s",
    ),
    Shape(
        name="many partitions",
        lists=[[1 + i % 5, 1 + (i + 1) % 5, 1 + (i + 2) % 5] for i in range(20)],
        target=[[1 + i % 5, 1 + (i + 1) % 5, 1 + (i + 3) % 5] for i in range(20)],
        megabytes=15,
        throttle="rate: 4MB/s",
        shown_rate="4 MB/s",
    ),
    Shape(
        name="in-sync traffic on the listed partition",
        lists=[[1, 2, 3]],
        target=[[4, 2, 3]],
        megabytes=240,
        throttle="rate: 10MB/s",
        shown_rate="10 MB/s, 2 MB/s produced",
        produced=2.0 * MEGABYTE,
    ),
    Shape(
        name="source is the bottleneck",
        lists=[[1, 2], [1, 2], [1, 2]],
        target=[[3, 2], [4, 2], [5, 2]],
        megabytes=100,
        throttle="rate: 40MB/s, brokers: {1: 6MB/s}",
        shown_rate="source 6 MB/s, others 40",
    ),
    Shape(
        name="destination is the bottleneck",
        lists=[[1, 2], [2, 3], [3, 1]],
        target=[[1, 4], [2, 4], [3, 4]],
        megabytes=100,
        throttle="rate: 40MB/s, brokers: {4: 6MB/s}",
        shown_rate="destination 6 MB/s, others 40",
    ),
    Shape(
        name="RF increase, 2 to 4",
        lists=[[1, 2], [3, 4]],
        target=[[1, 2, 4, 5], [3, 4, 5, 1]],
        megabytes=80,
        throttle="rate: 8MB/s",
        shown_rate="8 MB/s",
    ),
    Shape(
        name="slow and small",
        lists=[[1, 2, 3]],
        target=[[1, 2, 5]],
        megabytes=30,
        throttle="rate: 1MB/s",
        shown_rate="1 MB/s",
    ),
)


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of one run: the whole application, and from the first to the last look at a running copy."""

    whole: float
    copying: float
    copied: float
    """Until all new replicas were in sync."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="the shapes whose name contains this")
    parser.add_argument("--keep-readme", action="store_true")
    asked = parser.parse_args()
    rows = [
        "| shape | copied | rate | predicted | measured | ratio | copy predicted | measured | ratio | load |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    print("\n".join(rows))
    with OneJvmCluster(Layout()) as cluster:
        for number, shape in enumerate(SHAPES):
            if asked.only is None or asked.only in shape.name:
                rows.append(compared(cluster.bootstrap, shape, f"topic-{number}"))
                print(rows[-1], flush=True)
    if not asked.keep_readme:
        write_table(rows)


def compared(bootstrap: str, shape: Shape, topic: str) -> str:
    """One row of the table: the shape predicted, then measured."""
    create_topic(bootstrap, topic, shape.lists)
    fill(bootstrap, topic, shape.megabytes * MEGABYTE)
    plane, clock = open_cluster(bootstrap, None), SystemClock()
    clock.sleep(QUIET_SECONDS)
    snapshot = plane.observe()
    plan = make_plan(load_placement([placement_file(shape, topic)]), snapshot)
    produced = {
        TopicPartition(topic, p): shape.produced for p in range(len(shape.lists)) if shape.produced
    }
    predicted = predict(plan, snapshot, produced)
    with written_to(bootstrap, produced):
        measured = timed(plan, plane, clock)
    plane.close()
    copied = sum(m.bytes * len(m.new) for m in plan.moves) / MEGABYTE
    return (
        f"| {shape.name} | {copied:,.0f} MB | {shape.shown_rate} "
        f"| {predicted.whole:.1f} s | {measured.whole:.1f} s | {predicted.whole / measured.whole:.2f} "
        f"| {predicted.copying:.1f} s | {measured.copying:.1f} s | {predicted.copying / measured.copying:.2f} "
        f"| {os.getloadavg()[0]:.1f} |"
    )


@contextmanager
def written_to(bootstrap: str, produced: Mapping[TopicPartition, float]) -> Iterator[None]:
    """Write so many bytes per second to each partition, in records of 10,000 bytes, until the end of the block."""
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "log_level": 0})
    ending = threading.Event()
    payload = os.urandom(RECORD_BYTES)

    def write() -> None:
        began, sent = time.monotonic(), dict.fromkeys(produced, 0)
        while not ending.wait(0.05):
            for name, rate in produced.items():
                while sent[name] < rate * (time.monotonic() - began):
                    producer.produce(name.topic, payload, partition=name.partition)
                    sent[name] += RECORD_BYTES
            producer.poll(0)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        ending.set()
        writer.join()
        producer.flush(30)


def placement_file(shape: Shape, topic: str) -> Path:
    """The placement of a shape, in a file of its own."""
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"replan-prediction-{os.getpid()}-{topic}.yaml"  # noqa: S108
    lists = ", ".join(f"{p}: {target}" for p, target in enumerate(shape.target))
    path.write_text(
        f"version: 1\nassignments: {{{topic}: {{partitions: {{{lists}}}}}}}\n"
        f"throttles: {{moves: {{{shape.throttle}}}}}\n"
    )
    return path


def predict(
    plan: Plan,
    snapshot: Snapshot,
    produced: Mapping[TopicPartition, float],
    *,
    batch_bytes: int = BATCH_BYTES,
    settings: Settings = SETTINGS,
) -> Timing:
    """Perform the plan on the snapshot come to life."""
    start = from_snapshot(snapshot)
    speeds = replace(start.world.speeds, batch_bytes=batch_bytes)
    start = replace(start, world=replace(start.world, speeds=speeds, produce=produced))
    clock = VirtualClock()
    return timed(plan, SimulatedControlPlane(start, clock), clock, settings)


def timed(plan: Plan, plane: ControlPlane, clock: Clock, settings: Settings = SETTINGS) -> Timing:
    """Perform a plan, and tell how long it took."""
    seen: list[float] = []

    def report(progress: Progress) -> None:
        if any(not r.in_sync for copy in progress.copies for r in copy.replicas):
            seen.append(clock.now())

    began = clock.now()
    outcome = apply_plan(
        plan,
        plane,
        plane,
        MemoryJournal(),
        clock,
        plan_digest=digest(plan),
        settings=settings,
        report=report,
        stop=never,
    )
    if outcome.exit_code is not Exit.OK:
        sys.exit(f"a move did not end well: {outcome_text(outcome)}")
    return Timing(clock.now() - began, seen[-1] - seen[0], seen[-1] - began)


def never() -> bool:
    return False


def write_table(rows: list[str]) -> None:
    """Replace the table under the heading."""
    before, _, after = README.read_text().partition(f"{HEADING}\n")
    section, following, rest = after.partition("\n## ")
    kept = [line for line in section.splitlines() if not line.startswith("|")]
    text = "\n".join([*rows, "", "\n".join(kept).strip()])
    README.write_text(f"{before.rstrip()}\n\n{HEADING}\n\n{text}\n{following}{rest}")


if __name__ == "__main__":
    main()
