"""What a process knows of what it asks for, from tick to tick: one value for moves, settings and other steps. Pure.

It is this process's alone, and may be lost: what a new process has to know is in the journal.

When a refusal is believed. A broker that has just restarted refuses for a moment what it takes a second later (its
authorizer is not loaded yet, a policy or a topic is not known there). So one refusal ends nothing: what is refused is
asked for again, and ends once it was refused each time for as long as looks have to agree on a conclusion.

What is sent once more. A request without an answer goes again at once, then after pauses that grow to half a minute.
For the quarantine it may still arrive, whatever was sent after it.
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import Generic, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from replan.model.control_plane import Answer, OutcomeUnknown, Rejected

_S = TypeVar("_S", bound=Hashable)

LONGEST_PAUSE = 30.0
"""Seconds before a request without a known outcome is sent once more."""
MOST_TIMES = 6
"""From then on the pauses are the longest."""


class RepeatedRefusal(Struct, frozen=True):
    """What was refused every time that it was asked for since a moment."""

    answer: Rejected
    """The last one."""
    since: float
    last_at: float


def repeated_refusals(
    before: Mapping[_S, RepeatedRefusal], answers: Mapping[_S, Answer], now: float
) -> Mapping[_S, RepeatedRefusal]:
    """What is refused once these answers have come; with another answer, or another code, it begins again."""
    if not answers:
        return before
    repeated = dict(before)
    for subject, answer in answers.items():
        last = repeated.pop(subject, None)
        if isinstance(answer, Rejected):
            same = last is not None and last.answer.code == answer.code
            repeated[subject] = RepeatedRefusal(answer, last.since if last and same else now, now)
    return repeated


def believed(refused: RepeatedRefusal | None, agreeing_seconds: float) -> Rejected | None:
    """The refusal, if it was the answer for long enough."""
    if refused is None or refused.last_at - refused.since < agreeing_seconds:
        return None
    return refused.answer


class Repeat(Struct, frozen=True):
    """A request without a known outcome: how often in a row, and when it may be sent again."""

    times: int
    at: float
    refusal: str = ""
    """What the cluster said where it refused the whole request; empty where nothing was said."""


def again(last: Repeat | None, now: float, refusal: str = "") -> Repeat:
    """The next one: at once the first time, then after pauses that grow to half a minute."""
    times = min(1 if last is None else last.times + 1, MOST_TIMES)
    pause = 0 if times == 1 else min(2.0 ** (times - 1), LONGEST_PAUSE)
    return Repeat(times, now + pause, refusal)


def held_since(before: Mapping[_S, float], holding: Iterable[_S], now: float) -> dict[_S, float]:
    """Since when each of these has held in every look; what does not hold now is left out.

    This is how looks agree: something that holds since long enough is believed. `now` is the end of the look: what it
    shows may be as young as that.
    """
    return {key: before.get(key, now) for key in holding}


class RequestMemory(Struct, Generic[_S], frozen=True):
    """What a process knows of its requests, by what they are for."""

    answers: Mapping[_S, Answer] = field(default_factory=dict)
    """To those of the tick before."""
    refused: Mapping[_S, RepeatedRefusal] = field(default_factory=dict)
    """Those whose last answer was a refusal."""
    repeats: Mapping[_S, Repeat] = field(default_factory=dict)
    """Those whose last one had no answer."""
    unknown_since: Mapping[_S, float] = field(default_factory=dict)
    """When one was sent that may still be on its way."""
    suspected: Mapping[tuple[_S, Hashable], float] = field(default_factory=dict)
    """What looks have suggested so far, and since when."""

    def answered(self, answers: Mapping[_S, Answer], now: float) -> "RequestMemory[_S]":
        """What is known once the requests of a tick were answered."""
        if not answers:
            return replace(self, answers={}) if self.answers else self
        repeats, unknown = dict(self.repeats), dict(self.unknown_since)
        for subject, answer in answers.items():
            last = repeats.pop(subject, None)
            if isinstance(answer, OutcomeUnknown):
                repeats[subject] = again(last, now, answer.reason if answer.refused else "")
                unknown[subject] = now
        return replace(
            self,
            answers=answers,
            refused=repeated_refusals(self.refused, answers, now),
            repeats=repeats,
            unknown_since=unknown,
        )

    def with_repeats(self, unsent: Mapping[_S, Repeat]) -> "RequestMemory[_S]":
        """The same, where these were not sent."""
        return replace(self, repeats={**self.repeats, **unsent}) if unsent else self

    def without_refusals(self, some: Iterable[_S]) -> "RequestMemory[_S]":
        """The same where the refusals of some say nothing yet, as what they are for may end."""
        gone = self.refused.keys() & set(some) if self.refused else ()
        kept = {s: refusal for s, refusal in self.refused.items() if s not in gone}
        return replace(self, refused=kept) if gone else self

    def refusal(self, subject: _S, agreeing_seconds: float) -> Rejected | None:
        """The refusal of one, if it is believed."""
        return believed(self.refused.get(subject), agreeing_seconds)

    def arrives_within(self, subject: _S, now: float, quarantine_seconds: float) -> float | None:
        """For how many seconds an earlier request may still arrive; None where none may."""
        since = self.unknown_since.get(subject)
        seconds = 0.0 if since is None else quarantine_seconds - (now - since)
        return seconds if seconds > 0 else None

    def without_old(self, now: float, quarantine_seconds: float) -> "RequestMemory[_S]":
        """After the quarantine a request is no longer on its way."""
        if not self.unknown_since:
            return self
        recent = {s: at for s, at in self.unknown_since.items() if at > now - quarantine_seconds}
        return replace(self, unknown_since=recent)
