"""What concerns several partitions at once: batches, admission, throttles that cannot be set, stopping."""

from dataclasses import replace
from typing import Any

import pytest
from tests.builders import brokers, move, state
from tests.unit.applying.lab import plan_of

from replan.applying.admission.disk_space import Room
from replan.applying.decide import decide
from replan.applying.journal.ledger import fold
from replan.applying.journal.records import (
    Application,
    ApplicationStatus,
    Asked,
    MoveRecord,
    Reached,
    Status,
)
from replan.applying.observation.history import PartitionHistory
from replan.applying.observation.look import Observation
from replan.applying.settings import Settings
from replan.applying.throttles.tick import ThrottleHistory
from replan.applying.tick_input import TickInput
from replan.model.broker import LogDir
from replan.model.configs import FOLLOWER_REPLICAS, ConfigScope, TopicSettings
from replan.model.control_plane import Rejected
from replan.model.names import BrokerId, TopicPartition, replicas
from replan.model.partition import PartitionState, Reassignment
from replan.model.placement import MoveThrottle
from replan.model.snapshot import Features
from replan.planning.moves import Move
from replan.planning.requests import RequestKind

APP = Application("a-1", ApplicationStatus.OPEN, "d", "m", "cluster", "ann")
GUARDED = Features(replication_factor_guard=True, eligible_leader_replicas=True)
COPIES = [move([1, 2, 3], [1, 2, 4], partition=p, size=100) for p in range(3)]
FLIPS = [move([1, 2, 3], [2, 1, 3], partition=p) for p in range(3)]
THROTTLE = MoveThrottle(1000)


def view(
    moves: list[Move],
    states: list[PartitionState] | None = None,
    *,
    owned: tuple[MoveRecord, ...] = (),
    throttle: MoveThrottle | None = None,
    settings: Settings | None = None,
    features: Features = GUARDED,
    running: dict[TopicPartition, Reassignment] | None = None,
    **more: Any,
) -> TickInput:
    found = states or [state(m.original, partition=m.partition.partition) for m in moves]
    candidates = tuple(
        m.partition for m in moves if m.partition not in {o.partition for o in owned}
    )
    return TickInput(
        plan=plan_of(moves, throttle=throttle),
        moves={m.partition: m for m in moves},
        ledger=fold([APP, *owned]),
        seen=Observation(
            brokers={b.id: b for b in brokers()},
            partitions={s.partition: s for s in found},
            topics={"orders": TopicSettings(2)},
            configs={b.id: {} for b in brokers()},
            features=features,
            running=running or {},
        ),
        now=100,
        settings=settings or Settings(),
        watch=PartitionHistory(),
        **{"candidates": candidates, **more},
    )


def own(planned: Move, kind: RequestKind, *listed: int, status: Status = Status.OPEN) -> MoveRecord:
    return MoveRecord(
        "a-1",
        planned.partition,
        planned.topic_id,
        planned.original,
        planned.target,
        status,
        Asked(kind, replicas(*listed), confirmed=True),
        (replicas(*listed),),
        Reached.EXPANDED,
    )


def numbers(names: Any) -> list[int]:
    return [n.partition for n in names]


def test_instant_lists_travel_together_up_to_the_batch() -> None:
    decision = decide(view(FLIPS, settings=Settings(batch=2)))
    assert decision.same_size == {m.partition: m.target for m in FLIPS[:2]}
    assert decision.resizing == {}
    assert decision.holds == {FLIPS[2].partition: "waiting for the next batch"}


def test_where_the_guard_is_not_known_lists_go_without_it() -> None:
    decision = decide(view(FLIPS, features=Features()))
    assert (numbers(decision.resizing), decision.same_size) == ([0, 1, 2], {})


def test_a_list_that_drops_replicas_may_change_their_number() -> None:
    shrink = move([1, 2, 3], [1, 2])
    look = view([shrink])
    for at in range(0, 101, 5):
        look.watch.note(look.moves, look.seen, at, 15)
    assert decide(look).resizing == {shrink.partition: replicas(1, 2)}


@pytest.mark.parametrize(
    ("settings", "elected"),
    [
        (Settings(), [0, 1, 2]),
        (Settings(elections=2), [0, 1]),
        (Settings(elections_per_leader=1), [0, 2]),
    ],
)
def test_elections_are_limited_in_all_and_for_each_new_leader(
    settings: Settings, elected: list[int]
) -> None:
    moves = [
        move([2, 1, 3], [2, 1, 3], partition=0),
        move([2, 1, 3], [2, 1, 3], partition=1),
        move([3, 1, 2], [3, 1, 2], partition=2),
    ]
    states = [state(m.target, leader=1, partition=m.partition.partition) for m in moves]
    decision = decide(view(moves, states, settings=settings))
    assert numbers(decision.elections) == elected
    held = {n.partition: reason for n, reason in decision.holds.items()}
    assert held == {
        p: "waiting for the next batch of elections" for p in range(3) if p not in elected
    }


def test_copies_are_admitted_by_slots_in_plan_order() -> None:
    decision = decide(view(COPIES, settings=Settings(slots_per_broker=2)))
    assert numbers(decision.admitted) == [0, 1]
    assert numbers(decision.resizing) == [0, 1]
    assert decision.parked == {COPIES[2].partition: BrokerId(1)}


