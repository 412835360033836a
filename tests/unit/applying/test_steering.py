"""Commands from another terminal, as the process at work obeys them; and what stays when it dies in between."""

from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace
from tests.builders import move, state
from tests.unit.applying.lab import BOB, MB, Boundary, Killed, Lab, at, lab

from replan.applying.api import (
    Application,
    ApplicationStatus,
    BrokerRates,
    Command,
    Confirming,
    Ending,
    Forget,
    Ledger,
    MemoryJournal,
    MoveRates,
    NoSlot,
    Obeyed,
    Paused,
    RateRefused,
    Record,
    Result,
    Settings,
    Status,
    Verb,
    after_commands,
    for_application,
    kept_rates,
    open_application_view,
    taken_over,
    throttle_of,
    watched,
)
from replan.errors import BadFile, Exit
from replan.model.api import (
    FOLLOWER_RATE,
    LEADER_RATE,
    BrokerId,
    ConfigScope,
    MoveThrottle,
    SideRates,
    TopicPartition,
)
from replan.reporting.api import application_lines, drawn
from replan.simulator.api import KillBroker

pytestmark = pytest.mark.slow

P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
SLOW, FAST = MB, 40 * MB


def two_copies(rate: int | None = SLOW, slots: int = 1) -> Lab:
    """Two copies of 50 MB, one after the other."""
    return lab(
        [state([1, 2, 3], size=50 * MB), state([1, 3, 2], partition=1, size=50 * MB)],
        [
            move([1, 2, 3], [1, 2, 4], size=50 * MB),
            move([1, 3, 2], [1, 3, 4], partition=1, size=50 * MB),
        ],
        throttle=None if rate is None else MoveThrottle(rate),
        settings=Settings(owner="ann@ops-1", slots_per_broker=slots, give_up_seconds=600),
    )


def begun(made: Lab) -> set[TopicPartition]:
    return set(made.ledger.owned)


def rates(made: Lab) -> set[str]:
    return {
        value
        for (scope, _), settings in made.configs().items()
        for key, value in settings.items()
        if scope is ConfigScope.BROKER and key in {LEADER_RATE, FOLLOWER_RATE}
    }


def test_paused_what_has_begun_ends_and_nothing_new_begins_until_it_is_resumed() -> None:
    made = two_copies(FAST)
    inbox = at(made, (5, Verb.PAUSE, ""), (300, Verb.RESUME, ""))
    outcome = made.apply(arrived=inbox)
    assert outcome.exit_code is Exit.OK
    paused = [p for p in made.reports if p.admission == Paused(BOB)]
    assert {p.running for p in paused} == {1, 0}
    assert paused[-1].done == 1
    assert 290 <= paused[-1].at_seconds <= 300
    assert outcome.notes == (Obeyed(Verb.PAUSE, "", BOB), Obeyed(Verb.RESUME, "", BOB))


class KeptUnawares(MemoryJournal):
    """A journal whose append of an acknowledgement fails once although it is durable."""

    failed = False

    def append(self, records: Sequence[Record]) -> None:
        super().append(records)
        if not self.failed and any(isinstance(r, Command) for r in records):
            self.failed = True
            raise BadFile("journal: no answer in time")


def test_a_command_whose_acknowledgement_has_an_unknown_outcome_is_obeyed() -> None:
    made = two_copies(FAST)
    made.journal = KeptUnawares()
    outcome = made.apply(arrived=at(made, (5, Verb.PAUSE, ""), (300, Verb.RESUME, "")))
    assert outcome.exit_code is Exit.OK
    paused = [p.at_seconds for p in made.reports if p.admission == Paused(BOB)]
    assert (min(paused), 290 <= max(paused) <= 300) == (6, True)


def test_whoever_takes_over_goes_on_where_the_pause_before_a_resume_was_written_unawares() -> None:
    """The first process knows of no pause when it obeys both commands, and ends before it writes another time."""
    made = two_copies(FAST)
    made.journal = KeptUnawares()
    arrived = at(made, (5, Verb.PAUSE, ""), (6, Verb.RESUME, ""))
    made.apply(arrived=arrived, stop=made.stop_at(8))
    assert made.ledger.application is not None
    assert made.ledger.application.paused_by == ""


