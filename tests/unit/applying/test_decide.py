"""What concerns several partitions at once: batches, admission, throttles that cannot be set, stopping."""

from collections.abc import Hashable
from typing import Any

import pytest
from msgspec.structs import replace
from tests.builders import brokers, move, state
from tests.unit.applying.journal.records import begun
from tests.unit.applying.lab import plan_of

from replan.applying.api import (
    TIMES_PASSED_OVER,
    Admitted,
    Application,
    ApplicationStatus,
    AwaitingThrottle,
    Decision,
    Deferred,
    Ended,
    Forget,
    HoldReason,
    InFlight,
    Job,
    LastRequest,
    MoveRecord,
    NewBrokerFenced,
    NextBatch,
    NoRoom,
    NoSlot,
    Parked,
    Phase,
    Reached,
    Rechecking,
    RepeatedRefusal,
    RequestMemory,
    Room,
    RunState,
    SavedReplicaList,
    Settings,
    Status,
    ThrottleHistory,
    ThrottleRefused,
    TickInput,
    UncleanElectionPossible,
    decide,
    first_state,
    fold,
)
from replan.model.api import (
    FOLLOWER_REPLICAS,
    Answer,
    BrokerId,
    ConfigScope,
    Features,
    Layered,
    LogDir,
    Look,
    MoveThrottle,
    OutcomeUnknown,
    PartitionState,
    Reassignment,
    Rejected,
    TopicPartition,
    TopicSettings,
    replicas,
)
from replan.planning.api import Move, Request, RequestKind

APP = Application("a-1", ApplicationStatus.OPEN, "d", "m", "cluster", "ann")
GUARDED = Features(replication_factor_guard=True, eligible_leader_replicas=True)
COPIES = [move([1, 2, 3], [1, 2, 4], partition=p, size=100) for p in range(3)]
FLIPS = [move([1, 2, 3], [2, 1, 3], partition=p) for p in range(3)]
THROTTLE = MoveThrottle(1000)


Case = tuple[TickInput, RunState]


def case(
    moves: list[Move],
    states: list[PartitionState] | None = None,
    *,
    owned: tuple[MoveRecord, ...] = (),
    throttle: MoveThrottle | None = None,
    settings: Settings | None = None,
    features: Features = GUARDED,
    running: dict[TopicPartition, Reassignment] | None = None,
    admitting: bool = True,
    known: RequestMemory[TopicPartition] | None = None,
    **more: Any,
) -> Case:
    """A tick in which all moves that are not begun are looked at, and the state that it finds."""
    found = states or [state(m.original, partition=m.partition.partition) for m in moves]
    job = Job.of(plan_of(moves, throttle=throttle), settings or Settings())
    run = replace(first_state(job, fold([APP, *owned]), 0), **more)
    run = run if known is None else replace(run, moves=known)
    begun = {*run.ledger.owned, *run.admitted}
    tick = TickInput(
        job=job,
        look=Look(
            brokers={b.id: b for b in brokers()},
            partitions={s.partition: s for s in found},
            topics={"orders": TopicSettings(2)},
            rates={b.id: {} for b in brokers()},
            features=features,
            running=running or {},
        ),
        now=100,
        ended=100,
        candidates=tuple(m.partition for m in moves if m.partition not in begun),
        admitting=admitting,
    )
    return tick, run


def decided(given: Case) -> Decision:
    return decide(*given)[0]


def came_into(decision: Decision, phase: type[Phase]) -> list[int]:
    """The partitions that came into a phase."""
    return numbers(n for n, p in decision.phases.items() if isinstance(p, phase))


def own(planned: Move, kind: RequestKind, *listed: int, status: Status = Status.OPEN) -> MoveRecord:
    return begun(
        planned,
        status=status,
        asked=LastRequest(kind, replicas(*listed), confirmed=True),
        past=(replicas(*listed),),
        reached=Reached.EXPANDED,
    )


def numbers(names: Any) -> list[int]:
    return [n.partition for n in names]


def test_instant_lists_travel_together_up_to_the_batch() -> None:
    decision = decided(case(FLIPS, settings=Settings(batch=2)))
    assert decision.same_size == {m.partition: m.target for m in FLIPS[:2]}
    assert decision.resizing == {}
    assert decision.holds == {FLIPS[2].partition: NextBatch(elections=False)}


