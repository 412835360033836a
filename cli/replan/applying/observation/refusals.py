"""When a refusal is believed: the same rule for every kind of step. Pure.

A broker that has just restarted refuses for a moment what it takes a second later (its authorizer is not loaded yet, a
policy or a topic is not known there). So one refusal ends nothing: what is refused is asked for again, and ends once it
was refused each time for as long as looks have to agree on a conclusion.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from replan.model.control_plane import Answer, Rejected

Subject = TypeVar("Subject", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Refused:
    """What was refused every time that it was asked for since a moment."""

    answer: Rejected
    """The last one."""
    since: float
    last_at: float


def refusals(
    before: Mapping[Subject, Refused], answers: Mapping[Subject, Answer], now: float
) -> Mapping[Subject, Refused]:
    """What is refused once these answers have come; with another answer, or another code, it begins again."""
    if not answers:
        return before
    found = dict(before)
    for subject, answer in answers.items():
        known = found.pop(subject, None)
        if isinstance(answer, Rejected):
            same = known is not None and known.answer.code == answer.code
            found[subject] = Refused(answer, known.since if known and same else now, now)
    return found


def believed(refused: Refused | None, agreeing_seconds: float) -> Rejected | None:
    """The refusal, if it was the answer for long enough."""
    if refused is None or refused.last_at - refused.since < agreeing_seconds:
        return None
    return refused.answer
