"""The loop on the simulated cluster: stories of hours and days, each with what it did and what it says."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.builders import brokers, snapshot, state
from tests.unit.applying.lab import Killed

from replan.applying.api import LoopCommand, Settings, SteeredJournal, Verb
from replan.errors import Exit
from replan.model.api import (
    LOG_DIRS_RATE,
    BrokerId,
    ConfigSource,
    ConfigValue,
    DeviationKind,
    LogDir,
    Placement,
    Replicas,
    Snapshot,
    TopicPartition,
    replicas,
)
from replan.placement_file.api import load_placement
from replan.planning.api import Plan
from replan.reconciling.api import (
    OFTEN,
    DeclaredByList,
    EndedWorse,
    Loop,
    LoopPorts,
    LoopSettings,
    LoopState,
    LoopStatus,
    Memory,
    MemoryStore,
    MovedTooOften,
    NeedsBrokers,
    NeedsRates,
    NoHistory,
    Observer,
    Proposal,
    Round,
    RoundResult,
    SomebodyPaused,
    UnderMinIsr,
    load,
    memory_records,
)
from replan.rehearsal.api import (
    Lives,
    LoopRun,
    Release,
    TimedCommand,
    WatchedLoop,
    one_life,
    run_loop,
    throttles_of,
)
from replan.simulator.api import (
    AlterReassignments,
    At,
    DropFromIsr,
    Fault,
    KillBroker,
    SendRequest,
    Simulation,
    SlowBroker,
    StartBroker,
    from_snapshot,
)

Reader = Callable[..., Placement]
HOUR = 3_600.0
MB = 1_000_000
LISTS = ((1, 2, 3), (2, 3, 4), (3, 4, 5), (4, 5, 6), (5, 6, 1), (6, 1, 2))
MERGED = "reconcile: {putRight: {placementChanged: 0s}}"
REPLACES = "reconcile: {putRight: {brokerDown: 30m}}"
SLOW = "throttles: {moves: {rate: 100KB/s}}"
RULE = "assignments: {orders: {replicationFactor: 3, spread: rack}}"
BY_LIST = f"assignments: {{orders: {{partitions: {[list(of) for of in LISTS]}}}}}"


@pytest.fixture(name="read")
def _read(tmp_path: Path) -> Reader:
    return reader(tmp_path)


def reader(tmp_path: Path) -> Reader:
    """Writes a placement of these sections there, and reads it."""

    def read(*sections: str) -> Placement:
        path = tmp_path / f"placement-{len(list(tmp_path.iterdir()))}.yaml"
        path.write_text("version: 1\n" + "\n".join(sections) + "\n", encoding="utf-8")
        return load_placement([path])

    return read


def cluster(lists: Sequence[Sequence[int]] = LISTS, size: int = 100 * MB) -> Simulation:
    """Six brokers in three racks, and one topic."""
    states = [state(of, partition=i, size=size) for i, of in enumerate(lists)]
    return from_snapshot(snapshot(states, registered=brokers(6, "abc")), "4.3")


def at(hours: float, *faults: Fault) -> tuple[At, ...]:
    return tuple(At(hours * HOUR, fault) for fault in faults)


def lists_of(month: LoopRun) -> list[Replicas]:
    topic = month.simulation.cluster.topics["orders"]
    return [topic.partitions[i].replicas for i in sorted(topic.partitions)]


def rounds_of(month: LoopRun) -> list[Round]:
    return [month.watched.rounds[n] for n in sorted(month.watched.rounds)]


def end_of(month: LoopRun) -> LoopState:
    """The state in which it was before it ended."""
    return max(
        (s for s in month.watched.states if s is not LoopState.ENDED),
        key=lambda s: month.watched.states[s],
    )


class Heard:
    """What an observer heard."""

    def __init__(self) -> None:
        self.statuses: list[LoopStatus] = []
        self.plans: list[Plan] = []
        self.proposals: list[Proposal] = []

    def changed(self, status: LoopStatus) -> None:
        self.statuses.append(status)

    def planned(self, plan: Plan, snapshot: Snapshot) -> None:
        assert snapshot.partitions
        self.plans.append(plan)

    def proposed(self, proposal: Proposal) -> None:
        self.proposals.append(proposal)


def last_of(month: LoopRun) -> LoopStatus:
    assert month.watched.last is not None
    return month.watched.last


def before_the_end(month: LoopRun) -> LoopStatus:
    assert month.watched.before_the_end is not None
    return month.watched.before_the_end


def kept(placement: Placement, hours: float, faults: Sequence[At] = (), **more: Any) -> LoopRun:
    """Hours of the six brokers under one placement."""
    return run_loop(cluster(), [Release(0, placement)], hours * HOUR, tuple(faults), **more)


def another_from(leaves: float, begins: float) -> Lives:
    """A process that leaves at a moment, and another one that goes on later."""

    def lives(ports: LoopPorts, settings: LoopSettings, watched: WatchedLoop) -> None:
        Loop(replace(ports, stop=lambda: ports.clock.now() >= leaves), settings).run()
        ports.clock.sleep(begins - leaves)
        one_life(ports, settings, watched)

    return lives


def changed_after(hours: float, read: Reader, *sections: str) -> list[Release]:
    """Lists by declaration, of which the first is merged as another one after so many hours."""
    lists = BY_LIST, BY_LIST.replace("[1, 2, 3]", "[4, 2, 3]")
    return [Release(n * hours * HOUR, read(of, *sections)) for n, of in enumerate(lists)]


def test_a_broker_that_is_down_for_longer_than_its_time_is_replaced_once(read: Reader) -> None:
    month = kept(read(RULE, REPLACES), 6, at(1, KillBroker(BrokerId(6))))
    [done] = rounds_of(month)
    assert done.result is RoundResult.DONE
    assert done.kinds == (DeviationKind.BROKER_DOWN,)
    assert 1.5 * HOUR <= done.began_at - month.watched.began <= 1.5 * HOUR + 400
    assert all(6 not in of for of in lists_of(month))
    assert done.moves == sum(6 in of for of in LISTS)
    last = last_of(month)
    assert last.deviations == ()


def test_a_broker_that_is_down_of_lists_is_only_reported(read: Reader) -> None:
    month = kept(read(BY_LIST, REPLACES), 6, at(1, KillBroker(BrokerId(6))))
    assert rounds_of(month) == []
    last = last_of(month)
    assert {d.why_not for d in last.deviations if d.kind is DeviationKind.BROKER_DOWN} == {
        DeclaredByList()
    }


def test_a_merged_change_is_put_right_at_once(read: Reader) -> None:
    before, after = changed_after(2, read, MERGED)
    month = run_loop(cluster(), [before, replace(after, commit="abc")], 4 * HOUR)
    [done] = rounds_of(month)
    assert done.kinds == (DeviationKind.PLACEMENT_CHANGED,)
    assert done.commit == "abc"
    assert lists_of(month)[0] == replicas(4, 2, 3)
    assert end_of(month) is LoopState.AT_REST


def test_without_a_history_it_is_only_reported(read: Reader) -> None:
    policy = "reconcile: {putRight: {placementChanged: 0s, changedElsewhere: 0s}}"
    after = read(BY_LIST.replace("[1, 2, 3]", "[4, 2, 3]"), policy)
    month = kept(after, 4)
    assert rounds_of(month) == []
    assert [d.why_not for d in last_of(month).deviations] == [NoHistory()]


def test_a_drain_of_what_was_never_in_balance_is_a_changed_placement(read: Reader) -> None:
    """What keeps its rule, and would stand elsewhere for the balance, is known from the first look on."""
    balance, drain = "balance: {replicas: 25%}", "blacklists: {replicas: [{broker: 1}]}"
    releases = [Release(0, read(RULE, balance, MERGED))]
    releases.append(Release(HOUR, read(RULE, balance, MERGED, drain)))
    month = run_loop(cluster([(1, 2, 3)] * 6), releases, 4 * HOUR)
    assert rounds_of(month)[0].kinds == (DeviationKind.PLACEMENT_CHANGED,)
    assert all(1 not in of for of in lists_of(month))


def test_what_a_person_changed_is_put_back_where_policy_says_so(read: Reader) -> None:
    policy = "reconcile: {putRight: {changedElsewhere: 1h}}"
    moved = AlterReassignments(((TopicPartition("orders", 0), replicas(4, 2, 3)),))
    month = kept(read(BY_LIST, policy), 6, at(1, SendRequest(moved)))
    [done] = rounds_of(month)
    assert done.kinds == (DeviationKind.CHANGED_ELSEWHERE,)
    assert lists_of(month)[0] == replicas(1, 2, 3)


def test_a_leader_that_moved_is_elected_again(read: Reader) -> None:
    policy = "reconcile: {putRight: {leadershipMoved: 10m}}"
    faults = at(1, KillBroker(BrokerId(1))) + at(1.2, StartBroker(BrokerId(1)))
    world = cluster()
    world = replace(
        world,
        world=replace(world.world, speeds=replace(world.world.speeds, rebalance_seconds=None)),
    )
    month = run_loop(world, [Release(0, read(BY_LIST, policy))], 4 * HOUR, faults)
    done = rounds_of(month)
    assert {k for r in done for k in r.kinds} == {DeviationKind.LEADERSHIP_MOVED}
    assert month.copied_bytes == 0
    assert month.simulation.cluster.topics["orders"].partitions[0].leader == 1


def test_a_window_that_ends_in_the_middle_ends_what_runs_and_begins_nothing(read: Reader) -> None:
    """The snapshot is of 03:00 UTC; six copies of 3.6 GB at 1 MB/s take an hour each, one broker at a time."""
    policy = (
        'reconcile: {putRight: {placementChanged: 0s}, windows: [{from: "04:00", to: "04:30"}]}'
    )
    throttle = "throttles: {moves: {rate: 1MB/s}}"
    after = "assignments: {orders: {partitions: [[4, 2, 3], [5, 3, 4], [6, 4, 5], [1, 5, 6], [2, 6, 1], [3, 1, 2]]}}"
    releases = [
        Release(0, read(BY_LIST, policy, throttle)),
        Release(0.5 * HOUR, read(after, policy, throttle)),
    ]
    month = run_loop(
        cluster(size=3_600 * MB), releases, 12 * HOUR, settings=Settings(slots_per_broker=1)
    )
    done = rounds_of(month)
    assert done
    assert done[0].result is RoundResult.CANCELLED
    began = [r.began_at - month.watched.began for r in done]
    assert all(HOUR <= of % (24 * HOUR) <= 1.5 * HOUR for of in began)
    moved = sum(of != replicas(*before) for of, before in zip(lists_of(month), LISTS, strict=True))
    assert 0 < moved < len(LISTS)
    assert all(not p.adding for p in month.simulation.cluster.topics["orders"].partitions.values())


def test_a_loop_at_rest_is_paused_and_goes_on_once_it_is_resumed(read: Reader) -> None:
    releases = changed_after(2, read, MERGED)
    asked = [
        TimedCommand(HOUR, Verb.PAUSE, "bob@ops-2"),
        TimedCommand(5 * HOUR, Verb.RESUME, "bob@ops-2"),
    ]
    seen = Heard()
    month = run_loop(cluster(), releases, 8 * HOUR, asked=asked, also=seen)
    [done] = rounds_of(month)
    assert 5 * HOUR <= done.began_at - month.watched.began <= 5 * HOUR + 300
    paused = LoopState.PAUSED
    first = [next(of) for _, of in groupby(seen.statuses, key=lambda status: status.state)]
    assert [s.state for s in first[:3]] == [LoopState.AT_REST, paused, LoopState.ACTING]
    assert month.watched.states[paused] == pytest.approx(4 * HOUR, abs=600)
    reasons = [r for status in first for r in status.reasons]
    assert [r.sender for r in reasons if isinstance(r, SomebodyPaused)] == ["bob@ops-2"]


@pytest.mark.parametrize(("leaves", "resumes"), [(None, None), (None, 4.0), (10.0, 1_000.0)])
def test_who_cancels_pauses_the_loop_until_somebody_resumes_it_also_before_all_is_taken_back(
    read: Reader, leaves: float | None, resumes: float | None
) -> None:
    """Seconds after the cancel: when the process leaves, and another one begins an hour later; when it is resumed."""
    releases = changed_after(1, read, MERGED, SLOW)
    cancelled = 1.1 * HOUR
    asked = [TimedCommand(cancelled, Verb.CANCEL, "bob@ops-2")]
    if resumes is not None:
        asked.append(TimedCommand(cancelled + resumes, Verb.RESUME, "eve@ops-3"))

    lives: Lives = one_life
    if leaves is not None:
        lives = another_from(cancelled + leaves, cancelled + leaves + HOUR)
    month = run_loop(cluster(), releases, 8 * HOUR, asked=asked, lives=lives)
    first, *more = rounds_of(month)
    assert first.result is RoundResult.CANCELLED
    last = before_the_end(month)
    if resumes is None:
        assert more == []
        assert [r.sender for r in last.reasons if isinstance(r, SomebodyPaused)] == ["bob@ops-2"]
        assert lists_of(month)[0] == replicas(1, 2, 3)
    else:
        assert [r.result for r in more] == [RoundResult.DONE]
        assert last.state is LoopState.AT_REST
        assert lists_of(month)[0] == replicas(4, 2, 3)


def test_a_resume_that_no_process_answers_goes_on_with_the_application(read: Reader) -> None:
    """It was paused, and its process is gone: `replan resume` itself goes on."""
    releases = changed_after(1, read, MERGED, SLOW)
    asked = [
        TimedCommand(1.1 * HOUR, Verb.PAUSE, "bob@ops-2"),
        TimedCommand(2 * HOUR, Verb.RESUME, "bob@ops-2"),
    ]

    lives = another_from(1.2 * HOUR, 1.3 * HOUR)
    month = run_loop(cluster(), releases, 8 * HOUR, asked=asked, lives=lives)
    [done] = rounds_of(month)
    assert done.result is RoundResult.DONE
    assert done.ended_at - month.watched.began > 2 * HOUR
    assert lists_of(month)[0] == replicas(4, 2, 3)


def test_a_round_that_finds_its_application_paused_has_not_looked_and_says_so(read: Reader) -> None:
    """By 3, as a round that holds, its proposals would be taken for those of a round that has looked."""
    releases = changed_after(1, read, MERGED, SLOW)
    asked = [
        TimedCommand(1.1 * HOUR, Verb.PAUSE, "bob@ops-2"),
        TimedCommand(2 * HOUR, Verb.RESUME, "bob@ops-2"),
    ]
    codes = list[Exit]()

    def lives(ports: LoopPorts, settings: LoopSettings, watched: WatchedLoop) -> None:
        Loop(replace(ports, stop=lambda: ports.clock.now() >= 1.2 * HOUR), settings).run()
        for hours in (0.1, 1):
            ports.clock.sleep(hours * HOUR)
            codes.append(Loop(ports, settings).once())
        one_life(ports, settings, watched)

    run_loop(cluster(), releases, 8 * HOUR, asked=asked, lives=lives)
    assert codes == [Exit.HELD, Exit.OK]


def test_one_resume_is_enough_for_what_was_cancelled_and_then_paused(read: Reader) -> None:
    """Also where the process has died meanwhile: `replan resume` asks the loop as well, and lifts the pause."""
    releases = changed_after(1, read, MERGED, SLOW)
    cancelled = 1.1 * HOUR
    asked = [
        TimedCommand(cancelled, Verb.CANCEL, "bob@ops-2"),
        TimedCommand(cancelled + 1.0, Verb.PAUSE, "bob@ops-2"),
        TimedCommand(3 * HOUR, Verb.RESUME, "bob@ops-2"),
    ]

    lives = another_from(cancelled + 5.0, cancelled + 65.0)
    month = run_loop(cluster(), releases, 8 * HOUR, asked=asked, lives=lives)
    assert [r.result for r in rounds_of(month)] == [RoundResult.CANCELLED, RoundResult.DONE]
    assert lists_of(month)[0] == replicas(4, 2, 3)


def test_a_round_that_died_before_it_opened_is_not_taken_for_an_earlier_one_of_its_plan(
    read: Reader,
) -> None:
    """That one was cancelled by a person, who has let the loop go on since."""
    releases = changed_after(1, read, MERGED, SLOW)
    cancelled, resumed = 1.1 * HOUR, 3 * HOUR
    asked = [
        TimedCommand(cancelled, Verb.CANCEL, "bob@ops-2"),
        TimedCommand(resumed, Verb.RESUME, "bob@ops-2"),
    ]

    def lives(ports: LoopPorts, settings: LoopSettings, watched: WatchedLoop) -> None:
        @contextmanager
        def dies(plan: Plan, alive: Callable[[], object]) -> Iterator[SteeredJournal]:
            if ports.clock.now() >= resumed:
                raise Killed
            with ports.own(plan, alive) as journal:
                yield journal

        with pytest.raises(Killed):
            one_life(replace(ports, own=dies), settings, watched)
        one_life(ports, settings, watched)

    month = run_loop(cluster(), releases, 8 * HOUR, asked=asked, lives=lives)
    assert [r.result for r in rounds_of(month)] == [RoundResult.CANCELLED, RoundResult.DONE]
    assert lists_of(month)[0] == replicas(4, 2, 3)


def test_a_round_that_ended_worse_is_lifted_by_resume(read: Reader) -> None:
    releases = changed_after(2, read, MERGED)
    store = MemoryStore()
    worse = Memory(number=1, worse=EndedWorse(1, 0, 2))
    store.write(memory_records(worse, ()))
    asked = [TimedCommand(5 * HOUR, Verb.RESUME, "bob@ops-2")]
    month = run_loop(cluster(), releases, 8 * HOUR, asked=asked, store=store)
    [held] = month.watched.holds
    assert held.reasons == (EndedWorse(1, 0, 2),)
    assert held.since == pytest.approx(0, abs=60)
    assert held.until == pytest.approx(5 * HOUR, abs=600)
    [done] = rounds_of(month)
    assert done.began_at - month.watched.began >= 5 * HOUR
    assert load(store.read())[0].worse is None


def test_what_nobody_obeyed_is_obeyed_once_and_then_forgotten(read: Reader) -> None:
    store = MemoryStore()
    store.write([LoopCommand("1", Verb.PAUSE, "bob"), LoopCommand("2", Verb.RESUME, "eve")])
    asked = [TimedCommand(HOUR, Verb.PAUSE, "bob")]
    month = run_loop(cluster(), [Release(0, read(RULE))], 2 * HOUR, store=store, asked=asked)
    commands = [r for r in store.read() if isinstance(r, LoopCommand)]
    assert [(c.verb, c.sender, c.obeyed_by) for c in commands] == [(Verb.PAUSE, "bob", "rehearsal")]
    assert month.watched.states[LoopState.AT_REST] == pytest.approx(HOUR, abs=600)


def test_a_partition_that_was_moved_three_times_in_a_day_is_not_moved_a_fourth_time(
    read: Reader,
) -> None:
    placement = read(RULE, REPLACES)
    lists: list[Replicas] = [replicas(1, 2, 3)]
    faults: tuple[At, ...] = ()
    for number in range(4):  # each kills the broker that the round before chose
        month = run_loop(
            cluster([(1, 2, 3)]), [Release(0, placement)], 4 * HOUR * (number + 1), faults
        )
        lists.append(lists_of(month)[0])
        [victim, *_] = sorted(set(lists[-1]) - set(lists[-2])) or [lists[-1][0]]
        began = 4 * HOUR * (number + 1)
        faults += (At(began, KillBroker(victim)), At(began + 3 * HOUR, StartBroker(victim)))
    month = run_loop(cluster([(1, 2, 3)]), [Release(0, placement)], 19.5 * HOUR, faults)
    done = rounds_of(month)
    assert len(done) == OFTEN
    assert {k for r in done for k in r.kinds} == {DeviationKind.BROKER_DOWN}
    [held] = month.watched.holds
    assert [type(r) for r in held.reasons] == [MovedTooOften]


SLOWLY = "throttles: {moves: {rate: 1MB/s}}"
"""A copy of 3.6 GB takes an hour."""
STALLS = SlowBroker(BrokerId(6), 0)
BESIDE = [*([i, i % 4 + 1] for i in range(1, 5)), [5, 6]]
"""What is there before; the last one is under min ISR while 5 or 6 is down."""


def slowly(
    read: Reader,
    after: Sequence[Sequence[int]],
    *faults: At,
    hours: float = 30,
    also: Observer | None = None,
) -> LoopRun:
    """A change of lists of two that is merged after half an hour, copied one by one."""
    before, merged = (
        f"assignments: {{orders: {{partitions: {[list(of) for of in lists]}}}}}"
        for lists in (BESIDE, after)
    )
    releases = [Release(0, read(before, MERGED, SLOWLY))]
    releases.append(Release(0.5 * HOUR, read(merged, MERGED, SLOWLY)))
    world = cluster(BESIDE, size=3_600 * MB)
    settings = Settings(slots_per_broker=1)
    return run_loop(world, releases, hours * HOUR, faults, settings=settings, also=also)


def test_a_partition_that_comes_under_min_isr_stops_the_round_until_it_is_over(
    read: Reader,
) -> None:
    after = [[1, 3], [2, 4], [3, 1], [4, 2], [5, 6]]
    faults = at(1, KillBroker(BrokerId(6))) + at(6, StartBroker(BrokerId(6)))
    month = slowly(read, after, *faults)
    first, *_, last = rounds_of(month)
    began = month.watched.began
    assert (first.result, last.result) == (RoundResult.CANCELLED, RoundResult.DONE)
    assert first.ended_at - began < 2 * HOUR  # what ran has ended, and one of four was begun
    assert last.began_at - began == pytest.approx(6 * HOUR, abs=700)
    within, held = month.watched.holds
    assert within.reasons == held.reasons == (UnderMinIsr(("orders-4",), 1),)
    assert within.since == pytest.approx(HOUR, abs=120)
    assert held.until == pytest.approx(6 * HOUR, abs=700)
    assert lists_of(month) == [replicas(*of) for of in after]
    assert end_of(month) is LoopState.AT_REST


def test_a_round_that_really_ends_worse_holds_until_a_person_has_looked(read: Reader) -> None:
    """A follower beside the round falls far behind in its last seconds."""
    after = [[1, 3], *BESIDE[1:]]
    quiet = slowly(read, after, hours=4)
    [done] = rounds_of(quiet)
    late = done.ended_at - quiet.watched.began - 5
    drops = At(late, DropFromIsr(TopicPartition("orders", 4), BrokerId(6), 10**14))
    month = slowly(read, after, drops, hours=8)
    assert [r.result for r in rounds_of(month)] == [RoundResult.DONE]
    meanwhile, held = month.watched.holds
    assert meanwhile.reasons == (UnderMinIsr(("orders-4",), 1),)
    assert held.reasons == (EndedWorse(1, 0, 1),)
    assert held.until == pytest.approx(8 * HOUR, abs=600)


def test_a_round_goes_on_whose_move_heals_what_came_under_min_isr(read: Reader) -> None:
    after = [[1, 3], [2, 4], [3, 1], [4, 2], [5, 1]]
    month = slowly(read, after, *at(1, KillBroker(BrokerId(6))))
    [done] = rounds_of(month)
    assert done.result is RoundResult.DONE
    assert month.watched.holds == []
    assert lists_of(month) == [replicas(*of) for of in after]


def test_what_stops_a_round_is_healed_by_the_next_one_that_may(read: Reader) -> None:
    """A broker dies for good in the middle of a round: its replicas go to others first, then the round goes on."""
    policy = "reconcile: {putRight: {placementChanged: 0s, brokerDown: 3h}}"
    rule = "assignments: {orders: {replicationFactor: 2}}"
    after = "assignments: {orders: {replicationFactor: 3}}"
    releases = [
        Release(0, read(rule, policy, SLOWLY)),
        Release(0.5 * HOUR, read(after, policy, SLOWLY)),
    ]
    world = cluster([[1, 2], [2, 3], [3, 4], [4, 1], [5, 6]], size=3_600 * MB)
    settings = Settings(slots_per_broker=1)
    dead = at(0.6, KillBroker(BrokerId(5)))
    month = run_loop(world, releases, 40 * HOUR, dead, settings=settings)
    assert all(len(of) == 3 and 5 not in of for of in lists_of(month))
    assert end_of(month) is LoopState.AT_REST
    began, rounds = month.watched.began, rounds_of(month)
    replaced = [r for r in rounds if r.kinds == (DeviationKind.BROKER_DOWN,)]
    assert [r.began_at - began <= 4.8 * HOUR for r in replaced] == [True]


def test_nothing_that_moves_for_a_while_ends_a_round_as_failed(read: Reader) -> None:
    """A copy that nobody sends is waited for no longer, and tried again, less and less often."""
    after = [[1, 6], [2, 4], [3, 4], [4, 1], [5, 6]]
    month = slowly(read, after, *at(0.2, STALLS), hours=8)
    first, *more = rounds_of(month)
    assert first.result is RoundResult.CANCELLED
    assert month.watched.states[LoopState.BACKING_OFF] > HOUR
    assert 2 <= len(more) <= 8
    assert lists_of(month)[1] == replicas(2, 4)
    assert lists_of(month)[0] == replicas(1, 2)


def test_a_balance_by_rates_that_nobody_knows_is_said(read: Reader) -> None:
    policy = "reconcile: {putRight: {outOfBalance: 0s}}"
    month = kept(read(RULE, "balance: {bytesIn: 10%}", policy), 1)
    assert [d.why_not for d in last_of(month).deviations] == [NeedsRates()]
    assert month.watched.states[LoopState.DIFFERS] > 0


def test_what_needs_a_broker_that_is_down_waits_for_it_by_name_and_nothing_else_does(
    read: Reader,
) -> None:
    """Broker 4 dies before it is put right what a person did, and comes back much later."""
    policy = "reconcile: {putRight: {changedElsewhere: 1h, placementChanged: 0s}}"
    merged = BY_LIST.replace("[6, 1, 2]", "[6, 1, 5]")
    releases = [Release(0, read(BY_LIST, policy)), Release(10 * HOUR, read(merged, policy))]
    moved = SendRequest(AlterReassignments(((TopicPartition("orders", 2), replicas(1, 4, 5)),)))
    faults = (*at(1, moved), *at(1.5, KillBroker(BrokerId(4))), *at(20, StartBroker(BrokerId(4))))
    short = run_loop(cluster(), releases, 12 * HOUR, faults)
    [done] = rounds_of(short)
    assert (done.result, done.kinds) == (RoundResult.DONE, (DeviationKind.PLACEMENT_CHANGED,))
    assert done.began_at - short.watched.began <= 10 * HOUR + 300
    last = before_the_end(short)
    assert last.state is LoopState.DIFFERS
    whys = {d.subject.partition: d.why_not for d in last.deviations if d.subject.topic is not None}
    assert whys == {2: NeedsBrokers((4,))}
    month = run_loop(cluster(), releases, 23 * HOUR, faults)
    assert lists_of(month) == [*(replicas(*of) for of in LISTS[:5]), replicas(6, 1, 5)]
    [_, after] = rounds_of(month)
    assert 20 * HOUR <= after.began_at - month.watched.began <= 20 * HOUR + 600
    assert before_the_end(month).state is LoopState.AT_REST


def test_an_order_waits_for_whoever_is_to_lead_by_it(read: Reader) -> None:
    """Broker 1 dies, and somebody lets another one stand first: nothing is tried until it is back."""
    policy = "reconcile: {putRight: {changedElsewhere: 1h}}"
    first = LISTS[0]
    assert first[0] == 1
    reordered = SendRequest(
        AlterReassignments(((TopicPartition("orders", 0), replicas(*first[1:], first[0])),))
    )
    faults = (*at(1, KillBroker(BrokerId(1))), *at(2, reordered), *at(20, StartBroker(BrokerId(1))))
    short = kept(read(BY_LIST, policy), 12, faults)
    assert rounds_of(short) == []
    last = before_the_end(short)
    whys = {d.subject.partition: d.why_not for d in last.deviations if d.subject.topic is not None}
    assert whys == {0: NeedsBrokers((1,))}
    month = kept(read(BY_LIST, policy), 23, faults)
    [done] = rounds_of(month)
    assert done.result is RoundResult.DONE
    assert lists_of(month)[0] == replicas(*first)


ALL_KINDS = "reconcile: {putRight: {placementChanged: 0s, brokerDown: 30m}}"


@pytest.mark.parametrize("dies", [1, 2, 4])
def test_nothing_else_waits_for_a_broker_that_died_while_a_round_was_at_work(
    read: Reader, dies: int
) -> None:
    """It sends, stays, or is new; what was half done and the throttle are put right once it is back."""
    lists = BY_LIST.replace("[1, 2, 3]", "[4, 2, 3]")
    others = lists.replace("[6, 1, 2]", "[6, 3, 2]" if dies == 1 else "[6, 1, 5]")
    places = enumerate([BY_LIST, lists, others])
    releases = [Release(n * HOUR, read(of, SLOW, ALL_KINDS)) for n, of in places]
    broker = BrokerId(dies)
    faults = (*at(1.1, KillBroker(broker)), *at(20, StartBroker(broker)))
    dead = run_loop(cluster(), releases, 6 * HOUR, faults[:1])
    assert lists_of(dead)[5] in {replicas(6, 3, 2), replicas(6, 1, 5)}
    month = run_loop(cluster(), releases, 30 * HOUR, faults)
    assert lists_of(month)[0] == replicas(4, 2, 3)
    assert not throttles_of(month.simulation.cluster)
    last = before_the_end(month)
    assert (last.state, last.deviations) == (LoopState.AT_REST, ())


def test_a_rate_between_log_directories_that_somebody_left_is_taken_away(read: Reader) -> None:
    states = [state(of, partition=i) for i, of in enumerate(LISTS)]
    configs = {b: {LOG_DIRS_RATE: ConfigValue("5000", ConfigSource.BROKER)} for b in (1, 2)}
    begun = from_snapshot(
        replace(
            snapshot(states, registered=brokers(6, "abc")),
            log_dirs=tuple(LogDir(BrokerId(b), "/d") for b in (1, 2)),
            broker_configs=configs,
        ),
        "4.3",
    )
    releases = [Release(0, read(RULE, "reconcile: {putRight: {staleThrottle: 1h}}"))]
    month = run_loop(begun, releases, 3 * HOUR)
    assert not throttles_of(month.simulation.cluster)
    (done,) = rounds_of(month)
    assert done.result is RoundResult.DONE


def test_a_broker_that_nobody_can_replace_keeps_nothing_else_from_being_put_right(
    read: Reader,
) -> None:
    """Two racks of the three have the replicas that the rule wants there; broker 3 is due, and refused."""
    states = [state((1, 2, 3), partition=i, size=MB) for i in range(3)]
    world = from_snapshot(snapshot(states, registered=brokers(3, "abc")), "4.3")
    policy = "reconcile: {putRight: {placementChanged: 0s, brokerDown: 0s}, hold: {brokersDown: 2, racksDown: 2}}"
    leaders = "blacklists: {leaders: [{broker: 1}]}"
    releases = [Release(0, read(RULE, policy)), Release(2 * HOUR, read(RULE, policy, leaders))]
    month = run_loop(world, releases, 5 * HOUR, at(1, KillBroker(BrokerId(3))))
    [done] = rounds_of(month)
    assert (done.result, done.kinds) == (RoundResult.DONE, (DeviationKind.PLACEMENT_CHANGED,))
    assert [of[0] for of in lists_of(month)] == [BrokerId(2)] * 3


def test_what_is_due_says_that_the_loop_backs_off(read: Reader) -> None:
    seen = Heard()
    after = [[1, 6], [2, 4], [3, 4], [4, 1], [5, 6]]
    slowly(read, after, *at(0.2, STALLS), hours=3, also=seen)
    backing = [s for s in seen.statuses if s.state is LoopState.BACKING_OFF]
    assert backing
    assert all(d.why_not is not None for s in backing for d in s.deviations)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_rack_that_comes_back_broker_by_broker_is_given_its_time_again(
    read: Reader, processes: int
) -> None:
    """Also by a second process, which knows it from what the first one has kept."""
    placement = read(RULE, REPLACES)
    down = (
        *at(1, KillBroker(BrokerId(1)), KillBroker(BrokerId(4))),
        *at(3, StartBroker(BrokerId(1))),
    )

    def lives(ports: LoopPorts, settings: LoopSettings, watched: WatchedLoop) -> None:
        for _ in range(processes - 1):
            first = Loop(ports, settings)
            while ports.clock.now() < 3.1 * HOUR:
                first.round()
                ports.clock.sleep(300)
        one_life(ports, settings, watched)

    late = kept(placement, 6, down, lives=lives)
    [done] = rounds_of(late)
    assert 3.5 * HOUR <= done.began_at - late.watched.began <= 3.8 * HOUR
    back = (*down, *at(3.4, StartBroker(BrokerId(4))))
    soon = kept(placement, 6, back, lives=lives)
    assert rounds_of(soon) == []


@pytest.mark.parametrize(("dies", "within"), [(1.05, 0.1), (1.5, 1.3)])
def test_a_broker_that_is_due_waits_for_a_copy_for_no_longer_than_that_took(
    read: Reader, dies: float, within: float
) -> None:
    """A copy of 400 MB takes over an hour at 100 KB/s; the first ones begin after an hour."""
    policy = "reconcile: {putRight: {placementChanged: 0s, brokerDown: 10m}}"
    drained = "blacklists: {replicas: [{broker: 6}]}"
    releases = [
        Release(0, read(RULE, SLOW, policy)),
        Release(HOUR, read(RULE, SLOW, policy, drained)),
    ]
    killed = at(dies, KillBroker(BrokerId(2)))
    month = run_loop(cluster(size=400 * MB), releases, 20 * HOUR, killed)
    replaced = [r for r in rounds_of(month) if r.kinds == (DeviationKind.BROKER_DOWN,)]
    due = month.watched.began + dies * HOUR + 600
    assert replaced[0].began_at - due <= within * HOUR
    assert all(not {2, 6} & {*of} for of in lists_of(month))


def test_what_is_released_while_a_round_runs_is_a_changed_placement_and_is_put_right(
    read: Reader,
) -> None:
    releases = changed_after(1, read, SLOW, MERGED)
    newest = BY_LIST.replace("[1, 2, 3]", "[5, 2, 3]")
    releases.append(Release(1.1 * HOUR, read(newest, SLOW, MERGED)))
    month = run_loop(cluster(), releases, 6 * HOUR)
    first, second = rounds_of(month)
    assert first.ended_at - month.watched.began > 1.1 * HOUR
    assert second.kinds == (DeviationKind.PLACEMENT_CHANGED,)
    assert lists_of(month)[0] == replicas(5, 2, 3)
