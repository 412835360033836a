"""What one tick of `apply` and one observation ask of a cluster, and what they cost: requests, bytes, CPU, memory.

    python benchmarks/ticks.py              the table of benchmarks/README.md
    python benchmarks/ticks.py 100 100000 50 500 4.3    brokers, partitions, partitions per topic, moves, Kafka
    python benchmarks/ticks.py applier      the whole applier with 1,000 throttled copies in flight, for a minute each

The cluster exists on the wire only (tests/kafka/harness/fake_cluster.py) and is a process of its own, so the CPU is the
client's alone. Each row is a process of its own too, so that memory is measured from the start.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "cli")]

from tests.kafka.harness.fake_cluster import Shape  # noqa: E402

from replan.applying.api import (  # noqa: E402
    MemoryJournal,
    Progress,
    Readings,
    Settings,
    apply_plan,
    begun,
    fold,
    intent,
    opening,
)
from replan.kafka.api import (  # noqa: E402
    KafkaControlPlane,
    SystemClock,
    open_cluster,
)
from replan.model.api import (  # noqa: E402
    BrokerId,
    MoveThrottle,
    TopicPartition,
    Wanted,
)
from replan.planning.api import (  # noqa: E402
    Move,
    MoveReason,
    Plan,
    ReasonKind,
    Request,
    RequestKind,
    digest,
)

TICKS = 60
SETTINGS = Settings()
ROWS = (
    (100, 100_000, 50, 500),
    (100, 100_000, 10_000, 10),
    (100, 100_000, 50, 10, "3.9"),
    *(
        (b, p, 50, m)
        for p in (10_000, 100_000, 1_000_000)
        for b in (10, 100, 1_000)
        for m in (10, 1_000)
    ),
)
HEADER = (
    "partitions",
    "brokers",
    "moves",
    "observe: CPU",
    "requests",
    "peak",
    "tick: CPU",
    "requests",
    "bytes",
)

APPLIER = ("partitions", "brokers", "copies", "tick: CPU", "of a core", "requests a second")
BEFORE_SECONDS = 10.0
"""Until the throttle is set and everything was read once."""


class Cluster:
    """A fake cluster in a process of its own."""

    def __init__(self, shape: Shape) -> None:
        version = ".".join(map(str, shape.version))
        flags = {
            "brokers": shape.brokers,
            "partitions": shape.partitions,
            "per-topic": shape.per_topic,
            "moves": shape.moves,
            "kafka": version,
        }
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.kafka.harness.fake_cluster"),
                *(f"--{name}={value}" for name, value in flags.items()),
            ],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.bootstrap = self._line()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def counts(self) -> dict[str, int]:
        """What was asked since the last call."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        counts: dict[str, int] = json.loads(self._line())
        return counts

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def cpu(act: Callable[[], object]) -> float:
    """The seconds of CPU that this process takes for it."""
    began = time.process_time()
    act()
    return time.process_time() - began


