"""A controller whose policy forbids throttles: `plan` says so, and `apply` begins no copy without one."""

from pathlib import Path

import pytest
from tests.commandline import checked
from tests.kafka.harness.one_jvm import OneJvmCluster
from tests.kafka.site import JOURNAL, Site, described

TOPIC = "no-throttles-please"
WHY = f"Throttles are not for {TOPIC}. "


@pytest.mark.nightly  # by day a fake cluster has a policy: test_answers.py
def test_a_throttle_that_a_policy_forbids_shows_in_the_review(
    steady: OneJvmCluster, tmp_path: Path
) -> None:
    site = Site(steady, tmp_path, TOPIC)
    site.create([1, 2, 3])
    site.write(10)
    (tmp_path / "placement.yaml").write_text(
        f"version: 1\nassignments: {{{TOPIC}: {{partitions: {{0: [1, 2, 4]}}}}}}\n"
        "throttles: {moves: {rate: 1MB/s}}\n"
    )
    reach = ("--bootstrap-server", steady.bootstrap, *JOURNAL[:2])
    planned = checked("plan", "-o", "plan.json", *reach, folder=tmp_path, wanted=3)
    assert f"Kafka refuses the throttle of topic {TOPIC}: POLICY_VIOLATION: {WHY}" in planned.stderr
    applied = site.replan("apply", "plan.json", wanted=3)
    assert f"44 POLICY_VIOLATION: {WHY}" in applied
    assert described(steady, TOPIC) == [([1, 2, 3], 1)]
