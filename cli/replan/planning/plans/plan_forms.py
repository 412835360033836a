"""The forms of a plan's document: its keys in the order in which they are written, and what their values may be.

Belongs here: what can be seen in the document alone. How a plan becomes one and back is in `plan_conversion`, text and
digest in `plan_file`.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from replan.documents.forms import (
    Broker,
    Brokers,
    Form,
    Int32,
    Int64,
    Positive,
    ReplicaList,
    Text,
    once_each,
    twice,
)
from replan.documents.nodes import INT32_MAX, INT64_MAX, advice, shown
from replan.model.configs import ConfigScope, can_hold
from replan.model.declared.policy import Measure
from replan.model.names import TopicId, TopicPartition, replicas
from replan.planning.plans.conflicts import Conflict
from replan.planning.plans.creates import Create
from replan.planning.plans.move_reasons import MoveReason
from replan.planning.plans.moves import Election
from replan.planning.plans.plan import FACTS, RefusalRule, WarningKind
from replan.planning.plans.standing_throttles import RATES
from replan.planning.recovery.candidates import Tail
from replan.planning.recovery.log_forms import CandidateForm
from replan.planning.recovery.recovery import Method

FORMAT_VERSION = 1
"""2: refusals and warnings have facts instead of sentences; 3: so have the reasons of moves."""
KIND = "replan.plan"

Rate = Annotated[int, msgspec.Meta(ge=1000, le=INT64_MAX)]
"""Bytes per second; a copy that gets less than 1 kB/s never ends."""
FactsForm = dict[str, Int64 | str | tuple[Int32 | str, ...]]
"""A list in it is of brokers or of texts."""


ThrottleKey = Literal[
    "leader.replication.throttled.rate",
    "follower.replication.throttled.rate",
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
]


class TopicForm(Form, frozen=True):
    """What the moves of a topic have in common."""

    name: Text
    id: TopicId
    min_insync_replicas: Positive
    unclean_leader_election: bool


class MoveForm(Form, frozen=True):
    """One move."""

    topic: Text
    partition: Int32
    original: ReplicaList
    target: ReplicaList
    leader: Broker | None
    bytes: Int64
    reason: Int32
    elect: bool = True
    unnameable: Brokers = replicas()
    below_min_isr: bool = False
    remember: bool = False
    election: Election | None = None

    def __post_init__(self) -> None:
        once_each(original=self.original, target=self.target, unnameable=self.unnameable)


class StandingForm(Form, frozen=True):
    """A throttle setting that is to stay; null is no value."""

    scope: ConfigScope
    name: Text
    key: ThrottleKey
    before: str | None
    after: str | None

    def __post_init__(self) -> None:
        if self.before == self.after:
            raise ValueError(f": {self.key} of {self.name} is where it belongs")
        if (self.key in RATES) is not (self.scope is ConfigScope.BROKER):
            raise ValueError(f".key: a {self.scope} has no {self.key}")
        if self.after is not None and not can_hold(self.key, self.after):
            raise ValueError(f".after: {self.key} cannot be {shown(self.after)}")


class LossForm(Form, frozen=True):
    """What a recovery loses at least: `records` are those of all `tails`; no record is in two of them."""

    records: Int64 = 0
    tails: tuple[Tail, ...] = ()
    unknown: Brokers = replicas()

    def __post_init__(self) -> None:
        if self.records != sum(tail.end - tail.begin for tail in self.tails):
            raise ValueError(".records: expected the records of all `tails`")


class RecoveryForm(Form, frozen=True, kw_only=True):
    """One partition that is to be led again, with what its replicas said."""

    topic: Text
    partition: Int32
    topic_id: TopicId
    original: ReplicaList
    order: ReplicaList
    method: Method
    clean: bool
    reassigned: bool = False
    leader_epoch: Int32
    wait_seconds: int = 0
    bytes: Int64 = 0
    loss: LossForm = LossForm()
    candidates: tuple[CandidateForm, ...]

    def __post_init__(self) -> None:
        once_each(original=self.original, order=self.order)
        if not set(self.order) <= set(self.original):
            raise ValueError(".order: it names a broker that is not in `original`")
        if tuple(c.broker for c in self.candidates) != self.original:
            raise ValueError(".candidates: expected the brokers of `original`, in that order")


class LogMoveForm(Form, frozen=True):
    """A replica that is to lie in another log directory of its broker."""

    topic: Text
    topic_id: TopicId
    partition: Int32
    broker: Broker
    source: Text
    target: Text
    bytes: Int64

    def __post_init__(self) -> None:
        if self.source == self.target:
            raise ValueError(": it lies there already")


class SideForm(Form, frozen=True):
    """Rates of the two sides of one broker."""

    leader: Rate | None
    follower: Rate | None


class ThrottleForm(Form, frozen=True):
    """Rates; null is unlimited."""

    bytes_per_second: Rate | None
    brokers: dict[str, Rate | SideForm | None]
    keep: bool = False

    def __post_init__(self) -> None:
        _check_brokers(self.brokers)


class ConvergenceForm(Form, frozen=True):
    """By which rates it was judged that the copies end."""

    rates: Text
    unknown: Int32


class RefusalForm(Form, frozen=True):
    """A partition that is not moved, with exactly the facts of its rule."""

    topic: Text
    partition: Int32
    rule: RefusalRule
    facts: FactsForm

    def __post_init__(self) -> None:
        _check_facts(self.rule, self.facts)


class WarningForm(Form, frozen=True):
    """A warning, with exactly the facts of its kind."""

    kind: WarningKind
    facts: FactsForm

    def __post_init__(self) -> None:
        _check_facts(self.kind, self.facts)


class PlanForm(Form, frozen=True, kw_only=True):
    """The document; its keys are written in this order."""

    format_version: Literal[1]
    kind: Literal["replan.plan"]
    cluster_id: Text
    cluster_name: Text | None = None
    placement_digest: str
    placement_commit: str = ""
    brokers: dict[str, str | None]
    throttle: ThrottleForm | None
    convergence: ConvergenceForm | None = None
    allowed: dict[Measure, Int64] = msgspec.field(default_factory=dict)
    warnings: tuple[WarningForm, ...]
    refusals: tuple[RefusalForm, ...]
    conflicts: tuple[Conflict, ...] = ()
    reasons: tuple[MoveReason, ...]
    topics: tuple[TopicForm, ...]
    standing: tuple[StandingForm, ...] = ()
    creates: tuple[Create, ...] = ()
    recoveries: tuple[RecoveryForm, ...] = ()
    log_moves: tuple[LogMoveForm, ...] = ()
    moves: tuple[MoveForm, ...]
    digest: str

    def __post_init__(self) -> None:
        _check_brokers(self.brokers, ".brokers")
        grown = twice(row.topic for row in self.creates)
        if grown is not None:
            raise ValueError(f".creates: {grown} gets partitions twice")
        copied = twice((row.topic, row.partition, row.broker) for row in self.log_moves)
        if copied is not None:
            raise ValueError(f".logMoves: {copied[0]}-{copied[1]} moves twice on {copied[2]}")
        configured = twice((row.scope, row.name, row.key) for row in self.standing)
        if configured is not None:
            raise ValueError(f".standing: {configured[2]} of {configured[1]} is set twice")
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


def _check_brokers(brokers: Mapping[str, Any], at: str = ".brokers") -> None:
    for key in brokers:
        if not (key.isascii() and key.isdecimal() and len(key) < 11 and str(int(key)) == key):
            raise ValueError(f"{at}.{key}: the key is no broker id")
        if int(key) > INT32_MAX:
            raise ValueError(f"{at}.{key}: expected at most {INT32_MAX:,}")


def _check_facts(of: RefusalRule | WarningKind, facts: Mapping[str, Any]) -> None:
    for name in FACTS[of]:
        if name not in facts:
            raise ValueError(f'.facts: "{name}" is missing')
    for name, fact in facts.items():
        if name not in FACTS[of]:
            raise ValueError(f".facts: unknown key {shown(name)}; {advice(name, FACTS[of])}")
        if isinstance(fact, tuple) and len(set(map(type, fact))) > 1:
            raise ValueError(f".facts.{name}: expected brokers or texts, not both")
