"""What people do to a rehearsed loop, in words."""

from pathlib import Path

import pytest

from replan.applying.api import Verb
from replan.faults.api import FIRST_WORDS, LOOP_FORMS, What, read_loop_event


@pytest.mark.parametrize(
    ("text", "happens"),
    [
        ("release next.yaml at 5d", ((432_000.0, Path("next.yaml")),)),
        ("release at at 1h", ((3_600.0, Path("at")),)),
        ("pause at 2h", ((7_200.0, Verb.PAUSE),)),
        ("pause  at 2h for 30m", ((7_200.0, Verb.PAUSE), (9_000.0, Verb.RESUME))),
        ("resume at 10s", ((10.0, Verb.RESUME),)),
    ],
)
def test_an_event_says_what_and_when(text: str, happens: tuple[tuple[float, What], ...]) -> None:
    event = read_loop_event(text)
    assert event is not None
    assert event.happens == happens
    assert event.text == " ".join(text.split())


@pytest.mark.parametrize("text", ["kill 3 at 5s", "released x at 5s", ""])
def test_what_happens_to_the_cluster_is_no_event_of_the_loop(text: str) -> None:
    assert read_loop_event(text) is None


def test_no_fault_begins_like_an_event() -> None:
    assert FIRST_WORDS.isdisjoint({form.form.split()[0] for form in LOOP_FORMS})
