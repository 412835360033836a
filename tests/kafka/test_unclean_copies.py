"""With unclean election on, Kafka elects a copy that has hardly begun: `apply` takes it back before that can happen."""

import subprocess
from pathlib import Path

import pytest
from tests.commandline import start
from tests.kafka.harness.clients import admin, fill, partition_metadata, until
from tests.kafka.harness.one_jvm import OneJvmCluster
from tests.kafka.site import Site

MEGABYTE = 1_000_000
pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]


def test_a_copy_is_taken_back_before_kafka_could_elect_it(
    steady: OneJvmCluster, tmp_path: Path
) -> None:
    """The follower stops while broker 3 copies, then the leader, and comes back: nothing is lost."""
    site = Site(steady, tmp_path, "copied-unclean")
    site.create([1, 2], **{"unclean.leader.election.enable": "true", "min.insync.replicas": "1"})
    fill(steady.bootstrap, site.topic, 15 * MEGABYTE)
    (written,) = site.ends()
    (tmp_path / "placement.yaml").write_text(
        f"version: 1\nassignments: {{{site.topic}: {{partitions: {{0: [1, 3]}}}}}}\n"
        "throttles: {moves: {rate: 400kB/s}}\n"
    )
    flags = ("--bootstrap-server", steady.bootstrap, "--journal", "file:journal", "--unlocked")
    command = ["apply", "-f", "placement.yaml", "--auto-approve", "--settle", "6", "-v", *flags]
    process, away = start(command, folder=tmp_path), list[int]()
    try:
        until(lambda: 3 in listed(site), "a running copy", limit_seconds=60)
        site.stop(2)
        away.append(2)
        until(lambda: listed(site) == [1, 2], "the copy taken back", limit_seconds=60)
        site.stop(1)
        away.append(1)
        site.leaderless()
        site.start(*reversed(away))
        away.clear()
        shown, errors = process.communicate(timeout=240)
    except (subprocess.TimeoutExpired, TimeoutError) as waited:
        process.kill()
        shown, errors = process.communicate()
        raise AssertionError(f"{waited}: {shown}\n{errors}") from waited
    finally:
        process.kill()
        site.start(*reversed(away))
    assert process.returncode == 0, f"{shown}\n{errors}"
    assert "unclean.leader.election.enable is true and only [1] is in sync" in shown + errors
    assert listed(site) == [1, 3]
    assert site.ends() == [written]


def listed(site: Site) -> list[int]:
    return list(partition_metadata(admin(site.cluster.bootstrap), site.topic)[0].replicas)
