"""How long `replan elect` takes on real brokers: the command alone, from its start as a process to its end.

    python -m benchmarks.elections            all rows of the table in benchmarks/README.md
    python -m benchmarks.elections preferred  one kind of them

Four brokers in one JVM; REPLAN_KAFKA_VERSION chooses the version. *preferred*: broker 1 has restarted, broker 3 is
down: two thirds of 2,000 partitions are elected, a sixth needs nothing, a sixth cannot be. *best-log*: 500 partitions
without a leader, whose best log is on the broker that is second or third in their lists. *beside*: 3,000 partitions
whose leader has restarted, by `replan elect preferred` and by `kafka-leader-election` in turns, each after a restart
of its own. *internal*: `replan apply` of plans whose leaders of `__consumer_offsets` change, all partitions empty: a
broker that holds 40 of 50 is drained, and then one broker is to lead 100 more.
"""

import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.commandline import checked, start
from tests.kafka.harness.clients import admin, create_topic, delete_topics, partition_metadata
from tests.kafka.harness.one_jvm import OneJvmCluster
from tests.kafka.harness.tools import run_tool
from tests.kafka.site import Site, steady_layout

PREFERRED, LEADERLESS, BESIDE = 2_000, 500, 3_000
TURNS = 3
OFFSETS = "__consumer_offsets"
DRAINED = [[1 + (i + step) % 4 for step in range(3)] for i in range(50)]
LISTS = [[1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 2, 3], [2, 3, 1], [3, 2, 1]]
HEADER = """\
| command | partitions | results | seconds | load |
| --- | ---: | --- | ---: | ---: |"""


def main() -> None:
    """Print the table, or the row that is asked for."""
    rows: Mapping[str, Callable[[Site], Iterator[str]]] = {
        "preferred": preferred,
        "best-log": best_log,
        "beside": beside,
        "internal": internal,
    }
    print(HEADER, flush=True)
    for name in sys.argv[1:] or rows:
        with site(name) as found:
            for line in rows[name](found):
                print(line, flush=True)


@contextmanager
def site(name: str) -> Iterator[Site]:
    """A cluster, a folder and a topic of its own."""
    layout = steady_layout(os.environ.get("REPLAN_KAFKA_VERSION", "4.3.1"))
    with OneJvmCluster(layout) as cluster, tempfile.TemporaryDirectory() as folder:
        yield Site(cluster, Path(folder), name)


def preferred(found: Site) -> Iterator[str]:
    """Broker 1 is back, broker 3 is not."""
    lists = [LISTS[number % len(LISTS)] for number in range(PREFERRED)]
    create_topic(found.cluster.bootstrap, found.topic, lists, limit_seconds=300)
    restarted(found)
    found.stop(3)
    found.in_sync(1, 2)
    yield row(found, "elect preferred", ("elect", "preferred", "--topic", found.topic), 3)


def best_log(found: Site) -> Iterator[str]:
    """Broker 1 had most and stays away; 2 has more than 3."""
    lists = [[1, 2, 3] if number % 2 else [1, 3, 2] for number in range(LEADERLESS)]
    configs = {"min.insync.replicas": "1"}
    create_topic(found.cluster.bootstrap, found.topic, lists, configs, limit_seconds=300)
    found.write(2, *range(LEADERLESS))
    found.stop(3)
    found.write(1, *range(LEADERLESS))
    found.stop(2, 1)
    found.leaderless()
    found.start(3, 2)
    agreed = ("--give-up-on", "1", "--unclean", "--auto-approve")
    words = ("elect", "best-log", "--topic", found.topic, *agreed)
    yield row(found, "elect best-log", words, 0)


def beside(found: Site) -> Iterator[str]:
    """Kafka's tool starts as its script does, for one topic each partition is named in a file."""
    lists = [[1, 2, 3] if number % 2 else [1, 3, 2] for number in range(BESIDE)]
    create_topic(found.cluster.bootstrap, found.topic, lists, limit_seconds=300)
    file = found.folder / "elections.json"
    partitions = [{"topic": found.topic, "partition": number} for number in range(BESIDE)]
    file.write_text(json.dumps({"partitions": partitions}))
    flags = ("--bootstrap-server", found.cluster.bootstrap, "--election-type", "PREFERRED")
    for _ in range(TURNS):
        restarted(found)
        yield row(found, "elect preferred", ("elect", "preferred", "--topic", found.topic), 0)
        restarted(found)
        began = time.monotonic()
        run_tool(
            found.cluster.ground.kafka,
            "kafka-leader-election",
            *flags,
            "--path-to-json-file",
            str(file),
        )
        seconds = time.monotonic() - began
        elected = Counter("elected" if leader == 1 else "failed" for leader in found.leaders())
        yield line("kafka-leader-election", elected, seconds)


def internal(found: Site) -> Iterator[str]:
    """A drain, and another order of all lists."""
    create_topic(found.cluster.bootstrap, OFFSETS, DRAINED, limit_seconds=300)
    placement = found.folder / "placement.yaml"
    placement.write_text("version: 1\nblacklists: {replicas: [{broker: 4, reason: drained}]}\n")
    yield applied(found, "apply: a broker is drained")
    delete_topics(found.cluster.bootstrap, OFFSETS)
    create_topic(found.cluster.bootstrap, OFFSETS, [[2, 1, 3], [3, 1, 2]] * 50, limit_seconds=300)
    lists = dict(enumerate([[1, 2, 3], [1, 3, 2]] * 50))
    placement.write_text(f"version: 1\nassignments: {{{OFFSETS}: {{partitions: {lists}}}}}\n")
    yield applied(found, "apply: one broker leads all")


def applied(found: Site, name: str) -> str:
    """Apply the placement, timed; the start of Python is left out."""
    flags = ("--bootstrap-server", found.cluster.bootstrap, "--journal", "file:journal")
    words = ("apply", "-f", "placement.yaml", "--auto-approve", *flags, "--unlocked")
    began = time.monotonic()
    checked(*words, folder=found.folder)
    seconds = time.monotonic() - began
    states = partition_metadata(admin(found.cluster.bootstrap), OFFSETS).values()
    return line(name, Counter(f"led by {p.leader}" for p in states), seconds)


def restarted(found: Site) -> None:
    """Broker 1 goes and comes back: nothing is led by it."""
    found.cluster.stop(1)
    found.cluster.start(1)
    found.in_sync(1, 2, 3)


def row(found: Site, name: str, words: tuple[str, ...], wanted: int) -> str:
    """Run one command, timed."""
    flags = ("--format", "json", "--bootstrap-server", found.cluster.bootstrap)
    local = ("--journal", "file:journal", "--unlocked")
    began = time.monotonic()
    process = start([*words, *flags, *local], folder=found.folder)
    text, errors = process.communicate()
    seconds = time.monotonic() - began
    assert process.returncode == wanted, errors
    document = json.loads(text)
    results = Counter(r["result"] for r in document.get("recoveries") or document["partitions"])
    return line(name, results, seconds)


def line(name: str, results: Counter[str], seconds: float) -> str:
    """A line of the table."""
    named = ", ".join(f"{number:,} {result}" for result, number in sorted(results.items()))
    cells = (name, f"{results.total():,}", named, f"{seconds:.1f}", f"{os.getloadavg()[0]:.1f}")
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
