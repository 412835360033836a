"""What happens to an application where no story of tests/scenarios shows it: what it keeps, counts, never sends."""

from collections.abc import Callable, Mapping, Sequence

import pytest
from msgspec import Struct
from msgspec.structs import replace
from tests.builders import move, state
from tests.unit.applying.lab import MB, Boundary, Killed, Lab, lab, plan_of

from replan.applying.api import (
    Application,
    ApplicationStatus,
    Ending,
    Journal,
    JournalSilent,
    LookTooOld,
    MemoryJournal,
    NoSlot,
    OriginalsChunk,
    PatientJournal,
    PlanChunk,
    Record,
    Result,
    SavedRate,
    Settings,
    clear_throttles,
)
from replan.errors import (
    BadFile,
    ClusterUnreachable,
    Exit,
    Held,
    ReplanError,
    WrongCluster,
)
from replan.model.api import (
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    MIN_INSYNC_REPLICAS,
    BrokerId,
    ConfigOperation,
    ConfigScope,
    MoveThrottle,
    Replicas,
    TopicPartition,
    broker_change,
    replicas,
    topic_change,
)
from replan.planning.api import Plan, StandaloneElection, dumps
from replan.reporting.api import outcome_text
from replan.simulator.api import (
    AlterConfigs,
    AlterReassignments,
    At,
    KillBroker,
    LagMetadata,
    LoseRequests,
    Schedule,
    SendRequest,
    SlowLooks,
    StartBroker,
    VirtualClock,
    WriteKind,
)

GROW = move([1, 2, 3], [1, 2, 4], size=50 * MB)
SLOW = MoveThrottle(MB)
FAST = MoveThrottle(20 * MB)


def ask_at(seconds: float, *items: tuple[str, int, list[int] | None]) -> At:
    lists = tuple(
        (GROW.partition._replace(topic=t, partition=p), None if r is None else replicas(*r))
        for t, p, r in items
    )
    return At(seconds, SendRequest(AlterReassignments(lists)))


def one_at_a_time() -> Lab:
    """Two throttled copies from one broker, which sends one at a time."""
    waits = move([1, 3, 2], [1, 3, 4], partition=1, size=50 * MB)
    return lab(
        [state([1, 2, 3], size=50 * MB), state([1, 3, 2], partition=1, size=50 * MB)],
        [GROW, waits],
        throttle=SLOW,
        settings=Settings(slots_per_broker=1),
    )


def test_interrupted_it_puts_back_what_no_running_copy_needs() -> None:
    made = one_at_a_time()
    before = made.configs()
    stopped = made.apply(stop=lambda: True)
    assert [r.result for r in stopped.results] == [Result.WAITING, Result.WAITING]
    assert made.configs() == before
    outcome = made.apply(stop=made.stop_at(made.clock.now() + 8))
    assert [r.result for r in outcome.results] == [Result.RUNNING, Result.WAITING]
    assert outcome.results[1].hold == NoSlot(BrokerId(1), 1, 1)


def test_another_cluster_is_refused() -> None:
    made = lab([state([1, 2, 3])], [GROW])
    other = Plan("somewhere-else", "", {}, (GROW,))
    with pytest.raises(WrongCluster, match="the plan is for cluster somewhere-else"):
        made.apply(other)


@pytest.mark.parametrize("late", [0, 70, 82])
def test_the_minute_for_which_a_dead_process_was_watched_counts_for_its_requests(
    late: float,
) -> None:
    """The last of them was sent before it was watched, so it arrives within the same 85 seconds."""
    made = lab(
        [state([1, 2, 3], size=MB)],
        [GROW],
        throttle=FAST,
        schedule=(At(0, LoseRequests(WriteKind.REASSIGN, 1, late)),),
    )
    before = made.configs()
    with pytest.raises(Killed):
        made.apply(boundary=Boundary(kill_after=5))
    killed = made.clock.now()
    made.clock.sleep(60)
    assert outcome_text(made.apply(silent_since=killed)) == "1 done"
    assert killed + 85 <= made.clock.now() < killed + 85 + 30
    made.clock.sleep(100)
    assert made.partition(GROW).replicas == GROW.target
    assert made.configs() == before


