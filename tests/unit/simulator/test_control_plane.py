"""The port over a simulated cluster: what a client sees, and how its requests get lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import snapshot, state
from tests.readings import sizes_of

from replan.errors import ClusterUnreachable
from replan.model.api import (
    FOLLOWER_RATE,
    Accepted,
    Answer,
    BrokerId,
    ConfigOperation,
    ConfigScope,
    ControlPlane,
    ElectionType,
    Features,
    LogDir,
    NewPartitions,
    OutcomeUnknown,
    Rejected,
    Replicas,
    TopicId,
    TopicPartition,
    Wanted,
    broker_change,
    replicas,
)
from replan.simulator.api import (
    AlterReassignments,
    At,
    CreateTopic,
    DeleteTopic,
    Disconnect,
    Fault,
    Forbid,
    KillBroker,
    LagMetadata,
    LoseRequests,
    Permission,
    RepeatRequests,
    SendRequest,
    SimulatedControlPlane,
    Simulation,
    StartBroker,
    VirtualClock,
    WriteKind,
    directory_of,
    from_snapshot,
)

P0 = TopicPartition("orders", 0)
TIMED_OUT = OutcomeUnknown("the request timed out")


def opened(*faults: At) -> SimulatedControlPlane:
    found = snapshot([state([1, 2, 3], size=100), state([2, 3, 1], partition=1)])
    return SimulatedControlPlane(from_snapshot(found), VirtualClock(), schedule=faults)


def reassign(plane: ControlPlane, *ids: int) -> Answer:
    return plane.reassign({P0: replicas(*ids)}, allow_replication_factor_change=True)[P0]


def listed(plane: ControlPlane) -> Replicas:
    return plane.look(Wanted(partitions=[P0])).partitions[P0].replicas


def test_what_is_observed_is_what_it_was_made_from() -> None:
    found = snapshot([state([1, 2, 3], [1, 2], size=7), state([2, 3, 4], partition=1)])
    plane = SimulatedControlPlane(from_snapshot(found), VirtualClock())
    assert plane.observe() == found
    plane.clock.sleep(61)
    assert plane.observe().observed_at == "2026-11-21T03:01:01Z"


@pytest.mark.parametrize(
    ("effect", "at_once", "after_a_minute"),
    [(None, (1, 2, 3), (1, 2, 3)), (0.0, (3, 2, 1), (3, 2, 1)), (60.0, (1, 2, 3), (3, 2, 1))],
)
def test_a_request_that_times_out_has_no_effect_or_one_now_or_one_later(
    effect: float | None, at_once: tuple[int, ...], after_a_minute: tuple[int, ...]
) -> None:
    plane = opened(At(0, LoseRequests(WriteKind.REASSIGN, effect_after_seconds=effect)))
    assert reassign(plane, 3, 2, 1) == TIMED_OUT
    assert listed(plane) == at_once
    plane.clock.sleep(61)
    assert listed(plane) == after_a_minute


def test_only_the_requests_of_one_kind_are_lost_and_only_so_many() -> None:
    plane = opened(At(0, LoseRequests(WriteKind.REASSIGN, times=2)))
    assert set(plane.elect([P0], ElectionType.PREFERRED).values()) != {TIMED_OUT}
    assert [reassign(plane, 3, 2, 1) for _ in range(3)] == [TIMED_OUT, TIMED_OUT, Accepted()]


def test_a_request_that_is_delivered_twice_is_answered_by_the_second_delivery() -> None:
    plane = opened(
        At(0, RepeatRequests(WriteKind.REASSIGN)), At(0, RepeatRequests(WriteKind.ELECT))
    )
    assert reassign(plane, 2, 1, 3, 4) == Accepted()
    assert plane.elect([P0], ElectionType.PREFERRED)[P0] == Rejected(
        84, "ELECTION_NOT_NEEDED", "Leader election not needed for topic partition."
    )
    assert plane.look(Wanted(partitions=[P0])).partitions[P0].leader == 2
    plane.inject(RepeatRequests(WriteKind.REASSIGN))
    cancelled = plane.reassign({P0: None}, allow_replication_factor_change=True)[P0]
    assert cancelled == Rejected(
        85, "NO_REASSIGNMENT_IN_PROGRESS", "No partition reassignment is in progress."
    )
    assert listed(plane) == (2, 1, 3)


def test_a_cluster_that_is_cut_off_answers_nothing_for_a_while() -> None:
    plane = opened(At(10, Disconnect(30)))
    plane.clock.sleep(10)
    with pytest.raises(ClusterUnreachable) as failure:
        plane.observe()
    assert str(failure.value) == "the simulated cluster does not answer until second 40"
    plane.clock.sleep(29)
    with pytest.raises(ClusterUnreachable):
        plane.look(Wanted())
    plane.clock.sleep(1)
    assert listed(plane) == (1, 2, 3)


def test_writing_to_a_cluster_that_is_cut_off_has_no_known_outcome() -> None:
    plane = opened(At(10, Disconnect(30)))
    plane.clock.sleep(10)
    answers = plane.elect([P0], ElectionType.PREFERRED)
    assert answers == {P0: OutcomeUnknown("the cluster does not answer")}
    replica = (P0, BrokerId(1))
    assert plane.move_logs({replica: "b"}) == {
        replica: OutcomeUnknown("the cluster does not answer")
    }


def test_a_late_request_for_other_log_directories_reaches_those_brokers_that_serve_then() -> None:
    dirs = tuple(LogDir(BrokerId(b), path) for b in (1, 2, 3) for path in "ab")
    found = snapshot([state([1, 2, 3], size=100)], log_dirs=dirs)
    lost = At(0, LoseRequests(WriteKind.MOVE_LOGS, effect_after_seconds=70))
    schedule = (lost, At(60, KillBroker(BrokerId(1))), At(80, StartBroker(BrokerId(1))))
    plane = SimulatedControlPlane(from_snapshot(found), VirtualClock(), schedule=schedule)
    before = {
        (P0, BrokerId(b)): directory_of(plane.simulation.world, (P0, BrokerId(b))) for b in (1, 2)
    }
    targets = {replica: {"a": "b", "b": "a"}[path or ""] for replica, path in before.items()}
    assert plane.move_logs(targets) == dict.fromkeys(targets, TIMED_OUT)
    for seconds, arrived in ((69, before), (2, targets), (50, targets)):
        plane.clock.sleep(seconds)
        now = [directory_of(plane.simulation.world, replica) for replica in before]
        assert now == [before[P0, BrokerId(1)], arrived[P0, BrokerId(2)]]


def test_who_may_not_alter_a_topic_is_refused_before_partitions_are_created() -> None:
    plane = opened(At(0, Forbid("orders", frozenset({Permission.ALTER}))))
    added = {"orders": NewPartitions(3, (replicas(1, 2, 3),))}
    answers = plane.would_create(added)
    assert isinstance(answers["orders"], Rejected)
    assert plane.create_partitions(added) == answers


def test_another_process_may_be_shown_what_is_older_than_what_the_one_before_was_shown() -> None:
    plane = opened(At(12, LagMetadata(8)))
    plane.clock.sleep(10)
    reassign(plane, 3, 2, 1)
    assert plane.look(Wanted(partitions=[P0])).partitions[P0].replicas == (3, 2, 1)
    plane.clock.sleep(3)
    assert plane.look(Wanted(partitions=[P0])).partitions[P0].replicas == (3, 2, 1)
    plane.connect_again()
    assert plane.look(Wanted(partitions=[P0])).partitions[P0].replicas == (1, 2, 3)
    plane.clock.sleep(6)
    assert plane.look(Wanted(partitions=[P0])).partitions[P0].replicas == (3, 2, 1)


@given(
    st.lists(
        st.sampled_from(
            [
                KillBroker(BrokerId(2)),
                StartBroker(BrokerId(2)),
                SendRequest(AlterReassignments(((P0, replicas(1, 2, 4)),))),
                SendRequest(AlterReassignments(((P0, None),))),
                SendRequest(DeleteTopic("orders")),
                SendRequest(
                    CreateTopic("orders", TopicId("AnotherTopicId00000000"), (replicas(2, 3),))
                ),
                LagMetadata(3),
                None,
            ]
        ),
        max_size=8,
    ),
    st.sampled_from(["3.9", "4.3"]),
)
def test_a_look_shows_the_same_whatever_was_looked_at_before(
    faults: list[Fault | None], version: str
) -> None:
    states = [state([1, 2, 3], size=100), state([2, 3, 1], partition=1)]
    seen = snapshot(states, features=Features(version == "4.3", version == "4.3"))
    plane = SimulatedControlPlane(from_snapshot(seen, version), VirtualClock())
    wanted = Wanted(
        partitions=[P0, P0._replace(partition=1)],
        topics=["orders"],
        registered=[BrokerId(b) for b in range(1, 6)],
    )
    for fault in faults:
        plane.clock.sleep(4)
        if fault is not None:
            plane.inject(fault)
        found = plane.look(wanted)
        if not plane.simulation.world.metadata_lag_seconds:
            afresh = SimulatedControlPlane(plane.simulation, plane.clock)
            assert found == afresh.look(wanted)


def test_every_state_of_the_controller_can_be_watched() -> None:
    states: list[Simulation] = []
    found = snapshot([state([1, 2, 3], size=100)])
    plane = SimulatedControlPlane(from_snapshot(found), VirtualClock(), watch=states.append)
    reassign(plane, 1, 2, 3, 4)
    plane.clock.sleep(10)
    plane.look(Wanted())
    lists = [s.cluster.topics["orders"].partitions[0] for s in states]
    assert [(p.adding, p.isr) for p in lists] == [((4,), (1, 2, 3)), ((), (1, 2, 3, 4))]
    assert [s.world.now for s in states] == pytest.approx([0, 0.25])


def test_a_dead_broker_that_is_not_fenced_yet_reports_nothing_and_accepts_nothing() -> None:
    plane = opened(At(0, KillBroker(BrokerId(2))))
    change = broker_change(BrokerId(2), FOLLOWER_RATE, ConfigOperation.SET, "5")
    unknown = OutcomeUnknown("broker 2 does not answer")
    assert plane.alter_configs([change]) == {(ConfigScope.BROKER, "2"): unknown}
    assert plane.observe().silent == (2,)
    assert BrokerId(2) not in {b for _, b in sizes_of(plane, [P0])}


def test_more_partitions_than_fit_a_request_travel_in_several() -> None:
    lists = [state([1, 2], partition=i) for i in range(5_001)]
    plane = SimulatedControlPlane(from_snapshot(snapshot(lists)), VirtualClock())
    plane.inject(LoseRequests(WriteKind.REASSIGN))
    asked: dict[TopicPartition, Replicas | None] = {s.partition: replicas(2, 1) for s in lists}
    answers = list(plane.reassign(asked, allow_replication_factor_change=False).values())
    assert answers == [TIMED_OUT] * 5_000 + [Accepted()]
