"""Kafka's own tools in the middle of an application: noticed, named, and never undone by replan."""

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.kafka.clusters import one_jvm_cluster
from tests.kafka.harness.clients import admin, partition_metadata, until
from tests.kafka.harness.layout import Layout
from tests.kafka.harness.tools import run_tool_warm
from tests.kafka.test_main_job import SETTLE, Site, filled, load_on, placement

END_SECONDS = 240
pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]


@pytest.fixture
def site(layout: Layout, pytestconfig: pytest.Config, tmp_path: Path) -> Iterator[Site]:
    with one_jvm_cluster(layout, pytestconfig) as cluster:
        found = filled(cluster, tmp_path)
        (tmp_path / "placement.yaml").write_text(placement(found.topic, rate="2MB/s"))
        found.replan("plan", "-o", "plan.json", wanted=2)
        yield found


LOOKED_SECONDS = 4.0
"""Within these the applier has looked, too, and seen its copy: what is undone before that it asks for once more."""


class Applied:
    """How it ended."""

    code = -1
    said = ""


@contextmanager
def applied(site: Site, *more: str) -> Iterator[Applied]:
    """Apply under a producer that sees no error; what the block does, it does while copies run."""
    found = Applied()
    command = "apply", "plan.json", "-v", *SETTLE, *more
    with load_on(site) as load, site.started(*command) as process:
        until(lambda: copying(site, 0), "a running copy", limit_seconds=60)
        time.sleep(LOOKED_SECONDS)
        yield found
        found.said = "".join(process.communicate(timeout=END_SECONDS))
        account = load.close()
    found.code = process.returncode
    assert account.errors == ()


def copying(site: Site, number: int) -> bool:
    found = partition_metadata(admin(site.cluster.bootstrap), site.topic)[number]
    return len(found.replicas) > len(found.isrs)


def reassign_tool(site: Site, action: str, partition: int, target: list[int], *more: str) -> str:
    """Kafka's own tool."""
    file = site.folder / "other.json"
    wanted = {"topic": site.topic, "partition": partition, "replicas": target}
    file.write_text(json.dumps({"version": 1, "partitions": [wanted]}))
    flags = ("--reassignment-json-file", str(file), action, *more)
    return run_tool_warm(site.kafka, "kafka-reassign-partitions", *site.flags, *flags)


def test_another_list_is_named_and_stays(site: Site) -> None:
    """A list without one of the replicas that are being added would hang for ever from 4.3 on; so it keeps both."""
    with applied(site) as found:
        reassign_tool(site, "--execute", 0, [5, 4, 2], "--additional")
    assert found.code == 4, found.said
    assert re.search(rf"foreign: {site.topic}-0: .* another tool changed it", found.said)
    until(lambda: not copying(site, 0), "the other tool's copy", limit_seconds=60)
    assert site.leftovers() == [], found.said
    assert {p: lists for p, (lists, _) in site.described().items()} == {
        0: [5, 4, 2],
        1: [3, 1],
        2: [3, 1, 2, 5],
    }


def test_a_cancel_is_named_and_not_asked_for_again(site: Site) -> None:
    """The tool wipes all throttles, too: they are set again for the copies that run, once, and nothing is left."""
    with applied(site) as found:
        reassign_tool(site, "--cancel", 0, [4, 2, 5])
    assert found.code == 4, found.said
    assert re.search(rf"foreign: {site.topic}-0: .* another tool undid that", found.said)
    assert "another tool removed" in found.said
    assert {p: lists for p, (lists, _) in site.described().items()} == {
        0: [1, 2, 3],
        1: [3, 1],
        2: [3, 1, 2, 5],
    }
    assert site.leftovers() == []


def test_throttles_that_verify_wipes_are_named_and_set_again_for_the_next_copy(site: Site) -> None:
    """It wipes all of the cluster's as soon as no reassignment runs: here between two copies, as one runs at a time."""
    wiped = "Clearing broker-level throttles"
    with applied(site, "--slots", "1") as found:
        until(
            lambda: wiped in reassign_tool(site, "--verify", 0, [4, 2, 5]), wiped, limit_seconds=120
        )
    assert found.code == 0, found.said
    assert "another tool" in found.said
    site.stands_as_declared()
