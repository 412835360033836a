"""How an application ended, or was left: a value, with the exit code that it means. Rendering is in `reporting`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from replan.applying.journal.ledger import Ledger
from replan.applying.journal.records import MoveRecord, Status
from replan.applying.reasons import HoldReason, Note
from replan.errors import Exit
from replan.model.names import TopicPartition


class Result(StrEnum):
    """How one partition stands in the end."""

    DONE = "done"
    STALE = "stale"
    REJECTED = "rejected"
    FOREIGN = "foreign"
    RUNNING = "running"
    """Begun; it goes on by itself, and with the next run."""
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class PartitionResult:
    """One partition in the end."""

    partition: TopicPartition
    result: Result
    message: str = ""
    """The complete sentence of why it has ended without being done."""
    hold: HoldReason | None = None
    """Why it waits, where it runs or waits."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of one `apply`."""

    exit_code: Exit
    text: str
    """What happened, in a line, and in the next ones what to do now."""
    results: tuple[PartitionResult, ...] = ()
    """In plan order."""
    leftovers: tuple[str, ...] = ()
    """Settings of replan that are still there, and how they go away."""
    notes: tuple[Note | str, ...] = ()
    """What other tools did to throttles; text where a rehearsal adds its own."""
    interrupted: bool = False
    """The same command goes on where this one stopped."""

    def count(self, result: Result) -> int:
        """How many partitions stand so."""
        return sum(1 for r in self.results if r.result is result)


def results_of(
    plan_order: Iterable[TopicPartition], ledger: Ledger, holds: Mapping[TopicPartition, HoldReason]
) -> tuple[PartitionResult, ...]:
    """How each partition of a plan stands."""
    return tuple(_result(n, ledger.owned.get(n), holds.get(n)) for n in plan_order)


def _result(
    name: TopicPartition, own: MoveRecord | None, hold: HoldReason | None
) -> PartitionResult:
    if own is None:
        return PartitionResult(name, Result.WAITING, hold=hold)
    if own.status is Status.OPEN:
        return PartitionResult(name, Result.RUNNING, hold=hold)
    return PartitionResult(name, Result(own.status.value), own.message)


def exit_code_of(results: Iterable[PartitionResult], leftovers: Iterable[str]) -> Exit:
    """The exit code of an application that has come to its end."""
    found = {r.result for r in results}
    if Result.FOREIGN in found or any(True for _ in leftovers):
        return Exit.HELD
    if found & {Result.STALE, Result.REJECTED}:
        return Exit.REFUSED
    return Exit.OK


def summary(results: Iterable[PartitionResult]) -> str:
    """The counts in words: `3 done, 1 stale`."""
    counts: dict[Result, int] = {}
    for r in results:
        counts[r.result] = counts.get(r.result, 0) + 1
    return (
        ", ".join(f"{counts[kind]} {kind}" for kind in Result if kind in counts) or "nothing to do"
    )