def test_where_the_guard_is_not_known_lists_go_without_it() -> None:
    decision = decided(case(FLIPS, features=Features()))
    assert (numbers(decision.resizing), decision.same_size) == ([0, 1, 2], {})


def test_a_list_that_drops_replicas_may_change_their_number() -> None:
    shrink = move([1, 2, 3], [1, 2])
    tick, run = case([shrink])
    for at in range(0, 101, 5):
        run = run.observed(replace(tick, now=at))
    assert decided((tick, run)).resizing == {shrink.partition: replicas(1, 2)}


@pytest.mark.parametrize(
    ("settings", "elected"),
    [
        (Settings(), [[0, 1, 2]]),
        (Settings(elections=2), [[0, 1], [2]]),
        (Settings(elections_per_leader=1), [[0, 2], [1]]),
        (Settings(elections=2, batch=2), [[0, 1]]),
    ],
)
def test_elections_are_limited_in_each_request_in_all_and_for_each_new_leader(
    settings: Settings, elected: list[list[int]]
) -> None:
    moves = [
        move([2, 1, 3], [2, 1, 3], partition=0),
        move([2, 1, 3], [2, 1, 3], partition=1),
        move([3, 1, 2], [3, 1, 2], partition=2),
    ]
    states = [state(m.target, leader=1, partition=m.partition.partition) for m in moves]
    decision = decided(case(moves, states, settings=settings))
    assert [numbers(names) for names in decision.elections] == elected
    held = {n.partition: reason for n, reason in decision.holds.items()}
    now = {p for names in elected for p in names}
    assert held == {p: NextBatch(elections=True) for p in range(3) if p not in now}


def test_an_election_without_a_known_outcome_counts_for_its_leader() -> None:
    """What may still arrive and what is asked for now stay within the limit together."""
    moves = [move([2, 1, 3], [2, 1, 3], partition=0), move([2, 1, 3], [2, 1, 3], partition=1)]
    states = [state(m.target, leader=1, partition=m.partition.partition) for m in moves]
    asked = own(moves[0], RequestKind.ELECT, 2)
    limit, unknown = (
        Settings(elections_per_leader=1),
        RequestMemory(unknown_since={asked.partition: 99.0}),
    )
    waiting = case(moves, states, settings=limit, owned=(asked,), known=unknown)
    assert decided(waiting).elections == ()
    led = [state([2, 1, 3], leader=2), states[1]]
    arrived = case(moves, led, settings=limit, owned=(asked,), known=unknown)
    assert decided(arrived).elections == ((moves[1].partition,),)
    answered = case(moves, states, settings=limit, owned=(asked,))
    assert decided(answered).elections == ((moves[1].partition,),)


def test_copies_are_admitted_by_slots_in_plan_order() -> None:
    decision = decided(case(COPIES, settings=Settings(slots_per_broker=2)))
    assert numbers(decision.resizing) == [0, 1]
    assert decision.phases[COPIES[2].partition] == Parked(BrokerId(1))


def test_a_move_that_was_passed_over_too_often_keeps_later_ones_from_its_slots() -> None:
    first, second = COPIES[0], move([2, 1, 3], [2, 1, 4], partition=1)
    full = {TopicPartition("x", 0): Reassignment(replicas(1, 5), replicas(5), ())}
    settings = Settings(slots_per_broker=1)
    tick, run = case([first, second], settings=settings, running=full)
    assert numbers(decided((tick, run)).resizing) == [1]
    starving = replace(run.queue, passed_over=Layered({0: TIMES_PASSED_OVER}))
    assert numbers(decided((tick, replace(run, queue=starving))).resizing) == []


def test_rooms_promised_in_one_tick_count_for_the_next_copy_of_the_same_tick() -> None:
    room = Room.of((LogDir(BrokerId(4), "/a", 1000, 250, 0),))
    decision = decided(case(COPIES[:2], room=room))
    assert numbers(decision.resizing) == [0]
    assert decision.phases[COPIES[1].partition] == Deferred(110)
    closed = decision.holds[COPIES[1].partition]
    assert isinstance(closed, NoRoom)
    assert (closed.broker, closed.path, closed.size) == (4, "/a", 100)


def test_under_a_throttle_a_copy_is_admitted_first_and_asked_when_it_is_read_back() -> None:
    first = decided(case(COPIES[:1], throttle=THROTTLE))
    assert came_into(first, Admitted) == [0]
    assert first.resizing == {}
    assert first.holds == {COPIES[0].partition: AwaitingThrottle()}
    assert first.throttles.additions
    assert [r for r in first.records if isinstance(r, MoveRecord)] == []


