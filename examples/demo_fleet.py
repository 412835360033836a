"""A fleet of twenty simulated clusters at two moments: one does not answer, one has a broken placement, many drifted.

Between the two, `replan apply` puts one of them right.

Run it with `make demo-fleet`, or `make demo-fleet ENGINE=spark`; both give the same reports. They stay in a folder that
the last line names; open `index.html` there.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

HERE = Path(__file__).parent
CLUSTERS = 20
EARLIER, LATER = -6, 0
"""The two moments, in hours from now."""
APPLIED = "ap-14"
"""Between the two moments it is put right."""
NAMES = ("billing", "clicks", "orders", "payments", "search", "shipping", "stock", "users")
Document = dict[str, Any]


def main() -> None:
    """Make the fleet, judge it at both moments, and say where the report is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--engine", default="auto")
    asked = parser.parse_args()
    os.environ.setdefault("PYTHONPATH", str(HERE.parent / "cli"))
    folder = asked.folder or Path(tempfile.mkdtemp(prefix="replan-fleet-"))
    folder.mkdir(parents=True, exist_ok=True)
    run = ("fleet", "run", "-o", "report", "--engine", asked.engine)
    make_fleet(folder)
    at(folder, EARLIER)
    replan(folder, run, 1)
    replan(folder, ("apply", "--cluster", APPLIED, "--auto-approve"), 0)
    at(folder, LATER)
    replan(folder, run, 1)
    sys.stdout.write(f"\nThe report is {folder / 'report' / 'index.html'}\n")


