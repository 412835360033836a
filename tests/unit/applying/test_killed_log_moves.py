"""Replicas that go to other log directories, killed before or after every effect, or answered by nobody."""

import pytest
from msgspec.structs import replace
from tests.builders import TOPIC, TOPIC_ID, brokers, move, snapshot, state
from tests.unit.applying.lab import MB, Boundary, Killed, Lab, killed_anywhere, lab

from replan.applying.api import (
    Application,
    ApplicationStatus,
    Result,
    RunningCopies,
    Settings,
    Verb,
    fold,
)
from replan.errors import Exit, Held
from replan.model.api import (
    LOG_DIRS_RATE,
    BrokerId,
    ConfigOperation,
    ConfigScope,
    Features,
    LogDir,
    MoveThrottle,
    SettingName,
    TopicPartition,
    Wanted,
    broker_change,
)
from replan.planning.api import LogMove, ThrottleSetting
from replan.rehearsal.api import throttles_of
from replan.simulator.api import (
    KillBroker,
    LoseRequests,
    SimulatedControlPlane,
    StartBroker,
    WriteKind,
    from_snapshot,
)

pytestmark = pytest.mark.slow

B4 = BrokerId(4)
LYING: dict[str, dict[str, tuple[int, ...]]] = {
    "/a": {TOPIC: (0, 1)},
    "/b": {TOPIC: (2,)},
    "/c": {},
}
DIRS = tuple(LogDir(B4, path, 10**9, 9 * 10**8, 1, replicas=of) for path, of in LYING.items())


def names(*numbers: int) -> list[TopicPartition]:
    return [TopicPartition(TOPIC, number) for number in numbers]


def within(number: int, target: str) -> LogMove:
    return LogMove(TOPIC, TOPIC_ID, number, B4, "/a", target, 20 * MB)


def made(*faults: LoseRequests) -> Lab:
    """Two replicas leave /a, one of them of a partition that another move is for."""
    states = [state([4, 1, 2], partition=n, size=20 * MB) for n in range(3)]
    found = lab(states, [move([4, 1, 2], [4, 1, 3], size=20 * MB)], throttle=MoveThrottle(10 * MB))
    seen = replace(
        snapshot(states, registered=brokers(5, "abc"), features=Features(True, True)), log_dirs=DIRS
    )
    found.plane = SimulatedControlPlane(from_snapshot(seen, "4.3"), found.clock)
    found.plan = replace(found.plan, log_moves=(within(0, "/b"), within(1, "/c")))
    for fault in faults:
        found.plane.inject(fault)
    return found


def lies(found: Lab) -> dict[int, str | None]:
    places = found.plane.look(Wanted(places_of={B4: names(0, 1, 2)})).places[B4]
    assert all(place.future_path is None for place in places.values())
    return {name.partition: place.path for name, place in places.items()}


def arrived(found: Lab) -> bool:
    return lies(found) == {0: "/b", 1: "/c", 2: "/b"} and not throttles_of(
        found.plane.simulation.cluster
    )


def test_killed_before_or_after_any_effect_the_next_run_arrives() -> None:
    for boundary, found in killed_anywhere(made):
        assert found.apply().exit_code is Exit.OK, boundary
        assert arrived(found), boundary


def left_behind(*faults: LoseRequests) -> Lab:
    """Their broker has a rate that somebody left, which the same plan takes away."""
    found = made()
    found.plane.alter_configs([broker_change(B4, LOG_DIRS_RATE, ConfigOperation.SET, "5000")])
    where = SettingName(ConfigScope.BROKER, str(B4), LOG_DIRS_RATE)
    gone = ThrottleSetting.of(where, "5000", None)
    found.plan = replace(found.plan, standing=(gone,))
    for fault in faults:
        found.plane.inject(fault)
    return found


def test_a_rate_that_was_left_behind_is_gone_before_replicas_are_copied_at_their_own() -> None:
    for boundary, found in killed_anywhere(left_behind):
        assert found.apply().exit_code is Exit.OK, boundary
        assert arrived(found), boundary


def test_no_replica_is_copied_while_a_removal_of_its_rate_may_still_arrive() -> None:
    found, copied = left_behind(LoseRequests(WriteKind.CONFIGURE, 1, 20.0)), set[str | None]()

    def watches() -> bool:
        places = found.plane.look(Wanted(places_of={B4: names(0, 1, 2)})).places[B4]
        if any(place.future_path is not None for place in places.values()):
            settings = throttles_of(found.plane.simulation.cluster)
            copied.add(settings.get(("broker", str(B4), LOG_DIRS_RATE)))
        return False

    assert found.apply(stop=watches).exit_code is Exit.OK
    assert arrived(found)
    assert copied == {str(10 * MB)}


@pytest.mark.parametrize(
    "trouble",
    [
        LoseRequests(WriteKind.MOVE_LOGS, 1, None),
        LoseRequests(WriteKind.MOVE_LOGS, 2, None),
        LoseRequests(WriteKind.MOVE_LOGS, 1, 0.0),
    ],
    ids=str,
)
def test_whatever_becomes_of_the_request_they_arrive(trouble: LoseRequests) -> None:
    found = made(trouble)
    assert found.apply().exit_code is Exit.OK
    assert arrived(found)


def test_a_broker_that_restarts_goes_on_with_the_copy() -> None:
    found = made()
    boundary = Boundary()

    def restarts() -> bool:
        if boundary.log.count("move logs") == 1 and found.clock.now() < 60:
            boundary.log.append("move logs")
            found.plane.inject(KillBroker(B4))
            found.plane.inject(StartBroker(B4))
        return False

    assert found.apply(boundary=boundary, stop=restarts).exit_code is Exit.OK
    assert arrived(found)


