"""When two values are one state: moments become ages, and what decides nothing is left out.

An age counts up to the patience that it is compared with (`MOMENTS`); beyond that all ages are one. Only the fields
named there may hold a number of seconds, so that a new field of the product is decided upon before anything is counted
by it: a length of time that was taken for a moment would make every state new for ever.
"""

from collections.abc import Callable, Mapping, Set
from enum import Enum
from math import inf
from typing import Any

from msgspec import Struct
from tests.smallworld.settings import QUANTUM, SETTINGS

from replan.applying.api import (
    MISSES,
    AdmissionQueue,
    ApplicationRun,
    Neighbours,
    PartitionHistory,
    Readings,
    Reason,
    Repeat,
    RepeatedRefusal,
    RequestMemory,
    RunState,
)
from replan.model.api import BrokerId, TopicPartition
from replan.planning.api import Move
from replan.simulator.api import Topic

ATOMS = frozenset({type(None), bool, int, str, TopicPartition})
Limits = tuple[float, float]
"""The least and the greatest age; what is beyond counts as that."""
PASSED = 0.0
"""A moment that has passed has passed."""

MOMENTS: Mapping[tuple[type, str], Limits] = {
    (ApplicationRun, "_ended_at"): (-inf, SETTINGS.patience_seconds),
    (RequestMemory, "suspected"): (-inf, SETTINGS.ending_seconds),
    (RequestMemory, "unknown_since"): (-inf, SETTINGS.quarantine_seconds),
    (RepeatedRefusal, "since"): (-inf, SETTINGS.agreeing_seconds),
    (RepeatedRefusal, "last_at"): (-inf, SETTINGS.agreeing_seconds),
    (RunState, "missing_since"): (-inf, SETTINGS.ending_seconds),
    (PartitionHistory, "looked_at"): (-inf, QUANTUM),
    (Readings, "rates_at"): (-inf, SETTINGS.rates_seconds),
    (Readings, "sizes_at"): (-inf, SETTINGS.sizes_seconds),
    (Repeat, "at"): (-inf, PASSED),
    (AdmissionQueue, "deferred"): (-inf, PASSED),
    (Neighbours, "due"): (-inf, PASSED),
}
"""By type and field."""

UNUSED: Mapping[type, frozenset[str]] = {
    ApplicationRun: frozenset(
        {"_job", "_ports", "_began", "_progress", "_awaits_effect", "_looked_at", "_written_at"}
        | {"_turns_at", "_elected_at", "_elects"}
    ),
    Readings: frozenset({"disks_at"}),
    RunState: frozenset(
        {"ledger", "moved_at", "notes", "holds", "step_holds", "held_since"}
        | {"room", "slots", "limits", "waits"}
    ),
    Topic: frozenset({"slots"}),
    PartitionHistory: frozenset(
        {"sizes", "totals", "vouched", "target_in_sync", "new_in_sync", "misses"}
    ),
}
"""What decides nothing in this world: it never changes, or the records say it too, or it is only reported; nobody gives
up or cancels, looks do not fail, and a copy ends when it likes."""

IDENTIFIED: Mapping[type, tuple[str, ...]] = {Move: ("partition",)}
"""The fields that tell values of a type apart, where all belong to one plan."""


def canonical(value: object, now: float, limits: Limits | None = None) -> object:
    """A value that is equal for values that behave alike; `limits`: of the ages of moments in it."""
    kind = type(value)
    if kind in ATOMS:
        return value
    form = _FORMS.get(kind)
    if form is None:
        form = _FORMS[kind] = _form_of(kind)
    return form(value, now, limits)


Form = Callable[[Any, float, Limits | None], object]


def _form_of(kind: type) -> Form:
    known: tuple[tuple[type, Form], ...] = (
        (float, _age),
        (ApplicationRun, _memory),
        (RunState, _run_state),
        (PartitionHistory, _history),
        (Enum, lambda value, _now, _limits: value),
        (tuple, _in_order),
        (list, _in_order),
        (Mapping, _mapping),
        (Set, _unordered),
    )
    return next((form for of, form in known if issubclass(kind, of)), _record)


def _age(moment: float, now: float, limits: Limits | None) -> object:
    assert limits is not None, "a number of seconds where none is expected: see MOMENTS"
    return max(limits[0], min(limits[1], now - moment))


def _memory(run: ApplicationRun, now: float, _limits: Limits | None) -> object:
    unused = UNUSED[ApplicationRun]
    return tuple(
        [
            canonical(v, now, MOMENTS.get((ApplicationRun, k)))
            for k, v in vars(run).items()
            if k not in unused
        ]
    )


def _run_state(state: RunState, now: float, limits: Limits | None) -> object:
    return _slots(state), _record(state, now, limits)


def _slots(state: RunState) -> object:
    """Limits that have shrunk, and what is free where a move waits for it: nothing else is asked of slots."""
    slots = state.slots
    if slots is None:
        return None
    usual = slots.limit(BrokerId(-1))
    shrunk = frozenset([(b, n) for b, n in state.limits.items() if n < usual])
    return shrunk, frozenset([(b, slots.free(b)) for b in state.queue.parked])


def _history(history: PartitionHistory, now: float, limits: Limits | None) -> object:
    """What stays in sync counts in seconds that looks vouch for, by a clock of its own."""
    vouched = (history.target_in_sync, history.new_in_sync)
    since = canonical(vouched, history.vouched, (-inf, SETTINGS.settle_seconds))
    misses = frozenset([(r, min(n, MISSES)) for r, n in history.misses.items()])
    return since, misses, _record(history, now, limits)


def _in_order(values: tuple[object, ...], now: float, limits: Limits | None) -> object:
    return tuple([v if type(v) in ATOMS else canonical(v, now, limits) for v in values])


def _mapping(values: Mapping[object, object], now: float, limits: Limits | None) -> object:
    items = values.items()
    return frozenset([(canonical(k, now, limits), canonical(v, now, limits)) for k, v in items])


def _unordered(values: Set[object], now: float, limits: Limits | None) -> object:
    return frozenset([canonical(v, now, limits) for v in values])


def _record(value: object, now: float, _limits: Limits | None) -> object:
    kind = type(value)
    return kind, *[canonical(getattr(value, name), now, of) for name, of in _fields(kind)]


_FORMS: dict[type, Form] = {}
_FIELDS: dict[type, tuple[tuple[str, Limits | None], ...]] = {}


def _fields(kind: type) -> tuple[tuple[str, Limits | None], ...]:
    """The fields that tell values of a type apart, with the limits of the ages in them; epochs are left out."""
    known = _FIELDS.get(kind)
    if known is None:
        unused = UNUSED.get(kind, frozenset())
        names = [n for n in _names(kind) if "epoch" not in n and n not in unused]
        known = _FIELDS[kind] = tuple([(n, MOMENTS.get((kind, n))) for n in names])
    return known


def _names(kind: type) -> tuple[str, ...]:
    if kind in IDENTIFIED:
        return IDENTIFIED[kind]
    if issubclass(kind, Reason):
        return tuple(n for n in kind.__struct_fields__ if n not in kind.changing)
    assert issubclass(kind, Struct), kind
    return kind.__struct_fields__
