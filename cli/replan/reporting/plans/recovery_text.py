"""Partitions without a leader as text: the candidates with what each lacks, the choice, and what it loses."""

from collections.abc import Iterator, Mapping, Sequence

from replan.model.names import TopicPartition
from replan.model.replica_logs import ReplicaLog
from replan.planning.plans.moves import Move
from replan.planning.plans.plan import Plan
from replan.planning.recovery.candidates import Candidate, Tail, best_candidate, parting
from replan.planning.recovery.recovery import Recovery
from replan.reporting.lines import aligned_lines
from replan.wording import brokers, capped, count, duration, left_out, listed, size

RECOVERIES_SHOWN = 50
"""Partitions whose candidates are shown one by one."""
HEADINGS = (
    "broker",
    "state",
    "leader epoch",
    "last epoch",
    "log end",
    "lacks",
    "beyond the best",
    "",
)


def recovery_lines(recovery: Recovery) -> Iterator[str]:
    """One recovery: who leads, why, the candidates, and the loss."""
    yield f"{recovery.partition}  {recovery}"
    yield from candidate_lines(recovery.candidates, recovery.bytes)
    if recovery.reorders:
        gone = tuple(b for b in recovery.original if b not in recovery.order)
        dropped = f"; not registered, left out: {brokers(gone)}" if gone else ""
        yield f"list   {brokers(recovery.original)} -> {brokers(recovery.order)}{dropped}"
    if recovery.reassigned:
        yield f"list   {brokers(recovery.original)} stays, as a reassignment runs on it"
    election = "preferred" if recovery.clean else "unclean"
    wait = (
        f", after {duration(recovery.wait_seconds)} without a leader"
        if recovery.wait_seconds
        else ""
    )
    yield f"elect  {recovery.chosen} ({election} election{wait})"
    yield f"{loss_text(recovery)}"


def loss_text(recovery: Recovery) -> str:
    """What is lost at least, and what nobody knows."""
    loss = recovery.loss
    if recovery.clean:
        return "Loses nothing: it was in sync with every acknowledged record."
    text = "Loses no record that is known"
    if loss.records:
        text = f"Loses at least {count(loss.records, 'record')}: {_tails_text(loss.tails)}"
    if loss.unknown:
        text += f"; what {listed(loss.unknown)} had beyond that is not known"
    chosen = next((c.known_log for c in recovery.candidates if c.broker == recovery.chosen), None)
    if chosen is not None and not chosen.end:
        text += f". The log of {recovery.chosen} is empty: Kafka then deletes what a tiered topic has in remote storage"
    return text + "."


def _tails_text(tails: Sequence[Tail]) -> str:
    if len(tails) == 1:
        return f"those of broker {tails[0].broker} from offset {tails[0].begin:,} on"
    each = (f"{t.records:,} of broker {t.broker} from offset {t.begin:,} on" for t in tails)
    return ", ".join(each)


def candidate_lines(ranked: Sequence[Candidate], size_bytes: int = 0) -> list[str]:
    """The candidates as a table."""
    leading = best_candidate(ranked)
    longest = max((c.known_log.end for c in ranked if c.known_log is not None), default=0)
    each = size_bytes / longest if longest else 0.0
    rows = [HEADINGS, *(_row(c, leading, each) for c in ranked)]
    return aligned_lines(rows)


def _row(candidate: Candidate, leading: Candidate | None, record_bytes: float) -> tuple[str, ...]:
    log = candidate.known_log
    name, state = str(candidate.broker), _state(candidate)
    marks = ", ".join(_marks(candidate))
    if log is None:
        return name, state, "?", "?", "?", "?", "?", marks
    current = str(log.leader_epoch) if log.leader_epoch >= 0 else "?"
    epoch = str(log.last_epoch) if log.last_epoch >= 0 else "none"
    if leading is None or leading.known_log is None or leading is candidate:
        return (
            name,
            state,
            current,
            epoch,
            f"{log.end:,}",
            "",
            "",
            "; ".join(filter(None, ["best log", marks])),
        )
    begin = parting(leading.known_log, log)
    lacks = leading.known_log.end - begin
    about = f" (about {size(round(lacks * record_bytes))})" if record_bytes and lacks else ""
    beyond = f"{log.end - begin:,} from {begin:,}" if log.end > begin else "0"
    return name, state, current, epoch, f"{log.end:,}", f"{lacks:,}{about}", beyond, marks


def _state(candidate: Candidate) -> str:
    if not candidate.registered:
        return "not registered"
    if not candidate.alive:
        return "not live"
    log = candidate.log
    if isinstance(log, ReplicaLog):
        return "live"
    if log is None:
        return "live, not asked"
    reason = log.reason or log.problem.value
    return f"live, log unknown: {reason}"


def _marks(candidate: Candidate) -> Iterator[str]:
    if candidate.eligible:
        yield "in sync last (ISR or ELR)"
    if candidate.last_known_leader:
        yield "last known leader"


def recovery_summary(recoveries: Sequence[Recovery]) -> str:
    """How many partitions are to be led again, and what that loses."""
    unclean = [r for r in recoveries if not r.clean]
    if not unclean:
        return f"{count(len(recoveries), 'partition')} to be led again, cleanly."
    lost = sum(r.loss.records for r in unclean)
    lost_text = f"at least {count(lost, 'record')} lost" if lost else "no record lost that is known"
    named = count(len(recoveries), "partition")
    return f"{named} to be led again, {len(unclean):,} unclean: {lost_text}."


def render_recoveries(plan: Plan, candidates: Mapping[TopicPartition, Sequence[Candidate]]) -> str:
    """What would be done, the candidates of what is refused too, and the summary; ends with a newline."""
    lines: list[str] = []
    for recovery in plan.recoveries[:RECOVERIES_SHOWN]:
        first, *rest = recovery_lines(recovery)
        lines += [first, *(f"    {line}" for line in rest), ""]
    lines += left_out(len(plan.recoveries) - RECOVERIES_SHOWN, "recovery", "-o saves them all")
    lines += capped(plan.moves, _led_text, limit=RECOVERIES_SHOWN)
    refused = [r for r in plan.refusals if r.partition in candidates]
    for refusal in refused[:RECOVERIES_SHOWN]:
        lines += [f"refused: {refusal}  [{refusal.rule}]"]
        lines += [*(f"    {line}" for line in candidate_lines(candidates[refusal.partition])), ""]
    lines += left_out(len(refused) - RECOVERIES_SHOWN, "refusal", "-o saves them all")
    others = [r for r in plan.refusals if r.partition not in candidates]
    lines += [f"refused: {r}  [{r.rule}]" for r in others]
    lines += [str(warning) for warning in plan.warnings]
    if plan.recoveries or not plan.moves:
        lines.append(recovery_summary(plan.recoveries) if plan.recoveries else "Nothing to elect.")
    if plan.moves:
        lines.append(
            f"{count(len(plan.moves), 'partition')} to be led by another replica, cleanly."
        )
    return "\n".join(lines) + "\n"


def _led_text(move: Move) -> str:
    """A partition that is led, and another replica that was named."""
    text = f"{move.partition}  leader {move.leader} -> {move.target[0]}  (cleanly)"
    if move.is_leader_only:
        return text
    return f"{text}; list {brokers(move.original)} -> {brokers(move.target)}"
