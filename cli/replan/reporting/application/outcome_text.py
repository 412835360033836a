"""How an application ended: as text, first what went wrong, by partition, then the line that sums it up; and as JSON.

Also how each partition, setting and replica stands in the end, with why; and what became of elections that were asked
for by themselves, and of recoveries, one by one.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from replan.applying.reasons.holds import NoLeader
from replan.applying.views.outcome import (
    AnyResult,
    Ending,
    Outcome,
    PartitionResult,
    Result,
    results_summary,
)
from replan.model.names import BrokerId, TopicPartition
from replan.planning.elections.preferred import PreferredElections
from replan.planning.plans.plan import Plan
from replan.planning.plans.reasons import Refusal, left_out_text
from replan.planning.recovery.candidates import Candidate, Tail, best_candidate, parting
from replan.planning.recovery.recovery import RecoveryMethod
from replan.reporting.json_report import json_report
from replan.wording import NAMES_SHOWN, capped, count, duration, size


def result_text(result: AnyResult) -> str:
    """How it stands: a sentence without a full stop, or what the journal keeps of its end."""
    if result.result not in {Result.RUNNING, Result.WAITING}:
        return result.message
    if result.hold is not None:
        return f"{result.subject}: {result.hold}"
    return f"{result.subject}: {'started' if result.result is Result.RUNNING else 'not started'}"


RESUME_HINT = "Rerun to resume."
END_HINT = "Or end it: `replan abandon --cancel-copies` ends its copies"
CANCEL_HINT = f"{END_HINT}, `replan cancel` takes back all that is not finished."
LEADERLESS_HINT = (
    "Where a partition has no leader and no replica that was in sync comes back: `replan abandon --unthrottled`, then "
    "`replan elect best-log`, which lets another one lead."
)
STILL_THROTTLED = f"throttles set by replan are still in place; {RESUME_HINT}"
UNTIL_RESUMED = (
    "Until you resume, a kept replica that falls out of sync catches up under their throttle."
)
STOPPED = frozenset({Result.STALE, Result.REJECTED, Result.FOREIGN})
GROUP_NAMES_SHOWN = 3
"""The same of many that wait for the same."""


def render_outcome(outcome: Outcome) -> str:
    """Plain text; ends with a newline."""
    led = [r for r in outcome.results if r.result is Result.DONE and r.message]
    stopped = [r for r in outcome.results if r.result in STOPPED]
    lines = capped(led, lambda r: r.message, limit=NAMES_SHOWN)
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
    partitions = outcome.partitions
    if len(partitions) == len(outcome.results) and text == f"{len(partitions)} done":
        text = _counted(partitions)
    took = duration(performed.seconds)
    parts = [f"{text} in {took}{' since it was resumed' if performed.resumed else ''}"]
    parts += [f"{size(performed.copied_bytes)} copied"] if performed.copied_bytes else []
    parts += [f"throttles {performed.throttles}"] if performed.throttles is not None else []
    return "; ".join([*parts, f"`replan journal show` has application {performed.application}"])


def _counted(done: Sequence[PartitionResult]) -> str:
    """`3 new partitions, 1 partition led again, 55 moves`: what is done, by what it was."""
    created, led = sum(r.created for r in done), sum(bool(r.message) for r in done)
    moves = sum(not r.created for r in done) - led
    parts = [count(created, "new partition")] if created else []
    parts += [f"{count(led, 'partition')} led again"] if led else []
    return ", ".join([*parts, *([count(moves, "move")] if moves else [])])


def refused_line(refusal: Refusal) -> str:
    """A partition that the plan leaves out, with why and the way out."""
    return f"{'held' if refusal.held else 'refused'}: {refusal}  [{refusal.rule}]"


def outcome_text(outcome: Outcome, *, holds: bool = True) -> str:
    """What happened, in a line, and in the next ones what `holds` it and what to do now."""
    counts = results_summary(outcome.results, outcome.refusals, outcome.others)
    match outcome.ending:
        case Ending.COMPLETE:
            lines = _cancelled(outcome, counts)
        case Ending.NOTHING_TO_DO:
            left_out = left_out_text(outcome.refusals)
            lines = [
                f"nothing to do{f'; {left_out}' if left_out else ': the cluster is as the plan wants it'}"
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
            lines += [LEADERLESS_HINT] if any(map(_without_leader, outcome.results)) else []
        case Ending.OTHERS_HANG:
            lines = [f"gave up: {counts}", *_hanging(outcome)]
        case Ending.WINDOW_OVER | Ending.LEFT_TO_ANOTHER:
            window = outcome.ending is Ending.WINDOW_OVER
            why = "the time of --until has come" if window else "left to whoever abandons it"
            lines = [f"{why}: {counts}", *(_goes_on(outcome) if window else [])]
        case Ending.UNREACHABLE | Ending.REFUSED | Ending.NOT_WRITTEN:
            lines = [f"{_failed(outcome)}: {outcome.error}", counts, RESUME_HINT]
        case Ending.RESTORED | Ending.COPIES_THROTTLED | Ending.NOT_RESTORED:
            given_up = f"abandoned: {results_summary(outcome.results, abandoned=True)}"
            lines = [*([given_up] if outcome.abandoned else []), *_restored(outcome)]
    return "\n".join(lines)


def _without_leader(result: AnyResult) -> bool:
    return result.result is Result.RUNNING and isinstance(result.hold, NoLeader)


def _cancelled(outcome: Outcome, counts: str) -> list[str]:
    """What went back, and what stays, where the application was cancelled."""
    if not outcome.cancelled:
        return [counts]
    went = [r for r in outcome.partitions if r.result in {Result.DONE, Result.CANCELLED}]
    elsewhere = {*map(str, outcome.finished), *outcome.kept}
    elsewhere.update(str(r.partition) for r in outcome.refusals)
    back = sum(1 for r in went if str(r.partition) not in elsewhere and not r.created)
    lines = [
        f"application {outcome.cancelled} is cancelled: {count(back, 'partition')} back at the original list"
    ]
    stopped = [r for r in outcome.partitions if r.result in STOPPED]
    if stopped or outcome.refusals:
        lines[0] += f"; not: {results_summary(stopped, outcome.refusals)}"
    stays = [*outcome.finished, *(s.subject for s in outcome.settings if s.result is Result.DONE)]
    if stays:
        named = ", ".join(capped(list(map(str, stays)), limit=NAMES_SHOWN))
        lines.append(
            f"Finished before, and left as they are: {named}. `replan rollback` plans the way back of what was changed "
            "of these, too."
        )
    if outcome.kept:
        named = ", ".join(capped(list(outcome.kept), limit=NAMES_SHOWN))
        lines.append(f"Created or led again, which nothing takes back: {named}.")
    return lines


def _held(outcome: Outcome) -> list[str]:
    """What holds what is not over; what waits for the same stands in one line."""
    alike = dict[object, list[AnyResult]]()
    for result in outcome.results:
        if result.result in {Result.RUNNING, Result.WAITING}:
            alike.setdefault((result.result, result.hold), []).append(result)
    lines = [] if outcome.admission is None else [f"no new copies: {outcome.admission}"]
    return lines + capped([*alike.values()], _alike, limit=NAMES_SHOWN)


def _alike(results: Sequence[AnyResult]) -> str:
    """One result, or several that wait for the same, with how long one of them has waited at most."""
    waited = max(
        (r.held_seconds or 0 for r in results if isinstance(r, PartitionResult)), default=0
    )
    since = f" (for {duration(waited)})" if waited else ""
    if len(results) == 1:
        return f"  {result_text(results[0])}{since}"
    state = "started" if results[0].result is Result.RUNNING else "not started"
    why = state if results[0].hold is None else f"{state}: {results[0].hold}"
    named = ", ".join(capped([str(r.subject) for r in results], limit=GROUP_NAMES_SHOWN))
    return f"  {len(results):,} {why}{since}: {named}"


def _goes_on(outcome: Outcome) -> list[str]:
    lines = []
    copying = sorted({*outcome.copying, *outcome.copying_within})
    if copying:
        named = ", ".join(capped(list(map(str, copying)), limit=NAMES_SHOWN))
        lines.append(f"These copies continue{', throttled' if outcome.throttled else ''}: {named}.")
        lines += [UNTIL_RESUMED] if outcome.throttled and outcome.copying else []
    if outcome.may_begin:
        named = ", ".join(capped(list(map(str, outcome.may_begin)), limit=NAMES_SHOWN))
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
    named = ", ".join(capped(list(map(str, outcome.copying)), limit=NAMES_SHOWN))
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
        case _, leftovers:
            return ["throttles set by replan: not all restored", *map(str, leftovers)]


_ELECTIONS_SHOWN = 500
RowFields = dict[str, object]
NamedFields = tuple[TopicPartition, RowFields]


class ElectionResult(StrEnum):
    """How one partition ended, with the meaning that Kafka's tool gives these words."""

    ELECTED = "elected"
    """Its leader was read again afterwards."""
    PLANNED = "planned"
    """To be elected: the plan is saved, and nothing was asked for."""
    NOT_NEEDED = "not-needed"
    """Led by its preferred replica already (84, ELECTION_NOT_NEEDED)."""
    FAILED = "failed"
    UNFINISHED = "unfinished"
    """Left before its end; the same command goes on with it."""