def test_a_rate_is_obeyed_within_two_ticks_and_everything_is_restored() -> None:
    made = two_copies(SLOW)
    before = made.configs()
    seen: dict[int, set[str]] = {}

    def stop() -> bool:
        seen[round(made.clock.now())] = rates(made)
        return False

    outcome = made.apply(stop=stop, arrived=at(made, (20, Verb.THROTTLE, str(FAST))))
    assert outcome.exit_code is Exit.OK
    sent = min(t for t in seen if t >= 20)
    assert seen[sent] == {str(SLOW)}
    assert seen[sent + 2] == {str(FAST)}
    assert max(seen) < 100
    assert made.configs() == before


def test_a_plan_without_a_throttle_is_throttled_while_it_runs() -> None:
    made = two_copies(None)
    made.settings = Settings(owner="ann@ops-1", slots_per_broker=1)
    before = made.configs()
    outcome = made.apply(stop=made.stop_at(20), arrived=at(made, (0, Verb.THROTTLE, str(SLOW))))
    assert outcome.throttled
    assert rates(made) == {str(SLOW)}
    outcome = made.apply(arrived=at(made, (0, Verb.THROTTLE, ""), (30, Verb.THROTTLE, "unlimited")))
    assert outcome.exit_code is Exit.OK
    assert made.configs() == before


def test_a_paused_process_that_nobody_watches_gives_up_and_stays_paused_until_resume() -> None:
    made = two_copies(FAST)
    outcome = made.apply(arrived=at(made, (0, Verb.PAUSE, "")))
    assert outcome.ending is Ending.GAVE_UP
    assert outcome.admission == Paused(BOB)
    assert begun(made) == set()
    outcome = made.apply()
    assert outcome.ending is Ending.GAVE_UP
    assert begun(made) == set()
    outcome = made.apply(verb=Verb.RESUME)
    assert [r.result for r in outcome.results] == [Result.DONE, Result.DONE]


@pytest.mark.parametrize("crossing", range(1, 9))
@pytest.mark.parametrize(
    "dies",
    [lambda n: Boundary(kill_before=n), lambda n: Boundary(kill_after=n)],
    ids=["before", "after"],
)
def test_killed_at_any_boundary_it_was_obeyed_exactly_if_it_was_acknowledged(
    dies: Callable[[int], Boundary], crossing: int
) -> None:
    made = two_copies(SLOW)
    before = made.configs()
    sent = ((3, Verb.THROTTLE, str(FAST)), (6, Verb.PAUSE, ""))
    with pytest.raises(Killed):
        made.apply(boundary=dies(crossing), arrived=at(made, *sent))
    ledger = made.ledger
    if ledger.application is not None:
        answered = {r.verb for r in ledger.records.values() if isinstance(r, Command)}
        assert (Verb.PAUSE in answered) == (ledger.application.paused_by == BOB)
        assert (Verb.THROTTLE in answered) == (ledger.application.rate == str(FAST))
    made.settings = Settings(owner="cy@ops-3")
    outcome = made.apply(verb=Verb.RESUME)
    assert outcome.exit_code is Exit.OK
    assert made.configs() == before


def test_whoever_takes_over_forgets_what_was_sent_to_the_process_before() -> None:
    made = two_copies()
    made.apply(stop=lambda: True)
    opened = made.ledger.application
    assert opened is not None
    late = Command(opened.id, "01", Verb.PAUSE, sender=BOB)
    done = Command(opened.id, "00", Verb.PAUSE, sender=BOB, obeyed_by="ann")
    made.journal.append([late, done])
    assert taken_over(made.ledger, made.settings, None) == (Forget(late.key),)


