"""The written form of a plan: canonical JSON, one move a line, with a digest over all of it.

First the forms: the keys in the order in which they are written, and what can be seen of their values in the document
alone; what a plan has as it is written is the plan's own value. Then a plan into its forms and back, and into text.

The same plan gives the same bytes. Its digest is the sha256 of the document without the digest itself. Reading
writes it again and compares every byte, so a plan that was edited after the review, be it by a space, is refused.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from replan.documents.json_text import INT64_MAX, NotJson, parse_json, shown
from replan.documents.typed import (
    BrokerIds,
    Form,
    Int32,
    Int64,
    Positive,
    ReplicaList,
    Text,
    ValidBrokerId,
    once_each,
    twice,
    typed,
)
from replan.errors import BadFile
from replan.model.declared.placement import MoveThrottle, SideRates
from replan.model.declared.policy import Measure
from replan.model.names import LARGEST_ID, BrokerId, TopicId, TopicPartition, parse_number, replicas
from replan.planning.plans.conflicts import Conflict
from replan.planning.plans.moves import Move, MoveReason, StandaloneElection
from replan.planning.plans.plan import BesideMoves, JudgedBy, Plan
from replan.planning.plans.reasons import PlanWarning, Refusal

PLAN_FORMAT_VERSION = 1
PLAN_KIND = "replan.plan"

ThrottleRate = Annotated[int, msgspec.Meta(ge=1000, le=INT64_MAX)]
"""Bytes per second; a copy that gets less than 1 kB/s never ends."""

BROKER_KEYS = msgspec.Meta(extra_json_schema={"propertyNames": {"pattern": "^(0|[1-9][0-9]*)$"}})


class TopicForm(Form, frozen=True):
    """What the moves of a topic have in common."""

    name: Text
    id: TopicId
    """A topic created again under this name has another id, and its moves are stale."""
    min_insync_replicas: Positive
    """min.insync.replicas when planned; another value makes the moves stale."""
    unclean_leader_election: bool
    """unclean.leader.election.enable when planned."""


class MoveForm(Form, frozen=True):
    """One move."""

    topic: Text
    partition: Int32
    original: ReplicaList
    """The list that is expected to stand there; another one makes the move stale."""
    target: ReplicaList
    """The list that it ends with; the first leads."""
    leader: ValidBrokerId | None
    """Who led when planned; null where nobody did. For estimates only."""
    bytes: Int64
    """Size of the partition; each new replica copies so much."""
    reason: Int32
    """Index into `reasons`."""
    elect: bool = True
    """Written only where false: the first of the target need not lead."""
    unnameable: BrokerIds = replicas()
    """Members of the original that no request may name: unregistered, or cordoned."""
    below_min_isr: bool = False
    """The author accepts fewer replicas than min.insync.replicas."""
    remember: bool = False
    """The original order is journalled, and comes back once the leader blacklist is without the broker."""
    election: StandaloneElection | None = None
    """The move is an election that was asked for by itself, and waits for no replica."""

    def __post_init__(self) -> None:
        once_each(original=self.original, target=self.target, unnameable=self.unnameable)


class SideForm(Form, frozen=True):
    """Rates of the two sides of one broker."""

    leader: ThrottleRate | None
    follower: ThrottleRate | None


class ThrottleForm(Form, frozen=True):
    """Rates; null is unlimited."""

    bytes_per_second: ThrottleRate | None
    brokers: Annotated[dict[str, ThrottleRate | SideForm | None], BROKER_KEYS]
    """Brokers with a rate of their own."""
    keep: bool = False
    """Left in place at the end."""

    def __post_init__(self) -> None:
        _check_brokers(self.brokers)


BESIDE_MOVES = dict(
    zip(BesideMoves.__struct_fields__, BesideMoves.__struct_encode_fields__, strict=True)
)
"""The kinds of steps beside moves, each with its key."""


class PlanForm(BesideMoves, frozen=True, kw_only=True):
    """The document; its keys are written in this order, with the steps beside moves before the moves."""

    format_version: Literal[1]
    kind: Literal["replan.plan"]
    cluster_id: Text
    """The only cluster that it may be applied to."""
    cluster_name: Text | None = None
    """What people call it (`cluster.name` of the placement), for those who read the plan."""
    placement_digest: str
    """sha256 of what the placement files mean, whatever their layout."""
    placement_commit: str = ""
    """The commit of git that they were read from."""
    brokers: Annotated[dict[str, str | None], BROKER_KEYS]
    """The brokers that were registered, each with its rack; null where it has none."""
    silent: BrokerIds = ()
    """Live brokers that did not say what they hold, so that sizes there are not known."""
    throttle: ThrottleForm | None
    """Rates for the copies; null where none is declared."""
    convergence: JudgedBy | None = None
    """By which produce rates it was judged that the copies end at their throttle."""
    allowed: dict[Measure, Int64] = msgspec.field(default_factory=dict)
    """Limits of the placement that were raised for this plan alone (`--allow`)."""
    warnings: tuple[PlanWarning, ...]
    """What a reader should know; stops nothing. `replan show` renders it as sentences."""
    refusals: tuple[Refusal, ...]
    """Partitions that are not moved, each with the reason and the way out."""
    conflicts: tuple[Conflict, ...] = ()
    """What is behind the refusals of partitions that cannot be placed: constraints of which none can be spared."""
    reasons: tuple[MoveReason, ...]
    """Why moves are made; a move names one by its index."""
    topics: tuple[TopicForm, ...]
    """The topics that moves touch, by name."""
    moves: tuple[MoveForm, ...]
    """In the order of admission."""
    digest: Annotated[str, msgspec.Meta(extra_json_schema={"pattern": "^[0-9a-f]{64}$"})]
    """sha256 of the document as written, without this line."""

    def __post_init__(self) -> None:
        _check_brokers(self.brokers, ".brokers")
        for name, key in BESIDE_MOVES.items():
            again = twice(step.twice for step in getattr(self, name))
            if again is not None:
                raise ValueError(f".{key}: {again}")
        moved = twice((row.topic, row.partition) for row in self.moves)
        if moved is not None:
            raise ValueError(f".moves: {TopicPartition(*moved)} is moved twice")
        names = {topic.name for topic in self.topics}
        for number, row in enumerate(self.moves):
            if row.topic not in names:
                raise ValueError(
                    f".moves[{number}].topic: no such topic under $.topics: {shown(row.topic)}"
                )
            if row.reason >= len(self.reasons):
                raise ValueError(
                    f".moves[{number}].reason: there are {len(self.reasons)} reasons, counted from 0; "
                    f"found {row.reason}"
                )


UNCHANGED_FIELDS = [
    name
    for name in PlanForm.__struct_fields__
    if name in Plan.__struct_fields__ and name not in {"throttle", "allowed", "moves"}
]
"""What a document has as the plan has it."""
ROW_KEYS = {"topics", "moves", *BESIDE_MOVES.values()}
"""The lists that are written one value a line."""


def _check_brokers(brokers: Mapping[str, Any], at: str = ".brokers") -> None:
    for key in brokers:
        if parse_number(key) is None:
            raise ValueError(f"{at}.{key}: the key is no broker id, from 0 to {LARGEST_ID:,}")


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
    if not isinstance(document, dict) or document.get("kind") != PLAN_KIND:
        raise BadFile(
            f"{source}: not a plan (no `kind: {PLAN_KIND}`); make one with `replan plan -o`"
        )
    version = document.get("formatVersion")
    if version != PLAN_FORMAT_VERSION:
        raise BadFile(
            f"{source}: plan format {version}, this replan reads {PLAN_FORMAT_VERSION}; plan again with this version"
        )
    try:
        plan = _plan_of(typed(document, PlanForm, source))
    except BadFile as error:
        raise BadFile(f"{error}; make a new plan with `replan plan -o`") from error
    if dumps(plan) != text:
        raise BadFile(
            f"{source}: the plan was changed after it was written (it does not fit its digest); "
            "what runs is only what was reviewed: make a new plan"
        )
    return plan


def _body(plan: Plan) -> str:
    """The document without its digest, and without the comma before it."""
    document = msgspec.to_builtins(_form_of(plan))
    del document["digest"]
    for key in (*BESIDE_MOVES.values(), "moves"):
        if key in document:
            document[key] = document.pop(key)
    return "{\n" + ",\n".join(_part(key, value) for key, value in document.items()) + "\n}\n"


def _part(key: str, value: Any) -> str:
    if key not in ROW_KEYS:
        return f"{_json(key)}: {_json(value)}"
    rows = ",".join("\n  " + _json(row) for row in value)
    return f"{_json(key)}: [{rows}" + ("\n]" if rows else "]")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _form_of(plan: Plan) -> PlanForm:
    reasons = sorted({m.reason for m in plan.moves}, key=_place)
    numbers = {reason: i for i, reason in enumerate(reasons)}
    topics = {m.partition.topic: m for m in plan.moves}
    return PlanForm(
        **{name: getattr(plan, name) for name in UNCHANGED_FIELDS},
        format_version=1,
        kind="replan.plan",
        brokers={str(b): rack for b, rack in sorted(plan.racks.items())},
        throttle=_throttle(plan.throttle),
        allowed=dict(sorted(plan.allowed.items())),
        reasons=tuple(reasons),
        topics=tuple(
            TopicForm(name, of.topic_id, of.min_insync_replicas, of.unclean_election)
            for name, of in sorted(topics.items())
        ),
        moves=tuple(_row(m, numbers[m.reason], plan) for m in plan.moves),
        digest="",
    )


def _place(reason: MoveReason) -> tuple[object, ...]:
    """Where it stands among the reasons of a plan: by kind, then by what it says, as text; what it leaves out last."""
    of_entry = (reason.rule, reason.key, reason.note, reason.owner, reason.review_by)
    order = () if reason.order is None else _place(reason.order)
    return reason.kind, *map(repr, (reason.broker, reason.leader, *of_entry)), not order, *order


def _plan_of(form: PlanForm) -> Plan:
    topics = {topic.name: topic for topic in form.topics}
    throttle = form.throttle
    return Plan(
        **{name: getattr(form, name) for name in UNCHANGED_FIELDS},
        racks={BrokerId(int(broker)): rack for broker, rack in form.brokers.items()},
        moves=tuple(_move(row, topics[row.topic], form.reasons[row.reason]) for row in form.moves),
        throttle=None
        if throttle is None
        else MoveThrottle(
            throttle.bytes_per_second,
            {
                BrokerId(int(b)): SideRates(rate.leader, rate.follower)
                if isinstance(rate, SideForm)
                else rate
                for b, rate in throttle.brokers.items()
            },
            throttle.keep,
        ),
        allowed=form.allowed,
        remember=frozenset(
            TopicPartition(row.topic, row.partition) for row in form.moves if row.remember
        ),
    )


def _row(move: Move, reason: int, plan: Plan) -> MoveForm:
    return MoveForm(
        *move.partition,
        original=move.original,
        target=move.target,
        leader=move.leader,
        bytes=move.bytes,
        reason=reason,
        elect=move.elect,
        unnameable=tuple(sorted(move.unnameable)),
        below_min_isr=move.below_min_isr,
        remember=move.partition in plan.remember,
        election=move.election,
    )


def _throttle(throttle: MoveThrottle | None) -> ThrottleForm | None:
    if throttle is None:
        return None
    brokers = {
        str(b): SideForm(rate.leader, rate.follower) if isinstance(rate, SideRates) else rate
        for b, rate in sorted(throttle.brokers.items())
    }
    return ThrottleForm(throttle.rate, brokers, throttle.keep)


def _move(row: MoveForm, topic: TopicForm, reason: MoveReason) -> Move:
    return Move(
        partition=TopicPartition(row.topic, row.partition),
        topic_id=topic.id,
        original=row.original,
        target=row.target,
        min_insync_replicas=topic.min_insync_replicas,
        unclean_election=topic.unclean_leader_election,
        reason=reason,
        bytes=row.bytes,
        elect=row.elect,
        unnameable=frozenset(row.unnameable),
        below_min_isr=row.below_min_isr,
        leader=row.leader,
        election=row.election,
    )
