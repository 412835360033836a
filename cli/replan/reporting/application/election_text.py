"""What became of elections that were asked for by themselves, partition by partition: as text, and as json."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from replan.applying.views.outcome import Ending, Outcome, Result
from replan.model.names import BrokerId, TopicPartition
from replan.planning.elections.preferred import PreferredElections
from replan.reporting.application.outcome_text import outcome_text
from replan.reporting.sentences.plan_notes import refusal_text
from replan.reporting.sentences.result_text import result_text
from replan.wording import capped, count

SHOWN = 500


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


TITLES: Mapping[ElectionResult, str] = {
    ElectionResult.NOT_NEEDED: "Not needed",
    ElectionResult.PLANNED: "To be elected",
    ElectionResult.ELECTED: "Elected",
    ElectionResult.UNFINISHED: "Not finished",
    ElectionResult.FAILED: "Failed",
}
"""In the order in which they are shown: what matters most is at the end, where a terminal stops."""


@dataclass(frozen=True, slots=True)
class Elected:
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


def election_results(found: PreferredElections, outcome: Outcome | None) -> Sequence[Elected]:
    """How each partition ended, by name; `outcome` is None where nothing was asked for."""
    by_name = {n: Elected(n, ElectionResult.NOT_NEEDED) for n in found.not_needed}
    for refusal in found.plan.refusals:
        rule, text = str(refusal.rule), refusal_text(refusal)
        by_name[refusal.partition] = Elected(
            refusal.partition, ElectionResult.FAILED, rule=rule, message=text
        )
    moves = {m.partition: m for m in found.plan.moves}
    for move in moves.values():
        by_name[move.partition] = Elected(
            move.partition, ElectionResult.PLANNED, move.target[0], move.leader
        )
    for ended in () if outcome is None else outcome.results:
        name, planned = ended.partition, moves.get(ended.partition)
        preferred = None if planned is None else planned.target[0]
        before = None if planned is None else planned.leader
        result = election_result(ended.result)
        of = Elected(name, result, preferred, before)
        if result is ElectionResult.UNFINISHED:
            of = replace(of, message=result_text(ended))
        elif result is ElectionResult.FAILED:
            of = replace(of, rule=str(ended.result), message=ended.message)
        by_name[name] = of
    return [by_name[name] for name in sorted(by_name)]


def render_elections(results: Sequence[Elected], outcome: Outcome | None, at_rest: int = 0) -> str:
    """The results by kind, and the counts; ends with a newline.

    `at_rest`: how many more partitions need no election, and are not listed.
    """
    lines = []
    for kind, title in TITLES.items():
        of = [r for r in results if r.result is kind]
        if of:
            shown = SHOWN if kind is not ElectionResult.NOT_NEEDED else 5
            lines.append(f"{title} ({len(of):,}):")
            lines += [f"  {line}" for line in capped(of, _line, limit=shown)]
    counts = _counts(results, at_rest)
    named = [f"{counts[k]:,} {k.value.replace('-', ' ')}" for k in TITLES if k in counts]
    lines.append(f"{count(counts.total(), 'partition')}: {', '.join(named) or 'none is meant'}.")
    if outcome is not None and outcome.ending not in {Ending.COMPLETE, Ending.NOTHING_TO_DO}:
        lines.append(outcome_text(outcome))
    return "\n".join(lines) + "\n"


def _counts(results: Sequence[Elected], at_rest: int) -> Counter[ElectionResult]:
    counts = Counter(r.result for r in results)
    if at_rest:
        counts[ElectionResult.NOT_NEEDED] += at_rest
    return counts


def _line(of: Elected) -> str:
    if of.message:
        return of.message
    before = "none" if of.before is None else of.before
    return (
        str(of.partition)
        if of.preferred is None
        else f"{of.partition}: leader {before} -> {of.preferred}"
    )


def render_elections_json(
    cluster_id: str, results: Sequence[Elected], outcome: Outcome | None, at_rest: int = 0
) -> str:
    """The same as json; ends with a newline."""
    counts = _counts(results, at_rest)
    document = {
        "formatVersion": 1,
        "kind": "replan.election",
        "electionType": "preferred",
        "clusterId": cluster_id,
        "ending": None if outcome is None else str(outcome.ending),
        "counts": {kind.value: counts[kind] for kind in ElectionResult},
        "partitions": [_json(r) for r in results],
    }
    return json.dumps(document, indent=2) + "\n"


def _json(of: Elected) -> dict[str, object]:
    found = {
        "topic": of.partition.topic,
        "partition": of.partition.partition,
        "result": str(of.result),
        "preferred": of.preferred,
        "leaderBefore": of.before,
        "rule": of.rule,
        "message": of.message or None,
    }
    return {key: value for key, value in found.items() if value is not None}
