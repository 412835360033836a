"""What differs between two plans: their headers, throttles and settings key by key, their moves partition by partition.

DeepDiff compares the small parts, where it says well what changed and where. Replica lists are compared as lists:
`[1,2,3] -> [1,3,2]` is one change of order and not two changes of index.
"""

from collections.abc import Iterator
from typing import Any

from replan.model.names import TopicPartition
from replan.planning.moves import Move
from replan.planning.plan import Plan
from replan.reporting.quantities import brokers, rate
from replan.wording import capped


def render_difference(before: Plan, after: Plan) -> str:
    """Plain text, from `before` to `after`; ends with a newline."""
    lines = [*_settings(before, after), *_moves(before, after)]
    return "\n".join(lines or ["The two plans are the same."]) + "\n"


def _settings(before: Plan, after: Plan) -> Iterator[str]:
    from deepdiff import DeepDiff

    found = DeepDiff(_small(before), _small(after), view="tree")
    changes = [change for kind in sorted(found) for change in found[kind]]
    for change in sorted(changes, key=lambda c: str(c.path(output_format="list"))):
        name = ".".join(str(key) for key in change.path(output_format="list"))
        yield f"{name}: {_shown(change.t1)} -> {_shown(change.t2)}"


def _small(plan: Plan) -> dict[str, Any]:
    throttle = plan.throttle
    return {
        "cluster": plan.cluster_id,
        "manifest": plan.manifest_digest[:16],
        "brokers": {str(b): rack for b, rack in plan.racks.items()},
        "throttle": None
        if throttle is None
        else {
            "rate": rate(throttle.rate),
            "brokers": {str(b): rate(r) for b, r in throttle.brokers.items()},
        },
        "topics": {
            m.partition.topic: {
                "id": m.topic_id,
                "min.insync.replicas": m.min_insync_replicas,
                "unclean.leader.election.enable": m.unclean_election,
            }
            for m in plan.moves
        },
    }


def _shown(value: object) -> str:
    return "absent" if type(value).__name__ == "NotPresent" else str(value)


def _moves(before: Plan, after: Plan) -> list[str]:
    was, now = _by_name(before), _by_name(after)
    named = [(name, was.get(name), now.get(name)) for name in sorted({*was, *now})]
    changed = [(n, a, b) for n, a, b in named if _lists(a) != _lists(b)]
    return capped(changed, lambda c: f"{c[0]}: {_lists(c[1])} => {_lists(c[2])}", noun="move")


def _by_name(plan: Plan) -> dict[TopicPartition, Move]:
    return {m.partition: m for m in plan.moves}


def _lists(move: Move | None) -> str:
    return "no move" if move is None else f"{brokers(move.original)} -> {brokers(move.target)}"
