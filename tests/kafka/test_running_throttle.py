"""`throttle RATE --running` on brokers: what another tool reassigns is throttled, from any machine, and restored."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.kafka.harness.clients import until
from tests.kafka.test_main_job import Site
from tests.kafka.test_two_machines import Machine, machine, site

from replan.kafka.api import open_cluster
from replan.model.api import Accepted, TopicPartition, replicas

__all__ = ["machine", "site"]


@pytest.mark.nightly
def test_what_another_tool_reassigns_is_throttled_and_restored(
    site: Site, machine: Callable[[str], Machine], tmp_path: Path
) -> None:
    ann, bob = machine("ann"), machine("bob")
    nothing = ann.replan("throttle", "8MB/s", "--running", wanted=0)[0]
    assert "nothing to throttle" in nothing
    name = TopicPartition(site.topic, 0)
    site.cluster.stop(4)
    with open_cluster(site.cluster.bootstrap, None) as plane:
        lists = {name: replicas(1, 2, 3, 4)}
        answers = plane.reassign(lists, allow_replication_factor_change=True)
    assert answers == {name: Accepted()}
    with ann.started("throttle", "1MB/s", "--running") as throttling:
        until(
            lambda: "throttled.rate=1000000" in "".join(site.leftovers()),
            "1 MB/s",
            limit_seconds=60,
        )
        shown = bob.replan("throttle", "show", wanted=0)[0]
        assert "for reassignments of other tools" in shown
        assert "0:4" in shown
        site.cluster.start(4)
        changed = bob.replan("throttle", "20MB/s", wanted=0)[0]
        assert changed.startswith("throttle: 20 MB/s, set by ann@")
        out, said = throttling.communicate(timeout=120)
    assert throttling.returncode == 0, said
    assert "1 reassignment of other tools throttled" in out
    assert site.described()[0][0] == [1, 2, 3, 4]
    assert site.leftovers() == []
