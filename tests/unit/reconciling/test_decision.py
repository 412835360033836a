"""What a loop decides: each rule by itself, and laws over drawn policies, deviations and times."""

from datetime import UTC, datetime
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from replan.model.api import DeviationKind, HoldLimits, Reconcile, TopicPartition, Window, Windows
from replan.reconciling.api import (
    FREED_SECONDS,
    LISTED_DEVIATIONS,
    Act,
    Begun,
    BrokersDown,
    Deviation,
    EndedWorse,
    HoldFacts,
    Holds,
    Memory,
    MovedTooOften,
    NoHistory,
    NotAllowed,
    RacksDown,
    Rest,
    Round,
    RoundResult,
    RoundsFail,
    SomebodyPaused,
    Subject,
    TooEarly,
    UnderMinIsr,
    WindowClosed,
    decide_loop,
    is_open,
    judged_by_policy,
    most_down,
    opens_at,
)

KIND = DeviationKind.PLACEMENT_CHANGED
ORDERS = TopicPartition("orders", 0)
DIFFERS = Deviation(KIND, Subject("orders", 0), "placementChanged orders-0", (ORDERS,))
WELL = HoldFacts(10)
POLICY = Reconcile({KIND: 600})
NIGHTS = Window((0, 1, 2, 3, 4), 22 * 60, 5 * 60, "Europe/Berlin")


def at(text: str) -> float:
    """Seconds of a moment in Berlin."""
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo("Europe/Berlin")).timestamp()


def known(since: float) -> Memory:
    return Memory(since={DIFFERS.key: since})


def test_nothing_that_differs_is_rest_without_end() -> None:
    assert decide_loop(POLICY, [], Memory(), WELL, 0.0) == Rest(None)


def test_what_is_not_named_is_never_done() -> None:
    assert decide_loop(Reconcile(), [DIFFERS], known(0), WELL, 1e9) == Rest(None)
    assert judged_by_policy(Reconcile(), [DIFFERS], known(0), 1e9)[0].why_not == NotAllowed()


def test_it_waits_until_it_has_lasted_long_enough() -> None:
    assert decide_loop(POLICY, [DIFFERS], known(0), WELL, 599.0) == Rest(600.0)
    assert judged_by_policy(POLICY, [DIFFERS], known(0), 599.0)[0].why_not == TooEarly()
    assert decide_loop(POLICY, [DIFFERS], known(0), WELL, 600.0) == Act((DIFFERS,))


def test_a_directory_that_is_still_full_waits_until_what_has_left_it_is_deleted() -> None:
    full = DeviationKind.LOG_DIR_FULL
    found = Deviation(full, Subject(broker=1, path="/a"), "logDirFull 1 /a", (ORDERS,))
    memory, policy = Memory(since={found.key: 1_000.0}), Reconcile({full: 0})
    assert decide_loop(policy, [found], memory, WELL, 1_000.0) == Act((found,))
    done = Round(1, 900.0, 1_000.0, RoundResult.DONE, (full,), 1, 10, "digest")
    memory, due = replace(memory, rounds=(done,)), 1_000.0 + FREED_SECONDS
    assert decide_loop(policy, [found], memory, WELL, due - 1.0) == Rest(due)
    assert decide_loop(policy, [found], memory, WELL, due) == Act((found,))
    ahead = replace(memory, rounds=(replace(done, ended_at=9e9),))
    assert decide_loop(policy, [found], ahead, WELL, due) == Act(
        (found,)
    )  # by a clock that was wrong


def test_what_was_never_seen_before_begins_now() -> None:
    assert decide_loop(POLICY, [DIFFERS], Memory(), WELL, 1000.0) == Rest(1600.0)


def test_outside_of_a_window_it_waits_for_the_next_one() -> None:
    policy = replace(POLICY, windows=Windows((NIGHTS,)))
    noon, evening = at("2026-11-25T12:00:00"), at("2026-11-25T22:00:00")
    assert decide_loop(policy, [DIFFERS], known(0), WELL, noon) == Rest(evening)
    assert judged_by_policy(policy, [DIFFERS], known(0), noon)[0].why_not == WindowClosed(evening)
    assert decide_loop(policy, [DIFFERS], known(0), WELL, evening) == Act((DIFFERS,))
    excepted = replace(policy, windows=Windows((NIGHTS,), frozenset({KIND})))
    assert decide_loop(excepted, [DIFFERS], known(0), WELL, noon) == Act((DIFFERS,))


def test_a_window_goes_on_into_the_next_day_and_over_the_week() -> None:
    assert is_open([NIGHTS], at("2026-11-28T04:59:00"))  # of Friday
    assert not is_open([NIGHTS], at("2026-11-28T05:00:00"))
    assert opens_at([NIGHTS], at("2026-11-28T12:00:00")) == at("2026-11-30T22:00:00")
    assert is_open([], 0.0)


def test_a_window_goes_by_the_clock_of_its_zone_when_that_is_changed() -> None:
    """On 25 October 2026 the clocks of Berlin go back: 22:00 to 05:00 are eight hours."""
    night = replace(NIGHTS, days=(5,))
    begin, end = at("2026-10-24T22:00:00"), at("2026-10-25T05:00:00")
    assert end - begin == 8 * 3600
    assert is_open([night], end - 1)
    assert not is_open([night], end)


