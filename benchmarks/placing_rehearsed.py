"""How long the plans of `placing` take: replan's, and the lists of its peers, performed by the same rehearsal.

Every list is moved by replan's applier on the simulator, five copies at once on a broker, at 50 MB/s; nobody writes.
It looks at the cluster up to a twentieth of a move apart. Kafka's `--generate` is performed for the first job alone.

* hours: of the whole application, its settle times included;
* busiest: what the broker that sends or receives most takes for its bytes at that rate: no order takes less;
* by replan's: the hours by those of replan's first plan of the job, on average over the seeds, and the least.

    python -m benchmarks.placing_rehearsed                 # two seeds of the jobs below
    python -m benchmarks.placing_rehearsed 1 "drain one"   # some
"""

import sys
from collections.abc import Iterator, Sequence

import numpy as np
from benchmarks.placing import NAMES, PEERS, Job, by_set, jobs, names, planned, seen
from benchmarks.placing_peers import Lists
from msgspec import Struct
from tests.builders import placement

from replan.model.api import MoveThrottle
from replan.planning.api import Plan, make_plan
from replan.rehearsal.api import Options, rehearse_plan

JOBS = (
    "drain one",
    "drain a rack",
    "replace a dead one",
    "add to all",
    "RF 2 to 3",
    "repair racks",
)
SEEDS = 2
RATE = 50_000_000
THROTTLE = "throttles: {moves: {rate: 50MB/s}}\n"


class Row(Struct, frozen=True):
    """How one plan was performed."""

    moves: int
    bytes: int
    hours: float
    busiest: float
    completed: bool


def plans(job: Job, seed: int) -> Iterator[tuple[str, Plan]]:
    """What each planner wants, as a plan."""
    for name, asked in job.asked.items():
        yield f"replan{name}", planned(job, asked + THROTTLE)[0]
    for peer in PEERS[job.name]:
        if peer == "generate" and job.name != JOBS[0]:
            continue  # it copies three to twelve times the bytes, whatever is asked for
        yield NAMES[peer], listed(job, by_set(job, NAMES[peer], np.random.default_rng(seed)))


def listed(job: Job, lists: Lists) -> Plan:
    """The plan of a file that lists all partitions."""
    wanted: dict[str, dict[int, list[int]]] = {}
    for name, found in zip(names(job), lists, strict=True):
        wanted.setdefault(name.topic, {})[name.partition] = found
    return make_plan(placement(wanted, throttle=MoveThrottle(RATE)), seen(job))


def performed(job: Job, plan: Plan) -> Row:
    """Rehearse a plan."""
    found = rehearse_plan(plan, seen(job), Options(exact_steps=0))
    most = max((max(load.sent_bytes, load.received_bytes) for load in found.brokers), default=0)
    return Row(
        found.moves,
        found.copied_bytes,
        found.seconds / 3600,
        most / RATE / 3600,
        found.completed and not found.broken and not plan.refusals,
    )


def table(results: dict[tuple[str, str], list[Row]]) -> None:
    """Averages over the seeds."""
    print("| job | by | moves | TB | hours | busiest | by replan's (least) | not completed |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    first: dict[str, list[Row]] = {}
    for (job, by), rows in results.items():
        base = first.setdefault(job, rows)
        ratios = [row.hours / of.hours for row, of in zip(rows, base, strict=True)]
        print(
            f"| {job} | {by} | {np.mean([r.moves for r in rows]):,.0f} "
            f"| {np.mean([r.bytes for r in rows]) / 1e12:.3f} "
            f"| {np.mean([r.hours for r in rows]):.2f} | {np.mean([r.busiest for r in rows]):.2f} "
            f"| {np.mean(ratios):.2f} ({min(ratios):.2f}) "
            f"| {sum(not r.completed for r in rows) or ''} |"
        )


def main(seeds: int, only: Sequence[str]) -> None:
    """One after the other."""
    results: dict[tuple[str, str], list[Row]] = {}
    for seed in range(1, seeds + 1):
        for job in jobs(seed):
            for by, plan in plans(job, seed) if job.name in only else ():
                row = performed(job, plan)
                results.setdefault((job.name, by), []).append(row)
                print(f"seed {seed}: {job.name}, {by}: {row}", file=sys.stderr, flush=True)
    table(results)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS, sys.argv[2:] or JOBS)
