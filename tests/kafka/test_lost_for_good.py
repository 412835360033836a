"""A new broker is lost in the middle of its copy, and unregistered: nothing that replan has begun runs for ever.

Kafka goes on with such a reassignment until somebody ends it; if a machine is registered with that id again, the copy
would go on without a throttle. What Kafka's own tools list afterwards decides. Before 4.1 nobody lists who is
registered, and the controller is asked (`kafka.reads.brokers`).
"""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.commandline import interrupted
from tests.kafka.harness.clients import admin, create_topic, fill, live_brokers, until
from tests.kafka.harness.cluster import Cluster
from tests.kafka.harness.layout import Layout
from tests.kafka.harness.tools import run_tool_warm
from tests.kafka.test_main_job import MEGABYTE, SETTLE, Site
from tests.kafka.test_two_machines import copying

FENCED_SECONDS, END_SECONDS = 60.0, 240.0
ORIGINAL, EXPANDED = ([1, 2, 3], 1), ([1, 2, 3, 4], 1)

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.timeout(900),
    pytest.mark.parametrize("version", ["4.3.1", "3.9.2"]),
]


@pytest.fixture
def site(kafka_cluster: Callable[..., Cluster], tmp_path: Path, version: str) -> Site:
    """Broker 4 in a JVM of its own; a copy to it takes minutes."""
    cluster = kafka_cluster(Layout(version=version), in_one_jvm=(1, 2, 3, 5, 101))
    create_topic(cluster.bootstrap, "orders", [[1, 2, 3]])
    fill(cluster.bootstrap, "orders", 40 * MEGABYTE)
    return Site(cluster, tmp_path, "orders")


def test_the_copy_is_cancelled_before_the_application_ends(site: Site) -> None:
    with copying_to_the_fourth(site) as applying:
        lose(site, 4)
        unregister(site, 4)
        said = "".join(applying.communicate(timeout=END_SECONDS))
    assert applying.returncode == 3, said
    assert "stale: orders-0: broker 4 was registered when planned" in said
    assert site.leftovers() == []
    assert site.described() == {0: ORIGINAL}
    site.replan("abandon", "--cancel-copies", wanted=1)  # nothing is left to end
    goes_on(site)


def test_what_an_abandoned_application_has_left_is_named_by_plan_and_cancelled_by_abandon(
    site: Site,
) -> None:
    with copying_to_the_fourth(site) as applying:
        lose(site, 4)
        code, _, _ = interrupted(applying)
    assert code == 130
    unregister(site, 4)
    site.replan("abandon", "--unthrottled", wanted=0)
    assert site.described() == {0: EXPANDED}

    declare(site, [1, 2, 5])
    held = site.replan("plan", wanted=4)
    assert "orders-0" in held
    assert "[left-running]" in held
    assert "replan abandon --cancel-copies" in held
    for command in ("abandon", "resume", "cancel"):
        assert "replan abandon --cancel-copies" in site.replan(command, wanted=1)
    site.replan("abandon", "--cancel-copies", wanted=0)
    assert site.leftovers() == []
    assert site.described() == {0: ORIGINAL}
    goes_on(site)


@contextmanager
def copying_to_the_fourth(site: Site, *words: str) -> Iterator[subprocess.Popen[str]]:
    """An application that has begun to copy to broker 4."""
    declare(site, [1, 2, 4], rate="100kB/s")
    command = "apply", "-f", "placement.yaml", "--auto-approve", *SETTLE, *words
    with site.started(*command) as process:
        try:
            copying(site)
            yield process
        except TimeoutError as error:
            process.kill()
            raise AssertionError(f"{error}: {process.communicate()}") from error


def declare(site: Site, replicas: list[int], *, rate: str = "50MB/s") -> None:
    (site.folder / "placement.yaml").write_text(
        f"version: 1\nassignments: {{orders: {{partitions: {{0: {replicas}}}}}}}\n"
        f"throttles: {{moves: {{rate: {rate}}}}}\n"
    )


def lose(site: Site, broker: int) -> None:
    assert isinstance(site.cluster, Cluster)
    client = admin(site.cluster.bootstrap)
    site.cluster.kill(broker)
    until(lambda: broker not in live_brokers(client), "fenced", limit_seconds=FENCED_SECONDS)


def unregister(site: Site, broker: int) -> None:
    """As one does with a machine that is lost."""
    run_tool_warm(site.kafka, "kafka-cluster", "unregister", *site.flags, "--id", str(broker))


def goes_on(site: Site) -> None:
    """What is declared instead is planned and done, and nothing is left of either."""
    declare(site, [1, 2, 5])
    site.replan("plan", "-o", "plan.json", wanted=2)
    site.apply()
    assert site.described() == {0: ([1, 2, 5], 1)}
    assert site.leftovers() == []
