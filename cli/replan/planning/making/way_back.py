"""The way back: moves from where partitions are now to where they were before an application touched them. Pure.

Used by `cancel`, for what an application has not finished, and by `rollback`, for all that it did. What it makes is a
plan like any other: its moves are judged by the same refusals, and the applier performs them with the same gates.

A partition goes back only from where its own move can have led it: with the replicas that stay in any case, and none
but those of the two lists (in any order: a cancelled reassignment loses the order). Everything else was changed by
somebody since, and stays as it is. What was created stays: Kafka cannot remove partitions. What was led again by an
election stays led, and what went to another log directory stays there. Nor can Kafka elect another replica than the
first of a list while that one is in sync: what another one led before is named.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, starmap

from msgspec import Struct, field

from replan.model.configs import TopicSettings
from replan.model.declared.placement import MoveThrottle
from replan.model.declared.policy import Limits, Measure
from replan.model.names import BrokerId, TopicPartition
from replan.model.partition import PartitionState
from replan.model.snapshot import Snapshot
from replan.planning.making.admission_order import admission_order
from replan.planning.making.limits import check_limits
from replan.planning.plans.moves import Move, MoveReason, ObservedMove, ReasonKind, move_of
from replan.planning.plans.origins import Grown, Origin
from replan.planning.plans.plan import Plan
from replan.planning.plans.reasons import Facts, PlanWarning, Refusal, WarningKind, first_named
from replan.planning.plans.standing_throttles import ThrottleSetting, value_of
from replan.planning.safety.refusals import SafetyRules


class WayBack(Struct, frozen=True, kw_only=True):
    """Where to go back to, and within which bounds."""

    application: str
    """Back to before this one."""
    origins: Iterable[Origin]
    grown: tuple[Grown, ...] = ()
    stays: Mapping[WarningKind, Sequence[str]] = field(default_factory=dict)
    """Partitions of which something stays as it is, by what is said of them."""
    settings: tuple[ThrottleSetting, ...] = ()
    """Throttles that were set to stay; from before to after."""
    throttle: MoveThrottle | None = None
    limits: Limits = field(default_factory=dict)
    allowed: Mapping[Measure, int] = field(default_factory=dict)
    """Of these limits, what was raised for this plan alone; they are raised already."""
    cluster_name: str | None = None
    warn_of_placement: bool = True
    """Say that the placement still declares the other state."""

    @property
    def digest(self) -> str:
        """Takes the place of the digest of a placement."""
        return hashlib.sha256(f"back to before {self.application}".encode()).hexdigest()


def way_back(wanted: WayBack, snapshot: Snapshot) -> Plan:
    """The plan back. Raises LimitExceeded where it changes more than the limits allow."""
    rules, settings = SafetyRules.of(snapshot), snapshot.all_settings()
    judged: list[ObservedMove] = []
    refused: list[Refusal] = []
    changed: list[TopicPartition] = []
    led_on: list[TopicPartition] = []
    origins = sorted(wanted.origins, key=lambda o: o.partition)
    states = snapshot.states_of(origin.partition for origin in origins)
    for origin in origins:
        state = states.get(origin.partition)
        if state is None or state.topic_id != origin.topic_id or not origin.leads_to(state):
            changed.append(origin.partition)
            continue
        if not origin.led and state.leader == origin.original[0]:
            led_on.append(origin.partition)
        move = _move(origin, state, wanted, settings[origin.partition.topic], rules.nameable)
        if move is None:
            continue
        unsafe = rules.refusals(move, state)
        refused.extend(unsafe)
        if not unsafe:
            judged.append((move, state))
    standing = list(_settings_back(wanted, snapshot))
    check_limits([*(move for move, _ in judged), *standing], wanted.limits)
    warnings = [
        *_warnings(wanted, snapshot, goes_back=bool(judged or standing)),
        *_stays(WarningKind.CHANGED_SINCE, changed),
        *_stays(WarningKind.FIRST_LEADS_ON, led_on),
        *chain.from_iterable(starmap(_stays, wanted.stays.items())),
    ]
    if wanted.warn_of_placement and not (judged or standing or refused or warnings):
        warnings = [PlanWarning(WarningKind.NOTHING_LEFT, {"application": wanted.application})]
    return Plan(
        cluster_id=snapshot.cluster_id,
        cluster_name=wanted.cluster_name,
        placement_digest=wanted.digest,
        racks=snapshot.racks,
        silent=tuple(sorted(snapshot.silent)),
        moves=tuple(admission_order(judged)),
        throttle=wanted.throttle,
        standing=tuple(standing),
        allowed=wanted.allowed,
        refusals=tuple(refused),
        warnings=tuple(warnings),
    )


def _settings_back(wanted: WayBack, snapshot: Snapshot) -> Iterator[ThrottleSetting]:
    """What was set to stay gets its value from before, where it still has the one that was set."""
    for change in wanted.settings:
        value = value_of(change.setting, snapshot)
        if change.is_after(value) and not change.is_before(value):
            yield ThrottleSetting.of(change.setting, value, change.before)


def _move(
    origin: Origin,
    state: PartitionState,
    wanted: WayBack,
    settings: TopicSettings,
    nameable: frozenset[BrokerId],
) -> Move | None:
    """None where it is back already."""
    there = state.replicas == origin.original and state.running is None
    if there and (state.leader == origin.original[0] or not origin.led):
        return None
    back = MoveReason(ReasonKind.BACK, note=wanted.application)
    return move_of(state, origin.original, settings, back, nameable, elect=origin.led)


def _stays(kind: WarningKind, partitions: Sequence[TopicPartition | str]) -> Iterator[PlanWarning]:
    if partitions:
        yield PlanWarning(kind, first_named("partitions", partitions))


def _warnings(wanted: WayBack, snapshot: Snapshot, *, goes_back: bool) -> Iterator[PlanWarning]:
    if wanted.warn_of_placement and goes_back:
        yield PlanWarning(WarningKind.STILL_DECLARED, {"application": wanted.application})
    for grown in wanted.grown:
        facts: Facts = {"topic": grown.topic, "before": grown.before, "count": grown.count}
        yield PlanWarning(WarningKind.PARTITIONS_STAY, facts)
    for change in wanted.settings:
        value = value_of(change.setting, snapshot)
        if not (change.is_after(value) or change.is_before(value)):
            facts = {"setting": str(change.setting), "found": value or "not set"}
            yield PlanWarning(WarningKind.SETTING_CHANGED_SINCE, facts)
