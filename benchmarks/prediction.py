"""How long a plan takes in the simulator, and how long it then really takes: moves of several shapes on real brokers.

    python -m benchmarks.prediction            # all shapes, and the table into benchmarks/README.md
    python -m benchmarks.prediction --only one-partition --keep-readme

Five brokers in one JVM, or, where one dies, that one in a process of its own. Both runs perform the same plan with the
same code, `apply_plan`, with the same settings; the simulator begins with the snapshot that was observed on the real
cluster. It also gets what no snapshot has: the produce rate of the load, the size of the batches that the harness
writes, when brokers die and return, and, where nothing throttles copies, how fast an earlier one went.
"""

import argparse
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).parents[1]))

from confluent_kafka import Producer
from tests.kafka.harness.clients import create_topic, fill
from tests.kafka.harness.cluster import Cluster
from tests.kafka.harness.layout import FIRST_CONTROLLER, Layout
from tests.kafka.harness.one_jvm import OneJvmCluster

from replan.applying.api import MemoryJournal, Progress, Settings, apply_plan
from replan.errors import Exit
from replan.kafka.api import SystemClock, open_cluster
from replan.model.api import BrokerId, Clock, ControlPlane, Snapshot, TopicPartition
from replan.placement_file.api import load_placement
from replan.planning.api import Plan, digest, make_plan
from replan.reporting.api import outcome_text
from replan.simulator.api import (
    At,
    KillBroker,
    SimulatedControlPlane,
    StartBroker,
    VirtualClock,
    from_snapshot,
    scheduled,
)

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


class Shape(Struct, frozen=True, kw_only=True):
    """A move to be predicted: where partitions are, where they go, how large they are, what holds them back."""

    name: str
    lists: Lists
    target: Lists
    megabytes: int
    """Of each partition."""
    throttle: str = "rate: unlimited"
    """In the placement's words."""
    shown_rate: str
    produced: float = 0.0
    """Bytes per second written to each partition meanwhile."""
    topic: str = ""
    """Its name; by default one of its own."""
    dies: tuple[int, float, float] | None = None
    """A broker, when it is killed, and when it serves again, in seconds."""

    @property
    def bytes_per_broker(self) -> Counter[int]:
        """How much each new broker receives."""
        new = (set(target) - set(of) for of, target in zip(self.lists, self.target, strict=True))
        return Counter(b for brokers in new for b in brokers)


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
    Shape(
        name="unthrottled",
        lists=[[1, 2], [2, 3], [3, 1]],
        target=[[1, 4], [2, 4], [3, 4]],
        megabytes=400,
        shown_rate="none; as fast as the same copies before",
    ),
    Shape(
        name="internal topic, a leader each",
        lists=[[1 + i % 5, 1 + (i + 1) % 5, 1 + (i + 2) % 5] for i in range(50)],
        target=[[1 + (i + 3) % 5, 1 + (i + 1) % 5, 1 + (i + 2) % 5] for i in range(50)],
        megabytes=0,
        topic="__consumer_offsets",
        throttle="rate: 10MB/s",
        shown_rate="nothing to copy; 50 new leaders",
    ),
    Shape(
        name="the source dies",
        lists=[[5, 2, 3]],
        target=[[4, 2, 3]],
        megabytes=200,
        throttle="rate: 10MB/s",
        shown_rate="10 MB/s, away from 8 s to 25 s",
        dies=(5, 8, 25),
    ),
    Shape(
        name="the destination dies",
        lists=[[1, 2, 3]],
        target=[[5, 2, 3]],
        megabytes=200,
        throttle="rate: 10MB/s",
        shown_rate="10 MB/s, away from 8 s to 25 s",
        dies=(5, 8, 25),
    ),
)
SESSION_SECONDS = 6.0
"""Of brokers in the harness."""