@pytest.mark.parametrize(
    ("begin", "end", "opens", "closes"),
    [
        (150, 195, "2027-03-28T01:00:00+00:00", "2027-03-28T01:15:00+00:00"),
        (60, 150, "2027-03-28T00:00:00+00:00", "2027-03-28T01:00:00+00:00"),
        (120, 180, "2027-04-04T00:00:00+00:00", "2027-04-04T01:00:00+00:00"),
    ],
)
def test_an_hour_that_the_clock_leaves_out_is_the_moment_at_which_it_does(
    begin: int, end: int, opens: str, closes: str
) -> None:
    """On 28 March 2027 the clocks of Berlin go from 02:00 to 03:00, at 01:00 UTC."""
    sunday = [Window((6,), begin, end, "Europe/Berlin")]
    evening = datetime.fromisoformat("2027-03-27T20:00:00+00:00").timestamp()
    first, last = (datetime.fromisoformat(text).timestamp() for text in (opens, closes))
    assert opens_at(sunday, evening) == first
    assert not is_open(sunday, first - 1)
    assert is_open(sunday, first)
    assert is_open(sunday, last - 1)
    assert not is_open(sunday, last)


@pytest.mark.parametrize(
    ("hold", "registered", "most"),
    [
        (Fraction(1, 5), 60, 12),
        (Fraction(1, 5), 11, 3),
        (Fraction(1, 5), 5, 2),
        (1, 5, 1),
        (3, 60, 3),
    ],
)
def test_how_many_brokers_down_hold(hold: int | Fraction, registered: int, most: int) -> None:
    assert most_down(HoldLimits(hold), registered) == most


@pytest.mark.parametrize(
    ("memory", "facts", "reason"),
    [
        (Memory(), HoldFacts(10, (1, 2)), BrokersDown((1, 2), 10, 2)),
        (Memory(), HoldFacts(10, (1,), ("a",)), RacksDown(("a",), 1)),
        (Memory(), HoldFacts(500, tuple(range(300))), BrokersDown(tuple(range(300)), 500, 100)),
        (Memory(paused=SomebodyPaused("alice", 1.0)), WELL, SomebodyPaused("alice", 1.0)),
        (Memory(worse=EndedWorse(3, 0, 2)), WELL, EndedWorse(3, 0, 2)),
        (Memory(under=("a-0",)), WELL, UnderMinIsr(("a-0",), 1)),
        (Memory().failed("no", 995.0), WELL, RoundsFail(1, "no", 1055.0)),
        (
            Memory(moved={"orders-0": (100.0, 200.0, 300.0)}),
            WELL,
            MovedTooOften(("orders-0",), 1, 3, 86_500.0),
        ),
    ],
)
def test_each_hold_keeps_what_is_due_from_being_done(
    memory: Memory, facts: HoldFacts, reason: object
) -> None:
    memory = replace(memory, since={DIFFERS.key: 0.0})
    decision = decide_loop(POLICY, [DIFFERS], memory, facts, 1000.0)
    assert isinstance(decision, Holds)
    assert decision.reasons == (reason,)


def test_all_that_was_moved_too_often_is_counted_and_the_first_of_it_is_named() -> None:
    names = [TopicPartition("orders", number) for number in range(LISTED_DEVIATIONS + 100)]
    memory = replace(known(0), moved={str(name): (100.0, 200.0, 300.0) for name in names})
    decision = decide_loop(POLICY, [replace(DIFFERS, partitions=tuple(names))], memory, WELL, 1e3)
    assert isinstance(decision, Holds)
    [reason] = decision.reasons
    assert isinstance(reason, MovedTooOften)
    assert (len(reason.partitions), reason.total) == (LISTED_DEVIATIONS, len(names))
    assert "and 290 more;" in str(reason)


def test_a_partition_may_be_moved_again_when_a_day_has_passed() -> None:
    memory = replace(known(0), moved={"orders-0": (100.0, 200.0, 300.0)})
    assert decide_loop(POLICY, [DIFFERS], memory, WELL, 86_500.0) == Act((DIFFERS,))


def test_failures_put_the_next_round_off_for_an_hour_at_most() -> None:
    memory, pauses = Memory(), []
    for _ in range(9):
        memory = memory.failed("no", 0.0)
        pauses.append(memory.retry_at)
    assert pauses == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]


def test_a_round_that_ends_worse_than_it_began_asks_for_a_person() -> None:
    began = Memory().began(Begun(1, 0.0, (KIND,), "digest", unhealthy=("a-0",)))
    done = Round(1, 0.0, 9.0, RoundResult.DONE, (KIND,), 1, 10, "digest")
    assert began.ended(done, {"orders-0": 9.0}, {"b-0"}).worse is None
    worse = began.ended(done, {"orders-0": 9.0}, {"a-0", "b-0"})
    assert worse.worse == EndedWorse(1, 1, 2)
    assert worse.resumed().worse is None
    assert worse.begun is None
    assert worse.moved == {"orders-0": (9.0,)}


