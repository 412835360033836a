"""What people do to a rehearsed loop, in words."""

from pathlib import Path

import pytest

from replan.applying.api import Verb
from replan.errors import BadUsage
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


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("release next.yaml", "it does not say when; the form is: release PATH at TIME"),
        (
            "release at 5s",
            "a placement file, or a folder of them is missing; the form is: release PATH at TIME",
        ),
        (
            "resume at 5s for 3s",
            "character 14: unexpected `for 3s`; the form is: resume at TIME",
        ),
        (
            "pause at soon",
            "character 10: soon is not a time, e.g. 30s, 2m or 1h; the form is: pause [for TIME] at TIME",
        ),
    ],
)
def test_what_means_nothing_says_how_it_is_written(text: str, problem: str) -> None:
    with pytest.raises(BadUsage) as refused:
        read_loop_event(text)
    said = str(refused.value).removeprefix(f'--fault "{text}"').lstrip(":, ")
    assert said == problem


def test_no_fault_begins_like_an_event() -> None:
    assert FIRST_WORDS.isdisjoint({form.form.split()[0] for form in LOOP_FORMS})
