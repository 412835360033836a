"""Why something is not where it is declared, as far as one snapshot shows: the class says who must act.

The rules are tried in the order of `Rule`, and the first that fits gives the class; docs/fleet.md lists them.
A snapshot shows a state and no cause, so each rule says what it goes by. Not here: what differs (`drift`).
"""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from replan.model.configs import FOLLOWER_RATE, LEADER_RATE, ConfigScope, ConfigSource
from replan.model.declared.placement import Placement
from replan.model.declared.topic_patterns import matches
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.partition import PartitionState
from replan.model.snapshot import Snapshot, topic_codes
from replan.planning.comparison.acknowledged import passed
from replan.planning.comparison.blacklist import with_brokers_of_racks
from replan.planning.comparison.diff import DifferenceKind
from replan.planning.findings.drift import Drift, Drifted
from replan.planning.plans.standing_throttles import ThrottleSetting


class DriftClass(StrEnum):
    """Who or what made the difference."""

    IN_FLIGHT = "in-flight"
    """It is on the way to what is declared. Alone it is no drift."""
    OTHER_TOOL = "other-tool"
    """Another tool is moving it elsewhere at this moment."""
    FAILURE = "failure"
    """Brokers that are down or out of sync are the reason; it passes with them, or the next plan repairs it."""
    OPERATOR = "operator"
    """Somebody changed the cluster or the placement, and not the other."""
    MISTAKE = "mistake"
    """The placement contradicts itself or the cluster: nothing is planned before it is corrected."""
    PARTITION_COUNT = "partition-count"
    """A topic has another number of partitions than is declared."""
    STALE_THROTTLE = "stale-throttle"
    """A throttle is set that nothing needs and nobody declares."""
    REVIEW_DUE = "review-due"
    """An entry of a blacklist is in force after its `reviewBy`."""
    UNKNOWN = "unknown"
    """None of the rules fits."""


class Rule(StrEnum):
    """What a class goes by; in this order."""

    CONVERGES = "converges"
    NO_LEADER = "no-leader"
    INTERRUPTED = "interrupted"
    RUNS_ELSEWHERE = "runs-elsewhere"
    BROKER_DOWN = "broker-down"
    LEADERSHIP_MOVED = "leadership-moved"
    TOO_FEW_PARTITIONS = "too-few-partitions"
    TOO_MANY_PARTITIONS = "too-many-partitions"
    TOPIC_ABSENT = "topic-absent"
    LISTS_DIFFER = "lists-differ"
    LOG_DIR_DRAINED = "log-dir-drained"
    THROTTLE_DIFFERS = "throttle-differs"
    NOTHING_RUNS = "nothing-runs"
    DATE_PASSED = "date-passed"
    OUT_OF_BALANCE = "out-of-balance"
    CONTRADICTS = "contradicts"
    JOURNAL_UNREAD = "journal-unread"


CLASS_OF: Mapping[Rule, DriftClass] = {
    Rule.CONVERGES: DriftClass.IN_FLIGHT,
    Rule.NO_LEADER: DriftClass.FAILURE,
    Rule.INTERRUPTED: DriftClass.OPERATOR,
    Rule.RUNS_ELSEWHERE: DriftClass.OTHER_TOOL,
    Rule.BROKER_DOWN: DriftClass.FAILURE,
    Rule.LEADERSHIP_MOVED: DriftClass.FAILURE,
    Rule.TOO_FEW_PARTITIONS: DriftClass.PARTITION_COUNT,
    Rule.TOO_MANY_PARTITIONS: DriftClass.PARTITION_COUNT,
    Rule.TOPIC_ABSENT: DriftClass.OPERATOR,
    Rule.LISTS_DIFFER: DriftClass.OPERATOR,
    Rule.LOG_DIR_DRAINED: DriftClass.OPERATOR,
    Rule.THROTTLE_DIFFERS: DriftClass.OPERATOR,
    Rule.NOTHING_RUNS: DriftClass.STALE_THROTTLE,
    Rule.DATE_PASSED: DriftClass.REVIEW_DUE,
    Rule.OUT_OF_BALANCE: DriftClass.UNKNOWN,
    Rule.CONTRADICTS: DriftClass.MISTAKE,
    Rule.JOURNAL_UNREAD: DriftClass.UNKNOWN,
}
PERHAPS_OWN = frozenset(
    {
        Rule.RUNS_ELSEWHERE,
        Rule.LISTS_DIFFER,
        Rule.LOG_DIR_DRAINED,
        Rule.THROTTLE_DIFFERS,
        Rule.NOTHING_RUNS,
    }
)
"""What replan's own open application may have made, which only its journal tells."""


