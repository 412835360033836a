"""How long a tick of `apply` takes while one broker is frozen, dead, or live and silent, beside a healthy tick.

    python -m benchmarks.one_broker              all rows of the table in benchmarks/README.md
    python -m benchmarks.one_broker frozen home  one of them

Five real brokers and three controllers, the one in trouble in a JVM of its own; throttled copies run on all brokers. A
tick is all that happens between two pauses of the loop: look, decide, journal (in memory), send. Ticks are counted from
ten seconds after the fault. *home* is the broker that this process asks for what any broker knows; *copying* is a
source of some copies and the destination of others.
"""

import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from msgspec import Struct, field

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.kafka.harness.clients import create_topic, fill
from tests.kafka.harness.cluster import Cluster
from tests.kafka.harness.doors import Doors
from tests.kafka.harness.layout import FIVE_BROKERS, Layout

from replan.applying.api import MemoryJournal, Settings, apply_plan
from replan.kafka.api import SystemClock, open_cluster
from replan.placement_file.api import load_placement
from replan.planning.api import digest, make_plan

MEGABYTE = 1_000_000
LISTS = [[1, 2, 3], [2, 3, 1], [3, 1, 2], [4, 5, 1], [5, 4, 2], [1, 4, 3]]
TARGET = [[1, 2, 4], [2, 3, 5], [3, 1, 4], [4, 2, 1], [5, 4, 3], [5, 4, 3]]
HOME, COPYING = 2, 4
HEALTHY_SECONDS, LATER_SECONDS, FAULT_SECONDS = 25.0, 10.0, 60.0
FAULTS = ("frozen", "dead", "silent")
HEADER = """\
| fault | broker | healthy: median | p95 | later: median | p95 | longest | ticks | load |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""


class Ticks(Struct):
    """A clock that notes when each tick began and how long it took."""

    clock: SystemClock
    began: float = 0.0
    taken: list[tuple[float, float]] = field(default_factory=list)

    def now(self) -> float:
        """The time."""
        return self.clock.now()

    def sleep(self, seconds: float) -> None:
        """End a tick, rest, begin the next."""
        self.taken.append((self.began, self.clock.now() - self.began))
        self.clock.sleep(seconds)
        self.began = self.clock.now()

    def between(self, since: float, until: float) -> list[float]:
        """The seconds of the ticks that began in this time, in order of length."""
        return sorted(took for began, took in self.taken if since <= began < until)


def main() -> None:
    """Print the table, or the row that is asked for."""
    asked = [tuple(sys.argv[1:3])] if len(sys.argv) > 2 else []
    print(HEADER, flush=True)
    for fault in FAULTS:
        for name, broker in (("home", HOME), ("copying", COPYING)):
            if not asked or (fault, name) in asked:
                print(row(fault, name, broker), flush=True)


def row(fault: str, name: str, broker: int) -> str:
    """One row of the table, on a cluster of its own."""
    with Doors(FIVE_BROKERS) as doors:
        layout = Layout(
            controllers=3, broker_session_timeout_ms=9000, own_properties=doors.properties
        )
        nodes = (*FIVE_BROKERS, *layout.controller_ids)
        with Cluster(layout, in_one_jvm=[n for n in nodes if n != broker]) as cluster:
            act = {
                "frozen": lambda: cluster.freeze(broker),
                "dead": lambda: cluster.kill(broker),
                "silent": lambda: doors.shut(broker),
            }[fault]
            create_topic(cluster.bootstrap, "orders", LISTS)
            fill(cluster.bootstrap, "orders", 40 * MEGABYTE)
            # One address, so that it is known who is home.
            healthy, later = measured(doors.of(HOME), act)
    cells = (fault, name, *of(healthy), *of(later), f"{later[-1]:.2f} s", str(len(later)))
    return f"| {' | '.join(cells)} | {os.getloadavg()[0]:.1f} |"


def of(ticks: Sequence[float]) -> tuple[str, str]:
    """Median and 95th percentile, in words."""
    return (
        f"{1000 * median(ticks):.0f} ms",
        f"{1000 * ticks[min(len(ticks) - 1, int(0.95 * len(ticks)))]:.0f} ms",
    )


def measured(bootstrap: str, act: Callable[[], None]) -> tuple[list[float], list[float]]:
    """Healthy ticks, and those from ten seconds after the fault."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "placement.yaml"
        lists = ", ".join(f"{p}: {target}" for p, target in enumerate(TARGET))
        file.write_text(
            f"version: 1\nassignments: {{orders: {{partitions: {{{lists}}}}}}}\n"
            "throttles: {moves: {rate: 200kB/s}}\n"
        )
        placement = load_placement([file])
    clock = SystemClock()
    with open_cluster(bootstrap, None, clock=clock) as plane:
        plan = make_plan(placement, plane.observe())
        ticks, over = Ticks(clock, clock.now()), threading.Event()
        moments: list[float] = []

        def schedule() -> None:
            time.sleep(10)
            moments.append(clock.now())
            time.sleep(HEALTHY_SECONDS)
            moments.append(clock.now())
            act()
            moments.append(clock.now())
            time.sleep(LATER_SECONDS + FAULT_SECONDS)
            over.set()

        thread = threading.Thread(target=schedule)
        thread.start()
        apply_plan(
            plan,
            plane,
            plane,
            MemoryJournal(),
            ticks,
            plan_digest=digest(plan),
            settings=Settings(patience_seconds=5.0),
            report=lambda _: None,
            stop=over.is_set,
        )
        thread.join()
    began, faulty, since = moments
    later = since + LATER_SECONDS
    return ticks.between(began, faulty), ticks.between(later, later + FAULT_SECONDS)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    main()
