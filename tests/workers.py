"""Which tests one worker takes, when several share a run: `-n 5 --dist loadscope --no-loadscope-reorder`.

Tests that share a cluster or a Spark session stay together, so that each is started once. Units are known from
names alone, since xdist's scheduler knows no more. (Its own groups, `--dist loadgroup`, find nothing with pytest 9.2.)
"""

import re
from collections import Counter

import pytest
from xdist.scheduler import LoadScopeScheduling

CONTROLLERS = re.compile(
    r"tests/(?:golden|kafka/test_fake_brokers)[^[]*(?:\[(?:.*-)?(\d+\.\d+\.\d+)\b)?"
)
DEFAULT_VERSION = "4.3.1"
SECURED = re.compile(r"tests/kafka/test_(?:adapter_security|\w*permissions)")
STEADY = re.compile(r"tests/kafka/test_(?:elections|policy|recovery|unclean_copies|verdicts)\.py")
CONFORMANCE = re.compile(r"tests/conformance/[^[]*\[kafka")
ALONE = re.compile(
    r"tests/(?:kafka/test_(?:main_job|two_machines|way_back)"
    r"|fleet/test_fleet_drift|properties/test_\w+)\.py"
)
"""Each test of them is a unit: most take half a minute or more, and have a cluster or a session of their own if any."""
SECONDS = {
    "tests/kafka/test_two_machines.py::test_it_is_steered": 40,
    "tests/kafka/test_two_machines.py": 115,
    "tests/kafka/test_recovery.py::test_the_best": 95,
    "tests/kafka/test_recovery.py": 15,
    "tests/kafka/test_reconcile.py": 65,
    "tests/kafka/test_way_back.py": 60,
    "tests/kafka/test_main_job.py": 40,
    "tests/kafka/test_loop_stories.py": 35,
    "tests/kafka/test_pipelines.py": 30,
    "tests/kafka/test_disks.py": 30,
    "tests/kafka/test_journal_topic.py::test_under_min_isr": 20,
    "tests/kafka/test_journal_topic.py": 1,
    "tests/kafka/test_permissions.py": 10,
    "tests/kafka/test_policy.py": 12,
    "tests/kafka/test_elections.py": 10,
    "tests/kafka/test_adapter_failures.py": 4,
    "tests/kafka/test_harness.py": 1.5,
    "tests/kafka/test_adapter_security.py": 1,
    "tests/kafka/test_fake_brokers.py": 1,
    "tests/kafka/test_wire.py": 1,
    "tests/golden/test_golden_controller.py": 0.7,
    "tests/golden/test_traces_controller.py": 9,
    "tests/fleet/test_fleet_drift.py::test_the_whole_run_on_spark": 60,
    "tests/fleet/test_fleet_drift.py::test_a_connect_server": 10,
    "tests/fleet/test_fleet_drift.py::test_processes": 6,
    "tests/fleet/test_oracle.py": 15,
    "tests/fleet/test_object_store.py": 20,
    "tests/fleet/test_drawn_kills.py": 25,
    "tests/fleet/test_one_session.py": 4,
    "tests/fleet/test_fleet_run.py": 2,
    "tests/fleet/test_watch.py": 3,
    "tests/fleet/test_parts.py": 1,
    "tests/properties/test_reconciling.py::test_a_loop_keeps": 12,
    "tests/properties/test_hostile.py": 4,
    "tests/ci/test_github.py": 4,
    "tests/ci/test_gitlab.py": 3,
    "tests/commands/test_random_runs.py": 5,
    "tests/commands/test_signals.py": 1.5,
    "tests/commands/test_steer.py": 2,
    "tests/commands/test_output.py": 1,
    "tests/examples/test_examples.py": 1,
    "tests/smallworld/test_small_world.py": 1,
}
"""What a test takes whose name begins so, on a quiet machine with two cores; the first that fits counts."""
USUAL_SECONDS = 0.1


class Workers(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Gives each worker a unit at a time, from the front of the queue; the first worker takes them from its end.

    So what computes runs beside what waits for brokers, and both end together.
    """

    def _assign_work_unit(self, node: object) -> None:
        if node is next(iter(self.assigned_work)):
            self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
        super()._assign_work_unit(node)

    def _reschedule(self, node: object) -> None:
        """A worker gets another unit when it has one test left, which it begins as soon as it knows the next one."""
        if self._pending_of(self.assigned_work[node]) < 2 or not self.workqueue:
            super()._reschedule(node)

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)


def unit_of(name: str) -> str:
    """The unit of a test, by its node id."""
    if found := CONTROLLERS.match(name):
        return f"controllers of {found[1] or DEFAULT_VERSION}"
    if STEADY.match(name):
        return "steady cluster"
    if SECURED.match(name):
        return "secured cluster"
    if CONFORMANCE.match(name):
        return "cluster of the conformance tests"
    return name if ALONE.match(name) else name.partition("::")[0]


def seconds_of(name: str) -> float:
    """About how long a test takes."""
    return next((s for start, s in SECONDS.items() if name.startswith(start)), USUAL_SECONDS)


def sort(items: list[pytest.Item]) -> None:
    """Bring what has a JVM to the front and what computes to the end, the longest of each first for its workers."""
    lengths, with_jvm = Counter[str](), set[str]()
    for item in items:
        unit = unit_of(item.nodeid)
        lengths[unit] += seconds_of(item.nodeid)  # type: ignore[assignment]  # a counter of seconds
        if any(item.get_closest_marker(mark) for mark in ("kafka", "spark")):
            with_jvm.add(unit)

    def place(item: pytest.Item) -> tuple[bool, float, str, float]:
        unit = unit_of(item.nodeid)
        length = lengths[unit]
        computes = unit not in with_jvm
        return computes, length if computes else -length, unit, -seconds_of(item.nodeid)

    items.sort(key=place)
