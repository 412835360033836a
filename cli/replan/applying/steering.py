"""Steering an application from any terminal or machine, through the inbox of its journal. Pure.

A command is one record, `inbox/APPLICATION/ID`. Whoever may write the journal may write one, and never with the
transactional id of the topic: that would fence the owner. On a cluster a plain producer writes it, acks=all; beside a
journal file, whose lock the owner has, it is a file of its own in `JOURNAL.inbox/`, with the same key and value.

    sender   writes it, and reads the journal until the record says who obeyed, or its patience ends; then it withdraws
             the record, and ends with 4
    owner    reads the inbox before each tick, once, without patience: what cannot be read now is read in the next one.
             A command is an input of the tick. `decide` obeys it there and then; the same commit that holds the
             intents of the tick holds the command with `obeyedBy`, and the application as it is steered now

So a command is obeyed if and only if it is acknowledged, whatever fails:

* The owner dies between reading and its commit: nothing was obeyed, nothing is acknowledged. Whoever takes over forgets
  the commands that it finds waiting (`taken_over`): they were for the process before, and their senders have been
  answered with 4, or are about to be.
* It dies after its commit: pause and rate are in the application's record, and hold for whoever takes over.
  `apply` of the same plan stays paused; `resume` is what lifts a pause.
* The outcome of its commit is unknown: it repeats it (`kafka.journal`), and the sender waits for as long.
* A sender that withdrew may have been obeyed in the same moment: it looks once more, and says so.
* A command for another application than the open one, or one that cannot be understood, is not obeyed.
* A rate that the command line refuses (0 freezes what runs; Kafka keeps a LONG) is answered as refused, and not obeyed:
  whoever may write the journal may have written it by other means.

A rate may hold for reassignments of other tools, too (`other_tools`).

`cancel` is the one that is not taken back; what happens then is in `run.opening`. It lifts a pause.

A pause keeps everything that has not begun from beginning; what has begun goes on to its end under its throttles. A
rate replaces the rate of the plan, and not those that the placement gives to single brokers; `apply -f` with other
`throttles.moves` replaces those, too. Restoring is as ever: what
was there before the first effect is in the journal.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from replan.applying.journal.ledger import Ledger
from replan.applying.journal.records import (
    Application,
    BrokerRates,
    Command,
    Forget,
    Record,
    Verb,
    rate_number,
    rate_text,
)
from replan.applying.reasons.holds import Cancelling, Paused
from replan.applying.reasons.notes import Obeyed, RateRefused
from replan.applying.settings import Settings
from replan.model.declared.placement import MoveThrottle, Side, SideRates
from replan.model.names import BrokerId

KEPT_COMMANDS = 20
"""Acknowledged commands of an open application that stay in the journal."""


class MoveRates(Struct, frozen=True):
    """What somebody wants of the rates of an application."""

    rate: str = ""
    """As `Command.rate`; empty leaves all as they are."""
    brokers: tuple[BrokerRates, ...] | None = None

    @classmethod
    def of(cls, throttle: MoveThrottle | None) -> "MoveRates":
        """The whole of what a placement declares for moves."""
        declared = MoveThrottle(None) if throttle is None else throttle
        brokers = (
            BrokerRates(
                b, *(rate_text(declared.rate_of(b, side)) for side in (Side.LEADER, Side.FOLLOWER))
            )
            for b in sorted(declared.brokers)
        )
        return cls(rate_text(declared.rate), tuple(brokers))


def none_arrived() -> Sequence[Command]:
    """The inbox of a run that nobody steers."""
    return ()


def for_application(application: Application | None, commands: Iterable[Command]) -> list[Command]:
    """The commands that concern the open application, and wait."""
    opened = "" if application is None else application.id
    return [c for c in commands if c.application == opened and not c.obeyed_by]


def after_commands(application: Application, commands: Iterable[Command]) -> Application:
    """The application once these are obeyed, in their order."""
    for command in commands:
        if command.wrong_rates:
            continue
        match command.verb:
            case Verb.PAUSE:
                application = replace(application, paused_by=command.sender or "unknown")
            case Verb.RESUME:
                application = replace(application, paused_by="")
            case Verb.THROTTLE:
                others = application.others if command.others is None else command.others
                brokers = application.brokers if command.brokers is None else command.brokers
                application = replace(
                    application, rate=command.rate, others=others, brokers=brokers
                )
            case Verb.CANCEL:
                application = cancelled(application, command.sender)
            case Verb.ABANDON:
                pass  # the process leaves; the sender takes the lock, and does it
    return application


def cancelled(application: Application, by: str) -> Application:
    """The application once somebody has cancelled it; one that takes another one back goes on with that."""
    if application.is_cancelled:
        return replace(application, paused_by="", others=False)
    return replace(application, cancelled_by=by or "unknown", paused_by="", others=False)


def obeyed_records(
    ledger: Ledger, after: Application, commands: Sequence[Command], owner: str
) -> tuple[Record, ...]:
    """The records that say who obeyed, and how the application is steered now; the oldest are forgotten.

    The latter also where nothing changes: a write that failed may have left in the journal that it is paused.
    """
    if not commands:
        return ()
    old = [r for r in ledger.records.values() if isinstance(r, Command)]
    over = old[: max(0, len(old) + len(commands) - KEPT_COMMANDS)]
    answered = (replace(c, obeyed_by=owner, refused=bool(c.wrong_rates)) for c in commands)
    return after, *answered, *(Forget(c.key) for c in over)


def taken_over(
    ledger: Ledger, settings: Settings, verb: Verb | None, rates: MoveRates | None = None
) -> tuple[Record, ...]:
    """What a process that goes on with an application writes first: by which settings it does.

    It obeys no command that was sent to another. `verb`: what it was itself begun for: to lift a pause, to cancel, to
    go on at other `rates`.
    """
    waiting = [
        Forget(r.key) for r in ledger.records.values() if isinstance(r, Command) and not r.obeyed_by
    ]
    before = ledger.application
    if before is None:
        return tuple(waiting)
    rate, brokers = ("", None) if rates is None else (rates.rate, rates.brokers)
    sent = Command(before.id, "0", verb or Verb.RESUME, rate, settings.owner, brokers=brokers)
    begun_for = [] if verb is None else [sent]
    settle, slots = settings.settle_seconds, settings.slots_per_broker
    keep = before.keep_throttles or settings.preserve_throttles
    application = replace(
        after_commands(before, begun_for), settle=settle, slots=slots, keep_throttles=keep
    )
    return *([] if application == before else [application]), *waiting


def closed_by(application: Application | None) -> Paused | Cancelling | None:
    """What keeps everything that has not begun from it, as somebody has asked for; a cancel outweighs a pause."""
    if application is None:
        return None
    if application.cancelled_by:
        return Cancelling(application.cancelled_by)
    return Paused(application.paused_by) if application.paused_by else None


def throttle_of(
    planned: MoveThrottle | None, application: Application | None
) -> MoveThrottle | None:
    """The throttle of copies now: the plan's, with the rate that somebody has set since."""
    if application is None or not application.rate:
        return planned
    throttle = MoveThrottle(None) if planned is None else planned
    brokers = throttle.brokers
    if application.brokers is not None:
        brokers = {
            b.broker: SideRates(rate_number(b.leader), rate_number(b.follower))
            for b in application.brokers
        }
    return replace(throttle, rate=rate_number(application.rate), brokers=brokers)