def test_whoever_takes_over_keeps_throttles_where_the_process_before_was_to() -> None:
    made = two_copies()
    made.settings = replace(made.settings, preserve_throttles=True)
    made.apply(stop=lambda: True)
    ledger = made.ledger
    after = ledger.after(taken_over(ledger, Settings(slots_per_broker=3), None)).application
    assert after is not None
    assert (after.keep_throttles, after.slots) == (True, 3)


def test_only_what_was_sent_to_the_open_application_and_waits_is_obeyed() -> None:
    made = two_copies()
    made.apply(stop=lambda: True)
    opened = made.ledger.application
    assert opened is not None
    waits = Command(opened.id, "01", Verb.PAUSE, sender=BOB)
    obeyed = replace(waits, obeyed_by="ann")
    stray = Command("another-1", "01", Verb.PAUSE, sender=BOB)
    assert for_application(opened, [stray, obeyed, waits]) == [waits]


def test_status_waits_by_the_settings_of_the_process_at_work() -> None:
    made = two_copies(slots=1)
    made.apply(stop=made.stop_at(3))
    assert NoSlot in kinds_of_waits(made)
    made.settings = Settings(owner="cy@ops-3", slots_per_broker=4, settle_seconds=30)
    made.apply(stop=made.stop_at(4))
    opened = made.ledger.application
    assert opened is not None
    assert (opened.slots, opened.settle) == (4, 30)
    assert NoSlot not in kinds_of_waits(made)


def others_named(made: Lab, ledger: Ledger, read: Ledger) -> set[TopicPartition]:
    """The partitions that status says other tools reassign; `read`: the journal as it is after its look."""
    holds = watched(made.plan, ledger, made.plane, read=lambda: read).waits.values()
    return {n for hold in holds if isinstance(hold, NoSlot) for n in hold.others}


def test_what_replan_began_since_the_journal_was_read_is_not_said_to_be_other_tools() -> None:
    made = two_copies(slots=1)
    opened_only(made)
    before = made.ledger
    made.apply(stop=made.stop_at(made.clock.now() + 8))
    assert P0 in made.ledger.open
    assert others_named(made, before, read=before) == {P0}
    assert others_named(made, before, read=made.ledger) == set()


def test_a_copy_of_replan_that_runs_on_after_its_end_is_not_said_to_be_another_tools() -> None:
    made = two_copies(slots=1)
    made.apply(stop=made.stop_at(8))
    own = made.ledger.open[P0]
    made.journal.append([replace(own, status=Status.DONE)])
    assert NoSlot in kinds_of_waits(made)
    assert others_named(made, made.ledger, read=made.ledger) == set()


def kinds_of_waits(made: Lab) -> set[type[object]]:
    found = watched(made.plan, made.ledger, made.plane)
    return {type(hold) for hold in found.waits.values()}


def said_by_status(made: Lab, process: str | None) -> list[str]:
    ledger = made.ledger
    waits = watched(made.plan, ledger, made.plane, made.clock.now()).waits
    found = open_application_view(ledger, made.plan, process, waits)
    assert found is not None
    return drawn(application_lines(found, "replan resume")).splitlines()


def opened_only(made: Lab, **steered_by: str) -> None:
    """Open the application, and begin nothing."""
    made.apply(stop=lambda: True)
    opened = made.ledger.application
    assert opened is not None
    made.journal.append([replace(opened, **steered_by)])
    assert not begun(made)


@pytest.mark.parametrize(
    ("by", "reason"),
    [
        ({"paused_by": BOB}, "paused by bob@ops-2"),
        ({"cancelled_by": BOB}, "cancelled by bob@ops-2"),
    ],
    ids=["paused", "cancelled"],
)
def test_status_does_not_say_of_a_steered_application_that_partitions_can_start(
    by: dict[str, str], reason: str
) -> None:
    made = two_copies(slots=4)
    opened_only(made, **by)
    _, waiting = said_by_status(made, "pid 1")
    assert waiting.startswith("  2 not started: ")
    assert reason in waiting
    assert waiting.endswith(": orders-0, orders-1")


