"""Cancelled in every phase, and killed at every boundary: what was not finished is back, and nothing else is left."""

from collections.abc import Callable, Mapping

import pytest
from msgspec.structs import replace
from tests.unit.applying.lab import Boundary, Killed, Lab, MortalWriter, T, at
from tests.unit.applying.three_moves import MOVES, three_moves

from replan.applying.api import (
    Application,
    ApplicationStatus,
    Cancelling,
    Command,
    Ending,
    LastRequest,
    ListsLeft,
    Outcome,
    RunningCopies,
    Verb,
    Volume,
    abandon_application,
    clear_throttles,
    unpacked,
    watched,
)
from replan.errors import BadUsage, Exit, Held
from replan.model.api import FOLLOWER_REPLICAS, ConfigScope, Replicas, TopicPartition
from replan.planning.api import RequestKind, loads
from replan.reporting.api import progress_line
from replan.simulator.api import Forbid, Permission

pytestmark = pytest.mark.slow

REORDER = MOVES[1]
"""It is finished after some seconds."""
COPYING, CONFIRMING = 4.0, 14.0
"""Seconds at which the other two copy, and wait for the settle time."""


def cancelled_at(
    made: Lab, seconds: float, boundary: Boundary | None = None, verb: Verb | None = None
) -> Outcome:
    return made.apply(boundary=boundary, arrived=at(made, (seconds, Verb.CANCEL, "")), verb=verb)


def resumed(made: Lab, boundary: Boundary | None = None) -> Outcome:
    """Another process goes on with what is open."""
    ledger = made.ledger
    assert ledger.application is not None
    plan = loads(ledger.plan_text(ledger.application.id), "journal")
    return made.apply(plan, boundary=boundary, verb=Verb.RESUME)


def applications(made: Lab) -> list[Application]:
    return [r for r in made.ledger.records.values() if isinstance(r, Application)]


def finished(made: Lab) -> set[TopicPartition]:
    """What the journal says of the first application."""
    kept = unpacked(made.ledger, applications(made)[0])
    return set() if kept is None else {o.partition for o in kept.origins() if o.done}


def is_back(made: Lab) -> bool:
    """Whether every partition has its list and leader from before, or those of its target where it was finished."""
    stay = finished(made)
    wanted = {m.partition: m.target if m.partition in stay else m.original for m in MOVES}
    return all(
        (found := made.partition(m)).replicas == wanted[m.partition]
        and found.leader == wanted[m.partition][0]
        and not (found.adding or found.removing)
        for m in MOVES
    )


def test_whoever_resumes_learns_that_it_was_cancelled_meanwhile() -> None:
    made = three_moves()
    assert made.apply(stop=made.stop_at(COPYING)).exit_code is Exit.INTERRUPTED
    outcome = cancelled_at(made, COPYING + 2, verb=Verb.RESUME)
    assert (outcome.exit_code, outcome.ending) == (Exit.HELD, Ending.COMPLETE)
    assert is_back(made)


@pytest.mark.parametrize("seconds", [0.0, 1.0, 2.0, COPYING, CONFIRMING, 24.0, 28.0, 31.0])
def test_cancelled_in_any_phase_what_is_not_finished_is_back(seconds: float) -> None:
    made = three_moves()
    before = made.configs()
    outcome = cancelled_at(made, seconds)
    assert (outcome.exit_code, outcome.ending) == (Exit.HELD, Ending.COMPLETE)
    assert is_back(made)
    assert set(outcome.finished) == finished(made)
    assert made.configs() == before
    assert {a.status for a in applications(made)} <= {
        ApplicationStatus.CANCELLED,
        ApplicationStatus.CLOSED,
    }


def test_it_is_obeyed_within_two_ticks_and_begins_nothing_more() -> None:
    made = three_moves()
    cancelled_at(made, COPYING)
    reports = [p for p in made.reports if isinstance(p.admission, Cancelling)]
    assert reports[0].at_seconds <= COPYING + 2
    assert all(p.waiting == reports[0].waiting for p in reports)


