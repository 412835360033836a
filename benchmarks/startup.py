"""How long `replan plan` takes as a whole process with nothing to change: 30 and 2,000 partitions on five real brokers.

Run as `python -m benchmarks.startup` from the top of the checkout. Beside it stands Kafka's own
`kafka-reassign-partitions --verify` for as many partitions, started from the same jars.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.commandline import environment
from tests.kafka.harness.clients import create_topic
from tests.kafka.harness.layout import Layout
from tests.kafka.harness.one_jvm import OneJvmCluster
from tests.kafka.harness.tools import run_tool

RUNS = 7


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Median and least wall seconds of a piece of work."""
    taken = []
    for _ in range(RUNS):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken), min(taken)


def replan(folder: Path, *arguments: str, wanted: int = 0) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "replan", *arguments],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == wanted, done.stdout + done.stderr


def measured(cluster: OneJvmCluster, folder: Path, topic: str, lists: list[list[int]]) -> str:
    """One row of the table."""
    create_topic(cluster.bootstrap, topic, lists, limit_seconds=120)
    real = ("--bootstrap-server", cluster.bootstrap)
    replan(folder, "export", *real, "--topic", topic, "-o", "placement.yaml")
    wanted = [{"topic": topic, "partition": p, "replicas": r} for p, r in enumerate(lists)]
    (folder / "moves.json").write_text(json.dumps({"version": 1, "partitions": wanted}))
    verify = ("--reassignment-json-file", str(folder / "moves.json"), "--verify")
    ours = seconds(lambda: replan(folder, "plan", *real))
    theirs = seconds(
        lambda: run_tool(cluster.ground.kafka, "kafka-reassign-partitions", *real, *verify)
    )
    return f"| {len(lists):,} | {ours[0]:.2f} ({ours[1]:.2f}) | {theirs[0]:.2f} ({theirs[1]:.2f}) |"


def main() -> None:
    """Print the table."""
    lists = [[1 + i % 5, 1 + (i + 1) % 5, 1 + (i + 2) % 5] for i in range(2_000)]
    rows = []
    with OneJvmCluster(Layout()) as cluster, tempfile.TemporaryDirectory() as name:
        for topic, count in (("few", 30), ("many", 2_000)):
            rows.append(measured(cluster, Path(name), topic, lists[:count]))
    print(f"load average {os.getloadavg()[0]:.1f}; seconds, median of {RUNS} (least)\n")
    print(
        "| partitions | replan plan | kafka-reassign-partitions --verify |\n| ---: | ---: | ---: |"
    )
    print("\n".join(rows))


if __name__ == "__main__":
    main()