def test_what_the_last_round_stopped_for_is_healed_before_anything_else() -> None:
    broken = TopicPartition("a", 0)
    heals = replace(DIFFERS, key="brokerDown 3", partitions=(broken, ORDERS))
    memory = Memory(since={DIFFERS.key: 0.0, heals.key: 0.0}, under=("a-0",))
    assert decide_loop(POLICY, [DIFFERS, heals], memory, WELL, 900.0) == Act((heals,))
    assert isinstance(decide_loop(POLICY, [DIFFERS], memory, WELL, 900.0), Holds)
    assert memory.healed({"a-0"}) is memory
    assert memory.healed({"b-0"}).under == memory.resumed().under == ()


def test_what_is_away_is_forgotten_and_begins_again() -> None:
    memory = Memory().with_since({"a": 10.0, "b": 10.0}).with_since({"a": 20.0})
    assert memory.since == {"a": 10.0}
    assert memory.with_since({"a": 30.0, "b": 30.0}).since == {"a": 10.0, "b": 30.0}


KINDS = st.sampled_from(DeviationKind)
SECONDS = st.integers(0, 100_000)
POLICIES = st.builds(
    Reconcile,
    st.dictionaries(KINDS, SECONDS),
    windows=st.builds(
        Windows,
        st.lists(
            st.builds(
                Window,
                st.sets(st.integers(0, 6), min_size=1).map(lambda d: tuple(sorted(d))),
                st.integers(0, 1439),
                st.integers(1, 1440),
                st.sampled_from(["UTC", "Europe/Berlin", "America/New_York"]),
            ),
            max_size=2,
        ).map(tuple),
        st.frozensets(KINDS),
    ),
    hold=st.builds(HoldLimits, st.sampled_from([1, 3, Fraction(1, 5)]), st.integers(1, 2)),
)
FOUND = st.lists(
    st.builds(
        lambda kind, number, why: Deviation(
            kind, Subject("t", number), f"{kind} {number}", (TopicPartition("t", number),), why=why
        ),
        KINDS | st.none(),
        st.integers(0, 5),
        st.sampled_from([None, None, NoHistory()]),
    ),
    max_size=5,
    unique_by=lambda f: f.key,
)
FACTS = st.builds(
    HoldFacts,
    st.integers(3, 20),
    st.sampled_from([(), (1,), (1, 2, 3)]),
    st.sampled_from([(), ("a",)]),
)


@given(POLICIES, FOUND, st.dictionaries(st.integers(0, 5), SECONDS), FACTS, SECONDS)
def test_nothing_is_done_that_is_not_allowed_due_and_in_a_window(
    policy: Reconcile,
    found: list[Deviation],
    since: dict[int, int],
    facts: HoldFacts,
    now: int,
) -> None:
    memory = Memory(since={f.key: since.get(f.subject.partition or 0, now) for f in found})
    decision = decide_loop(policy, found, memory, facts, now)
    if isinstance(decision, Act):
        assert len(facts.down) < most_down(policy.hold, facts.registered)
        assert len(facts.racks_down) < policy.hold.racks_down
        for one in decision.due:
            assert one.kind is not None
            assert one.why is None
            assert memory.since[one.key] + policy.put_right[one.kind] <= now
            assert is_open(policy.windows.open, now) or one.kind in policy.windows.excepted


@given(POLICIES, FOUND, st.dictionaries(st.integers(0, 5), SECONDS), SECONDS)
def test_whatever_is_allowed_is_done_when_it_rested_for_it(
    policy: Reconcile, found: list[Deviation], since: dict[int, int], now: int
) -> None:
    """A rest ends at the first moment at which something is done, and not a moment later."""
    memory = Memory(
        since={f.key: min(now, since.get(f.subject.partition or 0, now)) for f in found}
    )
    decision = decide_loop(policy, found, memory, WELL, now)
    if isinstance(decision, Rest) and decision.until is not None:
        assert decision.until > now
        assert isinstance(decide_loop(policy, found, memory, WELL, decision.until), Act)
        assert isinstance(
            decide_loop(policy, found, memory, WELL, (now + decision.until) / 2), Rest
        )
    if isinstance(decision, Rest) and decision.until is None:
        later = decide_loop(policy, found, memory, WELL, now + 10 * 86_400)
        assert not isinstance(later, Act)


def test_utc_needs_no_zone_file() -> None:
    noon = datetime(2026, 11, 25, 12, tzinfo=UTC).timestamp()
    assert is_open([Window((2,), 720, 721)], noon)


def test_a_clock_that_is_put_back_by_weeks_keeps_nothing_waiting() -> None:
    now, back = 10_000_000.0, 6_400_000.0
    memory = replace(known(now), moved={str(ORDERS): (now, now, now)}).failed("no", now)
    assert decide_loop(POLICY, [DIFFERS], memory, WELL, now + 30) == Rest(now + 600)
    later = memory.with_since({DIFFERS.key: back})
    assert later.since == {DIFFERS.key: back}
    assert decide_loop(POLICY, [DIFFERS], later, WELL, back + 600) == Act((DIFFERS,))
