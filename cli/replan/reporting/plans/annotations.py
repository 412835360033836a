"""What a review should see at a line of the placement: refusals, warnings, and what makes a plan impossible.

An annotation is a value; how a forge or a scanner wants it written is in `annotation_forms`.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum

from msgspec import Struct

from replan.errors import ReplanError
from replan.model.declared.placement import Placement
from replan.model.declared.where import MistakenPlacement, Where
from replan.planning.findings.causes import Causes
from replan.planning.making.limits import LimitExceeded, exceeded_text
from replan.planning.plans.conflicts import Conflict
from replan.planning.plans.plan import Plan
from replan.planning.plans.reasons import Refusal, RefusalRule
from replan.reporting.sentences import conflict_with_constraints
from replan.wording import left_out


class AnnotationLevel(StrEnum):
    """How bad it is."""

    ERROR = "error"
    """Something is not planned, or nothing is."""
    WARNING = "warning"


class Annotation(Struct, frozen=True):
    """One thing to say at one place."""

    level: AnnotationLevel
    rule: str
    """The kind, as plan files spell it."""
    where: Where | None
    text: str


def plan_annotations(
    plan: Plan, placement: Placement, tried: Iterable[str] = ()
) -> list[Annotation]:
    """Refusals, the conflicts behind them, what Kafka refused when it was tried, and warnings.

    Refusals of one rule at one place are one finding, so that a long topic is not a thousand.
    """
    causes = Causes.of(placement, plan.refusals)
    groups: dict[tuple[Where | None, RefusalRule], list[Refusal]] = {}
    for refusal in plan.refusals:
        groups.setdefault((causes.where(refusal), refusal.rule), []).append(refusal)
    refused = [
        Annotation(
            AnnotationLevel.ERROR,
            rule,
            where,
            "; ".join([str(members[0]), *left_out(len(members) - 1, "partition")]),
        )
        for (where, rule), members in groups.items()
    ]
    by_kafka = (Annotation(AnnotationLevel.ERROR, "kafka-refuses", None, text) for text in tried)
    return [*refused, *map(_conflict, plan.conflicts), *by_kafka, *_warnings(plan, placement)]


def _conflict(conflict: Conflict) -> Annotation:
    """At the first of its constraints that has a place; the text names the places of all."""
    where = next((Where.read(c.where) for c in conflict.constraints if c.where), None)
    return Annotation(AnnotationLevel.ERROR, "conflict", where, conflict_with_constraints(conflict))


def _warnings(plan: Plan, placement: Placement) -> Iterator[Annotation]:
    for warning in plan.warnings:
        where, topic = warning.facts.get("where"), warning.facts.get("topic")
        entry = placement.topics.get(topic) if isinstance(topic, str) else None
        at = Where.read(where) if isinstance(where, str) else None if entry is None else entry.where
        yield Annotation(AnnotationLevel.WARNING, warning.kind, at, str(warning))


def error_annotations(error: ReplanError) -> list[Annotation]:
    """Why there is no plan at all: each mistake, each limit, or the error itself."""
    match error:
        case MistakenPlacement():
            return [
                Annotation(AnnotationLevel.ERROR, "placement", m.where, m.text)
                for m in error.mistakes
            ]
        case LimitExceeded():
            return [
                Annotation(AnnotationLevel.ERROR, "limit", e.limit.where, exceeded_text(e))
                for e in error.exceeded
            ]
        case _:
            return [Annotation(AnnotationLevel.ERROR, "no-plan", None, str(error))]
