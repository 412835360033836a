"""`doctor` and `init` on real brokers: what the user may do is asked of the cluster itself."""

import json
from pathlib import Path

import pytest
from tests.commandline import replan
from tests.kafka.harness.clients import create_topic
from tests.kafka.harness.one_jvm import OneJvmCluster
from tests.kafka.secured import Secured

pytestmark = pytest.mark.kafka


def test_a_first_look_at_brokers(one_jvm: OneJvmCluster, tmp_path: Path) -> None:
    create_topic(one_jvm.bootstrap, "first-look", [[1, 2, 3]])
    reach = ("--bootstrap-server", one_jvm.bootstrap)
    done = replan("doctor", "--format", "json", *reach, folder=tmp_path)
    assert done.returncode in {0, 2}, done.stderr
    found = {c["check"]: c["level"] for c in json.loads(done.stdout)["checks"]}
    assert found["permissions-to-plan"] == found["permissions-to-apply"] == "ok"
    assert found["brokers"] == found["journal"] == "ok"
    assert replan("init", *reach, folder=tmp_path).returncode == 0
    planned = replan("plan", "--format", "json", *reach, folder=tmp_path)
    assert planned.returncode in {0, 2}, planned.stderr  # 2: a leader is not the preferred one
    assert all(m["original"] == m["target"] for m in json.loads(planned.stdout)["moves"])


def test_where_nobody_answers_it_says_so(tmp_path: Path) -> None:
    done = replan(
        *("doctor", "--bootstrap-server", "127.0.0.1:1", "--timeout", "1s"), folder=tmp_path
    )
    assert done.returncode == 1
    assert "127.0.0.1:1" in done.stderr


def test_an_advertised_listener_that_nobody_listens_at_is_named_with_its_address(
    secured: Secured, tmp_path: Path
) -> None:
    """All rights are there, and no ACL helps."""
    reach = ("--bootstrap-server", secured.listener("ASTRAY"))
    address = f"127.0.0.1:{secured.ports['NOBODY'][1]}"
    done = replan("doctor", *reach, "--timeout", "10s", folder=tmp_path)
    assert done.returncode == 2, done.stderr
    (said,) = [line for line in done.stdout.splitlines() if address in line]
    assert said.startswith("look")
    assert f"broker 2 at {address}: 111 ECONNREFUSED" in said
    assert "advertised.listeners" in said