def test_nothing_that_is_taken_back_counts_as_copied() -> None:
    made = three_moves()
    cancelled_at(made, COPYING + 2)
    open_, cancelled = (
        [p for p in made.reports if isinstance(p.admission, Cancelling) is is_cancelled]
        for is_cancelled in (False, True)
    )
    assert any(p.volume().copied_bytes for p in open_)
    assert cancelled
    assert {p.volume() for p in cancelled} == {Volume()}
    assert not any("B of" in progress_line(p) for p in cancelled)


def test_what_is_done_runs_waits_and_has_stopped_is_the_whole_at_every_moment() -> None:
    made = three_moves()
    assert made.apply().exit_code is Exit.OK
    for seen in made.reports:
        assert seen.done + seen.running + seen.waiting == seen.total == 3
        assert seen.stopped == 0


def test_a_copy_that_is_being_cancelled_by_itself_is_part_of_neither_the_copied_nor_the_whole() -> (
    None
):
    made = three_moves()
    made.apply(stop=made.stop_at(COPYING))
    own = made.ledger.open[MOVES[0].partition]
    assert own.expanding
    before = watched(made.plan, made.ledger, made.plane).progress.volume()
    made.journal.append([replace(own, asked=LastRequest(RequestKind.CANCEL, own.original))])
    after = watched(made.plan, made.ledger, made.plane).progress.volume()
    assert before.total_bytes - after.total_bytes == MOVES[0].copies_bytes
    assert after.copied_bytes <= before.copied_bytes


def test_the_same_plan_is_refused_while_it_is_being_cancelled_and_applied_afterwards() -> None:
    made = three_moves()
    made.apply(stop=made.stop_at(COPYING + 2), arrived=at(made, (COPYING, Verb.CANCEL, "")))
    with pytest.raises(Held):
        made.apply()
    resumed(made)
    assert made.apply().exit_code is Exit.OK
    assert all(made.partition(m).replicas == m.target for m in MOVES)


def test_cancelled_twice_is_cancelled_once() -> None:
    made = three_moves()
    sent = at(
        made, (COPYING, Verb.CANCEL, ""), (COPYING + 3, Verb.CANCEL, ""), (40, Verb.CANCEL, "")
    )
    made.apply(arrived=sent)
    assert is_back(made)
    assert len(applications(made)) <= 2


def test_without_an_application_there_is_nothing_to_cancel() -> None:
    with pytest.raises(BadUsage):
        three_moves().apply(verb=Verb.CANCEL)


def test_a_cancel_lifts_the_pause() -> None:
    made = three_moves()
    sent = at(made, (1, Verb.PAUSE, ""), (COPYING, Verb.CANCEL, ""))
    assert made.apply(arrived=sent).ending is Ending.COMPLETE
    assert is_back(made)


def test_while_copies_run_nothing_is_given_up_unless_somebody_says_what_becomes_of_them() -> None:
    made = three_moves()
    made.apply(stop=made.stop_at(COPYING))
    records, configs = made.journal.read(), made.configs()
    with pytest.raises(Held, match="orders-0, orders-2"):
        made.abandon(RunningCopies.REFUSED)
    assert (made.journal.read(), made.configs()) == (records, configs)


@pytest.mark.parametrize("copies", [RunningCopies.CANCELLED, RunningCopies.UNTHROTTLED])
def test_given_up_its_throttles_are_gone_and_copies_are_as_somebody_says(
    copies: RunningCopies,
) -> None:
    made = three_moves()
    before = made.configs()
    made.apply(stop=made.stop_at(COPYING))
    outcome = made.abandon(copies)
    assert (outcome.exit_code, outcome.ending) == (Exit.OK, Ending.RESTORED)
    assert made.configs() == before
    assert made.ledger.application is None
    made.clock.sleep(120)
    for move in (MOVES[0], MOVES[2]):
        found = made.partition(move)
        cancelled = copies is RunningCopies.CANCELLED
        assert found.replicas == (move.original if cancelled else move.expanded)
        assert not found.adding