def kept_rates(
    planned: MoveThrottle | None, application: Application, rates: MoveRates
) -> Mapping[BrokerId, int | SideRates | None]:
    """The brokers whose own rates go on, of the plan or set since, once the application has the rate asked for."""
    brokers = application.brokers if rates.brokers is None else rates.brokers
    throttle = throttle_of(planned, replace(application, rate=rates.rate, brokers=brokers))
    if throttle is None:
        return {}
    return {
        broker: rate
        for broker, rate in sorted(throttle.brokers.items())
        if any(throttle.rate_of(broker, side) != throttle.rate for side in Side)
    }


def notes_of(commands: Iterable[Command]) -> tuple[Obeyed | RateRefused, ...]:
    """What the process that obeyed says about it."""
    return tuple(
        RateRefused(c.wrong_rates, c.sender)
        if c.wrong_rates
        else Obeyed(c.verb, c.rate, c.sender, c.others)
        for c in commands
    )


def keeps_throttles(planned: MoveThrottle | None, application: Application | None) -> bool:
    """Whether the throttles of moves stay in place at the end.

    A cancel restores everything, and so does an application that throttles other tools' reassignments beside its own:
    what is theirs ends with them.
    """
    if application is not None and (application.is_cancelled or application.others):
        return False
    declared = planned is not None and planned.keep
    return declared or (application is not None and application.keep_throttles)
