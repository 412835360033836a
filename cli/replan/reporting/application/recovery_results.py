"""What became of partitions that nobody led, and of those that a replica was named for, one by one: as json."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from replan.applying.views.outcome import Outcome, PartitionResult
from replan.model.names import TopicPartition
from replan.planning.plans.plan import Plan
from replan.planning.recovery.candidates import Candidate, Tail, best, parting
from replan.planning.recovery.log_forms import candidate_form
from replan.planning.recovery.recovery import Method
from replan.reporting.application.election_text import ElectionResult, election_result
from replan.reporting.sentences.plan_notes import refusal_text
from replan.reporting.sentences.result_text import result_text

TYPES = {
    Method.BALANCED: "best-log",
    Method.AGGRESSIVE: "best-log",
    Method.UNCLEAN: "unclean",
    Method.DESIGNATED: "designated",
}
Row = dict[str, object]
Candidates = Mapping[TopicPartition, Sequence[Candidate]]
NOTHING_KNOWN: Candidates = {}


def render_recoveries_json(
    method: Method,
    plan: Plan,
    outcome: Outcome | None = None,
    not_needed: Iterable[TopicPartition] = (),
    found: Candidates = NOTHING_KNOWN,
) -> str:
    """How each partition ended, or what would be done; the keys are those of `elect preferred`. Ends with a newline.

    `outcome` is None where nothing was asked for; `found`: the candidates of partitions that are refused.
    """
    rows = sorted(_rows(plan, outcome, not_needed, found), key=lambda named: named[0])
    counts = Counter(row["result"] for _, row in rows)
    document = {
        "formatVersion": 1,
        "kind": "replan.election",
        "electionType": TYPES[method],
        "clusterId": plan.cluster_id,
        "ending": None if outcome is None else str(outcome.ending),
        "counts": {kind.value: counts[kind] for kind in ElectionResult},
        "partitions": [
            {"topic": name.topic, "partition": name.partition, **_known(row)} for name, row in rows
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def _rows(
    plan: Plan, outcome: Outcome | None, not_needed: Iterable[TopicPartition], found: Candidates
) -> Iterator[tuple[TopicPartition, Row]]:
    results = () if outcome is None else outcome.all_results
    ended = {r.partition: r for r in results if isinstance(r, PartitionResult)}
    for recovery in plan.recoveries:
        row: Row = {
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
                "message": refusal_text(refusal),
                "candidates": _candidates(found.get(refusal.partition, ())),
            },
        )
    for name in not_needed:
        yield name, {"result": ElectionResult.NOT_NEEDED}


def _result(ended: PartitionResult | None) -> Row:
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


def _candidates(found: Sequence[Candidate]) -> object:
    leading = best(found)
    return [msgspec.to_builtins(candidate_form(c)) | _against(leading, c) for c in found] or None


def _against(leading: Candidate | None, candidate: Candidate) -> Row:
    """Where a log parts from the best one, what it lacks of it, and what it has beyond; in records."""
    if leading is None or leading.known is None or candidate.known is None:
        return {}
    begin = parting(leading.known, candidate.known)
    lacks, beyond = leading.known.end - begin, candidate.known.end - begin
    return {"partsAt": begin, "lacks": lacks, "beyond": max(0, beyond)}


def _known(row: Row) -> Row:
    return {key: value for key, value in row.items() if value is not None}
