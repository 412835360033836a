"""Which rates give way to a replica that catches up, and what becomes of the copies that need them."""

import pytest
from msgspec.structs import replace
from tests.builders import lists, move

from replan.applying.api import (
    Forget,
    RateGivesWay,
    Record,
    SavedRate,
    SavedReplicaList,
    ThrottledCopy,
    ThrottleHistory,
    ThrottleInput,
    WantedThrottles,
    behind_entries_of_others,
    fold,
    gives_way_to,
    throttle_in_place,
    throttle_tick,
)
from replan.model.api import (
    FOLLOWER_RATE,
    LEADER_RATE,
    LEADER_REPLICAS,
    Broker,
    BrokerId,
    ConfigOperation,
    ConfigSource,
    ConfigValue,
    Look,
    MoveThrottle,
    PartitionState,
    TopicId,
    TopicPartition,
    TopicSettings,
    broker_change,
)

ORDERS = TopicPartition("orders", 0)
B1, B2 = BrokerId(1), BrokerId(2)
LEADER_OF_1, FOLLOWER_OF_2 = (B1, LEADER_RATE), (B2, FOLLOWER_RATE)
COPIED = PartitionState(
    ORDERS, TopicId("b3JkZXJzLW9yZGVycy0wMA"), lists(1, 2, 3, 4), lists(1, 3), B1, adding=lists(4)
)
OURS = SavedReplicaList("orders", LEADER_REPLICAS, False, ("0:1",))
RATE = SavedRate(B1, LEADER_RATE, None, ("1000",))


def look(leader: str | None, follower: str | None = None, *, dead: tuple[int, ...] = ()) -> Look:
    brokers = {BrokerId(i): Broker(BrokerId(i), None, fenced=i in dead) for i in range(1, 6)}
    settings = TopicSettings(leader_throttled=leader, follower_throttled=follower)
    return Look(brokers=brokers, partitions={ORDERS: COPIED}, topics={"orders": settings})


@pytest.mark.parametrize(
    ("seen", "records", "found"),
    [
        (look("0:1"), [], [LEADER_OF_1]),
        (look("*"), [OURS], [LEADER_OF_1]),
        (look("0:1"), [OURS], []),
        (look("0:2,0:3,1:1"), [], []),
        (look(None, "0:2"), [], [FOLLOWER_OF_2]),
        (look(None, "0:1,0:4"), [], []),
        (look("0:1", "0:2"), [], [LEADER_OF_1, FOLLOWER_OF_2]),
        (look("0:1", "0:2", dead=(2,)), [], []),
        (replace(look("0:1"), partitions={ORDERS: replace(COPIED, isr=lists(1, 2, 3))}), [], []),
        (replace(look("0:1"), partitions={ORDERS: replace(COPIED, leader=None)}), [], []),
        (replace(look("0:1"), topics={}), [], []),
    ],
)
def test_only_a_live_replica_behind_an_entry_of_others_counts(
    seen: Look, records: list[Record], found: list[tuple[BrokerId, str]]
) -> None:
    assert list(behind_entries_of_others(seen, fold(records))) == [(r, ORDERS) for r in found]


def test_a_rate_that_gives_way_goes_back_and_copies_wait_for_it() -> None:
    copy, throttle = ThrottledCopy(move([1, 2], [1, 5])), MoveThrottle(1000)
    history = ThrottleHistory(
        catching_up={(LEADER_OF_1, ORDERS): 0.0}, giving_way=frozenset({LEADER_OF_1})
    )
    set_by_us = {LEADER_RATE: ConfigValue("1000", ConfigSource.BROKER)}
    settings = {"orders": TopicSettings(leader_throttled="0:1,0:2", follower_throttled="0:5")}
    other = {b: {LEADER_RATE: ConfigValue("10", ConfigSource.BROKER)} for b in lists(2)}
    new = {b: {FOLLOWER_RATE: ConfigValue("10", ConfigSource.BROKER)} for b in lists(5)}
    view = ThrottleInput(settings, {B1: set_by_us, **other, **new}, history)
    wanted = WantedThrottles.of([copy], throttle)
    tick = throttle_tick(wanted, fold([RATE]), view, keep_rates=True)
    assert tick.additions == (broker_change(*LEADER_OF_1, ConfigOperation.DELETE),)
    assert tick.notes == (RateGivesWay(*LEADER_OF_1, ORDERS),)
    assert tick.wiped == frozenset()
    assert not throttle_in_place(copy, throttle, tick, view)
    assert gives_way_to(copy, throttle, view) == (ORDERS,)

    gone = replace(view, brokers={**view.brokers, B1: {}})
    after = throttle_tick(wanted, fold([RATE]), gone, keep_rates=True)
    assert (after.records, after.additions) == ((Forget(RATE.key),), ())
    assert throttle_tick(wanted, fold([]), gone, keep_rates=True).quiet

    back = replace(gone, history=ThrottleHistory())
    again = throttle_tick(wanted, fold([]), back, keep_rates=True)
    assert again.records == (RATE,)


def test_a_slower_rate_of_another_tool_gives_nobody_way() -> None:
    """It stands without replan, too: the copies that it limits may begin."""
    copy, throttle = ThrottledCopy(move([1], [1, 5])), MoveThrottle(1000)
    history = ThrottleHistory(giving_way=frozenset({LEADER_OF_1}))
    rates = {
        BrokerId(1): {LEADER_RATE: ConfigValue("10", ConfigSource.BROKER)},
        BrokerId(5): {FOLLOWER_RATE: ConfigValue("10", ConfigSource.BROKER)},
    }
    settings = {"orders": TopicSettings(leader_throttled="*", follower_throttled="*")}
    view = ThrottleInput(settings, rates, history)
    tick = throttle_tick(WantedThrottles.of([copy], throttle), fold([]), view, keep_rates=True)
    assert tick.quiet
    assert throttle_in_place(copy, throttle, tick, view)
