"""The lifecycle of one partition of an application: its phases, and all transitions between them.

RULES: a partition is in one phase; `decide` alone chooses the next one; what is not in this table does not happen.
A request is sent only for a partition that is InFlight after the tick: its intent is written down first.

    from \\ to  Waiting  Deferred  Parked  Admitted  InFlight  Ended   a partition in this phase
    Waiting      x        x         x       x         x        x     has not begun, and is looked at
    Deferred     x                                                   waits for its time
    Parked       x                                                   waits for a free slot
    Admitted              x         x       x         x        x     has slots and room, waits for its throttle
    InFlight                                          x        x     was asked for something
    Ended                                              x             is asked for nothing, unless a list of it runs on

    Waiting  -> Deferred   a gate is closed; the gates are asked again after some seconds
    Waiting  -> Parked     a broker has no free slot
    Waiting  -> Waiting    passed over so often that it stays in view and reserves the slots that become free
    Waiting  -> Admitted   every gate is open, its slots are taken and its room is reserved
    Waiting  -> InFlight   it copies nothing, or its copy needs no throttle
    Admitted -> InFlight   its throttle is in force, and the gates are still open
    Admitted -> Deferred, Parked   a gate has closed, or a limit has shrunk, since
    InFlight -> InFlight   its next request, or the same one again
    any      -> Ended      done, stale, rejected, or changed by another tool
    Ended    -> InFlight   a list that was asked for runs after all, or runs on and never ends: it is taken back

InFlight and Ended are written down in the journal and outlive the process. The others are this process's alone: another
one begins with Waiting.
"""

from dataclasses import dataclass

from replan.applying.journal.steps import MoveRecord
from replan.model.names import BrokerId


@dataclass(frozen=True, slots=True)
class Waiting:
    """Not begun; looked at in one of the next ticks."""


@dataclass(frozen=True, slots=True)
class Deferred:
    """Not begun: a gate was closed."""

    until: float
    """When the gates are asked again."""


@dataclass(frozen=True, slots=True)
class Parked:
    """Not begun: this broker has no free slot."""

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class Admitted:
    """Has slots, room and open gates, and waits until its throttle is in force."""


@dataclass(frozen=True, slots=True)
class InFlight:
    """Something was asked for it, or is about to be."""

    record: MoveRecord


@dataclass(frozen=True, slots=True)
class Ended:
    """Nothing more is asked for it."""

    record: MoveRecord


Phase = Waiting | Deferred | Parked | Admitted | InFlight | Ended

TRANSITIONS: dict[type[Phase], tuple[type[Phase], ...]] = {
    Waiting: (Waiting, Deferred, Parked, Admitted, InFlight, Ended),
    Deferred: (Waiting,),
    Parked: (Waiting,),
    Admitted: (Deferred, Parked, Admitted, InFlight, Ended),
    InFlight: (InFlight, Ended),
    Ended: (InFlight,),
}


def check_transition(before: Phase, after: Phase) -> None:
    """Raise ValueError where a phase cannot follow another: a mistake of replan's."""
    if type(after) not in TRANSITIONS[type(before)]:
        raise ValueError(f"no way from {before} to {after}")
