"""`doctor` and `init` on real brokers: what the user may do is asked of the cluster itself."""

import json
from pathlib import Path

import pytest
from tests.commandline import replan
from tests.kafka.harness.clients import create_topic
from tests.kafka.harness.one_jvm import OneJvmCluster

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
