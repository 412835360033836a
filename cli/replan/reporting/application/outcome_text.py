"""How an application ended, as text: first what went wrong, by partition, then the line that sums it up."""

from replan.applying.reasons.holds import NoLeader
from replan.applying.views.outcome import (
    AnyResult,
    Ending,
    Outcome,
    PartitionResult,
    Result,
    summary,
)
from replan.planning.plans.plan import Refusal, left_out_text
from replan.reporting.sentences.plan_notes import refusal_text
from replan.reporting.sentences.result_text import result_text
from replan.wording import capped, count, duration, size

RESUME_HINT = "Rerun to resume."
END_HINT = "Or end it: `replan abandon --cancel-copies` ends its copies"
CANCEL_HINT = f"{END_HINT}, `replan cancel` takes back all that is not finished."
LEADERLESS_HINT = (
    "Where nobody leads and no replica that was in sync comes back: `replan abandon --unthrottled`, then "
    "`replan elect best-log`, which lets another one lead."
)
STILL_THROTTLED = f"throttles set by replan are still in place; {RESUME_HINT}"
UNTIL_RESUMED = (
    "Until you resume, a kept replica that falls out of sync catches up under their throttle."
)
STOPPED = frozenset({Result.STALE, Result.REJECTED, Result.FOREIGN})
SHOWN = 20
"""Partitions that are named one by one."""


def render_outcome(outcome: Outcome) -> str:
    """Plain text; ends with a newline."""
    led = [r for r in outcome.all_results if r.result is Result.DONE and r.message]
    stopped = [r for r in outcome.all_results if r.result in STOPPED]
    lines = capped(led, lambda r: r.message, limit=SHOWN)
    lines += capped(stopped, lambda r: f"{r.result}: {r.message}")
    lines += capped(outcome.refusals, refused_line)
    lines += [f"note: {note}" for note in outcome.notes]
    lines.append(outcome_text(outcome) if outcome.performed is None else _performed(outcome))
    return "\n".join(lines) + "\n"


def _performed(outcome: Outcome) -> str:
    """`35 moves in 10 min 54 s; 197 MB copied; throttles restored; …`: what `apply` did, and where it is kept."""
    text, performed = outcome_text(outcome), outcome.performed
    if performed is None or outcome.ending is not Ending.COMPLETE or outcome.cancelled:
        return text
    if outcome.results == outcome.all_results and text == f"{len(outcome.results)} done":
        text = count(len(outcome.results), "move")
    took = duration(performed.seconds)
    parts = [f"{text} in {took}{' since it was resumed' if performed.resumed else ''}"]
    parts += [f"{size(performed.copied_bytes)} copied"] if performed.copied_bytes else []
    parts += [f"throttles {performed.throttles}"] if performed.throttles is not None else []
    return "; ".join([*parts, f"`replan journal show` has application {performed.application}"])


def refused_line(refusal: Refusal) -> str:
    """A partition that the plan leaves out, with why and the way out."""
    return f"{'held' if refusal.held else 'refused'}: {refusal_text(refusal)}  [{refusal.rule}]"


def outcome_text(outcome: Outcome, *, holds: bool = True) -> str:
    """What happened, in a line, and in the next ones what `holds` it and what to do now."""
    counts = summary(outcome.all_results, outcome.refusals, outcome.others)
    match outcome.ending:
        case Ending.COMPLETE:
            lines = _cancelled(outcome, counts)
        case Ending.NOTHING_TO_DO:
            left = left_out_text(outcome.refusals)
            lines = [
                f"nothing to do{f'; {left}' if left else ': the cluster is as the plan wants it'}"
            ]
        case Ending.STAYS_OPEN:
            left_over = list(map(str, outcome.leftovers)) or [STILL_THROTTLED]
            lines = [f"{counts}; the application stays open:", *left_over]
        case Ending.INTERRUPTED:
            lines = [f"interrupted: {counts}", *_goes_on(outcome)]
        case Ending.GAVE_UP:
            why = f"gave up, as nothing has moved for {duration(outcome.seconds)}"
            lines = [f"{why}: {counts}", *(_held(outcome) if holds else ()), *_goes_on(outcome)]
            lines += [f"{END_HINT}." if outcome.cancelled else CANCEL_HINT]
            lines += [LEADERLESS_HINT] if any(map(_without_leader, outcome.all_results)) else []
        case Ending.OTHERS_HANG:
            lines = [f"gave up: {counts}", *_hanging(outcome)]
        case Ending.WINDOW_OVER | Ending.LEFT_TO_ANOTHER:
            window = outcome.ending is Ending.WINDOW_OVER
            why = "the time of --until has come" if window else "left to whoever abandons it"
            lines = [f"{why}: {counts}", *(_goes_on(outcome) if window else [])]
        case Ending.UNREACHABLE | Ending.REFUSED | Ending.NOT_WRITTEN:
            lines = [f"{_failed(outcome)}: {outcome.error}", counts, RESUME_HINT]
        case Ending.RESTORED | Ending.COPIES_THROTTLED | Ending.NOT_RESTORED:
            given_up = [f"abandoned: {summary(outcome.all_results)}"] if outcome.abandoned else []
            lines = [*given_up, *_restored(outcome)]
    return "\n".join(lines)