def test_a_process_at_work_leaves_the_application_to_whoever_gives_it_up() -> None:
    made = three_moves()
    outcome = made.apply(arrived=at(made, (COPYING, Verb.ABANDON, "")))
    assert (outcome.exit_code, outcome.ending) == (Exit.HELD, Ending.LEFT_TO_ANOTHER)
    assert made.reports[-1].at_seconds <= COPYING + 5
    (command,) = [r for r in made.journal.read() if isinstance(r, Command)]
    assert command.obeyed_by == "ann@ops-1"
    outcome = made.abandon(RunningCopies.CANCELLED)
    assert outcome.exit_code is Exit.OK
    assert not [note for note in outcome.notes if isinstance(note, ListsLeft)]


def test_what_cannot_be_cancelled_and_may_not_be_described_is_named() -> None:
    made = three_moves()
    made.apply(stop=made.stop_at(COPYING))
    made.plane.inject(Forbid("orders", frozenset({Permission.DESCRIBE})))
    refusing = MortalWriter(made.plane, Boundary(refuses=lambda: True))
    with pytest.raises(Held, match=r"cancelling has no effect on orders-0; [^N]*29 TOPIC"):
        abandon_application(
            made.plane,
            refusing,
            made.journal,
            made.clock,
            settings=made.settings,
            copies=RunningCopies.CANCELLED,
        )


def test_a_cancel_of_copies_whose_request_may_be_on_its_way_waits_until_it_is_not() -> None:
    made = three_moves()
    with pytest.raises(Killed):
        made.apply(boundary=Boundary(kill_before=expand_effect()))
    began = made.clock.now()
    assert made.abandon(RunningCopies.CANCELLED).exit_code is Exit.OK
    assert made.clock.now() - began >= made.settings.quarantine_seconds


def killed_before_its_cancels() -> Lab:
    """The process dies before it sends the cancels that it has written down: two copies run on."""
    made = three_moves()

    def dies(lists: Mapping[TopicPartition, Replicas | None]) -> None:
        if None in lists.values():
            raise Killed

    with pytest.raises(Killed):
        cancelled_at(made, COPYING, Boundary(lists=dies))
    return made


def test_a_copy_whose_cancel_has_not_arrived_runs_for_whoever_gives_up_or_clears() -> None:
    made = killed_before_its_cancels()
    configs = made.configs()
    with pytest.raises(Held, match="orders-0, orders-2"):
        made.abandon(RunningCopies.REFUSED)
    assert made.configs() == configs

    looking = Unthrottled(made)
    writer = MortalWriter(made.plane, looking)
    outcome = clear_throttles(made.plane, writer, made.journal, made.clock, settings=made.settings)
    assert outcome.ending is Ending.RESTORED  # they end meanwhile
    assert looking.copies == set()


def test_a_process_that_leaves_names_the_copies_whose_cancel_has_not_arrived() -> None:
    made = killed_before_its_cancels()
    now = made.clock.now()
    outcome = made.apply(stop=lambda: made.clock.now() > now, verb=Verb.RESUME)
    assert outcome.ending is Ending.INTERRUPTED
    assert [str(name) for name in outcome.copying] == ["orders-0", "orders-2"]
    assert outcome.throttled


class Unthrottled(Boundary):
    """Looks after everything that crosses which copies run without an entry of throttled replicas."""

    def __init__(self, made: Lab) -> None:
        super().__init__()
        self.made, self.copies = made, set[str]()

    def cross(self, what: str, effect: Callable[[], T]) -> T:
        result = super().cross(what, effect)
        of_topic = self.made.configs().get((ConfigScope.TOPIC, "orders"), {})
        entries = of_topic.get(FOLLOWER_REPLICAS, "").split(",")
        for of in MOVES:
            copying = {f"{of.partition.partition}:{b}" for b in self.made.partition(of).adding}
            self.copies.update(copying.difference(entries))
        return result


def test_a_copy_keeps_its_throttle_until_its_cancel_has_arrived() -> None:
    """The next process waits until the cancel that the one before has written down may have arrived."""
    made = killed_before_its_cancels()
    looking = Unthrottled(made)
    assert resumed(made, looking).exit_code is Exit.OK
    assert is_back(made)
    assert looking.copies == set()


def expand_effect() -> int:
    """The first request for a list that adds replicas."""
    counting = Boundary()
    three_moves().apply(boundary=counting)
    crossings = [what for what in counting.log if what != "tick"]
    return crossings.index("reassign") + 1
