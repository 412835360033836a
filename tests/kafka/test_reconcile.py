"""A loop on brokers: a merged change, one by hand that policy leaves alone, and two loops of which one is killed."""

import json
import signal
import subprocess
import time
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from tests.commandline import checked, started
from tests.kafka.harness.clients import create_topic
from tests.kafka.harness.one_jvm import OneJvmCluster

pytestmark = pytest.mark.kafka
POLICY = "reconcile: {putRight: {placementChanged: 0s}}\n"


def placement(topic: str, lists: str) -> str:
    return f"version: 1\nassignments: {{{topic}: {{partitions: {{0: {lists}}}}}}}\n{POLICY}"


def loop(folder: Path, *flags: str) -> AbstractContextManager[subprocess.Popen[str]]:
    """A loop of its own, whose log is JSON."""
    words = ["reconcile", "--every", "2s", "--settle", "2", "--log-format", "json", *flags]
    return started(words, folder=folder)


def until(
    process: subprocess.Popen[str], event: str, seconds: float = 120, **fields: object
) -> None:
    """Read the log until an event has these fields."""
    assert process.stderr is not None
    end, said = time.monotonic() + seconds, list[str]()
    while time.monotonic() < end and (line := process.stderr.readline()):
        said.append(line)
        found = json.loads(line)
        if found["event"] == event and fields.items() <= found.items():
            return
    pytest.fail(f"no {event} with {fields} in:\n{''.join(said)}")


def test_a_merged_change_a_change_by_hand_and_a_loop_that_is_killed(
    one_jvm: OneJvmCluster, tmp_path: Path
) -> None:
    topic, file = "reconciled", tmp_path / "placement.yaml"
    create_topic(one_jvm.bootstrap, topic, [[1, 2, 3]])
    flags = ("--bootstrap-server", one_jvm.bootstrap)
    file.write_text(placement(topic, "[1, 2, 3]"))
    with loop(tmp_path, *flags) as first:
        until(first, "state", state="at-rest")
        with loop(tmp_path, *flags) as second:
            until(second, "state", state="waiting-for-lease")
            file.write_text(placement(topic, "[1, 2, 4]"))
            until(first, "round")
            until(first, "state", state="at-rest")
            checked("drift", *flags, folder=tmp_path)
            first.send_signal(signal.SIGKILL)
            killed = time.monotonic()
            until(second, "state", state="at-rest")
            assert time.monotonic() - killed < 90
            hand = tmp_path / "hand.yaml"
            hand.write_text(placement(topic, "[2, 1, 4]"))
            by_hand = "apply", "-f", "hand.yaml", "--auto-approve", "--settle", "2"
            checked(*by_hand, *flags, folder=tmp_path)
            until(second, "state", state="differs")
            second.send_signal(signal.SIGTERM)
            assert second.wait(60) == 130
