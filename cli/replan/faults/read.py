"""Reading a fault from its words, and a whole `--fault`, which also says when.

An error says what is wrong, where, and how the form goes. A `--fault` of a rehearsed loop may also be what people do to
the loop: they release a placement, they pause it. Nothing of that happens to the cluster, so no scenario and no plan
takes it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from replan.applying.journal.records import Verb
from replan.errors import BadUsage
from replan.faults.kinds import (
    BROKER_KINDS,
    EXTERNAL_KINDS,
    PARTITION_KINDS,
    REQUEST_KINDS,
    FaultContext,
    Kind,
)
from replan.faults.token_reader import TokenReader
from replan.simulator.cluster.faults import At, Schedule


def by_words(forms: Sequence[Kind]) -> dict[tuple[str, ...], Kind]:
    """Forms by the words that they are known by; raises ValueError where two have the same."""
    by_beginning: dict[tuple[str, ...], Kind] = {}
    for kind in forms:
        if kind.begins in by_beginning:
            raise ValueError(f"`{kind.form}` begins like `{by_beginning[kind.begins].form}`")
        by_beginning[kind.begins] = kind
    return by_beginning


FORMS: Sequence[Kind] = (
    *BROKER_KINDS,
    *PARTITION_KINDS,
    *REQUEST_KINDS,
    *EXTERNAL_KINDS,
)
FIRST_WORDS = frozenset(kind.begins[0] for kind in FORMS)
_BY_WORDS: Mapping[tuple[str, ...], Kind] = MappingProxyType(by_words(FORMS))
_LONGEST_FIRST = sorted(_BY_WORDS, key=len, reverse=True)


class FaultSpec(Struct, frozen=True):
    """One fault: as it was asked for, and what happens when; seconds count from the beginning."""

    text: str
    schedule: Schedule

    @property
    def at_seconds(self) -> float:
        """When it begins."""
        return self.schedule[0].seconds


def schedule_of(faults: Iterable[FaultSpec], began: float = 0.0) -> Schedule:
    """What happens in all of them, by the virtual second; they count from `began`."""
    return tuple(At(began + at.seconds, at.fault) for f in faults for at in f.schedule)


def read_fault(text: str, context: FaultContext) -> FaultSpec:
    """Read `WHAT at TIME [for TIME]`; raises BadUsage."""
    tokens = TokenReader(text, f'--fault "{text}"', error=BadUsage, positions=True)
    begins = tokens.seconds_after("at")
    if begins is None:
        fault = text.strip() or "kill 3"
        raise tokens.wrong(f'it does not say when; write e.g. "{fault} at 10m"')
    happens = read_schedule(tokens, context)
    happens = tuple(At(begins + at.seconds, at.fault) for at in happens)
    return FaultSpec(" ".join(text.split()), happens)


def read_schedule(tokens: TokenReader, context: FaultContext) -> Schedule:
    """Read WHAT, to the end of the words; seconds count from its beginning. Raises the error of the words."""
    begins = next((b for b in _LONGEST_FIRST if tokens.phrase(*b)), None)
    if begins is None:
        raise tokens.wrong(_unknown(tokens))
    kind = _BY_WORDS[begins]
    tokens.form = kind.form
    try:
        schedule = kind.read(tokens, context)
    except ValueError as problem:
        raise tokens.wrong(str(problem)) from problem
    tokens.end()
    return schedule


def _unknown(tokens: TokenReader) -> str:
    first = tokens.one("a fault")
    near = [k for k in FORMS if k.begins[0] == first] or FORMS
    forms = "\n".join(f"  {kind.form}" for kind in near)
    rest = tokens.rest()
    said = f"{first} {rest}" if rest else first
    return f"unknown fault `{said}`; the faults are:\n{forms}"


What = Path | Verb
"""The placement that is released, or what the loop is asked for."""


class LoopEvent(Struct, frozen=True):
    """One event: as it was asked for, and what happens after how many seconds."""

    text: str
    happens: tuple[tuple[float, What], ...]


class LoopForm(Struct, frozen=True):
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
