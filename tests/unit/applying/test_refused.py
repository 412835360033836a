"""What is refused for a moment, as by a broker that has just restarted, is asked for again, whatever step it is."""

from collections.abc import Callable, Mapping, Sequence

import pytest
from tests.builders import move, state
from tests.unit.applying.examples import OF_KINDS
from tests.unit.applying.lab import MB, Boundary, Lab, lab

from replan.applying.api import Outcome, RepeatedRefusal, believed, repeated_refusals
from replan.errors import Exit
from replan.model.api import Accepted, Answer, MoveThrottle, OutcomeUnknown, Rejected

DENIED = Rejected(29, "TOPIC_AUTHORIZATION_FAILED", "Denied.")
POLICY = Rejected(44, "POLICY_VIOLATION", "No.")


def a_throttled_move() -> Lab:
    grows = move([1, 2, 3], [1, 2, 4], size=MB)
    return lab([state([1, 2, 3], size=MB)], [grows], throttle=MoveThrottle(MB))


STEPS: dict[str, Callable[[], Lab]] = {
    "a move under its throttle": a_throttled_move,
    **{name: example.made for name, example in OF_KINDS.items() if example.kind},
}


def performed(made: Lab, seconds: float) -> tuple[Outcome, Lab]:
    """While the cluster refuses whatever is asked for in the first seconds."""
    began = made.clock.now()
    boundary = Boundary(refuses=lambda: made.clock.now() - began < seconds)
    return made.apply(boundary=boundary, stop=made.stop_at(began + 1_000)), made


@pytest.mark.parametrize("step", STEPS)
def test_what_is_refused_for_a_moment_is_done_all_the_same(step: str) -> None:
    outcome, _ = performed(STEPS[step](), 3)
    assert outcome.exit_code is Exit.OK


@pytest.mark.parametrize("step", STEPS)
def test_what_is_refused_again_and_again_ends_as_refused(step: str) -> None:
    outcome, made = performed(STEPS[step](), 10_000)
    assert outcome.exit_code is Exit.REFUSED
    assert not made.ledger.open


@pytest.mark.parametrize(
    ("answers", "refusal"),
    [
        ([(0, DENIED)], None),
        ([(0, DENIED), (4, DENIED)], None),
        ([(0, DENIED), (2, DENIED), (5, DENIED)], DENIED),
        ([(0, DENIED), (3, Accepted()), (5, DENIED)], None),
        ([(0, DENIED), (3, OutcomeUnknown("no answer")), (5, DENIED)], None),
        ([(0, DENIED), (5, POLICY)], None),
        ([(0, DENIED), (5, POLICY), (10, POLICY)], POLICY),
    ],
)
def test_a_refusal_is_believed_once_it_was_the_answer_for_long_enough(
    answers: Sequence[tuple[float, Answer]], refusal: Rejected | None
) -> None:
    known: Mapping[str, RepeatedRefusal] = {}
    for seconds, answer in answers:
        known = repeated_refusals(known, {"orders": answer}, seconds)
    assert believed(known.get("orders"), 5) == refusal
