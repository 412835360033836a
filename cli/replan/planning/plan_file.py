"""The written form of a plan: canonical JSON, one move a line, with a digest over all of it.

The same plan gives the same bytes. Its digest is the sha256 of the document without the digest itself. Reading
writes it again and compares every byte, so a plan that was edited after the review, be it by a space, is refused.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeVar

from replan.documents.json_text import NotJson, parse_json
from replan.documents.nodes import Node, optional, shown
from replan.errors import BadFile
from replan.model.names import BrokerId, Replicas, TopicId, TopicPartition, replicas
from replan.model.placement import MoveThrottle, SideRates
from replan.model.policy import Measure
from replan.planning.moves import Move
from replan.planning.plan import FACTS, Facts, Plan, PlanWarning, Refusal, RefusalRule, WarningKind

FORMAT_VERSION = 2
"""2: refusals and warnings have facts instead of sentences."""
KIND = "replan.plan"
KEYS = (
    "formatVersion",
    "kind",
    "clusterId",
    "manifestDigest",
    "brokers",
    "throttle",
    "warnings",
    "refusals",
    "reasons",
    "topics",
    "moves",
    "digest",
)
TOPIC_KEYS = ("name", "id", "minInsyncReplicas", "uncleanLeaderElection")
MOVE_KEYS = frozenset(
    {
        "topic",
        "partition",
        "original",
        "target",
        "leader",
        "bytes",
        "reason",
        "elect",
        "unnameable",
        "belowMinIsr",
        "remember",
    }
)

K = TypeVar("K", RefusalRule, WarningKind)


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
        plan = _plan(Node(document, source))
    except BadFile as error:
        raise BadFile(f"{error}; make a new plan with `replan plan -o`") from error
    if dumps(plan) != text:
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
        "clusterName": plan.cluster_name,
        "manifestDigest": plan.manifest_digest,
        "brokers": {str(b): rack for b, rack in sorted(plan.racks.items())},
        "throttle": _throttle(plan.throttle),
        "allowed": dict(sorted(plan.allowed.items())),
        "warnings": [_warning(w) for w in plan.warnings],
        "refusals": [_refusal(r) for r in plan.refusals],
        "reasons": reasons,
    }
    if plan.cluster_name is None:
        del header["clusterName"]
    if not plan.allowed:
        del header["allowed"]
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
    brokers = {str(b): _broker_rate(rate) for b, rate in sorted(throttle.brokers.items())}
    return {"bytesPerSecond": throttle.rate, "brokers": brokers}


def _broker_rate(rate: int | SideRates | None) -> object:
    if isinstance(rate, SideRates):
        return {"leader": rate.leader, "follower": rate.follower}
    return rate


def _refusal(refusal: Refusal) -> dict[str, object]:
    return {
        "topic": refusal.partition.topic,
        "partition": refusal.partition.partition,
        "rule": refusal.rule,
        "facts": dict(refusal.facts),
    }


def _warning(warning: PlanWarning) -> dict[str, object]:
    return {"kind": warning.kind, "facts": dict(warning.facts)}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _plan(root: Node) -> Plan:
    root.mapping((*KEYS, "clusterName", "allowed"))
    for key in KEYS:
        root.child(key)
    reasons = [node.text() for node in root.elements("reasons")]
    topics = {node.child("name").text(): _read_topic(node) for node in root.elements("topics")}
    rows = [(_read_move(node, topics, reasons), node) for node in root.elements("moves")]
    if len({move.partition for move, _ in rows}) < len(rows):
        twice = next(n for n, number in Counter(m.partition for m, _ in rows).items() if number > 1)
        raise root.child("moves").wrong(f"{twice} is moved twice")
    return Plan(
        cluster_id=root.child("clusterId").text(),
        cluster_name=optional(root.get("clusterName"), Node.text, None),
        manifest_digest=root.child("manifestDigest").any_text(),
        racks={_broker(key, node): _rack(node) for key, node in root.members("brokers")},
        moves=tuple(move for move, _ in rows),
        throttle=_read_throttle(root.child("throttle")),
        allowed=optional(root.get("allowed"), _read_allowed, {}),
        refusals=tuple(_read_refusal(node) for node in root.elements("refusals")),
        warnings=tuple(
            PlanWarning(*_note(node, WarningKind, "kind")) for node in root.elements("warnings")
        ),
        remember=frozenset(move.partition for move, node in rows if _flag(node, "remember")),
    )


def _read_topic(node: Node) -> tuple[TopicId, int, bool]:
    node.mapping(TOPIC_KEYS)
    return (
        TopicId(node.child("id").text()),
        node.child("minInsyncReplicas").int32(1),
        node.child("uncleanLeaderElection").flag(),
    )


def _read_move(
    node: Node, topics: Mapping[str, tuple[TopicId, int, bool]], reasons: Sequence[str]
) -> Move:
    node.mapping(MOVE_KEYS)
    topic, reason, leader = node.child("topic"), node.child("reason"), node.child("leader")
    if topic.text() not in topics:
        raise topic.wrong(f"no such topic under $.topics: {shown(topic.value)}")
    if reason.int32() >= len(reasons):
        raise reason.wrong(
            f"there are {len(reasons)} reasons, counted from 0; found {reason.value}"
        )
    topic_id, min_insync, unclean = topics[topic.text()]
    return Move(
        partition=TopicPartition(topic.text(), node.child("partition").int32()),
        topic_id=topic_id,
        original=_replicas(node.child("original")),
        target=_replicas(node.child("target")),
        min_insync_replicas=min_insync,
        unclean_election=unclean,
        reason=reasons[reason.int32()],
        bytes=node.child("bytes").int64(),
        elect=_flag(node, "elect", default=True),
        unnameable=frozenset(optional(node.get("unnameable"), Node.broker_list, replicas())),
        below_min_isr=_flag(node, "belowMinIsr"),
        leader=None if leader.value is None else BrokerId(leader.int32()),
    )


def _replicas(node: Node) -> Replicas:
    found = node.broker_list()
    if not found:
        raise node.wrong("expected a list of broker ids, found none in it")
    return found


def _flag(node: Node, key: str, *, default: bool = False) -> bool:
    return optional(node.get(key), Node.flag, default)


def _broker(key: str, node: Node) -> BrokerId:
    if not (key.isascii() and key.isdecimal() and len(key) < 11 and str(int(key)) == key):
        raise node.wrong("the key is no broker id")
    return BrokerId(Node(int(key), node.source, node.parent, key).int32())


def _rack(node: Node) -> str | None:
    return None if node.value is None else node.any_text()


def _rate(node: Node) -> int | None:
    return None if node.value is None else node.int64()


def _read_broker_rate(node: Node) -> int | SideRates | None:
    if not isinstance(node.value, dict):
        return _rate(node)
    node.mapping(("leader", "follower"))
    return SideRates(_rate(node.child("leader")), _rate(node.child("follower")))


def _read_throttle(node: Node) -> MoveThrottle | None:
    if node.value is None:
        return None
    node.mapping(("bytesPerSecond", "brokers"))
    node.child("brokers")
    brokers = {
        _broker(key, found): _read_broker_rate(found) for key, found in node.members("brokers")
    }
    return MoveThrottle(_rate(node.child("bytesPerSecond")), brokers)


def _read_allowed(node: Node) -> dict[Measure, int]:
    node.mapping(tuple(Measure))
    return {
        Measure(measure): node.child(measure).int64() for measure in Measure if node.get(measure)
    }


def _read_refusal(node: Node) -> Refusal:
    rule, facts = _note(node, RefusalRule, "rule", "topic", "partition")
    name = TopicPartition(node.child("topic").text(), node.child("partition").int32())
    return Refusal(name, rule, facts)


def _note(node: Node, kinds: type[K], key: str, *others: str) -> tuple[K, Facts]:
    """What a refusal and a warning have in common: which one it is, and exactly its facts."""
    node.mapping((key, "facts", *others))
    kind = node.child(key)
    if kind.text() not in set(kinds):
        raise kind.wrong(f"expected one of {', '.join(kinds)}; found {shown(kind.value)}")
    found = kinds(kind.text())
    node.child("facts").mapping(FACTS[found])
    return found, {name: _fact(node.child("facts").child(name)) for name in FACTS[found]}


def _fact(node: Node) -> int | str | tuple[int, ...] | tuple[str, ...]:
    if isinstance(node.value, str):
        return node.any_text()
    if isinstance(node.value, list) and all(isinstance(name, str) for name in node.value):
        return tuple(node.value)
    return node.broker_list() if isinstance(node.value, list) else node.int64()
