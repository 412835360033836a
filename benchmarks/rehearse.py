"""How long `rehearse` takes for many moves on 60 brokers: the rules of applying, second by second, on the simulator.

    python benchmarks/rehearse.py                       # the table
    python benchmarks/rehearse.py --moves 1000 --profile

Each move brings one replica to another broker at 50 MB/s a broker, five copies at once on each; sizes are within three
fifths of the average.
"""

import argparse
import cProfile
import pstats
import resource
import sys
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.simulate_week import BROKERS, spread
from tests.builders import brokers, placement, snapshot, state

from replan.model.declared.placement import MoveThrottle
from replan.model.names import TopicId
from replan.model.snapshot import Snapshot
from replan.planning.making.planner import make_plan
from replan.planning.plans.plan import Plan
from replan.rehearsal.options import Options
from replan.rehearsal.run import rehearse
from replan.snapshots.json_form import derived_topic_id

RUNS = ((1_000, 1.0), (10_000, 0.1), (10_000, 1.0))
"""Moves, and gigabytes of each on average."""
BYTES_PER_SECOND = 50_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moves", type=int)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--profile", action="store_true")
    asked = parser.parse_args()
    print("| moves | each | virtual time | CPU | peak |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for moves, gigabytes in RUNS if asked.moves is None else ((asked.moves, asked.gigabytes),):
        plan, seen = planned(moves, gigabytes)
        profile = cProfile.Profile()
        began = time.process_time()
        if asked.profile:
            profile.enable()
        found = rehearse(plan, seen, Options())
        profile.disable()
        assert found.completed, found.text
        cpu = time.process_time() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
        print(
            f"| {moves:,} | {gigabytes * 1000:,.0f} MB | {found.seconds:,.0f} s | {cpu:.1f} s | {peak:,.0f} MB |",
            flush=True,
        )
        if asked.profile:
            pstats.Stats(profile).sort_stats("tottime").print_stats(25)


def planned(moves: int, gigabytes: float) -> tuple[Plan, Snapshot]:
    """The plan, and the cluster that it is for."""
    lists = list(spread(moves))
    seen = snapshot(
        [
            state(
                before,
                topic=name.topic,
                topic_id=TopicId(derived_topic_id(name.topic)),
                partition=name.partition,
                size=int((20 + i * 7919 % 60) / 50 * gigabytes * 1e9),
            )
            for i, (name, before, _) in enumerate(lists)
        ],
        registered=brokers(BROKERS, "abc"),
    )
    wanted: dict[str, dict[int, tuple[int, ...]]] = {}
    for name, _, after in lists:
        wanted.setdefault(name.topic, {})[name.partition] = after
    return make_plan(
        replace(placement(wanted), move_throttle=MoveThrottle(BYTES_PER_SECOND)), seen
    ), seen


if __name__ == "__main__":
    main()