def test_what_has_begun_waits_no_more() -> None:
    name, why = COPIES[0].partition, NewBrokerFenced(BrokerId(4))
    decision, after = decide(
        *case(COPIES[:1], holds=Layered({name: why}), held_since=Layered({name: 90.0}))
    )
    assert numbers(decision.resizing) == [0]
    assert name not in after.holds
    assert after.held_since.get(name) != 90.0


def test_an_admitted_copy_whose_gate_has_closed_waits_again() -> None:
    low = state([1, 2, 3], [1], partition=0)
    shaky = move([1, 2, 3], [1, 2, 4], min_insync_replicas=3)
    tick, run = case(
        [shaky],
        [replace(low, isr=replicas(1, 2, 3))],
        admitted=frozenset({shaky.partition}),
    )
    tick = replace(
        tick,
        look=replace(
            tick.look,
            topics={"orders": TopicSettings(3)},
            brokers={b.id: b for b in brokers(fenced=[4])},
        ),
    )
    decision, after = decide(tick, run)
    assert decision.phases == {shaky.partition: Deferred(110)}
    assert (after.admitted, len(after.queue)) == (frozenset(), 1)
    assert decision.holds == {shaky.partition: NewBrokerFenced(BrokerId(4))}


@pytest.mark.parametrize(
    ("scope", "name"), [(ConfigScope.TOPIC, "orders"), (ConfigScope.BROKER, "4")]
)
def test_a_copy_whose_throttle_is_refused_is_not_begun_without_it(
    scope: ConfigScope, name: str
) -> None:
    denied = Rejected(29, "TOPIC_AUTHORIZATION_FAILED", "Denied.")
    admitted = frozenset({COPIES[0].partition})
    tick, run = case(COPIES[:1], throttle=THROTTLE, admitted=admitted)
    once = {(scope, name): RepeatedRefusal(denied, tick.now, tick.now)}
    just_now = decided((tick, replace(run, configs=RequestMemory(refused=once))))
    assert just_now.holds == {COPIES[0].partition: AwaitingThrottle()}
    again = {(scope, name): RepeatedRefusal(denied, tick.now - 5, tick.now)}
    decision = decided((tick, replace(run, configs=RequestMemory(refused=again))))
    (record,) = [r for r in decision.records if isinstance(r, MoveRecord)]
    assert (record.status, record.asked) == (Status.REJECTED, None)
    why = ThrottleRefused(scope, name, denied.code, denied.name, denied.message)
    assert record.message == why.of(COPIES[0].partition)


def test_when_a_throttle_was_wiped_twice_only_instant_moves_begin() -> None:
    wiped = ThrottleHistory(wiped={("orders", FOLLOWER_REPLICAS): 2})
    flip = move([1, 2, 3], [2, 1, 3], partition=7)
    decision = decided(case([COPIES[0], flip], throttle=THROTTLE, throttle_history=wiped))
    assert came_into(decision, Admitted) == []
    assert numbers(decision.same_size) == [7]
    assert decision.admission is not None
    assert decision.holds == {COPIES[0].partition: decision.admission}
    assert came_into(decision, Deferred) == [0]


def test_without_the_guard_a_reorder_waits_while_others_reassign_its_topic() -> None:
    running = {TopicPartition("orders", 9): Reassignment(replicas(1, 4), replicas(4), ())}
    decision = decided(case(FLIPS[:1], features=Features(), running=running))
    assert decision.resizing == {}
    assert came_into(decision, Deferred) == [0]


@pytest.mark.parametrize(("listed", "waits"), [([1, 2, 3, 4], False), ([1, 2, 3, 5], True)])
def test_a_copy_that_runs_on_after_its_partition_ended_is_no_other_tools(
    listed: list[int], waits: bool
) -> None:
    """Nor is a reassignment of replan's partition its own where it leads to a list that was never asked for."""
    ended = own(COPIES[0], RequestKind.EXPAND, 1, 2, 3, 4, status=Status.STALE)
    running = {COPIES[0].partition: Reassignment(replicas(*listed), replicas(listed[-1]), ())}
    decision = decided(
        case(
            [COPIES[0], FLIPS[1]],
            [state(listed, [1, 2, 3], adding=[listed[-1]]), state([1, 2, 3], partition=1)],
            owned=(ended,),
            features=Features(),
            running=running,
        )
    )
    assert came_into(decision, Deferred) == ([1] if waits else [])