@pytest.mark.parametrize("late", [None, 0, 70, 82])
def test_throttle_clear_after_a_kill_takes_85_seconds_with_the_minute_of_watching(
    late: float | None,
) -> None:
    made = lab(
        [state([1, 2, 3], size=500 * MB)],
        [move([1, 2, 3], [1, 2, 4], size=500 * MB)],
        throttle=SLOW,
        schedule=(At(0, LoseRequests(WriteKind.CONFIGURE, 1, late)),),
    )
    before = made.configs()
    with pytest.raises(Killed):
        made.apply(boundary=Boundary(kill_after=3))
    killed, told = made.clock.now(), list[str]()
    made.clock.sleep(60)
    cleared = made.clear(report=told.append, silent_since=killed)
    assert cleared.exit_code is Exit.OK
    assert killed + 85 <= made.clock.now() <= killed + 90
    assert told[0].startswith("restored; for ")
    made.clock.sleep(100)
    assert made.configs() == before


def test_whoever_resumes_after_throttle_clear_need_not_wait_again_for_what_may_arrive() -> None:
    """The command has watched for as long as a request may be on its way."""
    made = lab(
        [state([1, 2, 3], size=MB)],
        [GROW],
        throttle=FAST,
        schedule=(At(0, LoseRequests(WriteKind.REASSIGN, 1)),),
    )
    before = made.configs()
    with pytest.raises(Killed):
        made.apply(boundary=Boundary(kill_after=5))
    killed = made.clock.now()
    made.clock.sleep(60)
    made.clear(silent_since=killed)
    cleared = made.clock.now()
    assert cleared - killed <= 86
    assert outcome_text(made.apply()) == "1 done"
    assert made.clock.now() - cleared < 30
    assert made.configs() == before


def test_throttle_clear_restores_what_is_left_and_keeps_what_a_running_copy_needs() -> None:
    long = move([1, 2, 3], [1, 2, 4], size=500 * MB)
    made = lab([state([1, 2, 3], size=500 * MB)], [long], throttle=SLOW)
    before, told = made.configs(), list[str]()
    made.apply(stop=made.stop_at(5))
    kept = made.clear(report=told.append)
    assert (kept.exit_code, outcome_text(kept)) == (
        Exit.OK,
        "throttles set by replan: restored, except for running copies: orders-0",
    )
    assert [text.partition(" more")[0] for text in told] == [
        f"restored; for {left} s" for left in (85, 55, 25)
    ]
    assert made.configs()[ConfigScope.TOPIC, "orders"][FOLLOWER_REPLICAS] == "0:4"
    made.clock.sleep(600)
    cleared = made.clear()
    assert outcome_text(cleared) == "throttles set by replan: all restored to what was there before"
    assert made.configs() == before


def test_throttle_clear_restores_nothing_by_a_look_that_is_too_old() -> None:
    """What it takes to read and to append counts together, as for `apply`: the look is 14 s old then."""
    slow = (At(500, SlowLooks(8)),)
    made = lab([state([1, 2, 3], size=50 * MB)], [GROW], throttle=SLOW, schedule=slow)
    made.apply(stop=made.stop_at(5))
    made.clock.sleep(600)
    told = list[str]()
    cleared = clear_throttles(
        made.plane,
        made.plane,
        SlowJournal(made.journal, made.clock, 6),
        made.clock,
        settings=made.settings,
        report=told.append,
    )
    assert (cleared.ending, told) == (Ending.NOT_RESTORED, [])


class SlowJournal(Struct):
    """A journal on a disk that takes so long for each append."""

    kept: Journal
    clock: VirtualClock
    seconds: float

    def read(self) -> Sequence[Record]:
        return self.kept.read()

    def append(self, records: Sequence[Record]) -> None:
        if records:
            self.clock.sleep(self.seconds)
        self.kept.append(records)