def make_fleet(folder: Path) -> None:
    """Placements of all clusters, and the file that names them."""
    (folder / "clusters").mkdir(exist_ok=True)
    (folder / "placements").mkdir(exist_ok=True)
    lines = [
        "version: 1",
        "lake: lake/",
        "timeout: 20s",
        "prices: {currency: EUR, crossRackPerGB: 0.02}",
        'owners: {"*": platform, "payments*": payments, "orders*": sales}',
        "clusters:",
    ]
    for number in range(CLUSTERS):
        name = name_of(number)
        (folder / "placements" / f"{name}.yaml").write_text(placement(number), encoding="utf-8")
        reached = (
            'bootstrapServers: "127.0.0.1:1", timeout: 2s'
            if number == CLUSTERS - 1
            else f"simulated: clusters/{name}.json"
        )
        lines.append(f"  {name}: {{{reached}, placement: placements/{name}.yaml}}")
    (folder / "fleet.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def name_of(number: int) -> str:
    """The name of a cluster."""
    return f"{('eu', 'us', 'ap')[number % 3]}-{number:02}"


def topics_of(number: int) -> dict[str, list[list[int]]]:
    """The lists that are declared: few topics are large, most are small."""
    chance = Random(number)  # noqa: S311 - the same fleet every time
    found = {}
    for name in NAMES[: 4 + number % 5]:
        count = min(64, 1 + int(chance.paretovariate(0.8)))
        found[name] = [chance.sample(range(1, 7), 3) for _ in range(count)]
    return found


def placement(number: int) -> str:
    """The placement of a cluster; one of them is misspelt, one has an entry after its date."""
    lines = ["version: 1", f"cluster: {{name: {name_of(number)}, id: id-{number:02}}}"]
    lines.append("assignment:" if number == 7 else "assignments:")
    for topic, lists in topics_of(number).items():
        lines += [f"  {topic}:", "    partitions:", *(f"      - {members}" for members in lists)]
    lines += ["throttles: {moves: {rate: 50MB/s}}"]
    if number == 5:
        lines += [
            "blacklists:",
            "  leaders:",
            f"    - {{broker: 6, reason: disk, owner: storage, reviewBy: {moment(-20 * 24)[:10]}}}",
        ]
    if number == 8:
        lines += [
            "acknowledged:",
            f"  - {{topic: billing, partitions: [0], reason: waiting for a disk, expires: {moment(30 * 24)[:10]}}}",
        ]
    return "\n".join(lines) + "\n"


def moment(hours: int) -> str:
    """The time so many hours from now."""
    return f"{datetime.now(UTC) + timedelta(hours=hours):%Y-%m-%dT%H:%M:%SZ}"


def at(folder: Path, hours: int) -> None:
    """The state of all clusters at one of the moments."""
    later, now = hours == LATER, moment(hours)
    for number in range(CLUSTERS - 1):
        document = cluster(number, now, later=later)
        if later or number % 4 == 1:
            DRIFTS[number % len(DRIFTS)](document)
        elif name_of(number) == APPLIED:
            _operator(document)
        path = folder / "clusters" / f"{name_of(number)}.json"
        path.write_text(json.dumps(document), encoding="utf-8")


def cluster(number: int, observed_at: str, *, later: bool) -> Document:
    """A cluster that is as declared; what is written to it makes it larger."""
    chance = Random(1000 + number)  # noqa: S311 - the same fleet every time
    topics = []
    for name, lists in topics_of(number).items():
        sizes = [int(chance.lognormvariate(21, 1.5)) for _ in lists]
        grown = [int(6 * 3600 * chance.lognormvariate(10, 1)) if later else 0 for _ in lists]
        partitions = [
            {"replicas": members, "bytes": size + more}
            for members, size, more in zip(lists, sizes, grown, strict=True)
        ]
        topics.append({"name": name, "minInsyncReplicas": 2, "partitions": partitions})
    return {
        "kind": "replan.snapshot",
        "formatVersion": 1,
        "clusterId": f"id-{number:02}",
        "observedAt": observed_at,
        "brokers": [{"id": n, "rack": "abc"[n % 3]} for n in range(1, 7)],
        "topics": topics,
    }


def _nothing(_document: Document) -> None:
    pass


def _operator(document: Document) -> None:
    """Somebody moved replicas by hand."""
    for partition in document["topics"][0]["partitions"][:3]:
        members = partition["replicas"]
        spare = next(n for n in range(1, 7) if n not in members)
        partition["replicas"] = [*members[:2], spare]


def _broker_down(document: Document) -> None:
    """A broker is down, and another tool replaced it in a few partitions."""
    document["brokers"][3]["fenced"] = True
    for topic in document["topics"]:
        for partition in topic["partitions"]:
            members = partition["replicas"]
            if 4 in members:
                partition["isr"] = [b for b in members if b != 4]
    for partition in document["topics"][1]["partitions"]:
        members = partition["replicas"]
        if 4 in members:
            spare = next(n for n in range(1, 7) if n not in members)
            partition["replicas"] = [spare if b == 4 else b for b in members]
            partition["isr"] = partition["replicas"]


def _other_tool(document: Document) -> None:
    """Another tool is moving a partition elsewhere, and one to where it is declared."""
    first = document["topics"][0]["partitions"][0]
    members = first["replicas"]
    spare = next(n for n in range(1, 7) if n not in members)
    first |= {
        "replicas": [*members, spare],
        "isr": members,
        "adding": [spare],
        "removing": [members[0]],
    }
    second = document["topics"][1]["partitions"][0]
    target = second["replicas"]
    away = next(n for n in range(1, 7) if n not in target)
    second |= {
        "replicas": [*target, away],
        "isr": [*target[:2], away],
        "adding": [target[2]],
        "removing": [away],
    }


def _throttled(document: Document) -> None:
    """A throttle was left behind."""
    document["topics"][0]["throttledReplicas"] = {"leader": "0:1", "follower": "0:2"}
    rate = {"follower.replication.throttled.rate": {"value": "10000000"}}
    document["brokers"][1]["configs"] = rate


def _leaders(document: Document) -> None:
    """After a restart nobody has elected the preferred leaders."""
    for topic in document["topics"]:
        for partition in topic["partitions"]:
            if partition["replicas"][0] == 2:
                partition["leader"] = partition["replicas"][1]


def _more_partitions(document: Document) -> None:
    """Somebody added partitions."""
    partitions = document["topics"][-1]["partitions"]
    partitions += [{"replicas": [1, 2, 3], "bytes": 0}, {"replicas": [2, 3, 4], "bytes": 0}]


DRIFTS: tuple[Callable[[Document], None], ...] = (
    _nothing,
    _operator,
    _broker_down,
    _other_tool,
    _throttled,
    _leaders,
    _more_partitions,
)


def replan(folder: Path, arguments: tuple[str, ...], wanted: int) -> None:
    """Run a command, show it, and check that it ends as announced."""
    done = subprocess.run(  # noqa: S603 - the words above
        [sys.executable, "-m", "replan", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    sys.stdout.write(f"$ replan {' '.join(arguments)}\n{done.stdout}(exit {done.returncode})\n\n")
    sys.stdout.flush()
    if done.returncode != wanted:
        sys.exit(f"the demo expected exit {wanted}")


if __name__ == "__main__":
    main()
