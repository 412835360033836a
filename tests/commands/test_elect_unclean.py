"""`elect best-log|unclean|designated` on the embedded cluster: shown, refused without --unclean, performed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from tests.commands.shell import Shell

from replan.commands.api import Connection, save_tails
from replan.errors import UnsafePlan
from replan.kafka.api import RecordBatch
from replan.model.api import BrokerId, Look, TopicPartition, TopicPermission, Wanted
from replan.planning.api import RecoveryMethod, loads
from replan.snapshots.api import read_index

pytestmark = pytest.mark.slow

BEST = ("elect", "best-log", "--topic", "orders")
GIVEN_UP = (*BEST, "--give-up-on", "1")


def cluster(logs: bool = True) -> dict[str, object]:
    """Broker 1 led orders-0 and is dead; 2 has 2,000 records, 3 has 1,000."""
    replicas = [
        {"broker": 2, "end": 2000, "lastEpoch": 0, "epochs": [[0, 2000]]},
        {"broker": 3, "end": 1000, "lastEpoch": 0, "epochs": [[0, 1000]]},
    ]
    partition = {"replicas": [1, 3, 2], "isr": [1], "leader": None, "bytes": 2_000_000}
    topic = {"name": "orders", "minInsyncReplicas": 1, "partitions": [partition]}
    return {
        "formatVersion": 1,
        "kind": "replan.snapshot",
        "clusterId": "MkU3OEVBNTcwNTJENDM2Qg",
        "observedAt": "2026-11-21T03:00:00Z",
        "brokers": [{"id": 1, "fenced": True}, {"id": 2}, {"id": 3}],
        "topics": [topic],
        "logs": [{"topic": "orders", "partition": 0, "replicas": replicas}] if logs else [],
    }


class Leaderless(Shell):
    def leader(self) -> BrokerId | None:
        (found,) = self.states()
        return found.leader


@pytest.fixture
def shell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Leaderless:
    monkeypatch.chdir(tmp_path)
    return Leaderless(tmp_path, capsys, cluster())


def test_the_best_log_leads_after_the_candidates_were_shown(shell: Leaderless) -> None:
    said, _ = shell.on_cluster(*GIVEN_UP, "--unclean", "--auto-approve")
    assert "best log" in said
    assert "led again by 2" in said
    (kept,) = json.loads(shell.on_cluster("journal", "show", "--format", "json")[0])["recoveries"]
    assert kept["value"]["evidence"] == "1: not live; 3: epoch 0, end 1000; 2: epoch 0, end 2000"
    assert "epoch 0, end 2000" in shell.on_cluster("journal", "show")[0]
    assert shell.leader() == BrokerId(2)


def test_nothing_unclean_is_done_without_unclean_or_without_somebody_who_agrees(
    shell: Leaderless,
) -> None:
    shell.on_cluster(*GIVEN_UP, "--auto-approve", wanted=3)
    shell.on_cluster(*GIVEN_UP, "--unclean", wanted=1)
    said, noted = shell.on_cluster(*GIVEN_UP, "--unclean", "--format", "json", wanted=1)
    assert "best log" in noted
    assert not said
    assert shell.leader() is None


def test_a_saved_plan_needs_unclean_as_well(shell: Leaderless) -> None:
    saved = shell.folder / "plan.json"
    shell.on_cluster(*GIVEN_UP, "-o", saved, wanted=2)
    (recovery,) = loads(saved.read_text(), "plan.json").recoveries
    assert (recovery.chosen, recovery.method, recovery.clean) == (2, RecoveryMethod.BALANCED, False)
    shell.on_cluster("apply", saved, "--auto-approve", wanted=3)
    shell.on_cluster("apply", saved, "--unclean", wanted=1)
    assert shell.leader() is None
    shell.on_cluster("apply", saved, "--unclean", "--auto-approve")
    assert shell.leader() == BrokerId(2)


@pytest.mark.parametrize(
    ("arguments", "leader"),
    [
        (("elect", "--election-type", "longest_log_balanced", "--all-topic-partitions"), 2),
        (("elect", "--election-type", "longest_log_agressive", "--topic", "orders"), 2),
        (("elect", "--election-type", "UNCLEAN", "--topic", "orders", "--partition", "0"), 3),
        (("elect", "--election-type", "designation", "--path-to-json-file", "leaders.json"), 3),
        (("elect", "designated", "--partition", "orders-0", "--leader", "3"), 3),
    ],
    ids=lambda of: " ".join(of) if isinstance(of, tuple) else str(of),
)
def test_kafkas_and_kip_966s_spellings(
    shell: Leaderless, arguments: tuple[str, ...], leader: int
) -> None:
    named = [{"topic": "orders", "partition": 0, "desiredLeader": 3}]
    (shell.folder / "leaders.json").write_text(json.dumps({"partitions": named}))
    agreed = ("--give-up-on", "1", "--unclean", "--auto-approve")
    said, _ = shell.on_cluster(*arguments, *agreed, "--format", "json")
    (row,) = json.loads(said)["partitions"]
    assert (row["leader"], row["result"]) == (leader, "elected")
    assert shell.leader() == BrokerId(leader)
    assert row["statedLoss"] == row["measuredLoss"] == (0 if leader == 2 else 1000)


def test_as_json_every_partition_is_named_whatever_became_of_it(shell: Leaderless) -> None:
    """Refused, planned, elected, not needed: one document, with the candidates where there is a choice."""

    def found(*arguments: object, wanted: int) -> dict[str, Any]:
        said, _ = shell.on_cluster(*arguments, "--format", "json", wanted=wanted)
        document = json.loads(said)
        assert document["electionType"] == "best-log"
        (row,) = document["partitions"]
        assert document["counts"][row["result"]] == sum(document["counts"].values()) == 1
        return dict(row)

    refused = found(*BEST, wanted=3)
    assert (refused["result"], refused["rule"]) == ("failed", "better-may-return")
    ends = {c["broker"]: c["log"]["end"] for c in refused["candidates"] if "log" in c}
    assert ends == {2: 2000, 3: 1000}
    of = {c["broker"]: (c["partsAt"], c["lacks"], c["beyond"]) for c in refused["candidates"][1:]}
    assert of == {2: (2000, 0, 0), 3: (1000, 1000, 0)}
    assert found(*GIVEN_UP, wanted=3)["result"] == "planned"
    planned = found(*GIVEN_UP, "-o", "plan.json", wanted=2)
    assert (planned["result"], planned["leader"], planned["statedLoss"]) == ("planned", 2, 0)
    assert planned["candidates"] == refused["candidates"]
    agreed = (*GIVEN_UP, "--unclean", "--auto-approve")
    assert found(*agreed, wanted=0)["result"] == "elected"
    assert found(*agreed, wanted=0)["result"] == "not-needed"


@pytest.fixture
def led(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Leaderless:
    """Broker 1 leads orders-0; 2 is in sync as well, 3 is not."""
    monkeypatch.chdir(tmp_path)
    document = cluster(logs=False)
    document["brokers"] = [{"id": 1}, {"id": 2}, {"id": 3}]
    partition = {"replicas": [1, 3, 2], "isr": [1, 2], "leader": 1, "bytes": 0}
    document["topics"] = [{"name": "orders", "minInsyncReplicas": 1, "partitions": [partition]}]
    return Leaderless(tmp_path, capsys, document)


DESIGNATED = ("elect", "designated", "--partition", "orders-0", "--leader")


def test_a_led_partition_gets_the_leader_that_is_named(led: Leaderless) -> None:
    said, _ = led.on_cluster(*DESIGNATED, "2", "-o", "plan.json", wanted=2)
    assert "leader 1 -> 2" in said
    (move,) = loads((led.folder / "plan.json").read_text(), "plan.json").moves
    assert (move.original, move.target) == ((1, 3, 2), (2, 1, 3))
    found = json.loads(led.on_cluster(*DESIGNATED, "2", "--format", "json")[0])
    (row,) = found["partitions"]
    assert (row["leader"], row["leaderBefore"], row["result"]) == (2, 1, "elected")
    assert led.leader() == BrokerId(2)
    assert "no election is needed" in led.on_cluster(*DESIGNATED, "2")[0]


def test_a_leader_is_named_for_all_partitions_of_a_topic(led: Leaderless) -> None:
    led.on_cluster("elect", "designated", "--topic", "orders", "--leader", "2")

    assert led.leader() == BrokerId(2)


@pytest.mark.parametrize(
    ("leader", "rule"), [(3, "designated-unavailable"), (9, "no-such-replica")]
)
def test_a_replica_that_cannot_lead_is_named_and_the_leader_stays(
    led: Leaderless, leader: int, rule: str
) -> None:
    said, _ = led.on_cluster(*DESIGNATED, leader, "--unclean", "--auto-approve", wanted=3)
    assert f"[{rule}]" in said
    assert led.leader() == BrokerId(1)


def test_kafkas_designation_leaves_led_partitions_as_they_are(led: Leaderless) -> None:
    named = [{"topic": "orders", "partition": 0, "desiredLeader": 2}]
    (led.folder / "leaders.json").write_text(json.dumps({"partitions": named}))
    asked = ("elect", "--election-type", "designation", "--path-to-json-file", "leaders.json")
    said, _ = led.on_cluster(*asked, "--unclean", "--auto-approve")
    assert "no election is needed" in said
    assert led.leader() == BrokerId(1)
    led.on_cluster("elect", "designated", "--election-file", "leaders.json")
    assert led.leader() == BrokerId(2)


def test_a_partition_without_a_desired_leader_is_named_with_its_place(led: Leaderless) -> None:
    (led.folder / "leaders.yaml").write_text("partitions:\n  - {topic: orders, partition: 0}\n")
    asked = ("elect", "designated", "--election-file", "leaders.yaml")
    _, told = led.on_cluster(*asked, wanted=1)
    assert "leaders.yaml:2:5: orders-0 has no desiredLeader" in told


def test_a_loss_counts_what_each_of_several_parted_logs_alone_has(shell: Leaderless) -> None:
    """All part at 1,000; dead broker 1 had 2,000 records more, 2 has 400, 3 leads. Not only the longest counts."""

    def told(broker: int, *epochs: tuple[int, int]) -> dict[str, object]:
        epoch, end = epochs[-1]
        return {
            "broker": broker,
            "end": end,
            "lastEpoch": epoch,
            "epochs": [list(e) for e in epochs],
        }

    def saved(name: str, *replicas: dict[str, object]) -> None:
        logs = [{"topic": "orders", "partition": 0, "replicas": replicas}]
        found: dict[str, Any] = {**cluster(), "logs": logs}
        found["topics"][0]["partitions"][0]["leaderEpoch"] = 3
        (shell.folder / name).write_text(json.dumps(found))

    two, three = told(2, (0, 1000), (2, 1400)), told(3, (0, 1000), (3, 1500))
    saved("cluster.json", two, three)
    saved("before.json", told(1, (0, 1000), (1, 3000)), two)
    agreed = (*GIVEN_UP, "--before", "before.json")

    shown, _ = shell.on_cluster(*agreed, wanted=3)
    assert (
        "Loses at least 2,400 records: 2,000 of broker 1 from offset 1,000 on, 400 of broker 2 from offset 1,000 on;"
    ) in shown
    said, _ = shell.on_cluster(*agreed, "--unclean", "--auto-approve", "--format", "json")

    (row,) = json.loads(said)["partitions"]
    assert (row["leader"], row["statedLoss"], row["measuredLoss"]) == (3, 2400, 2400)
    assert row["lostFrom"] == [
        {"broker": 1, "begin": 1000, "end": 3000},
        {"broker": 2, "begin": 1000, "end": 1400},
    ]


def test_a_declared_recovery_that_waits_is_saved_and_resumed(shell: Leaderless) -> None:
    (shell.folder / "placement.yaml").write_text(
        "version: 1\nassignments: {}\nrecovery: {orders: {strategy: aggressive, wait: 5m}}\n"
    )
    _, noted = shell.on_cluster("plan", "-o", "plan.json", wanted=2)
    assert "saved; apply it with: replan apply plan.json --simulated " in noted
    assert noted.splitlines()[-1].endswith(" --unclean")
    (recovery,) = loads((shell.folder / "plan.json").read_text(), "plan.json").recoveries
    assert recovery.wait_seconds == 300
    shell.on_cluster("apply", "plan.json", "--unclean", "--auto-approve")
    assert shell.leader() == BrokerId(2)


def test_who_is_to_lead_has_to_be_said(shell: Leaderless) -> None:
    shell.on_cluster("elect", "designated", "--topic", "orders", wanted=1)
    shell.on_cluster("elect", "designated", "--partition", "orders-0", wanted=1)


def test_a_snapshot_keeps_what_replicas_say_of_their_logs(shell: Leaderless) -> None:
    saved = shell.folder / "seen.json"
    shell.on_cluster("snapshot", "--logs", "-o", saved)
    (logs,) = json.loads(saved.read_text())["logs"]
    assert {r["broker"]: r["end"] for r in logs["replicas"]} == {2: 2000, 3: 1000}


def test_a_simulated_cluster_has_no_records_to_save(shell: Leaderless) -> None:
    agreed = ("--unclean", "--auto-approve")
    shell.on_cluster(*GIVEN_UP, *agreed, "--save-tails", shell.folder / "lost", wanted=1)
    assert shell.leader() is None


class Unshown:
    """A cluster whose look shows nothing of the partition, and records that nobody should read."""

    def __init__(self, look: Look) -> None:
        self.seen = look

    def look(self, _: Wanted) -> Look:
        return self.seen


@pytest.mark.parametrize(
    ("look", "why"),
    [
        (Look(brokers={}, unclear=frozenset({TopicPartition("orders", 0)})), "older metadata"),
        (
            Look(brokers={}, forbidden={"orders": TopicPermission.DESCRIBE}),
            "lacks the ACL Describe",
        ),
    ],
)
def test_what_is_not_shown_of_a_partition_does_not_count_as_nothing_to_save(
    shell: Leaderless, look: Look, why: str
) -> None:
    saved = shell.folder / "plan.json"
    shell.on_cluster(*GIVEN_UP, "-o", saved, wanted=2)
    plan, plane = loads(saved.read_text(), "plan.json"), cast(Any, Unshown(look))
    connection = Connection(plane, plane, tails=lambda: plane)
    with pytest.raises(UnsafePlan, match=why):
        save_tails(plan, shell.folder / "lost", connection)


class Unreadable:
    """The tails of a cluster of which that of broker 4 is of an old message format."""

    def held_from(self, _broker: BrokerId, _name: TopicPartition, begin: int) -> int:
        return begin

    def read(
        self, broker: BrokerId, _name: TopicPartition, begin: int, end: int
    ) -> Iterator[RecordBatch]:
        if broker == 4:
            raise UnsafePlan("message format 1")
        yield RecordBatch(begin, end - 1, end - begin, False, False, b"records")


def test_what_was_saved_before_a_tail_that_cannot_be_saved_stays_in_the_index(
    shell: Leaderless,
) -> None:
    wider = cast(Any, cluster())
    wider["brokers"].append({"id": 4})
    wider["topics"][0]["partitions"][0]["replicas"] = [1, 3, 2, 4]
    wider["logs"][0]["replicas"].append(
        {"broker": 4, "end": 1500, "lastEpoch": 0, "epochs": [[0, 1500]]}
    )
    (shell.folder / "cluster.json").write_text(json.dumps(wider))
    designated = ("elect", "designated", "--partition", "orders-0", "--leader", "3")
    saved = shell.folder / "plan.json"
    shell.on_cluster(*designated, "--give-up-on", "1", "-o", saved, wanted=2)
    plan = loads(saved.read_text(), "plan.json")
    (state,) = shell.states()
    look = Look(brokers={}, partitions={state.partition: state})
    connection = Connection(
        cast(Any, Unshown(look)), cast(Any, None), tails=lambda: cast(Any, Unreadable())
    )
    with pytest.raises(UnsafePlan, match="message format 1"):
        save_tails(plan, shell.folder / "lost", connection)
    (tail,) = read_index(shell.folder / "lost").tails
    assert (tail.broker, tail.records) == (2, 1000)
