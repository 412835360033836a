"""What starting costs on real brokers: user and system CPU of whole processes, the least of ten.

Run as `python -m benchmarks.startup` from the top of the checkout. The cluster is five brokers in one JVM, with
nothing to change. Beside `replan plan` stands Kafka's own `kafka-reassign-partitions --verify` for as many
partitions, three times: with the options of the JVM that Kafka's own script has, with its limit of memory alone, and
as the tests start it, with an archive of its classes and one compiler, which users do not have. What is compared is
run in turns.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.commandline import environment
from tests.kafka.harness.clients import create_topic
from tests.kafka.harness.layout import Layout
from tests.kafka.harness.one_jvm import OneJvmCluster
from tests.kafka.harness.tools import MAINS, run_tool

RUNS = 10
PYTHON = sys.executable
REPLAN = (PYTHON, "-m", "replan")
TOOL = "kafka-reassign-partitions"
AS_SCRIPT = (
    *("java", "-Xmx256M", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20"),
    *("-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent"),
    "-Djava.awt.headless=true",
)
"""The JVM's options in `bin/kafka-run-class.sh`."""


def measured(works: Sequence[Callable[[], object]]) -> list[float]:
    """The least CPU of each piece of work with the processes that it waits for, run in turns after a first time."""
    least = [float("inf")] * len(works)
    for run in range(RUNS + 1):
        for i, work in enumerate(works):
            before = os.times()
            work()
            after = os.times()
            if run:
                spent = sum(after[2:4]) - sum(before[2:4])
                least[i] = min(least[i], spent)
    return least


def process(folder: Path, *command: str) -> Callable[[], object]:
    """A process to run; its bytecode is kept between runs, as it is where replan is installed."""
    variables = environment(PYTHONPYCACHEPREFIX=str(folder / "bytecode"))
    variables.pop("PYTHONDONTWRITEBYTECODE", None)

    def run() -> None:
        done = subprocess.run(
            command,
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in {0, 2}, done.stdout + done.stderr

    return run


def row(name: str, own: float, yardstick: str, other: float) -> str:
    """One row of the table."""
    return f"| {name} | {own:.2f} | {yardstick} {other:.2f} | {own / other:.2f} |"


def online(cluster: OneJvmCluster, folder: Path, topic: str, lists: list[list[int]]) -> list[str]:
    """The rows of one real topic."""
    kafka = cluster.ground.kafka
    create_topic(cluster.bootstrap, topic, lists, limit_seconds=120)
    real = ("--bootstrap-server", cluster.bootstrap)
    process(folder, *REPLAN, "export", *real, "--topic", topic, "-o", f"{topic}.yaml")()
    wanted = [{"topic": topic, "partition": p, "replicas": r} for p, r in enumerate(lists)]
    (folder / "moves.json").write_text(json.dumps({"version": 1, "partitions": wanted}))
    verify = (*real, "--reassignment-json-file", str(folder / "moves.json"), "--verify")
    own, script, plain, quick = measured(
        [
            process(folder, *REPLAN, "plan", *real, "-f", f"{topic}.yaml"),
            process(folder, *AS_SCRIPT, "-cp", kafka.classpath, MAINS[TOOL], *verify),
            process(folder, *AS_SCRIPT[:2], "-cp", kafka.classpath, MAINS[TOOL], *verify),
            lambda: run_tool(kafka, TOOL, *verify),
        ]
    )
    name = f"`plan`, {len(lists):,} partitions"
    return [
        row(name, own, "`--verify` as its script starts it", script),
        row(name, own, "`--verify` with `java -Xmx256M`", plain),
        row(name, own, "`--verify` as the tests start it", quick),
    ]


def main() -> None:
    """Print the table."""
    lists = [[1 + i % 5, 1 + (i + 1) % 5, 1 + (i + 2) % 5] for i in range(2_000)]
    with tempfile.TemporaryDirectory() as name:
        rows: list[str] = []
        with OneJvmCluster(Layout()) as cluster:
            for topic, count in (("few", 30), ("many", 2_000)):
                rows += online(cluster, Path(name), topic, lists[:count])
    print(f"load average {os.getloadavg()[0]:.1f}; CPU seconds, the least of {RUNS}\n")
    print("| | replan | against | ratio |\n| --- | ---: | --- | ---: |")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