def test_when_stopping_nothing_is_asked_but_what_ended_is_written_down() -> None:
    done, going = COPIES[0], COPIES[1]
    decision = decided(
        case(
            [done, going],
            [state([1, 2, 4], partition=0), state([1, 2, 3, 4], partition=1)],
            owned=(
                own(done, RequestKind.ASSIGN, 1, 2, 4),
                own(going, RequestKind.ASSIGN, 1, 2, 4),
            ),
            admitting=False,
        )
    )
    assert (decision.resizing, decision.same_size, decision.elections) == ({}, {}, ())
    assert came_into(decision, Ended) == [0]


@pytest.mark.parametrize("status", [Status.OPEN, Status.CANCELLED, Status.DONE])
def test_whoever_takes_over_knows_of_lists_that_may_arrive_also_where_a_partition_has_ended(
    status: Status,
) -> None:
    """Its application stays until they cannot any more."""
    definite = own(COPIES[0], RequestKind.CANCEL, status=status)
    pending = own(COPIES[1], RequestKind.CANCEL, status=status)
    pending = replace(pending, asked=LastRequest(RequestKind.CANCEL, (), confirmed=False))
    elects = own(COPIES[2], RequestKind.ELECT, status=Status.DONE)
    elects = replace(elects, asked=LastRequest(RequestKind.ELECT, (), confirmed=False))
    _, run = case(COPIES, owned=(definite, pending, elects))
    assert run.moves.unknown_since == {COPIES[1].partition: 0}


def test_an_ended_copy_that_still_runs_keeps_its_throttle_and_an_open_one_too() -> None:
    ended = own(COPIES[0], RequestKind.EXPAND, 1, 2, 3, 4, status=Status.STALE)
    listed = replicas(1, 2, 3, 4)
    running = {
        COPIES[0].partition: Reassignment(listed, replicas(4), ()),
        COPIES[1].partition: Reassignment(listed, replicas(4), ()),
    }
    states = [
        state([1, 2, 3, 4], [1, 2, 3], adding=[4], partition=1),
        state([1, 2, 3], partition=2),
    ]
    decision = decided(
        case(
            COPIES,
            states,
            owned=(ended, own(COPIES[1], RequestKind.EXPAND, 1, 2, 3, 4)),
            throttle=THROTTLE,
            running=running,
        )
    )
    assert decision.throttles.entries[("orders", FOLLOWER_REPLICAS)] == {"0:4", "1:4", "2:4"}


def test_the_leader_side_is_lifted_while_a_kept_replica_is_out_of_sync() -> None:
    copying = own(COPIES[0], RequestKind.EXPAND, 1, 2, 3, 4)
    found = state([1, 2, 3, 4], [1, 3], adding=[4])
    decision = decided(case(COPIES[:1], [found], owned=(copying,), throttle=THROTTLE))
    assert dict(decision.throttles.entries) == {("orders", FOLLOWER_REPLICAS): {"0:4"}}


AS_BEFORE = [state([1, 2, 3], partition=0)]
LATER = 50
"""Seconds in which the looks have agreed that the first request shows no effect."""


def asked_before(*, answer: Answer | None = None, **more: Any) -> Case:
    """A copy whose expand was written down and shows no effect: the process died, or its answer was lost."""
    lost = replace(own(COPIES[0], RequestKind.EXPAND, 1, 2, 3, 4), reached=Reached.NOTHING)
    tick, run = case(COPIES[:1], AS_BEFORE, owned=(lost,), **more)
    again = Request(RequestKind.EXPAND, COPIES[0].expanded)
    answers = {} if answer is None else {lost.partition: answer}
    suspected: dict[tuple[TopicPartition, Hashable], float] = {
        (lost.partition, again): tick.now - LATER,
    }
    return tick, replace(run, moves=replace(run.moves, suspected=suspected, answers=answers))


UNKNOWN = OutcomeUnknown("no answer")