def _without_leader(result: AnyResult) -> bool:
    return result.result is Result.RUNNING and isinstance(result.hold, NoLeader)


def _cancelled(outcome: Outcome, counts: str) -> list[str]:
    """What went back, and what stays, where the application was cancelled."""
    if not outcome.cancelled:
        return [counts]
    went = [r for r in outcome.results if r.result in {Result.DONE, Result.CANCELLED}]
    elsewhere = {*map(str, outcome.finished), *outcome.kept}
    elsewhere.update(str(r.partition) for r in outcome.refusals)
    back = sum(1 for r in went if str(r.partition) not in elsewhere and not r.is_new)
    lines = [
        f"application {outcome.cancelled} is cancelled: {count(back, 'partition')} back at the original list"
    ]
    stopped = [r for r in outcome.results if r.result in STOPPED]
    if stopped or outcome.refusals:
        lines[0] += f"; not: {summary(stopped, outcome.refusals)}"
    stays = [*outcome.finished, *(s.subject for s in outcome.settings if s.result is Result.DONE)]
    if stays:
        named = ", ".join(capped(list(map(str, stays)), limit=SHOWN))
        lines.append(
            f"Finished before, and left as they are: {named}. `replan rollback` plans the way back of these, too."
        )
    if outcome.kept:
        named = ", ".join(capped(list(outcome.kept), limit=SHOWN))
        lines.append(f"Created or led again, which nothing takes back: {named}.")
    return lines


def _held(outcome: Outcome) -> list[str]:
    """What holds each partition that is not over."""
    waiting = [r for r in outcome.all_results if r.result in {Result.RUNNING, Result.WAITING}]
    lines = [] if outcome.admission is None else [f"no new copies: {outcome.admission}"]
    return lines + capped(waiting, lambda r: f"  {result_text(r)}{_for(r)}", limit=SHOWN)


def _for(result: AnyResult) -> str:
    """For how long it has waited, where that is known."""
    waited = result.held_seconds if isinstance(result, PartitionResult) else None
    return "" if waited is None else f" (for {duration(waited)})"


def _goes_on(outcome: Outcome) -> list[str]:
    lines = []
    copying = sorted({*outcome.copying, *outcome.copying_within})
    if copying:
        named = ", ".join(capped(list(map(str, copying)), limit=SHOWN))
        lines.append(f"These copies continue{', throttled' if outcome.throttled else ''}: {named}.")
        lines += [UNTIL_RESUMED] if outcome.throttled and outcome.copying else []
    if outcome.may_begin:
        named = ", ".join(capped(list(map(str, outcome.may_begin)), limit=SHOWN))
        lines.append(
            f"No copy runs of these, and one may still begin, as a request without an answer may arrive: {named}."
        )
    return [*lines, *map(str, outcome.leftovers), RESUME_HINT]


def _failed(outcome: Outcome) -> str:
    if outcome.ending is Ending.UNREACHABLE:
        return f"the cluster has not answered for {outcome.seconds:.0f} s"
    if outcome.ending is Ending.REFUSED:
        return f"the cluster has refused what this user asks for, for {outcome.seconds:.0f} s"
    return (
        f"the journal could not be written for {outcome.seconds:.0f} s, so nothing more was asked"
    )


def _hanging(outcome: Outcome) -> list[str]:
    named = ", ".join(capped(list(map(str, outcome.copying)), limit=SHOWN))
    later = "they are not throttled any more, and if they move again, they go as fast as they can"
    return [
        f"These have not moved for too long: {named}.",
        f"Throttles are restored; {later}. `replan status` says how far each is.",
    ]


def _restored(outcome: Outcome) -> list[str]:
    match outcome.ending, outcome.leftovers:
        case Ending.RESTORED, _:
            return ["throttles set by replan: all restored to what was there before"]
        case Ending.COPIES_THROTTLED, _:
            named = ", ".join(map(str, outcome.copying))
            return [f"throttles set by replan: restored, except for running copies: {named}"]
        case _, ():
            return [
                (
                    "throttles set by replan: some could not be restored; rerun, "
                    "and check that the principal may ALTER_CONFIGS"
                )
            ]
        case _, left:
            return ["throttles set by replan: not all restored", *map(str, left)]
