"""What one tick of `apply` and one observation ask of a cluster, and what they cost: requests, bytes, CPU, memory.

    python benchmarks/ticks.py              the table of benchmarks/README.md
    python benchmarks/ticks.py 100 100000 50 500 4.3    brokers, partitions, partitions per topic, moves, Kafka

The cluster exists on the wire only (tests/kafka/harness/fake_cluster.py) and is a process of its own, so the CPU is the
client's alone. Each row is a process of its own too, so that memory is measured from the start.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "cli")]

from tests.kafka.harness.fake_cluster import Shape  # noqa: E402

from replan.applying.observation.look import Readings  # noqa: E402
from replan.applying.settings import Settings  # noqa: E402
from replan.kafka.control_plane import KafkaControlPlane, open_cluster  # noqa: E402
from replan.model.control_plane import Wanted  # noqa: E402
from replan.model.names import BrokerId, TopicPartition  # noqa: E402

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
    """A minute of ticks while all these copies run under a throttle, each reading on its own period."""
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
    spent = []
    for second in range(-1, TICKS):
        asked = readings.wanted(every_tick, second, SETTINGS, urgent=(), copying=replicas)
        if second == 0:
            cluster.counts()  # the first tick reads everything, and is not what a tick costs
        began = time.process_time()
        look = connected.look(asked)
        readings, _ = readings.after(every_tick, asked, look, second)
        spent.append(time.process_time() - began)
    counts = cluster.counts()
    return {
        "tick": sum(spent[1:]) / TICKS,
        "requests": counts["requests"] / TICKS,
        "bytes": (counts["sent"] + counts["received"]) / TICKS,
    }


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
