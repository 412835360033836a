"""What people do to a loop while it is rehearsed, in the words of a `--fault`: they release a placement, they pause it.

Nothing of it happens to the cluster, so no scenario and no plan takes it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from replan.applying.journal.records import Verb
from replan.errors import BadUsage
from replan.faults.token_reader import TokenReader

What = Path | Verb
"""The placement that is released, or what the loop is asked for."""


@dataclass(frozen=True, slots=True)
class LoopEvent:
    """One event: as it was asked for, and what happens after how many seconds."""

    text: str
    happens: tuple[tuple[float, What], ...]


@dataclass(frozen=True, slots=True)
class LoopForm:
    """One form: how it is written, what it means, and how the words behind the first are read."""

    form: str
    means: str
    read: Callable[[TokenReader], tuple[tuple[float, What], ...]]


def _release(tokens: TokenReader) -> tuple[tuple[float, What], ...]:
    return ((0.0, Path(tokens.one("a placement file, or a folder of them"))),)


def _pause(tokens: TokenReader) -> tuple[tuple[float, What], ...]:
    if not tokens.phrase("for"):
        return ((0.0, Verb.PAUSE),)
    return (0.0, Verb.PAUSE), (tokens.seconds(), Verb.RESUME)


LOOP_FORMS: Sequence[LoopForm] = (
    LoopForm("release PATH", "from now on the loop reads this placement", _release),
    LoopForm("pause [for TIME]", "somebody says `replan pause`, and after `for` `resume`", _pause),
    LoopForm("resume", "somebody says `replan resume`", lambda _: ((0.0, Verb.RESUME),)),
)


def read_loop_event(text: str) -> LoopEvent | None:
    """Read `WHAT at TIME [for TIME]`; None where it is no event of a loop. Raises BadUsage."""
    first = text.split()[:1]
    form = next((f for f in LOOP_FORMS if f.form.split()[:1] == first), None)
    if form is None:
        return None
    tokens = TokenReader(text, f'--fault "{text}"', error=BadUsage, positions=True)
    tokens.form = f"{form.form} at TIME"
    begins = tokens.seconds_after("at")
    if begins is None:
        raise tokens.wrong("it does not say when")
    tokens.one("an event")
    happens = form.read(tokens)
    tokens.end()
    return LoopEvent(" ".join(text.split()), tuple((begins + at, what) for at, what in happens))