def test_a_move_that_was_passed_over_too_often_keeps_later_ones_from_its_slots() -> None:
    first, second = COPIES[0], move([2, 1, 3], [2, 1, 4], partition=1)
    full = {TopicPartition("x", 0): Reassignment(replicas(1, 9), replicas(9), ())}
    settings = Settings(slots_per_broker=1)
    look = view([first, second], settings=settings, running=full)
    assert numbers(decide(look).admitted) == [1]
    reserving = frozenset({first.partition})
    assert numbers(decide(replace(look, reserving=reserving)).admitted) == []


def test_rooms_promised_in_one_tick_count_for_the_next_copy_of_the_same_tick() -> None:
    room = Room((LogDir(BrokerId(4), "/a", 1000, 250, 0),))
    decision = decide(view(COPIES[:2], room=room))
    assert numbers(decision.admitted) == [0]
    assert decision.deferred == [COPIES[1].partition]
    assert decision.holds[COPIES[1].partition].startswith("broker 4 has no room: 100 bytes to /a")


def test_under_a_throttle_a_copy_is_admitted_first_and_asked_when_it_is_read_back() -> None:
    first = decide(view(COPIES[:1], throttle=THROTTLE))
    assert numbers(first.admitted) == [0]
    assert first.resizing == {}
    assert first.holds == {COPIES[0].partition: "its throttle is set and not read back yet"}
    assert first.throttles.additions
    assert [r for r in first.records if isinstance(r, MoveRecord)] == []


def test_an_admitted_copy_whose_gate_has_closed_waits_again() -> None:
    low = state([1, 2, 3], [1], partition=0)
    shaky = move([1, 2, 3], [1, 2, 4], min_insync_replicas=3)
    look = view([shaky], [replace(low, isr=replicas(1, 2, 3))], candidates=())
    look = replace(
        look,
        admitted=frozenset({shaky.partition}),
        seen=replace(
            look.seen,
            topics={"orders": TopicSettings(3)},
            brokers={b.id: b for b in brokers(fenced=[4])},
        ),
    )
    decision = decide(look)
    assert decision.withdrawn == [shaky.partition]
    assert decision.holds == {
        shaky.partition: "broker 4 is to receive a replica and is fenced; start it"
    }


@pytest.mark.parametrize(
    ("scope", "name"), [(ConfigScope.TOPIC, "orders"), (ConfigScope.BROKER, "4")]
)
def test_a_copy_whose_throttle_is_refused_is_not_begun_without_it(
    scope: ConfigScope, name: str
) -> None:
    refused = {(scope, name): Rejected(29, "TOPIC_AUTHORIZATION_FAILED", "Denied.")}
    look = view(COPIES[:1], throttle=THROTTLE, candidates=(), refused_configs=refused)
    decision = decide(replace(look, admitted=frozenset({COPIES[0].partition})))
    (record,) = [r for r in decision.records if isinstance(r, MoveRecord)]
    assert (record.status, record.asked) == (Status.REJECTED, None)
    assert record.message == (
        f"orders-0: the throttle of {scope} {name} cannot be set: Kafka answered 29 TOPIC_AUTHORIZATION_FAILED: "
        "Denied. It was not begun without it; grant ALTER_CONFIGS or plan without throttles"
    )


def test_when_a_throttle_was_wiped_twice_only_instant_moves_begin() -> None:
    wiped = ThrottleHistory(wiped={("orders", FOLLOWER_REPLICAS): 2})
    flip = move([1, 2, 3], [2, 1, 3], partition=7)
    decision = decide(view([COPIES[0], flip], throttle=THROTTLE, throttle_history=wiped))
    assert decision.admitted == []
    assert numbers(decision.same_size) == [7]
    assert decision.admission is not None
    assert decision.holds == {COPIES[0].partition: decision.admission}
    assert decision.deferred == [COPIES[0].partition]


def test_without_the_guard_a_reorder_waits_while_others_reassign_its_topic() -> None:
    running = {TopicPartition("orders", 9): Reassignment(replicas(1, 4), replicas(4), ())}
    decision = decide(view(FLIPS[:1], features=Features(), running=running))
    assert decision.resizing == {}
    assert decision.deferred == [FLIPS[0].partition]


def test_when_stopping_nothing_is_asked_but_what_ended_is_written_down() -> None:
    done, going = COPIES[0], COPIES[1]
    decision = decide(
        view(
            [done, going],
            [state([1, 2, 4], partition=0), state([1, 2, 3, 4], partition=1)],
            owned=(
                own(done, RequestKind.ASSIGN, 1, 2, 4),
                own(going, RequestKind.ASSIGN, 1, 2, 4),
            ),
            admitting=False,
        )
    )
    assert (decision.resizing, decision.same_size, decision.elections) == ({}, {}, [])
    assert numbers(decision.ended) == [0]


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
    decision = decide(
        view(
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
    decision = decide(view(COPIES[:1], [found], owned=(copying,), throttle=THROTTLE))
    assert dict(decision.throttles.entries) == {("orders", FOLLOWER_REPLICAS): {"0:4"}}