@pytest.mark.parametrize(("seconds", "ends"), [(6, True), (20, False)])
def test_a_slow_journal_is_waited_for_or_named(seconds: float, ends: bool) -> None:
    made = lab([state([1, 2, 3], size=MB)], [GROW])
    made.journal = SlowJournal(made.journal, made.clock, seconds)
    outcome = made.apply(stop=made.stop_at(600))
    holds = {type(h) for p in made.reports for h in (p.holds or {}).values()}
    assert (outcome.ending is Ending.COMPLETE) is ends
    assert (LookTooOld in holds) is not ends
    assert (made.partition(GROW).replicas == GROW.target) is ends


def test_what_was_seen_before_a_process_stood_still_drops_no_replica() -> None:
    """A process that is stopped or starved between a look and its request: who was in sync dies meanwhile."""
    look = Settings().settle_seconds + 1
    made = lab(
        [state([1, 2, 3], size=MB)],
        [GROW],
        schedule=(
            At(look - 0.5, SlowLooks(14)),
            At(look + 0.5, SlowLooks(0)),
            At(look + 1, KillBroker(BrokerId(2))),
            At(look + 60, StartBroker(BrokerId(2))),
        ),
    )
    cluster: list[tuple[float, bool]] = []

    def asked(lists: Mapping[TopicPartition, Replicas | None]) -> None:
        if GROW.target in lists.values():
            found = made.plane.simulation.cluster.topics["orders"].partitions[0]
            cluster.append((made.clock.now(), set(GROW.target) <= set(found.isr)))

    assert made.apply(boundary=Boundary(lists=asked)).ending is Ending.COMPLETE
    [(seconds, in_sync)] = cluster
    assert in_sync
    assert seconds > look + 60


class TakenOver(MemoryJournal):
    """A journal that another process takes over after some appends."""

    def __init__(self, appends: int) -> None:
        super().__init__()
        self._left = appends

    def append(self, records: Sequence[Record]) -> None:
        if self._left == 0:
            raise Held("another process has taken over the journal of this cluster")
        self._left -= 1
        super().append(records)


def test_taken_over_it_stops_before_it_asks_for_anything_more() -> None:
    made = lab([state([1, 2, 3], size=MB)], [GROW], journal=TakenOver(1))
    with pytest.raises(Held, match="another process has taken over"):
        made.apply()
    assert made.partition(GROW).replicas == GROW.original


DISK_FULL = BadFile("journal: cannot write the journal: no space left on device")
LEADERLESS = ClusterUnreachable("the journal topic cannot be written now")


class Full(MemoryJournal):
    """A journal that cannot be written for a while."""

    def __init__(
        self,
        clock: Callable[[], float],
        since: float,
        until: float,
        error: ReplanError = DISK_FULL,
    ) -> None:
        super().__init__()
        self._clock, self._since, self._until, self._error = clock, since, until, error

    def append(self, records: Sequence[Record]) -> None:
        if records and self._since <= self._clock() < self._until:
            raise self._error
        super().append(records)


def test_a_journal_without_a_leader_is_waited_for_and_reported() -> None:
    """As in a rolling restart under load; a job of the night would else end in the middle."""
    made = lab([state([1, 2, 3], size=20 * MB)], [GROW])
    made.journal = Full(made.clock.now, 0.5, 55, LEADERLESS)
    assert made.apply().ending is Ending.COMPLETE
    waits = [p.admission for p in made.reports if isinstance(p.admission, JournalSilent)]
    assert len(waits) > 3
    assert waits[-1].seconds > 40


def test_who_restores_throttles_waits_for_a_journal_without_a_leader() -> None:
    clock, told = VirtualClock(), list[str]()
    saved = SavedRate(BrokerId(1), LEADER_RATE, None, ("5",))
    kept = Full(clock.now, 0, 20, LEADERLESS)
    PatientJournal(kept, clock, 60, told.append).append([saved])
    assert list(kept.read()) == [saved]
    assert len(told) == 1
    with pytest.raises(ClusterUnreachable):
        PatientJournal(Full(clock.now, 0, 600, LEADERLESS), clock, 60, told.append).append([saved])