class Timing(Struct, frozen=True):
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
    shapes = [s for s in SHAPES if asked.only is None or asked.only in s.name]
    with OneJvmCluster(Layout()) as cluster:
        for number, shape in enumerate(shapes):
            if shape.dies is None:
                rows.append(compared(cluster, shape, shape.topic or f"topic-{number}"))
                print(rows[-1], flush=True)
    for shape in shapes:
        if shape.dies is not None:
            alive = {FIRST_CONTROLLER, *Layout().racks} - {shape.dies[0]}
            with Cluster(Layout(), in_one_jvm=sorted(alive)) as cluster_of_two:
                rows.append(compared(cluster_of_two, shape, "topic"))
                print(rows[-1], flush=True)
    if not asked.keep_readme:
        write_table(rows)


def compared(cluster: OneJvmCluster | Cluster, shape: Shape, topic: str) -> str:
    """One row of the table: the shape predicted, then measured."""
    bootstrap, network = cluster.bootstrap, None
    plane, clock = open_cluster(bootstrap, None), SystemClock()
    if "unlimited" in shape.throttle:
        plan, _ = planned(bootstrap, plane, shape, f"{topic}-before")
        most = max(shape.bytes_per_broker.values()) * shape.megabytes * MEGABYTE
        network = most / timed(plan, plane, clock).copying
    plan, snapshot = planned(bootstrap, plane, shape, topic)
    produced = {
        TopicPartition(topic, p): shape.produced for p in range(len(shape.lists)) if shape.produced
    }
    predicted = predict(plan, snapshot, produced, network=network, dies=shape.dies)
    with written_to(bootstrap, produced), dying(cluster, shape):
        measured = timed(plan, plane, clock)
    plane.close()
    copied = sum(m.bytes * len(m.new) for m in plan.moves) / MEGABYTE
    ratio = f"{predicted.copying / measured.copying:.2f}" if copied else ""
    return (
        f"| {shape.name} | {copied:,.0f} MB | {shape.shown_rate} "
        f"| {predicted.whole:.1f} s | {measured.whole:.1f} s | {predicted.whole / measured.whole:.2f} "
        f"| {predicted.copying:.1f} s | {measured.copying:.1f} s | {ratio} "
        f"| {os.getloadavg()[0]:.1f} |"
    )


def planned(bootstrap: str, plane: ControlPlane, shape: Shape, topic: str) -> tuple[Plan, Snapshot]:
    """A topic of this shape with its bytes, and the plan to move it."""
    create_topic(bootstrap, topic, shape.lists)
    fill(bootstrap, topic, shape.megabytes * MEGABYTE)
    SystemClock().sleep(QUIET_SECONDS)
    snapshot = plane.observe()
    return make_plan(load_placement([placement_file(shape, topic)]), snapshot), snapshot


@contextmanager
def dying(cluster: OneJvmCluster | Cluster, shape: Shape) -> Iterator[None]:
    """Kill and start the broker of the shape at its times from now."""
    if shape.dies is None or isinstance(cluster, OneJvmCluster):
        yield
        return
    broker, killed, back = shape.dies

    def kill() -> None:
        began = time.monotonic()
        time.sleep(killed)
        cluster.kill(broker)
        time.sleep(max(0.0, began + back - START_SECONDS - time.monotonic()))
        cluster.start(broker)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield
    finally:
        killer.join()


START_SECONDS = 4.0
"""That a broker's process takes to serve."""


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
    network: float | None = None,
    dies: tuple[int, float, float] | None = None,
) -> Timing:
    """Perform the plan on the snapshot come to life.

    `network`: bytes per second of each broker; `dies`: a broker, when it is killed, and when it serves again.
    """
    start = from_snapshot(snapshot)
    speeds = replace(start.world.speeds, batch_bytes=batch_bytes, session_seconds=SESSION_SECONDS)
    if network is not None:
        speeds = replace(speeds, network_bytes_per_second=network)
    world = replace(start.world, speeds=speeds, produce=produced)
    if dies is not None:
        broker, killed, back = BrokerId(dies[0]), *dies[1:]
        returns = At(back - speeds.start_seconds, StartBroker(broker))
        world = scheduled(world, (At(killed, KillBroker(broker)), returns))
    start = replace(start, world=world)
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
    if not seen:
        return Timing(clock.now() - began, 0.0, 0.0)
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