ELECTION_TITLES: Mapping[ElectionResult, str] = {
    ElectionResult.NOT_NEEDED: "Not needed",
    ElectionResult.PLANNED: "To be elected",
    ElectionResult.ELECTED: "Elected",
    ElectionResult.UNFINISHED: "Not finished",
    ElectionResult.FAILED: "Failed",
}
"""In the order in which they are shown: what matters most is at the end, where a terminal stops."""


class ElectionRow(Struct, frozen=True):
    """One partition."""

    partition: TopicPartition
    result: ElectionResult
    preferred: BrokerId | None = None
    before: BrokerId | None = None
    """Who led when it was looked at first."""
    rule: str | None = None
    """Why it failed: the rule that refuses it, or how its move ended."""
    message: str = ""
    """The complete sentence of why."""


def election_result(result: Result) -> ElectionResult:
    """How a partition ended, in these words."""
    match result:
        case Result.DONE:
            return ElectionResult.ELECTED
        case Result.RUNNING | Result.WAITING:
            return ElectionResult.UNFINISHED
        case _:
            return ElectionResult.FAILED


def election_results(
    elections: PreferredElections, outcome: Outcome | None
) -> Sequence[ElectionRow]:
    """How each partition ended, by name; `outcome` is None where nothing was asked for."""
    by_name = {n: ElectionRow(n, ElectionResult.NOT_NEEDED) for n in elections.not_needed}
    for refusal in elections.plan.refusals:
        rule, text = str(refusal.rule), str(refusal)
        by_name[refusal.partition] = ElectionRow(
            refusal.partition, ElectionResult.FAILED, rule=rule, message=text
        )
    moves = {m.partition: m for m in elections.plan.moves}
    for move in moves.values():
        by_name[move.partition] = ElectionRow(
            move.partition, ElectionResult.PLANNED, move.target[0], move.leader
        )
    for ended in () if outcome is None else outcome.partitions:
        name, planned = ended.partition, moves.get(ended.partition)
        preferred = None if planned is None else planned.target[0]
        before = None if planned is None else planned.leader
        result = election_result(ended.result)
        of = ElectionRow(name, result, preferred, before)
        if result is ElectionResult.UNFINISHED:
            of = replace(of, message=result_text(ended))
        elif result is ElectionResult.FAILED:
            of = replace(of, rule=str(ended.result), message=ended.message)
        by_name[name] = of
    return [by_name[name] for name in sorted(by_name)]