@pytest.mark.parametrize(("seconds", "text"), [(20, "1 done"), (100, None)])
def test_a_journal_that_cannot_be_written_stops_every_request(
    seconds: float, text: str | None
) -> None:
    made = lab([state([1, 2, 3], size=MB)], [GROW])
    made.journal = Full(made.clock.now, 0.5, seconds)
    outcome = made.apply()
    if text is not None:
        assert outcome_text(outcome) == text
        return
    assert outcome.exit_code is Exit.ERROR
    assert outcome_text(outcome).splitlines() == [
        (
            "the journal could not be written for 60 s, so nothing more was asked: "
            "journal: cannot write the journal: no space left on device"
        ),
        "1 running",
        "Rerun to resume.",
    ]


def test_abandon_counts_what_was_not_started_too_and_so_does_the_journal() -> None:
    made = one_at_a_time()
    made.apply(stop=made.stop_at(8))
    outcome = made.abandon()
    assert outcome_text(outcome).startswith("abandoned: 1 running, 1 not started\n")
    (ended,) = (r for r in made.journal.read() if isinstance(r, Application))
    assert ended.summary == "1 running, 1 not started"


def test_abandon_and_clear_need_no_plan_that_they_can_read() -> None:
    long = move([1, 2, 3], [1, 2, 4], size=5_000 * MB)
    made = lab([state([1, 2, 3], size=5_000 * MB)], [long], throttle=SLOW)
    before = made.configs()
    made.apply(stop=made.stop_at(5))
    made.journal.append(
        [
            PlanChunk(r.application, r.index, "of another version")
            for r in made.journal.read()
            if isinstance(r, PlanChunk)
        ]
    )
    made.clear()
    assert made.configs()[ConfigScope.TOPIC, "orders"][FOLLOWER_REPLICAS] == "0:4"
    outcome = made.abandon()
    assert outcome.exit_code is Exit.OK
    assert made.configs() == before


def test_an_application_stays_while_a_list_of_a_partition_that_has_ended_may_arrive() -> None:
    made = lab([state([1, 2, 3], size=50 * MB)], [GROW], throttle=SLOW)
    before = made.configs()
    raised = topic_change("orders", MIN_INSYNC_REPLICAS, ConfigOperation.SET, "3")
    lost = LoseRequests(WriteKind.REASSIGN, 10, 60.0)
    made.plane.schedule((At(0, lost), At(6, SendRequest(AlterConfigs((raised,))))))
    outcome = made.apply()
    assert outcome.ending is Ending.COMPLETE
    assert [r.result for r in outcome.results] == [Result.STALE]
    late = made.partition(GROW)
    assert late.replicas == GROW.expanded
    assert set(GROW.new) <= set(late.isr), "the copy that arrived late was left to run alone"
    before[ConfigScope.TOPIC, "orders"][MIN_INSYNC_REPLICAS] = "3"
    assert made.configs() == before


def test_abandon_is_the_way_out_where_two_applications_are_open() -> None:
    made = lab([state([1, 2, 3], size=50 * MB)], [GROW], throttle=SLOW)
    before = made.configs()
    made.apply(stop=made.stop_at(5))
    made.journal.append([Application("b-1", ApplicationStatus.OPEN, "e", "m", "c", "bob@ops-2")])
    with pytest.raises(Held, match="`replan abandon` ends them all"):
        made.apply()
    other = plan_of([move([1, 2, 3], [1, 2, 5])])
    made.journal.append([PlanChunk("b-1", 0, dumps(other))])
    outcome = made.abandon()
    assert outcome.exit_code is Exit.OK
    assert made.configs() == before
    kept = made.ledger
    assert kept.application is None
    assert {type(record) for record in kept.records.values()} == {Application, OriginalsChunk}


def test_nothing_is_sent_without_an_append_of_its_own_tick() -> None:
    """Otherwise a process that was taken over would not learn it before it acts."""
    made = lab([state([1, 2, 3], size=5 * MB)], [GROW], throttle=FAST)
    boundary = Boundary()
    made.apply(boundary=boundary)
    ticks = " ".join(boundary.log).split("tick")
    assert [t.split() for t in ticks if t.strip()] == [
        ["append", "append", "configure"],
        ["append", "reassign"],
        ["append"],
        ["append", "configure", "configure", "reassign"],
        ["append", "configure"],
        ["append"],
        ["append"],
    ]