def test_status_says_that_an_interrupted_application_starts_nothing_by_itself() -> None:
    made = two_copies(slots=4)
    opened_only(made)
    _, waiting = said_by_status(made, None)
    assert waiting == "  2 can start once the application is resumed: orders-0, orders-1"
    _, waiting = said_by_status(made, "pid 1")
    assert waiting == "  2 can start: orders-0, orders-1"


def test_status_does_not_say_that_something_is_confirmed_where_no_process_is_at_work() -> None:
    made = two_copies(slots=4)
    made.apply(stop=lambda: any(c.hold == Confirming(0) for r in made.reports for c in r.copies))
    _, *lines = said_by_status(made, None)
    assert lines[0].startswith(
        "  2 interrupted: in sync; confirmed again once the application is resumed"
    )
    _, *lines = said_by_status(made, "pid 1")
    assert lines[0].startswith("  2 running: in sync; confirming for up to 15 s")


def test_status_says_in_a_line_what_many_wait_for() -> None:
    states = [state([1, 2, 3], partition=n, size=MB) for n in range(40)]
    moves = [move([1, 2, 3], [1, 2, 4], partition=n, size=MB) for n in range(40)]
    made = lab(states, moves)
    opened_only(made, paused_by=BOB)
    _, *lines = said_by_status(made, "pid 1")
    (line,) = (line.partition(" (since")[0] for line in lines)
    assert line.startswith("  40 not started: paused by bob@ops-2")
    assert lines[0].endswith(": orders-0, orders-1, orders-2, and 37 more")


def test_status_names_the_broker_that_does_not_answer_and_so_keeps_a_copy_from_starting() -> None:
    """It is live for the cluster, and its rate cannot be read: the copy waits for the throttle."""
    made = two_copies(slots=4)
    opened_only(made)
    made.plane.inject(KillBroker(BrokerId(4)))
    _, waiting = said_by_status(made, "pid 1")
    assert waiting.startswith("  2 not started: ")
    assert "broker (4) did not answer" in waiting


def test_at_the_end_of_the_window_nothing_more_begins_and_the_next_run_goes_on() -> None:
    made = two_copies(SLOW)
    before = made.configs()
    made.settings = Settings(owner="ann@ops-1", slots_per_broker=1, leave_at=20)
    outcome = made.apply()
    assert (outcome.exit_code, outcome.ending) == (Exit.INTERRUPTED, Ending.WINDOW_OVER)
    assert outcome.interrupted
    assert [r.result for r in outcome.results] == [Result.RUNNING, Result.WAITING]
    assert outcome.copying == (P0,)
    assert outcome.throttled
    assert 20 <= made.clock.now() < 25
    made.settings = Settings(owner="ann@ops-1")
    assert made.apply().exit_code is Exit.OK
    assert made.configs() == before


def test_a_command_for_another_application_is_not_obeyed() -> None:
    made = two_copies(FAST)
    stray = Command("another-1", "01", Verb.PAUSE, sender=BOB)
    outcome = made.apply(arrived=lambda: [stray])
    assert outcome.exit_code is Exit.OK
    assert outcome.notes == ()


def test_the_journal_keeps_a_bounded_number_of_commands_and_none_of_a_closed_application() -> None:
    made = two_copies(SLOW)
    sent = [(float(second), Verb.THROTTLE, str(SLOW + second)) for second in range(1, 40)]
    kept: list[int] = []

    def stop() -> bool:
        records = made.journal.read()
        kept.append(sum(isinstance(r, Command) for r in records))
        return False

    waiting = at(made, *sent)
    given: set[str] = set()

    def arrived() -> Sequence[Command]:
        fresh = [c for c in waiting() if c.key not in given]
        given.update(c.key for c in fresh)
        return fresh

    made.apply(stop=stop, arrived=arrived)
    assert max(kept) == 20
    assert not any(isinstance(r, Command) for r in made.journal.read())


