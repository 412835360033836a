"""Which tests one worker takes, when several share a run: `-n 4 --dist loadscope --no-loadscope-reorder`.

Tests that share a cluster or a Spark session stay together, so that each is started once. Units are known from
names alone, since xdist's scheduler knows no more. (Its own groups, `--dist loadgroup`, find nothing with pytest 9.2.)
"""

import re

import pytest
from xdist.scheduler import LoadScopeScheduling

CONTROLLERS = re.compile(
    r"tests/(?:golden|kafka/test_fake_brokers)[^[]*(?:\[(?:.*-)?(\d+\.\d+\.\d+)\b)?"
)
DEFAULT_VERSION = "4.3.1"
SECURED = re.compile(r"tests/kafka/test_(?:adapter_security|permissions)\.py")
STEADY = re.compile(r"tests/kafka/test_(?:elections|recovery)\w*\.py")
FOLDERS = re.compile(r"tests/(conformance|fleet)/")
ALONE = tuple(
    f"tests/kafka/test_{name}.py" for name in ("main_job", "one_broker", "two_machines", "way_back")
)
"""Each test of them takes a minute or more, most of that waiting, and most have a cluster of their own."""


class Workers(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Gives each worker a unit at a time, from the front of the queue; the first worker takes them from its end.

    So what computes runs beside what waits for brokers, and both end together.
    """

    def _assign_work_unit(self, node: object) -> None:
        if node is next(iter(self.assigned_work)):
            self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
        super()._assign_work_unit(node)

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
    if found := FOLDERS.match(name):
        return found[1]
    return name if name.startswith(ALONE) else name.partition("::")[0]


def sort(items: list[pytest.Item]) -> None:
    """Bring what waits to the front, then what has a JVM; large units are at both ends, for two kinds of workers."""
    sizes: dict[str, int] = {}
    for item in items:
        unit = unit_of(item.nodeid)
        sizes[unit] = sizes.get(unit, 0) + 1
    items.sort(key=lambda item: _place(item, sizes[unit_of(item.nodeid)]))


def _place(item: pytest.Item, size: int) -> tuple[bool, bool, int]:
    computes = not any(item.get_closest_marker(mark) for mark in ("kafka", "spark"))
    return item.get_closest_marker("waits") is None, computes, size if computes else -size