def test_what_a_request_leads_to_may_be_looked_for_sooner() -> None:
    """The throttle before the copy, the assign after the settle time, and what is restored at the end."""
    took: dict[float, float] = {}
    for soon in (1.0, 0.25):
        settings = Settings(soon_seconds=soon)
        made = lab([state([1, 2, 3], size=50 * MB)], [GROW], throttle=FAST, settings=settings)
        assert made.apply().exit_code is Exit.OK
        assert made.partition(GROW).replicas == GROW.target
        took[soon] = made.clock.now()

    assert took[1.0] - took[0.25] >= 1.5


def test_pauses_are_long_beside_what_ticks_take() -> None:
    settings = Settings().on_a_real_clock()
    assert settings.pause_seconds(0.01, awaits_effect=True) == 0.25
    assert settings.pause_seconds(0.04, awaits_effect=True) == 0.8
    assert settings.pause_seconds(3.0, awaits_effect=True) == 1
    assert settings.pause_seconds(0.01, awaits_effect=False) == 1
    assert settings.pause_seconds(0.07, awaits_effect=False) == pytest.approx(1.4)
    elected = [
        settings.pause_seconds(0.1, awaits_effect=True, elected=at) for at in (0.0, 0.5, 9.0)
    ]
    assert elected == [0.02, 0.25, 1]
    assert settings.pause_seconds(3.0, awaits_effect=False) == 2
    assert (
        Settings().pause_seconds(3.0, awaits_effect=False)
        == Settings().pause_seconds(0, awaits_effect=True)
        == 1
    )


def elections(count: int, *, per_leader: int, schedule: Schedule) -> Lab:
    """So many elections of one leader."""
    moves = [
        move([2, 1, 3], [2, 1, 3], partition=p, election=StandaloneElection.PREFERRED)
        for p in range(count)
    ]
    return lab(
        [state([2, 1, 3], leader=1, partition=p) for p in range(count)],
        moves,
        schedule=schedule,
        settings=replace(
            Settings(elections_per_leader=per_leader).on_a_real_clock(), rest_times=1e6
        ),
    )


def test_elections_that_a_broker_shows_late_are_waited_for_once() -> None:
    """Ten requests; the controller has answered each, and the broker that is asked shows them three seconds later."""
    made = elections(20, per_leader=2, schedule=(At(0, LagMetadata(3)),))
    boundary = Boundary()
    assert outcome_text(made.apply(boundary=boundary)) == "20 done"
    assert boundary.log.count("elect") == 10
    assert made.clock.now() < 6


def test_no_more_leaders_are_asked_for_while_nobody_knows_what_became_of_those_before() -> None:
    """The first of ten requests is lost: a broker has no more than two to take over until it was answered."""
    made = elections(20, per_leader=2, schedule=(At(0, LoseRequests(WriteKind.ELECT, 1, 30)),))
    boundary = Boundary()
    assert outcome_text(made.apply(boundary=boundary)) == "20 done"
    ticks = [tick.count("elect") for tick in " ".join(boundary.log).split("tick")]
    assert [asked for asked in ticks if asked] == [1, 10]


@pytest.mark.parametrize("applies", [False, True], ids=["clear", "the next application"])
def test_a_broker_that_registers_again_does_not_keep_the_rate_that_was_set_before(
    applies: bool,
) -> None:
    made = lab([state([1, 2, 3], size=MB)], [GROW])
    before = made.configs()
    left = SavedRate(BrokerId(5), LEADER_RATE, None, ("1000000",), kept=True)
    made.journal.append([left])
    made.plane.alter_configs(
        [broker_change(left.broker, left.config, ConfigOperation.SET, "1000000")]
    )
    if applies:
        assert outcome_text(made.apply()) == "1 done"
    else:
        made.clear()
    assert made.configs() == before
    assert not made.ledger.rates
