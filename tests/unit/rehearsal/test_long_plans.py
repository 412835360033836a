"""Plans with many moves: looked at less often, with the same end."""

import json

import pytest
from tests.builders import brokers, placement, snapshot, state
from tests.unit.rehearsal.stages import MB
from tests.unit.reporting.rendered import rehearsal_text

from replan.applying.api import Progress
from replan.faults.api import FaultSpec, read_fault
from replan.model.api import MoveThrottle
from replan.planning.api import make_plan
from replan.rehearsal.api import (
    LOOKS_IN_A_MOVE,
    Options,
    Rehearsal,
    busy_stride,
    cluster_of,
    drawn_faults,
    fault_context,
    rehearse_plan,
    render_rehearsal_json,
    report_on,
)

pytestmark = pytest.mark.slow

BROKERS, MOVES = 6, 48
SEEN = snapshot(
    [
        state([1 + i % BROKERS, 1 + (i + 1) % BROKERS], partition=i, size=2_000 * MB)
        for i in range(MOVES)
    ],
    registered=brokers(BROKERS),
)
PLAN = make_plan(
    placement(
        {"orders": {i: [1 + i % BROKERS, 1 + (i + 2) % BROKERS] for i in range(MOVES)}},
        throttle=MoveThrottle(20 * MB),
    ),
    SEEN,
)
CONTEXT = fault_context(cluster_of(SEEN))
MOVE_SECONDS = 100.0
"""At least: 2 GB at 20 MB/s."""


def options(*faults: FaultSpec, exact: bool) -> Options:
    return Options(faults=faults, exact_steps=MOVES if exact else 0)


@pytest.fixture(scope="module")
def exact() -> Rehearsal:
    return rehearse_plan(PLAN, SEEN, options(exact=True))


@pytest.fixture(scope="module")
def long() -> Rehearsal:
    return rehearse_plan(PLAN, SEEN, options(exact=False))


def test_a_long_plan_ends_as_it_does_when_every_look_is_taken(
    exact: Rehearsal, long: Rehearsal
) -> None:
    assert exact.completed
    assert long.completed
    assert long.broken == ()
    assert exact.longest_look_seconds == 0.0
    assert long.longest_look_seconds > 2.0
    assert long.copied_bytes == exact.copied_bytes
    assert long.harm == exact.harm
    assert long.without == exact.without
    assert {(c.partition, c.broker) for c in long.copies} == {
        (c.partition, c.broker) for c in exact.copies
    }
    assert [b.broker for b in long.brokers] == [b.broker for b in exact.brokers]


def test_its_time_is_exact_to_what_lies_between_two_looks(
    exact: Rehearsal, long: Rehearsal
) -> None:
    begun_in_turn = exact.seconds / MOVE_SECONDS
    least = exact.seconds * (1 - 1 / LOOKS_IN_A_MOVE)
    assert least <= long.seconds <= exact.seconds + 3 * begun_in_turn * long.longest_look_seconds


def test_the_report_says_how_far_apart_looks_were(exact: Rehearsal, long: Rehearsal) -> None:
    shown = rehearsal_text(report_on(PLAN, options(exact=False), long))
    assert f"Looked at up to {long.longest_look_seconds:.1f} s apart" in shown
    assert "Looked at" not in rehearsal_text(report_on(PLAN, options(exact=True), exact))
    found = json.loads(render_rehearsal_json(report_on(PLAN, options(exact=False), long)))
    assert found["rehearsal"]["longestLookSeconds"] == pytest.approx(
        long.longest_look_seconds, abs=0.001
    )


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(1, 12))]
)
def test_faults_find_it_as_alert_as_a_short_plan(seed: int, exact: Rehearsal) -> None:
    faults = drawn_faults(seed, PLAN, exact.seconds, CONTEXT)
    assert faults
    assert_alike(faults)


@pytest.mark.parametrize(
    "what",
    [
        "kill 4 at 190s",
        "foreign min-isr orders 2 at 190s",
        *(
            pytest.param(what, marks=pytest.mark.nightly)
            for what in (
                "lose disk 2 at 190s for 60s",
                "unknown outcome of reassign late by 75s at 190s",
                "unknown outcome of configs late by 75s at 190s",
                "foreign reassign orders-0 [5,6] at 190s",
            )
        ),
    ],
)
def test_a_fault_in_the_middle_ends_as_it_does_when_every_look_is_taken(what: str) -> None:
    assert_alike((read_fault(what, CONTEXT),))


def assert_alike(faults: tuple[FaultSpec, ...]) -> None:
    closely, loosely = (
        rehearse_plan(PLAN, SEEN, options(*faults, exact=exact)) for exact in (True, False)
    )
    assert closely.broken == loosely.broken == ()
    assert loosely.completed == closely.completed
    assert [(r.subject, r.result) for r in loosely.stopped] == [
        (r.subject, r.result) for r in closely.stopped
    ]
    assert loosely.exit_code == closely.exit_code
    assert loosely.harm.lost_bytes == closely.harm.lost_bytes


def progress(total: int, done: int, running: int, at_seconds: float) -> Progress:
    return Progress(
        at_seconds=at_seconds,
        total=total,
        done=done,
        stopped=0,
        running=running,
        waiting=total - done - running,
    )


def test_what_ends_in_a_long_sleep_is_confirmed_by_looks_of_the_usual_kind() -> None:
    """The last of three copies takes a day; a rehearsal gave up before it had looked at its end often enough."""
    states = [state([1, 2, 3], partition=p, size=n * 10**9) for p, n in enumerate((1, 1, 4_000))]
    seen = snapshot(states, registered=brokers(5))
    throttled = placement({"orders": [[1, 2, 4]] * 3}, throttle=MoveThrottle(50_000_000))
    plan = make_plan(throttled, seen)
    exact, coarse = (rehearse_plan(plan, seen, Options(exact_steps=n)) for n in (1_000, 0))
    assert coarse.completed, coarse.text
    assert exact.seconds <= coarse.seconds <= exact.seconds + 2 * coarse.longest_look_seconds


def test_a_look_is_a_twentieth_of_what_a_move_takes_on_average() -> None:
    assert busy_stride(progress(1_000, 100, 10, 1_000.0)) == pytest.approx(100.0 / LOOKS_IN_A_MOVE)


@pytest.mark.parametrize(("done", "running"), [(0, 0), (0, 10), (10, 10)])
def test_nothing_is_left_out_before_as_many_are_done_as_run(done: int, running: int) -> None:
    assert busy_stride(progress(1_000, done, running, 1_000.0)) == 0.0
