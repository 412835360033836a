"""Ends that one look alone does not show: a step waits until looks have agreed on one for long enough. Pure."""

from collections.abc import Mapping
from typing import TypeVar

from replan.applying.journal.steps import Status
from replan.applying.partitions.judge import End, Hold
from replan.applying.reasons.holds import Rechecking
from replan.applying.reasons.reason import EndReason
from replan.applying.tick_input import TickInput

S = TypeVar("S")
V = TypeVar("V")

_TO_BE_AGREED = frozenset({Status.STALE, Status.CANCELLED})


def rechecked(
    verdict: V | End,
    subject: S,
    tick: TickInput,
    suspected: Mapping[tuple[S, EndReason], float],
    agreeing: list[tuple[S, EndReason]],
) -> V | End | Hold:
    """The verdict, or a hold while looks do not agree on the end that it is; adds that end to `agreeing` then.

    `suspected`: what looks have suggested so far, and since when.
    """
    if not (isinstance(verdict, End) and verdict.status in _TO_BE_AGREED and verdict.reason):
        return verdict
    suspicion = subject, verdict.reason
    if tick.agreed(suspected, suspicion, listed=False):
        return verdict
    agreeing.append(suspicion)
    return Hold(Rechecking(verdict.reason))
