"""A process at work is steered from another terminal: same journal, no lock, and an answer from that process."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.commandline import checked, interrupted, replan, start

from replan.applying.api import FileJournal, Order
from replan.model.api import TopicPartition, Wanted, replicas
from replan.simulator.api import open_simulated

pytestmark = pytest.mark.command
SIMULATED = ("--simulated", "cluster.json")


@contextmanager
def at_work(folder: Path, *more: str) -> Iterator[subprocess.Popen[str]]:
    """An application whose copies would take years."""
    large = (folder / "cluster.json").read_text().replace("000000", "000000000")
    (folder / "cluster.json").write_text(large)
    slow = (folder / "placement.yaml").read_text().partition("throttles:")[0]
    (folder / "placement.yaml").write_text(slow + "throttles: {moves: {rate: 1KB/s}}\n")
    process = start(
        ["apply", "-f", "placement.yaml", "--auto-approve", *SIMULATED, *more], folder=folder
    )
    try:
        while "pid" not in replan("lock", "show", *SIMULATED, folder=folder).stdout:
            assert process.poll() is None
        yield process
    finally:
        process.kill()
        process.communicate()


NO_SNAPSHOT = [
    ("pause",),
    ("journal", "show"),
    ("lock", "show"),
    ("lock", "release", "3f9a1c02b7de", "--reason", "it hangs"),
    ("rollback",),
]


@pytest.mark.parametrize("words", NO_SNAPSHOT)
def test_what_needs_a_journal_offers_no_snapshot(folder: Path, words: tuple[str, ...]) -> None:
    done = checked(*words, "--snapshot", "cluster.json", folder=folder, wanted=1)
    assert "Error: No such option '--snapshot'." in done.stderr
    (folder / "fleet.yaml").write_text("version: 1\nclusters: {kept: {snapshot: cluster.json}}\n")
    done = replan(*words, "--cluster", "kept", folder=folder)
    assert (done.returncode, done.stderr) == (
        1,
        "replan: cluster kept is a snapshot in fleet.yaml: it has no journal, and can only be read\n",
    )


@pytest.mark.parametrize("running", [(), ("--no-running",)])
def test_how_long_a_throttle_waits_goes_with_what_it_waits_for(
    folder: Path, running: tuple[str, ...]
) -> None:
    words = ("throttle", "1MB/s", *running, "--give-up-after", "1h")
    done = replan(*words, *SIMULATED, folder=folder)
    assert (done.returncode, done.stderr) == (1, "replan: --give-up-after goes with --running\n")


def test_another_terminal_pauses_resumes_and_throttles(folder: Path) -> None:
    with at_work(folder) as process:
        paused = replan("pause", *SIMULATED, folder=folder)
        assert (paused.returncode, paused.stderr) == (0, "")
        assert f"(pid {process.pid})" in paused.stdout
        lifted = checked("resume", *SIMULATED, folder=folder)
        assert "pause lifted, by " in lifted.stdout
        checked("resume", *SIMULATED, folder=folder, wanted=4)
        faster = checked("throttle", "10GB/s", *SIMULATED, folder=folder)
        assert faster.stdout.startswith("throttle: 10 GB/s, set by ")
        _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert not list((folder / "cluster.json.journal.inbox").iterdir())
    checked("status", *SIMULATED, "--format", "json", folder=folder)
    assert "throttled" not in (folder / "cluster.json").read_text()


@pytest.mark.nightly
def test_paused_it_waits_for_a_person_though_nothing_can_happen_to_an_embedded_cluster(
    folder: Path,
) -> None:
    with at_work(folder, "--slots", "1") as process:
        checked("pause", *SIMULATED, folder=folder)
        checked("throttle", "10GB/s", *SIMULATED, folder=folder)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=8)
        shown = replan("status", *SIMULATED, folder=folder).stdout
        assert "not started: paused by" in shown
        assert "running" not in shown.splitlines()[0]
        checked("resume", *SIMULATED, folder=folder)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err


def test_without_a_process_at_work_they_say_what_to_do(folder: Path) -> None:
    for command in (("pause",), ("throttle", "1MB/s")):
        nothing = checked(*command, *SIMULATED, folder=folder, wanted=4)
        assert "no application is open" in nothing.stderr
    with at_work(folder) as process:
        checked("pause", *SIMULATED, folder=folder)
        code, _, _ = interrupted(process)
        assert code == 130
    for command in (("pause",), ("throttle", "1MB/s")):
        refused = checked(*command, *SIMULATED, folder=folder, wanted=4)
        assert "replan resume" in refused.stderr


def test_apply_again_with_other_rates_changes_those_of_the_process_at_work(folder: Path) -> None:
    again = ("apply", "-f", "placement.yaml", "--auto-approve", *SIMULATED)
    with at_work(folder):
        before = (folder / "placement.yaml").read_text()
        rates = "{moves: {rate: 2KB/s, brokers: {1: {leader: 3KB/s, follower: 4KB/s}}}}"
        changed = before.partition("throttles:")[0] + f"throttles: {rates}\n"
        for text, own in ((changed, True), (before, False)):
            (folder / "placement.yaml").write_text(text)
            done = checked(*again, folder=folder)
            kept = "broker 1 has its own rate: leader 3 kB/s, follower 4 kB/s"
            assert (kept in done.stdout) is own
            slower = replan("throttle", "4KB/s", *SIMULATED, folder=folder)
            assert (kept in slower.stdout) is own
        journal = replan("journal", "show", "--format", "json", *SIMULATED, folder=folder)
    (opened,) = json.loads(journal.stdout)["applications"]
    assert (opened["rate"], opened["brokers"]) == ("4000", [])


def test_a_window_ends_resumably_and_a_time_that_is_over_is_refused(folder: Path) -> None:
    common = ("-f", "placement.yaml", "--auto-approve", *SIMULATED)
    day = timedelta(days=1)
    begun = datetime.fromisoformat(json.loads((folder / "cluster.json").read_text())["observedAt"])
    over = ((begun - day).isoformat(), "is over"), ("2020-01-01T00:00:00Z", "is over")
    for text, expected in (*over, ("noon", "is no time"), ("2099-01-01T00:00", "is no time")):
        refused = checked("apply", *common, "--until", text, folder=folder, wanted=1)
        assert expected in refused.stderr
    assert not (folder / "cluster.json.journal").exists()
    slow = (folder / "placement.yaml").read_text().partition("throttles:")[0]
    (folder / "placement.yaml").write_text(slow + "throttles: {moves: {rate: 1KB/s}}\n")
    in_ten_minutes = (begun + timedelta(minutes=10)).isoformat(timespec="seconds")
    left = checked("apply", *common, "--until", in_ten_minutes, folder=folder, wanted=130)
    assert "the time of --until has come" in left.stdout
    checked("resume", *SIMULATED, folder=folder)


def test_what_is_no_rate_is_refused_before_anything_is_sent(folder: Path) -> None:
    for text, expected in (("50", "needs a unit"), ("1B/s", "below 1KB/s"), ("fast", "No such")):
        refused = checked("throttle", text, *SIMULATED, folder=folder, wanted=1)
        assert expected in refused.stderr


def test_what_another_tool_reassigns_is_throttled_until_it_ends(folder: Path) -> None:
    nothing = replan("throttle", "1MB/s", "--running", *SIMULATED, folder=folder)
    assert (nothing.returncode, "nothing to throttle" in nothing.stdout) == (0, True)
    assert not (folder / "cluster.json.journal").exists()
    cluster = json.loads((folder / "cluster.json").read_text())
    running = cluster["topics"][0]["partitions"][0]
    running |= {"replicas": [4, 1, 2, 3], "isr": [1, 2, 3], "leader": 1, "adding": [4]}
    running["removing"] = [1]
    (folder / "cluster.json").write_text(json.dumps(cluster))
    done = checked("throttle", "1MB/s", "--running", *SIMULATED, folder=folder)
    assert "1 reassignment of other tools throttled" in done.stdout
    after = (folder / "cluster.json").read_text()
    assert "throttled" not in after
    assert "adding" not in after
    history = json.loads(
        replan("journal", "show", "--format", "json", *SIMULATED, folder=folder).stdout
    )
    assert [a["status"] for a in history["applications"]] == ["closed"]


def test_the_status_of_what_does_not_exist_is_not_settled(folder: Path) -> None:
    named = ("status", *SIMULATED, "--partition")
    known = replan(*named, "orders-0", folder=folder)
    assert (known.returncode, known.stdout.count("In sync")) == (0, 3)
    for name, word in (("orders-99", "Unknown partition"), ("nope-0", "Unknown topic")):
        found = checked(*named, name, folder=folder, wanted=3)
        assert word in found.stdout
    assert "2026-11-21T03:00:00Z" in known.stdout, "the time of the cluster"
    checked("status", "--topic", "nope", *SIMULATED, folder=folder, wanted=1)


def test_what_throttles_other_tools_goes_on_with_the_same_command(folder: Path) -> None:
    large = (folder / "cluster.json").read_text().replace("000000", "000000000")
    (folder / "cluster.json").write_text(large)
    plane = open_simulated(folder / "cluster.json")
    lists = {TopicPartition("orders", 0): replicas(1, 2, 3, 4)}
    plane.reassign(lists, allow_replication_factor_change=True)
    plane.close()
    for rate, shown in (("1KB/s", "1 kB/s"), ("2KB/s", "2 kB/s")):
        process = start(["throttle", rate, "--running", *SIMULATED], folder=folder)
        while shown not in replan("throttle", "show", *SIMULATED, folder=folder).stdout:
            assert process.poll() is None
        assert interrupted(process)[0] == 130
    refused = checked("abandon", *SIMULATED, folder=folder, wanted=4)
    assert "1 copy of the application still runs: orders-0; nothing was given up" in refused.stderr
    checked("abandon", "--unthrottled", *SIMULATED, folder=folder)
    assert "throttled" not in (folder / "cluster.json").read_text()


def test_what_an_ended_application_has_left_running_is_named_where_nothing_is_open(
    folder: Path,
) -> None:
    name, longer = TopicPartition("orders", 0), replicas(1, 2, 3, 4)
    plane = open_simulated(folder / "cluster.json")
    known = plane.look(Wanted(partitions=[name])).partitions[name]
    plane.reassign({name: longer}, allow_replication_factor_change=True)
    with FileJournal(folder / "cluster.json.journal", plane.cluster_id()) as journal:
        journal.append([Order(name, known.topic_id, known.replicas, longer)])
    plane.close()
    for command in ("resume", "cancel"):
        ended = checked(command, *SIMULATED, folder=folder, wanted=1)
        assert f"nothing to {command}: " in ended.stderr
        assert (
            "begun still run: orders-0\n`replan abandon --cancel-copies` cancels them"
            in ended.stderr
        )
    checked("abandon", "--cancel-copies", *SIMULATED, folder=folder)
    assert "adding" not in (folder / "cluster.json").read_text()
