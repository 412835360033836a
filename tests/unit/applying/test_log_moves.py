"""Replicas that go to other log directories, beside the kill matrix: rates, restarts, other tools, cancels."""

import pytest
from msgspec.structs import replace
from tests.builders import TOPIC
from tests.unit.applying.examples import (
    B4,
    copying_within,
    has_left,
    leaving_a_directory,
    lies,
    rate_left_behind,
)
from tests.unit.applying.lab import MB, Boundary

from replan.applying.api import (
    Application,
    ApplicationStatus,
    Result,
    RunningCopies,
    Verb,
    unpacked,
)
from replan.errors import Exit, Held
from replan.model.api import LOG_DIRS_RATE, MoveThrottle, TopicPartition, Wanted, replicas
from replan.rehearsal.api import throttles_of
from replan.simulator.api import KillBroker, LoseRequests, StartBroker, WriteKind

pytestmark = pytest.mark.slow

NAMES = [TopicPartition(TOPIC, number) for number in range(3)]


def test_no_replica_is_copied_while_a_removal_of_its_rate_may_still_arrive() -> None:
    found, copied = rate_left_behind(), set[str | None]()
    found.plane.inject(LoseRequests(WriteKind.CONFIGURE, 1, 20.0))

    def watches() -> bool:
        places = found.plane.look(Wanted(places_of={B4: NAMES})).places[B4]
        if any(place.future_path is not None for place in places.values()):
            settings = throttles_of(found.plane.simulation.cluster)
            copied.add(settings.get(("broker", str(B4), LOG_DIRS_RATE)))
        return False

    assert found.apply(stop=watches).exit_code is Exit.OK
    assert has_left(found)
    assert copied == {str(10 * MB)}


def test_the_move_of_its_partition_to_another_broker_comes_first() -> None:
    found, together = leaving_a_directory(), set[bool]()

    def watches() -> bool:
        look = found.plane.look(Wanted(partitions=NAMES, places_of={B4: NAMES}))
        state, place = look.partitions[NAMES[0]], look.places[B4][NAMES[0]]
        if place.future_path is not None:
            together.add(state.replicas != replicas(4, 1, 3) or state.running is not None)
        return False

    assert found.apply(stop=watches).exit_code is Exit.OK
    assert together == {False}


def test_a_broker_that_restarts_goes_on_with_the_copy() -> None:
    found = leaving_a_directory()
    boundary = Boundary()

    def restarts() -> bool:
        if boundary.log.count("move logs") == 1 and found.clock.now() < 60:
            boundary.log.append("move logs")
            found.plane.inject(KillBroker(B4))
            found.plane.inject(StartBroker(B4))
        return False

    assert found.apply(boundary=boundary, stop=restarts).exit_code is Exit.OK
    assert has_left(found)


def test_a_replica_that_somebody_has_put_elsewhere_is_left_there() -> None:
    found = leaving_a_directory()
    name = TopicPartition(TOPIC, 1)
    found.plane.move_logs({(name, B4): "/b"})
    found.clock.sleep(5)
    outcome = found.apply()
    assert outcome.exit_code is Exit.REFUSED
    results = {r.partition.partition: r.result for r in outcome.log_moves}
    assert results == {0: Result.DONE, 1: Result.STALE}
    assert lies(found)[1] == "/b"


def test_nothing_is_copied_for_a_replica_that_lies_there_already_and_no_way_back_names_it() -> None:
    found = leaving_a_directory()
    found.plane.move_logs({(TopicPartition(TOPIC, 1), B4): "/c"})
    found.clock.sleep(5)
    assert found.apply().exit_code is Exit.OK
    assert has_left(found)
    (ended,) = (r for r in found.journal.read() if isinstance(r, Application))
    assert ended.bytes == 2 * 20 * MB  # of the move, and of the other replica
    kept = unpacked(found.ledger, ended)
    assert kept is not None
    assert kept.within == [f"{TOPIC}-0"]


def test_cancelled_a_copy_ends_and_its_replica_stays() -> None:
    found, counting = copying_within(), Boundary()
    outcome = found.apply(verb=Verb.CANCEL, boundary=counting)
    assert outcome.exit_code is Exit.OK
    results = {r.partition.partition: r.result for r in outcome.log_moves}
    assert results == {0: Result.CANCELLED, 1: Result.WAITING}
    assert "move logs" in counting.log
    assert lies(found) == {0: "/a", 1: "/a", 2: "/b"}
    assert not throttles_of(found.plane.simulation.cluster)
    kept = [r for r in found.journal.read() if isinstance(r, Application)]
    assert [a.status for a in kept] == [ApplicationStatus.CANCELLED]


def test_a_cancel_without_an_answer_waits_until_nothing_can_arrive() -> None:
    found = copying_within()
    found.plane.inject(LoseRequests(WriteKind.MOVE_LOGS, 1, 0.0))
    began = found.clock.now()
    assert found.apply(verb=Verb.CANCEL).exit_code is Exit.OK
    assert found.clock.now() - began >= found.settings.quarantine_seconds
    assert lies(found)[0] == "/a"


def test_what_has_arrived_stays_when_the_rest_is_cancelled() -> None:
    found = copying_within()
    found.clock.sleep(60)
    outcome = found.apply(verb=Verb.CANCEL)
    results = {r.partition.partition: r.result for r in outcome.log_moves}
    assert results == {0: Result.DONE, 1: Result.WAITING}
    assert lies(found) == {0: "/b", 1: "/a", 2: "/b"}


def test_given_up_its_copy_is_named_or_ended() -> None:
    found = copying_within()

    with pytest.raises(Held, match=f"{TOPIC}-0"):
        found.abandon(RunningCopies.REFUSED)
    found.abandon(RunningCopies.CANCELLED)
    assert lies(found) == {0: "/a", 1: "/a", 2: "/b"}
    assert not throttles_of(found.plane.simulation.cluster)


def test_a_copy_that_arrives_while_its_application_is_given_up_is_named_or_ended() -> None:
    found = leaving_a_directory()
    found.plane.inject(LoseRequests(WriteKind.MOVE_LOGS, 1, 60.0))
    found.plan = replace(found.plan, moves=(), throttle=MoveThrottle(MB))
    asked = Boundary()
    found.apply(boundary=asked, stop=lambda: "move logs" in asked.log)

    with pytest.raises(Held, match=f"{TOPIC}-0"):
        found.abandon(RunningCopies.REFUSED)
    assert found.ledger.application is not None
    outcome = found.abandon(RunningCopies.CANCELLED)
    assert [r.result for r in outcome.log_moves] == [Result.RUNNING, Result.RUNNING]
    found.clock.sleep(120)
    assert lies(found) == {0: "/a", 1: "/a", 2: "/b"}
    assert not throttles_of(found.plane.simulation.cluster)


def test_a_copy_that_a_broker_does_not_end_is_cancelled_again_with_longer_pauses() -> None:
    found = copying_within()
    found.plane.inject(LoseRequests(WriteKind.MOVE_LOGS, 99, None))
    boundary = Boundary()
    found.apply(verb=Verb.CANCEL, boundary=boundary, stop=found.stop_at(found.clock.now() + 10))
    asked = [tick for tick, did in enumerate(ticks(boundary.log)) if "move logs" in did]
    assert asked == [0, 1, 3, 7]


def ticks(log: list[str]) -> list[list[str]]:
    """What crossed the boundary in each tick, a second apart."""
    ends = [at for at, what in enumerate(log) if what == "tick"]
    return [log[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
