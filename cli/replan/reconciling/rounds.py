"""What a round compares and plans: pure. The shell around it is `loop`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from replan.model.configs import ConfigScope, SettingName
from replan.model.declared.placement import Placement
from replan.model.declared.reconcile import DeviationKind
from replan.model.declared.rules import ReplicaBlacklist
from replan.model.declared.where import Where
from replan.model.names import TopicPartition
from replan.model.rates import Rates
from replan.model.snapshot import Snapshot
from replan.planning.compared import compared
from replan.planning.comparison.part import Scope
from replan.planning.findings.drift import drift_of
from replan.planning.findings.drift_classes import classify
from replan.planning.findings.health import HealthState, judge
from replan.planning.making.planner import plan_of
from replan.planning.plans.plan import Plan
from replan.planning.plans.standing_throttles import ThrottleSetting
from replan.reconciling.decision import Found
from replan.reconciling.deviations import Looked, replaced

BY_POLICY = Where("reconcile.putRight.brokerDown", 1, 1)
"""Where a broker that is down is said to hold nothing: by no line of a placement."""


def look(placement: Placement, snapshot: Snapshot, rates: Rates | None = None) -> Looked:
    """Compare. Raises WrongCluster, and MistakenPlacement where the author has to correct something."""
    found = compared(without_recovery(placement), snapshot, rates).required()
    drift = drift_of(found)
    return Looked(found, drift, classify(drift, placement, snapshot))


def without_recovery(placement: Placement) -> Placement:
    """The placement as a loop goes by it: no election that loses records is ever in a plan of it."""
    return replace(placement, recovery={})


def plan_due(
    placement: Placement,
    looked: Looked,
    due: Sequence[Found],
    rates: Rates | None = None,
) -> Plan:
    """Plan exactly what is due, within the limits where the placement has any.

    Raises as `plan_of`.
    """
    down = replaced(due)
    comparison = looked.comparison
    if down:
        drained = tuple(ReplicaBlacklist(b, BY_POLICY, reason="down, by policy") for b in down)
        given = without_recovery(placement)
        given = replace(given, replica_blacklist=(*given.replica_blacklist, *drained))
        comparison = compared(given, looked.snapshot, rates).required()
    names = frozenset(name for found in due for name in found.partitions)
    firsts = {c.first for c in comparison.growth.creates if set(c.partitions) & names}
    scope = Scope(names | firsts, frozenset(_settings(due)))
    plan = plan_of(comparison, scope=scope, rates=rates, within_limits=bool(placement.limits))
    stale = stale_throttles(due)
    return replace(plan, standing=(*plan.standing, *stale)) if stale else plan


def _settings(due: Sequence[Found]) -> Iterator[SettingName]:
    """The standing throttles among what is due."""
    for found in due:
        key = found.subject.detail.partition("=")[0]
        if found.drift == "throttle-differs":
            yield _setting(found, key)


def stale_throttles(due: Sequence[Found]) -> list[ThrottleSetting]:
    """Throttles that nothing needs, as settings that are to have no value of their own."""
    found: dict[SettingName, ThrottleSetting] = {}
    for one in due:
        if one.kind is DeviationKind.STALE_THROTTLE:
            key, _, value = one.subject.detail.partition("=")
            if one.subject.topic is not None:
                key = f"{key.partition('.')[0]}.replication.throttled.replicas"
            name = _setting(one, key)
            found[name] = ThrottleSetting(name, value, None)
    return list(found.values())


def _setting(found: Found, key: str) -> SettingName:
    if found.subject.topic is not None:
        return SettingName(ConfigScope.TOPIC, found.subject.topic, key)
    return SettingName(ConfigScope.BROKER, str(found.subject.broker), key)


def unhealthy(snapshot: Snapshot) -> frozenset[TopicPartition]:
    """The partitions without a leader, or under their min ISR."""
    bad = {HealthState.OFFLINE, HealthState.UNDER_MIN_ISR}
    return frozenset(u.state.partition for u in judge(snapshot).unhealthy if u.health in bad)


@dataclass(frozen=True, slots=True)
class Refusals:
    """What a plan leaves out of what was due."""

    by_partition: dict[TopicPartition, str]

    @classmethod
    def of(cls, plan: Plan) -> "Refusals":
        """By partition, the first rule that refuses it."""
        found: dict[TopicPartition, str] = {}
        for refusal in plan.refusals:
            found.setdefault(refusal.partition, refusal.rule.value)
        return cls(found)

    def rule(self, found: Found) -> str | None:
        """Why nothing of a deviation is planned; None where something is."""
        rules = [self.by_partition.get(name) for name in found.partitions]
        return rules[0] if rules and all(rules) else None