def test_a_replica_that_somebody_has_put_elsewhere_is_left_there() -> None:
    found = made()
    name = TopicPartition(TOPIC, 1)
    found.plane.move_logs({(name, B4): "/b"})
    found.clock.sleep(5)
    outcome = found.apply()
    assert outcome.exit_code is Exit.REFUSED
    results = {r.partition.partition: r.result for r in outcome.log_moves}
    assert results == {0: Result.DONE, 1: Result.STALE}
    assert lies(found)[1] == "/b"


def test_the_same_plan_again_finds_it_done() -> None:
    found = made()
    found.apply()
    counting = Boundary()
    assert found.apply(boundary=counting).exit_code is Exit.OK
    assert "move logs" not in counting.log


def half_way() -> Lab:
    """One replica is on its way, slowly; the other one has not begun."""
    found = made()
    found.settings = Settings(owner="ann@ops-1", slots_per_broker=1)
    found.plan = replace(found.plan, moves=(), throttle=MoveThrottle(MB))
    found.apply(stop=found.stop_at(8))
    place = found.plane.look(Wanted(places_of={B4: names(0)})).places[B4][names(0)[0]]
    assert place.future_path == "/b"
    return found


def cancel_crossings() -> int:
    found, counting = half_way(), Boundary()
    found.apply(verb=Verb.CANCEL, boundary=counting)
    return counting.crossings


def test_cancelled_a_copy_ends_and_its_replica_stays() -> None:
    found, counting = half_way(), Boundary()
    outcome = found.apply(verb=Verb.CANCEL, boundary=counting)
    assert outcome.exit_code is Exit.OK
    results = {r.partition.partition: r.result for r in outcome.log_moves}
    assert results == {0: Result.CANCELLED, 1: Result.WAITING}
    assert "move logs" in counting.log
    assert lies(found) == {0: "/a", 1: "/a", 2: "/b"}
    assert not throttles_of(found.plane.simulation.cluster)
    kept = [r for r in found.journal.read() if isinstance(r, Application)]
    assert [a.status for a in kept] == [ApplicationStatus.CANCELLED]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("effect", range(1, cancel_crossings() + 1))
def test_a_cancel_that_is_killed_goes_on(effect: int, after: bool) -> None:
    found = half_way()
    boundary = Boundary(kill_after=effect) if after else Boundary(kill_before=effect)
    with pytest.raises(Killed):
        found.apply(verb=Verb.CANCEL, boundary=boundary)
    if fold(found.journal.read()).application is not None:
        found.apply(verb=Verb.CANCEL)
    assert lies(found) == {0: "/a", 1: "/a", 2: "/b"}
    assert not throttles_of(found.plane.simulation.cluster)


def test_a_cancel_without_an_answer_waits_until_nothing_can_arrive() -> None:
    found = half_way()
    found.plane.inject(LoseRequests(WriteKind.MOVE_LOGS, 1, 0.0))
    began = found.clock.now()
    assert found.apply(verb=Verb.CANCEL).exit_code is Exit.OK
    assert found.clock.now() - began >= found.settings.quarantine_seconds
    assert lies(found)[0] == "/a"


def test_what_has_arrived_stays_when_the_rest_is_cancelled() -> None:
    found = half_way()
    found.clock.sleep(60)
    outcome = found.apply(verb=Verb.CANCEL)
    results = {r.partition.partition: r.result for r in outcome.log_moves}
    assert results == {0: Result.DONE, 1: Result.WAITING}
    assert lies(found) == {0: "/b", 1: "/a", 2: "/b"}


def test_given_up_its_copy_is_named_or_ended() -> None:
    found = half_way()

    with pytest.raises(Held, match=f"{TOPIC}-0"):
        found.abandon(RunningCopies.REFUSED)
    found.abandon(RunningCopies.CANCELLED)
    assert lies(found) == {0: "/a", 1: "/a", 2: "/b"}
    assert not throttles_of(found.plane.simulation.cluster)


def test_a_copy_that_arrives_while_its_application_is_given_up_is_named_or_ended() -> None:
    found = made(LoseRequests(WriteKind.MOVE_LOGS, 1, 60.0))
    found.plan = replace(found.plan, moves=(), throttle=MoveThrottle(MB))
    asked = Boundary()
    found.apply(boundary=asked, stop=lambda: "move logs" in asked.log)

    with pytest.raises(Held, match=f"{TOPIC}-0"):
        found.abandon(RunningCopies.REFUSED)
    assert fold(found.journal.read()).application is not None
    outcome = found.abandon(RunningCopies.CANCELLED)
    assert [r.result for r in outcome.log_moves] == [Result.RUNNING, Result.RUNNING]
    found.clock.sleep(120)
    assert lies(found) == {0: "/a", 1: "/a", 2: "/b"}
    assert not throttles_of(found.plane.simulation.cluster)


def test_a_copy_that_a_broker_does_not_end_is_cancelled_again_with_longer_pauses() -> None:
    found = half_way()
    found.plane.inject(LoseRequests(WriteKind.MOVE_LOGS, 99, None))
    boundary = Boundary()
    found.apply(verb=Verb.CANCEL, boundary=boundary, stop=found.stop_at(found.clock.now() + 10))
    asked = [tick for tick, did in enumerate(ticks(boundary.log)) if "move logs" in did]
    assert asked == [0, 1, 3, 7]


def ticks(log: list[str]) -> list[list[str]]:
    """What crossed the boundary in each tick, a second apart."""
    ends = [at for at, what in enumerate(log) if what == "tick"]
    return [log[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
