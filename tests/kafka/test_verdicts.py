"""What `plan`, `drift` and `status` say while brokers are down: a restart changes no verdict, no leader is drift."""

import json
from pathlib import Path

import pytest
from tests.commandline import checked
from tests.kafka.harness.one_jvm import OneJvmCluster
from tests.kafka.site import Site

pytestmark = [pytest.mark.kafka, pytest.mark.nightly, pytest.mark.timeout(600)]
JOURNAL = ("--journal", "file:journal")


def said(site: Site, command: str, wanted: int, *words: str) -> str:
    """What a command says of the cluster, which ends with this exit code."""
    flags = ("--bootstrap-server", site.cluster.bootstrap, *JOURNAL, *words)
    return checked(command, *flags, folder=site.folder, wanted=wanted).stdout


def test_a_rolling_restart_changes_no_verdict_and_a_loss_of_all_leaders_does(
    steady: OneJvmCluster, tmp_path: Path
) -> None:
    """Before 4.1 Kafka does not tell the rack of a broker that is down, so whether a rule is kept is not known."""
    site = Site(steady, tmp_path, "verdicts")
    site.create([2, 1, 3], [2, 1, 3], [2, 1, 3], **{"min.insync.replicas": "1"})
    rule = {"replicationFactor": 3, "spread": "rack"}
    (tmp_path / "placement.yaml").write_text(
        json.dumps(
            {
                "version": 1,
                "assignments": {"verdicts": rule},
                "preferredLeaders": {"verdicts": {"racks": ["b", "a"]}},
            }
        ),
        encoding="utf-8",
    )
    assert "No changes" in said(site, "plan", 0)
    for broker in (1, 3, 2):  # the leader last: nobody elects it again
        site.stop(broker)
        name = f"broker {broker} is down: "
        assert name in said(site, "plan", 0)
        drift = said(site, "drift", 0)
        assert name in drift
        assert "No drift" in drift
        assert name in said(site, "status", 0, "--topic", "verdicts")
        site.start(broker)
        site.in_sync(1, 2, 3)
    site.stop(1, 3, 2)
    site.leaderless()
    assert "3 partitions without a leader" in said(site, "plan", 0)
    drift = said(site, "drift", 2)
    assert "Drift: 3 differences" in drift
    assert "no leader: nobody can read or write it" in drift
    assert "verdicts-0  offline" in said(site, "status", 2, "--topic", "verdicts")
    site.start(2, 1, 3)
    site.in_sync(1, 2, 3)
