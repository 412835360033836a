"""The loop of a cluster as its journal tells of it, for those who only look: nothing is asked or written."""

from collections.abc import Sequence
from datetime import datetime

from replan.applying.journal.records import Record
from replan.model.declared.reconcile import DeviationKind
from replan.reconciling.decision import holding_state, holds, kind_of
from replan.reconciling.memory import Memory
from replan.reconciling.status import (
    LoopReason,
    LoopState,
    LoopStatus,
    Tally,
)
from replan.reconciling.store import as_obeyed, lease_of


def standing_loop(records: Sequence[Record], now: float, *, applying: bool) -> LoopStatus | None:
    """What the loop that has the lease does, as far as it is kept; `applying`: an application is open. Raises BadFile.

    None where none has it, unless the next one would wait for a person.
    It knows of no reason that ends with the moment, such as a broker that is down, nor when the loop looked last: the
    loop's own page has these.
    """
    lease = lease_of(records)
    if lease is None:
        return None
    memory, _ = as_obeyed(records, now)
    if lease.released and memory.paused is None and memory.worse is None:
        return None
    state, reasons = _state(memory, now, applying=applying)
    taken = datetime.fromisoformat(lease.since).timestamp() if lease.since else now
    return LoopStatus(
        at=now,
        instance=lease.owner,
        state=state,
        since=max([taken, *(done.ended_at for done in memory.rounds[:1])]),
        reasons=reasons,
        differs=_tallies(memory),
        rounds=memory.rounds,
    )


def _state(
    memory: Memory, now: float, *, applying: bool
) -> tuple[LoopState, tuple[LoopReason, ...]]:
    if memory.begun is not None and applying:  # else it has ended, and the loop learns of that
        return LoopState.ACTING, ()
    reasons = tuple(holds(memory, now))[:1]
    if reasons:
        return holding_state(reasons), reasons
    return LoopState.DIFFERS if memory.since else LoopState.AT_REST, ()


def _tallies(memory: Memory) -> tuple[Tally, ...]:
    kinds: dict[DeviationKind | None, list[float]] = {}
    for key, since in memory.since.items():
        kinds.setdefault(kind_of(key), []).append(since)
    return tuple(Tally(kind, len(of), min(of)) for kind, of in kinds.items())