def measure(shape: Shape) -> dict[str, float]:
    """One row of the table."""
    cluster = Cluster(shape)
    found: dict[str, float] = {}
    with open_cluster(cluster.bootstrap, None) as connected:
        cluster.counts()
        found["observe"] = cpu(connected.observe)
        found["observe_requests"] = cluster.counts()["requests"]
        found["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        found |= ticks(shape, connected, cluster)
    cluster.close()
    return found


def ticks(shape: Shape, connected: KafkaControlPlane, cluster: Cluster) -> dict[str, float]:
    """A minute of ticks, without the first, which reads everything and is not what a tick costs."""
    looks = ticking(shape, connected)
    next(looks)
    next(looks)
    cluster.counts()
    spent = cpu(lambda: [next(looks) for _ in range(TICKS)])
    counts = cluster.counts()
    return {
        "tick": spent / TICKS,
        "requests": counts["requests"] / TICKS,
        "bytes": (counts["sent"] + counts["received"]) / TICKS,
    }


def ticking(shape: Shape, connected: KafkaControlPlane) -> Iterator[Readings]:
    """A look a second while all these copies run under a throttle, each reading on its own period."""
    replicas = {
        TopicPartition(f"t{t:05d}", p): [
            BrokerId(b) for b in (*shape.replicas(t, p), shape.adding(t, p))
        ]
        for t, p in shape.moving()
    }
    every_tick = Wanted(
        partitions=sorted(replicas),
        topics=sorted({name.topic for name in replicas}),
        rates_of=sorted({b for of in replicas.values() for b in of}),
    )
    readings = Readings()
    for second in count(-1):
        asked = readings.wanted(every_tick, second, SETTINGS, urgent=(), copying=replicas)
        readings, _ = readings.after(every_tick, asked, connected.look(asked), second)
        yield readings


def applier(shape: Shape) -> str:
    """A minute of a whole application whose copies all run: what share of a core it takes, and its requests."""
    cluster = Cluster(shape)
    with open_cluster(cluster.bootstrap, None) as connected:
        moves = tuple(moving(shape, connected))
        racks = {BrokerId(b): f"r{b % 3}" for b in range(1, shape.brokers + 1)}
        throttle = MoveThrottle(50_000_000)
        plan = Plan(connected.cluster_id(), "0" * 64, racks, moves, throttle)
        journal = MemoryJournal()
        journal.append(opening(plan, digest(plan), fold(()), SETTINGS))
        ledger = fold(journal.read())
        journal.append(
            [intent(begun(m, ledger), Request(RequestKind.EXPAND, m.expanded)) for m in moves]
        )
        clock = SystemClock()
        counts: list[tuple[float, float, int]] = []
        ticks = 0

        def report(progress: Progress) -> None:
            nonlocal ticks
            ticks += bool(counts)
            if progress.at_seconds >= BEFORE_SECONDS and not counts:
                cluster.counts()
                counts.append((clock.now(), time.process_time(), 0))

        def stop() -> bool:
            over = bool(counts) and clock.now() - counts[0][0] >= TICKS
            if over and len(counts) == 1:
                counts.append((clock.now(), time.process_time(), cluster.counts()["requests"]))
            return over

        settings = Settings(slots_per_broker=shape.moves, patience_seconds=0.0)
        apply_plan(
            plan,
            connected,
            connected,
            journal,
            clock,
            plan_digest=digest(plan),
            settings=settings.on_a_real_clock(),
            report=report,
            stop=stop,
        )
    cluster.close()
    (began, spent, _), (ended, spent_then, requests) = counts
    seconds = ended - began
    cells = (
        f"{shape.partitions:,}",
        f"{shape.brokers:,}",
        f"{shape.moves:,}",
        f"{(spent_then - spent) / ticks:.3f} s",
        f"{100 * (spent_then - spent) / seconds:.1f} %",
        f"{requests / seconds:.1f}",
    )
    return f"| {' | '.join(cells)} |"


def moving(shape: Shape, connected: KafkaControlPlane) -> Iterator[Move]:
    """The moves whose copies run."""
    names = [TopicPartition(f"t{topic:05d}", p) for topic, p in shape.moving()]
    for name, state in connected.look(Wanted(partitions=names)).partitions.items():
        original = tuple(b for b in state.replicas if b not in state.adding)
        yield Move(
            name,
            state.topic_id,
            original,
            (*original[:2], *state.adding),
            min_insync_replicas=2,
            unclean_election=False,
            reason=MoveReason(ReasonKind.DECLARED),
            bytes=1_000_000_000,
        )


def row(shape: Shape, found: dict[str, float]) -> str:
    """One row of the table."""
    cells = (
        f"{shape.partitions:,}",
        f"{shape.brokers:,}",
        f"{shape.moves:,}",
        f"{found['observe']:.2f} s",
        f"{found['observe_requests']:,.0f}",
        f"{found['peak']:.0f} MB",
        f"{found['tick']:.3f} s",
        f"{found['requests']:.1f}",
        f"{found['bytes'] / 1000:,.0f} kB",
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the row that is asked for, or the whole table."""
    if sys.argv[1:] == ["applier"]:
        print(f"| {' | '.join(APPLIER)} |\n|{' ---: |' * len(APPLIER)}", flush=True)
        for brokers in (10, 100):
            print(applier(Shape(brokers, 100_000, 50, 1_000)), flush=True)
        return
    if len(sys.argv) > 1:
        brokers, partitions, per_topic, moves = map(int, sys.argv[1:5])
        major, minor = (sys.argv[5] if len(sys.argv) > 5 else "4.3").split(".")
        shape = Shape(brokers, partitions, per_topic, moves, (int(major), int(minor)))
        print(row(shape, measure(shape)), flush=True)
        return
    print(f"| {' | '.join(HEADER)} |\n|{' ---: |' * len(HEADER)}", flush=True)
    for arguments in ROWS:
        subprocess.run([sys.executable, __file__, *map(str, arguments)], check=True)


if __name__ == "__main__":
    main()