class OtherKind(StrEnum):
    """What differs where it is not the list or the leader of a partition."""

    PARTITIONS = "partitions"
    """A topic has another number of partitions."""
    LOG_DIR = "log-dir"
    """A replica lies in a log directory that is to be empty."""
    STANDING = "standing"
    """A throttle that is declared to stay."""
    THROTTLE = "throttle"
    """A throttle that nothing needs."""
    LEADER_BLACKLIST = "leader-blacklist"
    REPLICA_BLACKLIST = "replica-blacklist"
    LOG_DIR_BLACKLIST = "log-dir-blacklist"
    BALANCE = "balance"
    PLACEMENT = "placement"
    """A line of the placement file."""


@dataclass(frozen=True, slots=True)
class Classified:
    """Something that drifted: a partition, or a topic, a broker or the cluster where there is none."""

    rule: Rule
    kind: DifferenceKind | OtherKind
    topic: str | None = None
    partition: int | None = None
    broker: BrokerId | None = None
    declared: Replicas = ()
    observed: Replicas = ()
    leader: BrokerId | None = None
    detail: str = ""
    """The name of what is set, or where it is written."""

    @property
    def drift_class(self) -> DriftClass:
        """Who must act."""
        return CLASS_OF[self.rule]


def classify(drift: Drift, placement: Placement, snapshot: Snapshot) -> tuple[Classified, ...]:
    """All that drifted, what is on the way included, by topic and partition; what is no partition's comes last.

    While an application of replan's is open, throttles may be its own.
    """
    found = [*_partitions(drift, snapshot), *_counts(drift, snapshot)]
    found += [
        Classified(
            Rule.LOG_DIR_DRAINED, OtherKind.LOG_DIR, n.topic, n.partition, broker, detail=path
        )
        for n, broker, path in drift.log_dirs
    ]
    found.sort(key=_by_name)
    found += [_standing(setting) for setting in drift.standing]
    if snapshot.application is None:
        found += _throttles(placement, snapshot)
    found += _review_due(placement, snapshot)
    found += [
        Classified(Rule.OUT_OF_BALANCE, OtherKind.BALANCE, detail=reason.imbalance.measure.value)
        for reason in drift.unbalanced
    ]
    found += [
        Classified(Rule.CONTRADICTS, OtherKind.PLACEMENT, detail=str(mistake))
        for mistake in drift.mistakes
    ]
    return tuple(found)


def _by_name(found: Classified) -> tuple[str, int, str, int]:
    return (
        found.topic or "",
        -1 if found.partition is None else found.partition,
        found.kind,
        -1 if found.broker is None else found.broker,
    )


def _partitions(drift: Drift, snapshot: Snapshot) -> Iterator[Classified]:
    live = snapshot.live_brokers()
    for name in drift.converging:
        yield Classified(Rule.CONVERGES, DifferenceKind.RUNNING, name.topic, name.partition)
    states = _states(snapshot, [d.partition for d in drift.partitions])
    for drifted in drift.partitions:
        seen = states.get(drifted.partition)
        yield Classified(
            _rule(drifted, seen, live, snapshot),
            drifted.kind,
            drifted.partition.topic,
            drifted.partition.partition,
            declared=drifted.declared,
            observed=drifted.observed,
            leader=drifted.leader,
        )


def _states(
    snapshot: Snapshot, names: list[TopicPartition]
) -> Mapping[TopicPartition, PartitionState]:
    """What is observed of partitions that there are."""
    first: dict[str, range] = {
        topic: snapshot.topic_rows(topic) for topic in {n.topic for n in names}
    }
    numbers = snapshot.partitions.column("partition").to_numpy()
    rows = []
    for name in names:
        of_topic = first[name.topic]
        at = of_topic.start + int(
            np.searchsorted(numbers[of_topic.start : of_topic.stop], name.partition)
        )
        if at < of_topic.stop and numbers[at] == name.partition:
            rows.append(at)
    return {state.partition: state for state in snapshot.states(rows)}


