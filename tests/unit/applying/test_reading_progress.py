"""KIP-179's table of what runs: every status word for word, bytes, rates, time left, and what does not finish."""

import json
from typing import Any

import pytest
from msgspec.structs import replace
from tests.builders import move, state
from tests.unit.applying.lab import MB, Lab, lab

from replan.applying.api import read_progress
from replan.model.api import BrokerId, LogEnd, Look, MoveThrottle, TopicPartition, replicas
from replan.planning.api import (
    AskedPartition,
    Health,
    Reading,
    ReassignmentState,
    ReplicaRow,
    ReplicaStatus,
    reassignment_state,
    replica_rows,
)
from replan.reporting.api import (
    ClusterStatus,
    render_status,
    render_status_json,
    status_lines,
    status_text,
)

COPIED, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)


def copying() -> Lab:
    """A copy of 60 MB at 1 MB/s, interrupted after 20 s; it goes on by itself."""
    made = lab(
        [state([1, 2, 3], size=60 * MB), state([1, 2, 3], partition=1, size=MB)],
        [move([1, 2, 3], [1, 2, 4], size=60 * MB)],
        throttle=MoveThrottle(MB),
    )
    made.apply(stop=made.stop_at(20))
    return made


def reading(made: Lab, *names: TopicPartition) -> Reading:
    return read_progress(made.plane, names, made.clock.now())


def test_a_copy_is_behind_by_messages_and_ends_by_the_rate_at_which_that_shrinks() -> None:
    made = copying()
    before = reading(made, COPIED)
    made.clock.sleep(10)
    now = reading(made, COPIED)
    (row,) = replica_rows([AskedPartition(COPIED)], now, before)
    assert (row.broker, row.status) == (4, ReplicaStatus.BEHIND)
    assert row.behind
    assert status_text(row) == f"Behind by {row.behind:,} messages"
    assert row.bytes_per_second == pytest.approx(MB, rel=0.1)
    assert row.seconds_left is not None
    assert row.copied_bytes is not None
    assert row.seconds_left == pytest.approx((60 * MB - row.copied_bytes) / MB, rel=0.1)
    assert reassignment_state(AskedPartition(COPIED), now) is ReassignmentState.RUNNING
    made.clock.sleep(60)
    done = reading(made, COPIED)
    assert reassignment_state(AskedPartition(COPIED), done) is ReassignmentState.SETTLED
    rows = replica_rows([AskedPartition(COPIED, replicas(1, 2, 4))], done)
    assert {r.status for r in rows} == {ReplicaStatus.IN_SYNC}


def test_every_status_of_kip_179_has_its_words() -> None:
    made = copying()
    nowhere, none = TopicPartition("nowhere", 0), TopicPartition("orders", 42)
    asked = [
        AskedPartition(OTHER, replicas(1, 5, 42)),
        AskedPartition(none, replicas(1)),
        AskedPartition(nowhere, replicas(1)),
    ]
    rows = replica_rows(asked, reading(made, *(a.partition for a in asked)))
    assert [(str(r.partition), r.broker, status_text(r)) for r in rows] == [
        ("nowhere-0", 1, "Unknown topic"),
        ("orders-1", 1, "In sync"),
        ("orders-1", 5, "Broker does not host this partition"),
        ("orders-1", 42, "Unknown broker"),
        ("orders-42", 1, "Unknown partition"),
    ]
    now = reading(made, OTHER)
    assert reassignment_state(asked[0], now) is ReassignmentState.STOPPED
    assert (
        reassignment_state(AskedPartition(OTHER, replicas(1, 2, 3)), now)
        is ReassignmentState.SETTLED
    )


@pytest.mark.parametrize(
    ("follower", "leader", "endless", "left"),
    [
        ((100, 300), (1_000, 1_100), False, 80.0),
        ((100, 200), (1_000, 1_100), True, None),
        ((100, 100), (1_000, 1_100), False, None),
    ],
    ids=["it catches up", "it does not finish at this rate", "nothing was fetched"],
)
def test_the_time_left_counts_what_is_produced(
    follower: tuple[int, int], leader: tuple[int, int], endless: bool, left: float | None
) -> None:
    made = copying()
    look = reading(made, COPIED).look
    first, last = (_ends(look, n, follower[n], leader[n]) for n in (0, 1))
    (row,) = replica_rows([AskedPartition(COPIED)], last, first)
    assert (row.endless, row.seconds_left) == (endless, left)


def _ends(look: Look, number: int, follower: int, leader: int) -> Reading:
    ends = {
        BrokerId(1): {COPIED: LogEnd(leader, 0)},
        BrokerId(4): {COPIED: LogEnd(follower, 0)},
    }
    return Reading(seconds=10.0 * number, look=look, ends=ends)


def shown(row: ReplicaRow, **more: Any) -> ClusterStatus:
    reassignments = {COPIED: ReassignmentState.RUNNING, OTHER: ReassignmentState.STOPPED}
    health = Health(partitions=2, unhealthy=(), running=(), down=())
    return ClusterStatus(
        health=health,
        rows=[row],
        reassignments=reassignments,
        named=True,
        observed_at="now",
        **more,
    )


def test_it_is_shown_as_a_table_and_as_json() -> None:
    row = ReplicaRow(
        partition=COPIED,
        broker=BrokerId(4),
        status=ReplicaStatus.BEHIND,
        behind=7,
        copied_bytes=20 * MB,
        total_bytes=60 * MB,
        bytes_per_second=1e6,
        endless=True,
    )
    first, stopped, _, head, line, _, *rest = render_status(shown(row)).splitlines()
    assert first == "2 partitions: all in sync but for what is being copied."
    assert stopped == "Not as wanted, and not running: 1 partition: orders-1."
    assert head.split() == [*("Topic", "Partition", "Broker", "Status"), *head.split()[4:]]
    assert "Behind by 7 messages  20 MB of 60 MB (33 %)  1 MB/s" in line
    assert line.endswith("does not finish at this rate  another tool")
    assert rest == ["As of now."]
    document = json.loads(render_status_json(shown(row)))
    assert document["running"][0]["status"] == "Behind by 7 messages"
    assert [p["state"] for p in document["asked"]] == ["running", "stopped"]


def test_what_was_not_measured_has_no_column() -> None:
    row = ReplicaRow(partition=COPIED, broker=BrokerId(4), status=ReplicaStatus.BEHIND, behind=7)
    head = next(line for line in render_status(shown(row)).splitlines() if "Topic" in line)
    assert head.split() == ["Topic", "Partition", "Broker", "Status", "Whose"]


def test_many_replicas_are_shortened_unless_all_are_asked_for() -> None:
    row = ReplicaRow(partition=COPIED, broker=BrokerId(4), status=ReplicaStatus.BEHIND, behind=7)
    many = replace(shown(row), rows=[row] * 300)
    assert len(status_lines(many)) < 30
    assert "and 280 more replicas; --all lists them" in render_status(many)
    assert len(status_lines(many, everything=True)) > 300
