"""A snapshot that is taken in the middle of an application: what is planned from it is what is planned live.

Both go by what the application makes of its partitions, and not by the longer lists of the copies that run.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.commandline import replan
from tests.kafka.clusters import one_jvm_cluster
from tests.kafka.harness.clients import create_topic, fill
from tests.kafka.harness.layout import Layout
from tests.kafka.test_main_job import MEGABYTE, SETTLE, Site
from tests.kafka.test_two_machines import copying

from replan.model.api import TopicPartition
from replan.snapshots.api import read_snapshot

DRAIN = "version: 1\nblacklists: {replicas: [{broker: 5}]}\n"


@pytest.fixture(params=["4.3.1", "3.9.2"])
def site(
    request: pytest.FixtureRequest, pytestconfig: pytest.Config, tmp_path: Path
) -> Iterator[Site]:
    with one_jvm_cluster(Layout(version=request.param), pytestconfig) as cluster:
        create_topic(cluster.bootstrap, "orders", [[3, 1, 5], [1, 2, 3]])
        fill(cluster.bootstrap, "orders", 40 * MEGABYTE)
        yield Site(cluster, tmp_path, "orders")


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_a_drain_that_is_planned_from_it_keeps_no_list_of_a_copy(site: Site) -> None:
    (site.folder / "placement.yaml").write_text(
        "version: 1\nassignments: {orders: {partitions: {0: [3, 1, 2]}}}\n"
        "throttles: {moves: {rate: 100kB/s}}\n"
    )
    (site.folder / "drain.yaml").write_text(DRAIN)
    applies = ("apply", "-f", "placement.yaml", "--auto-approve", *SETTLE)
    with site.started(*applies) as applying:
        copying(site)
        site.replan("snapshot", "-o", "taken.json", wanted=0)
        live = replan(
            *("plan", "-f", "drain.yaml", "-o", "live.json", *site.flags), folder=site.folder
        )
        assert applying.poll() is None

    taken = json.loads((site.folder / "taken.json").read_bytes())
    expanded = read_snapshot(site.folder / "taken.json").partition(TopicPartition("orders", 0))
    assert expanded is not None
    assert sorted(expanded.replicas) == [1, 2, 3, 5]
    assert expanded.adding == (2,)
    assert [t["replicas"] for t in taken["application"]["targets"]] == [[3, 1, 2]]

    kept = replan(
        *("plan", "-f", "drain.yaml", "-o", "kept.json", "--snapshot", "taken.json"),
        folder=site.folder,
    )
    assert kept.returncode == live.returncode, f"{kept.stdout}\n{live.stdout}"
    assert moves(site, "kept.json") == moves(site, "live.json")
    assert all(len(move["target"]) <= 3 for move in moves(site, "kept.json"))
    assert f"replan's application {taken['application']['id']} of " in kept.stdout + kept.stderr


def moves(site: Site, file: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((site.folder / file).read_bytes())["moves"]
    return found