def render_elections(
    results: Sequence[ElectionRow], outcome: Outcome | None, at_rest: int = 0
) -> str:
    """The results by kind, and the counts; ends with a newline.

    `at_rest`: how many more partitions need no election, and are not listed.
    """
    lines = []
    for kind, title in ELECTION_TITLES.items():
        of = [r for r in results if r.result is kind]
        if of:
            shown = _ELECTIONS_SHOWN if kind is not ElectionResult.NOT_NEEDED else 5
            lines.append(f"{title} ({len(of):,}):")
            lines += [f"  {line}" for line in capped(of, _line, limit=shown)]
    counts = Counter(r.result for r in results)
    if at_rest:
        counts[ElectionResult.NOT_NEEDED] += at_rest
    named = [f"{counts[k]:,} {k.value.replace('-', ' ')}" for k in ELECTION_TITLES if k in counts]
    lines.append(f"{count(counts.total(), 'partition')}: {', '.join(named) or 'none is meant'}.")
    if outcome is not None and outcome.ending not in {Ending.COMPLETE, Ending.NOTHING_TO_DO}:
        lines.append(outcome_text(outcome))
    return "\n".join(lines) + "\n"


def _line(of: ElectionRow) -> str:
    if of.message:
        return of.message
    before = "none" if of.before is None else of.before
    return (
        str(of.partition)
        if of.preferred is None
        else f"{of.partition}: leader {before} -> {of.preferred}"
    )


