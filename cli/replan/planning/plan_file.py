"""The written form of a plan: canonical JSON, one move a line, with a digest over all of it.

The same plan gives the same bytes. Its digest is the sha256 of the document without the digest itself. Reading
writes it again and compares every byte, so a plan that was edited after the review, be it by a space, is refused.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from replan.documents.json_text import NotJson, parse_json
from replan.errors import BadFile
from replan.model.names import BrokerId, TopicId, TopicPartition, replicas
from replan.model.placement import MoveThrottle
from replan.planning.moves import Move
from replan.planning.plan import Plan, Refusal

FORMAT_VERSION = 1
KIND = "replan.plan"


def dumps(plan: Plan) -> str:
    """Write a plan; ends with a newline."""
    body = _body(plan)
    return body[: -len("\n}\n")] + f',\n"digest": {_json(_sha256(body))}\n}}\n'


def digest(plan: Plan) -> str:
    """sha256 of the plan, in hex: what an application and a reviewer know it by."""
    return _sha256(_body(plan))


def loads(text: str, source: str) -> Plan:
    """Read a plan; raises BadFile where the text is no plan, is damaged, or was changed after it was written."""
    try:
        document = parse_json(text)
    except NotJson as error:
        raise BadFile(
            f"{source}{error.place}: not a plan: {error.problem}; make a new one with `replan plan -o`"
        ) from error
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise BadFile(f"{source}: not a plan (no `kind: {KIND}`); make one with `replan plan -o`")
    version = document.get("formatVersion")
    if version != FORMAT_VERSION:
        raise BadFile(
            f"{source}: plan format {version}, this replan reads {FORMAT_VERSION}; plan again with this version"
        )
    try:
        plan = _plan(document)
        written = dumps(plan)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise BadFile(
            f"{source}: damaged plan ({type(error).__name__}: {error}); make a new one with `replan plan -o`"
        ) from error
    if written != text:
        raise BadFile(
            f"{source}: the plan was changed after it was written (it does not fit its digest); "
            "what runs is only what was reviewed: make a new plan"
        )
    return plan


def _body(plan: Plan) -> str:
    topics = sorted({m.partition.topic for m in plan.moves})
    reasons = sorted({m.reason for m in plan.moves})
    of_topic = {m.partition.topic: m for m in plan.moves}
    header = {
        "formatVersion": FORMAT_VERSION,
        "kind": KIND,
        "clusterId": plan.cluster_id,
        "manifestDigest": plan.manifest_digest,
        "brokers": {str(b): rack for b, rack in sorted(plan.racks.items())},
        "throttle": _throttle(plan.throttle),
        "warnings": list(plan.warnings),
        "refusals": [_refusal(r) for r in plan.refusals],
        "reasons": reasons,
    }
    lines = [f"{_json(key)}: {_json(value)}" for key, value in header.items()]
    lines.append(_rows("topics", [_topic(of_topic[name]) for name in topics]))
    numbers = {reason: i for i, reason in enumerate(reasons)}
    lines.append(_rows("moves", [_move(m, numbers[m.reason], plan) for m in plan.moves]))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _topic(of: Move) -> dict[str, object]:
    return {
        "name": of.partition.topic,
        "id": of.topic_id,
        "minInsyncReplicas": of.min_insync_replicas,
        "uncleanLeaderElection": of.unclean_election,
    }


def _move(move: Move, reason: int, plan: Plan) -> dict[str, object]:
    row: dict[str, object] = {
        "topic": move.partition.topic,
        "partition": move.partition.partition,
        "original": list(move.original),
        "target": list(move.target),
        "leader": move.leader,
        "bytes": move.bytes,
        "reason": reason,
    }
    if not move.elect:
        row["elect"] = False
    if move.unnameable:
        row["unnameable"] = sorted(move.unnameable)
    if move.below_min_isr:
        row["belowMinIsr"] = True
    if move.partition in plan.remember:
        row["remember"] = True
    return row


def _rows(name: str, rows: list[dict[str, object]]) -> str:
    return f'"{name}": [' + ",".join("\n  " + _json(row) for row in rows) + ("\n]" if rows else "]")


def _throttle(throttle: MoveThrottle | None) -> dict[str, object] | None:
    if throttle is None:
        return None
    brokers = {str(b): rate for b, rate in sorted(throttle.brokers.items())}
    return {"bytesPerSecond": throttle.rate, "brokers": brokers}


def _refusal(refusal: Refusal) -> dict[str, object]:
    return {
        "subject": refusal.subject,
        "rule": refusal.rule,
        "message": refusal.message,
        "held": refusal.held,
    }


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _plan(document: Mapping[str, Any]) -> Plan:
    topics = {t["name"]: t for t in document["topics"]}
    moves = tuple(_read_move(row, topics, document["reasons"]) for row in document["moves"])
    remembered = (
        TopicPartition(r["topic"], r["partition"]) for r in document["moves"] if r.get("remember")
    )
    return Plan(
        cluster_id=document["clusterId"],
        manifest_digest=document["manifestDigest"],
        racks={BrokerId(int(b)): rack for b, rack in document["brokers"].items()},
        moves=moves,
        throttle=_read_throttle(document["throttle"]),
        refusals=tuple(Refusal(**r) for r in document["refusals"]),
        warnings=tuple(document["warnings"]),
        remember=frozenset(remembered),
    )


def _read_move(row: Mapping[str, Any], topics: Mapping[str, Any], reasons: list[str]) -> Move:
    topic = topics[row["topic"]]
    return Move(
        partition=TopicPartition(row["topic"], row["partition"]),
        topic_id=TopicId(topic["id"]),
        original=replicas(*row["original"]),
        target=replicas(*row["target"]),
        min_insync_replicas=topic["minInsyncReplicas"],
        unclean_election=topic["uncleanLeaderElection"],
        reason=reasons[row["reason"]],
        bytes=row["bytes"],
        elect=row.get("elect", True),
        unnameable=frozenset(replicas(*row.get("unnameable", ()))),
        below_min_isr=row.get("belowMinIsr", False),
        leader=row["leader"],
    )


def _read_throttle(found: Mapping[str, Any] | None) -> MoveThrottle | None:
    if found is None:
        return None
    brokers = {BrokerId(int(b)): rate for b, rate in found["brokers"].items()}
    return MoveThrottle(found["bytesPerSecond"], brokers)