def test_rates_of_single_brokers_are_changed_by_side_and_restored_at_the_end() -> None:
    made = two_copies(SLOW)
    wanted = MoveThrottle(FAST, {BrokerId(4): SideRates(2 * FAST, None), BrokerId(1): 3 * FAST})
    sent = MoveRates.of(wanted)
    seen = set[tuple[str, str, str]]()

    def looks() -> bool:
        for (scope, name), settings in made.configs().items():
            if scope is ConfigScope.BROKER:
                seen.update((name, key, value) for key, value in settings.items() if "rate" in key)
        return False

    inbox = at(made, (5, Verb.THROTTLE, sent.rate), brokers=sent.brokers)
    assert made.apply(arrived=inbox, stop=looks).exit_code is Exit.OK
    assert ("1", LEADER_RATE, str(SLOW)) in seen
    assert ("1", LEADER_RATE, str(3 * FAST)) in seen
    assert ("2", LEADER_RATE, str(FAST)) in seen
    assert ("4", FOLLOWER_RATE, str(SLOW)) in seen
    assert not {value for name, _, value in seen if name == "4"} - {str(SLOW)}
    assert not rates(made)


def test_what_a_placement_declares_is_what_the_application_reads_back() -> None:
    sides = {BrokerId(4): SideRates(FAST, None), BrokerId(7): SideRates(SLOW, SLOW)}
    for declared in (MoveThrottle(None), MoveThrottle(SLOW), MoveThrottle(None, sides)):
        sent = MoveRates.of(declared)
        command = Command("a-1", "1", Verb.THROTTLE, sent.rate, BOB, brokers=sent.brokers)
        opened = Application("a-1", ApplicationStatus.OPEN, "", "", "c", "ann")
        for planned in (None, MoveThrottle(FAST, {BrokerId(1): SLOW})):
            assert throttle_of(planned, after_commands(opened, [command])) == declared


def test_who_keeps_another_rate_than_the_one_asked_for_is_known() -> None:
    fast = str(FAST)
    opened = Application("a-1", ApplicationStatus.OPEN, "", "", "c", "ann")
    planned = MoveThrottle(SLOW, {BrokerId(4): SLOW, BrokerId(7): FAST})
    assert kept_rates(None, opened, MoveRates(fast)) == {}
    assert kept_rates(planned, opened, MoveRates(fast)) == {4: SLOW}
    since = replace(opened, rate=str(SLOW), brokers=(BrokerRates(BrokerId(9), "unlimited", fast),))
    assert kept_rates(planned, since, MoveRates(fast)) == {9: SideRates(None, FAST)}
    assert kept_rates(planned, since, MoveRates.of(planned)) == {7: SideRates(FAST, FAST)}


@pytest.mark.parametrize("rate", ["0", "999", "9223372036854775808", "9999999999999999999"])
def test_a_rate_that_the_command_line_refuses_is_answered_and_not_obeyed(rate: str) -> None:
    made = two_copies(FAST)
    outcome = made.apply(arrived=at(made, (5, Verb.THROTTLE, rate)))
    assert outcome.exit_code is Exit.OK
    assert [r.result for r in outcome.results] == [Result.DONE, Result.DONE]
    assert outcome.notes == (RateRefused((rate,), BOB),)


def test_a_refused_command_says_who_refused_it_and_those_beside_it_are_obeyed() -> None:
    made = two_copies(SLOW)
    own = (BrokerRates(BrokerId(4), "0", "unlimited"),)

    def arrived() -> Sequence[Command]:
        opened = made.ledger.application_id
        wrong = Command(opened, "1", Verb.THROTTLE, str(FAST), BOB, brokers=own)
        sent = (wrong, Command(opened, "2", Verb.PAUSE, sender=BOB))
        return [c for c in sent if c.key not in made.ledger.records]

    made.apply(arrived=arrived, stop=made.stop_at(5))
    ledger = made.ledger
    answers = [r for r in ledger.records.values() if isinstance(r, Command)]
    assert [(c.id, c.refused, c.obeyed_by) for c in answers] == [
        ("1", True, "ann@ops-1"),
        ("2", False, "ann@ops-1"),
    ]
    assert ledger.application is not None
    assert (ledger.application.rate, ledger.application.brokers) == ("", None)
    assert ledger.application.paused_by == BOB