def render_elections_json(
    cluster_id: str, results: Sequence[ElectionRow], outcome: Outcome | None, at_rest: int = 0
) -> str:
    """The same as json; ends with a newline."""
    rows: list[NamedFields] = [
        (
            of.partition,
            {
                "result": of.result,
                "preferred": of.preferred,
                "leaderBefore": of.before,
                "rule": of.rule,
                "message": of.message or None,
            },
        )
        for of in results
    ]
    return _election_json("preferred", cluster_id, rows, outcome, at_rest)


def _election_json(
    election_type: str,
    cluster_id: str,
    rows: Sequence[NamedFields],
    outcome: Outcome | None,
    at_rest: int = 0,
) -> str:
    counts = Counter(row["result"] for _, row in rows)
    counts[ElectionResult.NOT_NEEDED] += at_rest
    fields: dict[str, object] = {
        "electionType": election_type,
        "clusterId": cluster_id,
        "ending": None if outcome is None else str(outcome.ending),
        "counts": {kind.value: counts[kind] for kind in ElectionResult},
        "partitions": [
            name._asdict() | {key: value for key, value in row.items() if value is not None}
            for name, row in rows
        ],
    }
    return json_report("replan.election", fields)


TYPES = {
    RecoveryMethod.BALANCED: "best-log",
    RecoveryMethod.AGGRESSIVE: "best-log",
    RecoveryMethod.UNCLEAN: "unclean",
    RecoveryMethod.DESIGNATED: "designated",
}
KnownCandidates = Mapping[TopicPartition, Sequence[Candidate]]
NO_CANDIDATES: KnownCandidates = {}


def render_recoveries_json(
    method: RecoveryMethod,
    plan: Plan,
    outcome: Outcome | None = None,
    not_needed: Iterable[TopicPartition] = (),
    candidates: KnownCandidates = NO_CANDIDATES,
) -> str:
    """How each partition ended, or what would be done; the keys are those of `elect preferred`. Ends with a newline.

    `outcome` is None where nothing was asked for; `candidates`: the candidates of partitions that are refused.
    """
    rows = sorted(_rows(plan, outcome, not_needed, candidates), key=lambda named: named[0])
    return _election_json(TYPES[method], plan.cluster_id, rows, outcome)


def _rows(
    plan: Plan,
    outcome: Outcome | None,
    not_needed: Iterable[TopicPartition],
    candidates: KnownCandidates,
) -> Iterator[NamedFields]:
    results = () if outcome is None else outcome.results
    ended = {r.partition: r for r in results if isinstance(r, PartitionResult)}
    for recovery in plan.recoveries:
        row: RowFields = {
            "leader": recovery.chosen,
            "clean": recovery.clean,
            "statedLoss": recovery.loss.records,
            "lostFrom": _tails(recovery.loss.tails),
            "candidates": _candidates(recovery.candidates),
        }
        yield recovery.partition, _result(ended.get(recovery.partition)) | row
    for move in plan.moves:
        row = {"leader": move.target[0], "leaderBefore": move.leader, "clean": True}
        yield move.partition, _result(ended.get(move.partition)) | row
    for refusal in plan.refusals:
        yield (
            refusal.partition,
            {
                "result": ElectionResult.FAILED,
                "rule": refusal.rule,
                "message": str(refusal),
                "candidates": _candidates(candidates.get(refusal.partition, ())),
            },
        )
    for name in not_needed:
        yield name, {"result": ElectionResult.NOT_NEEDED}


def _result(ended: PartitionResult | None) -> RowFields:
    if ended is None:
        return {"result": ElectionResult.PLANNED}
    result = election_result(ended.result)
    failed = result is ElectionResult.FAILED
    return {
        "result": result,
        "rule": str(ended.result) if failed else None,
        "message": result_text(ended) if result is not ElectionResult.ELECTED else None,
        "measuredLoss": ended.lost,
    }


def _tails(tails: Sequence[Tail]) -> object:
    """Whose records the stated loss is made of; none is in two of them."""
    return [{"broker": t.broker, "begin": t.begin, "end": t.end} for t in tails] or None


def _candidates(ranked: Sequence[Candidate]) -> object:
    leading = best_candidate(ranked)
    return [to_builtins(c) | _against(leading, c) for c in ranked] or None


def _against(leading: Candidate | None, candidate: Candidate) -> RowFields:
    """Where a log parts from the best one, what it lacks of it, and what it has beyond; in records."""
    if leading is None or leading.known_log is None or candidate.known_log is None:
        return {}
    begin = parting(leading.known_log, candidate.known_log)
    lacks, beyond = leading.known_log.end - begin, candidate.known_log.end - begin
    return {"partsAt": begin, "lacks": lacks, "beyond": max(0, beyond)}