@pytest.mark.parametrize("answer", [None, UNKNOWN], ids=["crash", "no answer"])
@pytest.mark.parametrize(
    ("seen", "why"),
    [
        ({}, None),
        (
            {"brokers": {b.id: b for b in brokers(fenced=[4])}},
            NewBrokerFenced(BrokerId(4)),
        ),
        (
            {"partitions": {COPIES[0].partition: state([1, 2, 3], [1])}},
            UncleanElectionPossible("orders", replicas(1)),
        ),
        (
            {"running": {TopicPartition("x", 0): Reassignment(replicas(1, 5), replicas(5), ())}},
            NoSlot(BrokerId(1), 1, 1),
        ),
    ],
    ids=["open", "fenced", "unclean", "no slot"],
)
def test_a_copy_that_is_asked_for_again_passes_the_same_gates(
    answer: Answer | None, seen: dict[str, Any], why: HoldReason | None
) -> None:
    tick, run = asked_before(answer=answer, settings=Settings(slots_per_broker=1))
    risky = replace(COPIES[0], unclean_election=True)
    job = replace(tick.job, moves={risky.partition: risky})
    topics = {"orders": TopicSettings(2, unclean_election=True)}
    tick = replace(tick, job=job, look=replace(tick.look, topics=topics, **seen))
    decision, after = decide(tick, run)
    assert numbers(decision.resizing) == ([0] if why is None else [])
    assert decision.holds.get(risky.partition) == why
    assert isinstance(after.phase(risky.partition), InFlight)


def test_a_copy_that_is_asked_for_again_must_fit_and_does_not_count_twice() -> None:
    fits = Room.of((LogDir(BrokerId(4), "/a", 1000, 200, 0),))
    before = fits.reserve(COPIES[0].partition, [BrokerId(4)], 100)
    assert numbers(decided(asked_before(room=before)).resizing) == [0]
    full = Room.of((LogDir(BrokerId(4), "/a", 1000, 150, 0),))
    assert numbers(decided(asked_before(room=full)).resizing) == []


def test_a_copy_that_is_asked_for_again_waits_for_its_throttle() -> None:
    decision = decided(asked_before(throttle=THROTTLE))
    assert numbers(decision.resizing) == []
    assert decision.holds == {COPIES[0].partition: AwaitingThrottle()}
    assert decision.throttles.additions


def test_begun_copies_start_before_waiting_ones() -> None:
    tick, run = asked_before(settings=Settings(slots_per_broker=1))
    job = Job.of(plan_of(COPIES[:2]), tick.settings)
    waiting = state([1, 2, 3], partition=1)
    tick = replace(
        tick,
        job=job,
        candidates=(COPIES[1].partition,),
        look=replace(tick.look, partitions={**tick.look.partitions, waiting.partition: waiting}),
    )
    decision = decided((tick, run))
    assert numbers(decision.resizing) == [0]
    assert came_into(decision, Parked) == [1]


@pytest.mark.parametrize(("seconds", "ends"), [(10, False), (14, False), (15, True)])
def test_what_was_seen_and_is_gone_was_undone_only_when_no_broker_can_show_that_by_mistake(
    seconds: float, ends: bool
) -> None:
    reached = own(COPIES[0], RequestKind.ASSIGN, 1, 2, 4)
    tick, run = case(COPIES[:1], AS_BEFORE, owned=(reached,))
    first, after = decide(tick, run)
    assert isinstance(first.holds[reached.partition], Rechecking)
    later = decided((replace(tick, now=tick.now + seconds, ended=tick.now + seconds), after))
    assert came_into(later, Ended) == ([0] if ends else [])


@pytest.mark.parametrize(("seconds", "gone"), [(14, False), (15, True)])
def test_what_was_set_at_a_topic_is_forgotten_only_when_no_broker_can_fail_to_show_it_by_mistake(
    seconds: float, gone: bool
) -> None:
    tick, run = case(COPIES[:1], throttle=THROTTLE)
    prior = SavedReplicaList("orders", FOLLOWER_REPLICAS, overridden=False, ours=("0:4",))
    run = replace(run, ledger=run.ledger.after([prior]))
    hidden = replace(tick, look=replace(tick.look, topics={}), candidates=())
    _, after = decide(hidden, run.observed(hidden))
    later = replace(hidden, now=tick.now + seconds, ended=tick.now + seconds)
    forgotten = decided((later, after.observed(later))).records
    assert forgotten == ((Forget(prior.key),) if gone else ())


def test_deciding_changes_nothing_that_it_is_given() -> None:
    tick, run = case(COPIES, throttle=THROTTLE)
    twin = case(COPIES, throttle=THROTTLE)
    first, after = decide(tick, run)
    assert (tick, run) == twin
    assert decide(tick, run) == (first, after)
    assert after != run