def _rule(
    drifted: Drifted, seen: PartitionState | None, live: Set[BrokerId], snapshot: Snapshot
) -> Rule:
    if seen is None:
        there = snapshot.topic_row(drifted.partition.topic) is not None
        return Rule.TOO_FEW_PARTITIONS if there else Rule.TOPIC_ABSENT
    if drifted.kind is DifferenceKind.NO_LEADER:
        return Rule.NO_LEADER
    if seen.adding or seen.removing:
        return Rule.RUNS_ELSEWHERE
    if drifted.kind is DifferenceKind.LEADER:
        return Rule.LEADERSHIP_MOVED
    declared, observed = frozenset(drifted.declared), frozenset(drifted.observed)
    concerned = declared ^ observed if declared else observed
    usable = live - (observed - frozenset(seen.isr))
    if not (concerned or observed) <= usable:
        return Rule.BROKER_DOWN
    return Rule.LISTS_DIFFER


def _counts(drift: Drift, snapshot: Snapshot) -> Iterator[Classified]:
    for found in drift.counts:
        fewer = found.observed < found.declared
        detail = f"declared {found.declared}, has {found.observed}"
        rule = Rule.TOO_FEW_PARTITIONS if fewer else Rule.TOO_MANY_PARTITIONS
        if fewer:
            yield Classified(rule, OtherKind.PARTITIONS, found.topic, found.observed, detail=detail)
            continue
        rows = list(snapshot.topic_rows(found.topic))[found.declared :]
        for state in snapshot.states(rows):
            yield Classified(
                rule,
                OtherKind.PARTITIONS,
                found.topic,
                state.partition.partition,
                observed=state.replicas,
                leader=state.leader,
                detail=detail,
            )


def _standing(found: ThrottleSetting) -> Classified:
    of_topic = found.setting.scope is ConfigScope.TOPIC
    return Classified(
        Rule.THROTTLE_DIFFERS,
        OtherKind.STANDING,
        found.setting.name if of_topic else None,
        broker=None if of_topic else BrokerId(int(found.setting.name)),
        detail=f"{found.setting.key}={found.before or ''}, declared {found.after or 'none'}",
    )


def _throttles(placement: Placement, snapshot: Snapshot) -> Iterator[Classified]:
    """Throttles that nothing needs: no reassignment runs on the topic, or for a broker's rate, anywhere."""
    moving = _moving_topics(snapshot)
    standing = placement.standing
    for row in snapshot.topics.to_pylist() if _any_throttled(snapshot) else ():
        topic = row["name"]
        lists = [side for side in ("leader", "follower") if row[f"{side}_throttled"]]
        declared = standing is not None and any(matches(p, topic) for p in standing.topics)
        if topic not in moving and not declared:
            for side in lists:
                name = f"{side}.replication.throttled.replicas={row[f'{side}_throttled']}"
                yield Classified(Rule.NOTHING_RUNS, OtherKind.THROTTLE, topic, detail=name)
    if moving:
        return
    for broker, configs in sorted(snapshot.broker_configs.items()):
        if standing is not None and broker in standing.brokers:
            continue
        for key in (LEADER_RATE, FOLLOWER_RATE):
            set_to = configs.get(key)
            if set_to is not None and set_to.source is ConfigSource.BROKER:
                detail = f"{key}={set_to.value}"
                yield Classified(
                    Rule.NOTHING_RUNS, OtherKind.THROTTLE, broker=broker, detail=detail
                )


def _any_throttled(snapshot: Snapshot) -> bool:
    columns = ("leader_throttled", "follower_throttled")
    return any(snapshot.topics.column(c).null_count < snapshot.topics.num_rows for c in columns)


def _moving_topics(snapshot: Snapshot) -> frozenset[str]:
    codes = np.unique(topic_codes(snapshot.partitions)[snapshot.moving])
    names = snapshot.topics.column("name")
    return frozenset(names[int(code)].as_py() for code in codes)


def _review_due(placement: Placement, snapshot: Snapshot) -> Iterator[Classified]:
    placement = with_brokers_of_racks(placement, snapshot)
    for kind, entries in (
        (OtherKind.LEADER_BLACKLIST, placement.leader_entries),
        (OtherKind.REPLICA_BLACKLIST, placement.replica_blacklist),
        (OtherKind.LOG_DIR_BLACKLIST, placement.log_dir_blacklist),
    ):
        for entry in entries:
            if entry.review_by is not None and passed(entry.review_by, snapshot):
                yield Classified(
                    Rule.DATE_PASSED, kind, broker=entry.broker, detail=str(entry.where)
                )
