"""How an application ended, or was left: a value, with the exit code that it means. Rendering is in `reporting`."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

from msgspec import Struct

from replan.applying.journal.ledger import Ledger, RequestSubject
from replan.applying.journal.records import MoveRecord, RecoveryRecord, Status, StepRecord
from replan.applying.reasons.reason import HoldReason, Leftover, Note
from replan.applying.steps.creating import CreateStep
from replan.applying.steps.kinds import kinds_of
from replan.applying.steps.step import Step
from replan.errors import Exit
from replan.model.configs import SettingName
from replan.model.names import BrokerId, TopicPartition
from replan.planning.plans.plan import Plan
from replan.planning.plans.reasons import Refusal, left_out_text
from replan.wording import count


class Result(StrEnum):
    """How one partition stands in the end."""

    DONE = "done"
    STALE = "stale"
    REJECTED = "rejected"
    FOREIGN = "foreign"
    CANCELLED = "cancelled"
    RUNNING = "running"
    """Begun; it goes on by itself, and with the next run."""
    WAITING = "waiting"


class PartitionResult(Struct, frozen=True):
    """One partition in the end."""

    partition: TopicPartition
    result: Result
    message: str = ""
    """The complete sentence of why it has ended without being done."""
    hold: HoldReason | None = None
    """Why it waits, where it runs or waits."""
    lost: int | None = None
    """Records that it has lost, where a recovery has measured that."""
    held_seconds: float | None = None
    """For how long it has waited for that; None where nobody has kept track."""
    last_step_at: str = ""
    """The date and time of its last step, where the journal says so."""
    created: int = 0
    """How many partitions of the topic were to be created, of which it is the first; 0 where it is none of these."""

    @property
    def subject(self) -> TopicPartition:
        """What this is about."""
        return self.partition


class LogMoveResult(Struct, frozen=True):
    """One replica that was to lie in another log directory, in the end."""

    partition: TopicPartition
    broker: BrokerId
    result: Result
    message: str = ""
    hold: HoldReason | None = None

    @property
    def subject(self) -> str:
        """What this is about."""
        return f"{self.partition} on broker {self.broker}"


class SettingResult(Struct, frozen=True):
    """One standing throttle setting in the end."""

    subject: SettingName
    result: Result
    message: str = ""
    hold: HoldReason | None = None


class Ending(StrEnum):
    """How an application, or the work on what it left behind, came to its end."""

    COMPLETE = "complete"
    """Everything is over, and nothing was left behind."""
    NOTHING_TO_DO = "nothing-to-do"
    STAYS_OPEN = "stays-open"
    """All moves are over, and settings are still to be restored."""
    INTERRUPTED = "interrupted"
    GAVE_UP = "gave-up"
    """Nothing has moved for as long as it may wait."""
    OTHERS_HANG = "others-hang"
    """The same of reassignments of other tools alone that were throttled: no longer, and nothing is open."""
    WINDOW_OVER = "window-over"
    """The time until which it was to work has come."""
    LEFT_TO_ANOTHER = "left-to-another"
    """Somebody gives the application up."""
    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    """This user may not ask for what it takes."""
    NOT_WRITTEN = "not-written"
    """The journal could not be written, so nothing more was asked."""
    RESTORED = "restored"
    """Of `throttle clear` and `abandon`."""
    COPIES_THROTTLED = "copies-throttled"
    """Restored, except for what running copies need."""
    NOT_RESTORED = "not-restored"


AnyResult = PartitionResult | SettingResult | LogMoveResult

RESUMABLE = frozenset(
    {
        Ending.INTERRUPTED,
        Ending.GAVE_UP,
        Ending.WINDOW_OVER,
        Ending.UNREACHABLE,
        Ending.REFUSED,
        Ending.NOT_WRITTEN,
    }
)


class ThrottlesLeft(StrEnum):
    """What became of the throttles of copies that have ended."""

    RESTORED = "restored"
    KEPT = "kept"


class Performed(Struct, frozen=True):
    """What it took to come to the end of an application."""

    application: str
    seconds: float
    """Since this process began, on the clock of the cluster."""
    copied_bytes: int
    """By the sizes of the plan, of what was asked for: not of what was there already."""
    throttles: ThrottlesLeft | None
    """What became of those that its copies had; None where they had none."""
    resumed: bool = False
    """Whether another process began it."""


class Outcome(Struct, frozen=True, kw_only=True):
    """The end of one `apply`, `abandon` or `throttle clear`."""

    exit_code: Exit
    ending: Ending
    results: tuple[AnyResult, ...] = ()
    """Of all steps of the plan, as `plan_results` has them."""
    seconds: float = 0.0
    """For how long nothing has moved, the cluster has not answered, or the journal could not be written."""
    error: str = ""
    """What the cluster or the journal failed with."""
    copying: tuple[TopicPartition, ...] = ()
    """Copies that run on."""
    copying_within: tuple[TopicPartition, ...] = ()
    """The same within a broker, to another log directory."""
    may_begin: tuple[TopicPartition, ...] = ()
    """Copies that do not run, of which a request may be on its way."""
    throttled: bool = False
    """Whether they are throttled."""
    leftovers: tuple[Leftover, ...] = ()
    """Settings of replan that are still there."""
    admission: HoldReason | None = None
    """Why nothing new was begun at all, if so."""
    others: int = 0
    """Reassignments of other tools that were throttled."""
    notes: tuple[Note | str, ...] = ()
    """What other tools did to throttles; text where a rehearsal adds its own."""
    refusals: tuple[Refusal, ...] = ()
    """What the plan leaves out."""
    performed: Performed | None = None
    """What it took, where an application has come to its end."""
    abandoned: bool = False
    cancelled: str = ""
    """The application that was cancelled, where this is about taking it back."""
    finished: tuple[TopicPartition, ...] = ()
    """What it had finished: that stays."""
    kept: tuple[str, ...] = ()
    """The same of partitions that were created (from the first to the last of each topic) or led again: that stays."""

    @property
    def interrupted(self) -> bool:
        """Whether the same command goes on where this one stopped."""
        return self.ending in RESUMABLE

    @property
    def partitions(self) -> list[PartitionResult]:
        """Those of partitions."""
        return [r for r in self.results if isinstance(r, PartitionResult)]

    @property
    def settings(self) -> list[SettingResult]:
        """Those of standing throttles."""
        return [r for r in self.results if isinstance(r, SettingResult)]

    @property
    def log_moves(self) -> list[LogMoveResult]:
        """Those of moves between log directories."""
        return [r for r in self.results if isinstance(r, LogMoveResult)]

    def count(self, result: Result) -> int:
        """How many partitions stand so."""
        return sum(r.result is result for r in self.partitions)


def results_of(
    plan_order: Iterable[TopicPartition], ledger: Ledger, holds: Mapping[RequestSubject, HoldReason]
) -> tuple[PartitionResult, ...]:
    """How each move of a plan stands."""
    records = ((n, ledger.owned.get(n)) for n in plan_order)
    return tuple(
        PartitionResult(
            name, *_stands(own, holds.get(name)), last_step_at="" if own is None else own.changed_at
        )
        for name, own in records
    )


def new_text(first: TopicPartition, number: int) -> str:
    """`orders-6 to orders-8`: so many partitions of one topic, from this one on."""
    last = TopicPartition(first.topic, first.partition + number - 1)
    return str(first) if number == 1 else f"{first} to {last}"


def plan_results(
    plan: Plan,
    ledger: Ledger,
    holds: Mapping[RequestSubject, HoldReason],
    moves: Iterable[PartitionResult] | None = None,
) -> tuple[AnyResult, ...]:
    """How each step of a plan stands; `moves`: those of its moves, where they are not to be read from the ledger."""
    if moves is None:
        moves = results_of((m.partition for m in plan.moves), ledger, holds)
    return (*_of_steps(plan, ledger, holds), *moves, *_of_steps(plan, ledger, holds, copies=True))


def _of_steps(
    plan: Plan, ledger: Ledger, holds: Mapping[RequestSubject, HoldReason], *, copies: bool = False
) -> Iterator[AnyResult]:
    """How its steps beside moves stand, those that copy or the others."""
    kinds = [kind for kind in kinds_of(plan) if kind.copies is copies]
    steps: list[Step] = [step for kind in kinds for step in kind.steps(plan, ledger)]
    for step in steps:
        stands = _stands(step.record, holds.get(step.subject))
        match step.subject:
            case SettingName() as setting:
                yield SettingResult(setting, *stands)
            case TopicPartition() as name:
                created = len(step.create.lists) if isinstance(step, CreateStep) else 0
                lost = step.record.measured if isinstance(step.record, RecoveryRecord) else None
                yield PartitionResult(name, *stands, lost=lost, created=created)
            case name, broker:
                yield LogMoveResult(name, broker, *stands)


def _stands(
    own: MoveRecord | StepRecord | None, hold: HoldReason | None
) -> tuple[Result, str, HoldReason | None]:
    """How a step stands, why it has ended without being done, and why it waits."""
    if own is None or own.status is Status.OPEN:
        return Result.WAITING if own is None else Result.RUNNING, "", hold
    return Result(own.status.value), own.message, None


def exit_code_of(results: Iterable[AnyResult], left_out: Exit) -> Exit:
    """The exit code of an application that has come to its end, of a plan that leaves something out (`Plan.left_out`).

    3 where something else than another party is in the way as well.
    """
    kinds = {r.result for r in results}
    if kinds & {Result.STALE, Result.REJECTED} or left_out is Exit.REFUSED:
        return Exit.REFUSED
    return Exit.HELD if Result.FOREIGN in kinds else left_out


def results_summary(
    results: Iterable[AnyResult],
    refusals: Iterable[Refusal] = (),
    others: int = 0,
    *,
    abandoned: bool = False,
) -> str:
    """The counts in words: `3 done, 1 stale; 1 partition refused`; `others`: reassignments that were throttled.

    Where the application is `abandoned`, what waits is `not started`.
    """
    counts = Counter(r.result for r in results)
    words = {Result.WAITING: "not started"} if abandoned else {}
    by_result = ", ".join(
        f"{counts[kind]} {words.get(kind, kind)}" for kind in Result if kind in counts
    )
    beside = f"{count(others, 'reassignment')} of other tools throttled" if others else ""
    return "; ".join(filter(None, [by_result, left_out_text(refusals), beside])) or "nothing to do"
