"""What leaves the choice to the planner, and what is said about plans, arrive as typed values with their places."""

from fractions import Fraction

from msgspec.structs import replace
from tests.builders import within

from replan.model.api import (
    Acknowledgement,
    BrokerId,
    BrokerRange,
    BrokerSelector,
    LeaderRule,
    Limit,
    LogDirBlacklist,
    Measure,
    Placement,
    RecoveryStrategy,
    ReplicaBlacklist,
    Requirement,
    Spread,
    StandingRate,
    StandingThrottles,
    ThrottledReplicas,
    TopicRule,
    Where,
)
from replan.placement_file.api import (
    Problems,
    Source,
    declared_placement,
    digest_of,
    fastest_parser,
    merge,
    read_rules,
    read_small_sections,
    read_yaml_document,
)

WHOLE = """\
version: 1
assignments:
  clicks:
    partitionCount: 24
    replicationFactor: 3
    spread: rack
    brokers: ["10-14", 1]
    belowMinIsr: true
  "metrics-*": {replicationFactor: 2}
balance: {replicas: 5%, bytes: 12.5%, weights: {14: 2, 3: 0.5}}
preferredLeaders:
  "payments-*": {racks: [eu-1a, eu-1b]}
  clicks: {balanced: true}
blacklists:
  replicas: [{broker: 9, reason: decommission, owner: storage, reviewBy: 2026-12-24}, {broker: 2}]
  logDirs: [{broker: 4, path: /data/d2, reason: SMART errors}]
throttles:
  standing:
    topics: {"*": all, orders: {leader: {0: [1, 4]}}}
    brokers: {5: {leader: 30MB/s}}
require:
  "*": {replicationFactor: 3, racks: 2}
limits: {partitions: 500, bytes: 2TB, bytesPerBroker: 1.5GiB, replicationFactorDecreases: 0}
acknowledged: [{topic: orders, partitions: [7], reason: waiting for a disk, expires: 2026-11-30}]
recovery:
  "payments-*": {strategy: balanced, wait: 5m}
  logs: {strategy: aggressive}
"""


def read(text: str) -> Placement:
    problems = Problems()
    source = Source("a.yaml", text)
    root = read_yaml_document(source, problems, fastest_parser())
    assert root is not None
    declarations = [
        *read_rules(source, root, frozenset()),
        *read_small_sections(source, root, frozenset()),
    ]
    merged = merge(declarations, problems)
    problems.raise_if_any()
    return declared_placement(merged)


def at(line: int, column: int) -> Where:
    return Where("a.yaml", line, column)


B = BrokerId


def test_rules_arrive_with_the_place_of_each_key() -> None:
    placement = read(WHOLE)
    assert placement.rules == {
        "clicks": TopicRule(
            at(3, 3),
            "clicks",
            partition_count=24,
            replication_factor=3,
            spread=Spread.RACK,
            brokers=BrokerSelector(
                (
                    BrokerRange(B(1), B(1), at(7, 24), single=True),
                    BrokerRange(B(10), B(14), at(7, 15), single=False),
                )
            ),
            below_min_isr=True,
            places={
                "partitionCount": at(4, 5),
                "replicationFactor": at(5, 5),
                "spread": at(6, 5),
                "brokers": at(7, 5),
                "belowMinIsr": at(8, 5),
            },
        ),
        "metrics-*": TopicRule(
            at(9, 3), "metrics-*", replication_factor=2, places={"replicationFactor": at(9, 17)}
        ),
    }
    assert placement.leader_rules == {
        "clicks": LeaderRule(at(13, 3), "clicks", balanced=True),
        "payments-*": LeaderRule(at(12, 3), "payments-*", racks=("eu-1a", "eu-1b")),
    }
    assert placement.balance is not None
    assert placement.balance.places.keys() == {"replicas", "bytes", "weights"}
    assert placement.balance.tolerances == within(replicas=Fraction(1, 20), bytes=Fraction(1, 8))
    assert placement.balance.weights == {B(3): Fraction(1, 2), B(14): Fraction(2)}


def test_recovery_is_read_with_its_wait_in_seconds_and_counts_in_the_digest() -> None:
    placement = read(WHOLE)
    found = {name: (rule.strategy, rule.wait_seconds) for name, rule in placement.recovery.items()}
    assert found == {
        "payments-*": (RecoveryStrategy.BALANCED, 300),
        "logs": (RecoveryStrategy.AGGRESSIVE, 0),
    }
    assert digest_of(placement) != digest_of(replace(placement, recovery={}))


def test_drains_and_standing_throttles_arrive_sorted() -> None:
    placement = read(WHOLE)
    assert placement.replica_blacklist == (
        ReplicaBlacklist(B(2), at(15, 87)),
        ReplicaBlacklist(B(9), at(15, 14), "decommission", "storage", "2026-12-24"),
    )
    assert placement.log_dir_blacklist == (
        LogDirBlacklist(B(4), "/data/d2", at(16, 13), "SMART errors"),
    )
    every = frozenset({"*"})
    assert placement.standing == StandingThrottles(
        {
            "*": ThrottledReplicas(at(19, 19), every, every),
            "orders": ThrottledReplicas(at(19, 32), frozenset({"0:1", "0:4"}), frozenset()),
        },
        {B(5): StandingRate(at(20, 18), leader=30_000_000)},
    )


def test_policy_arrives_in_bytes_and_numbers() -> None:
    placement = read(WHOLE)
    assert placement.requirements == {"*": Requirement(at(22, 8), 3, 2)}
    assert {measure: limit.most for measure, limit in placement.limits.items()} == {
        Measure.PARTITIONS: 500,
        Measure.BYTES: 2 * 10**12,
        Measure.BYTES_PER_BROKER: 3 * 2**29,
        Measure.REPLICATION_FACTOR_DECREASES: 0,
    }
    assert placement.limits[Measure.PARTITIONS] == Limit(Measure.PARTITIONS, at(23, 22), 500)
    assert placement.acknowledged == (
        Acknowledgement("orders", (7,), at(24, 16), "waiting for a disk", "2026-11-30"),
    )


def test_every_part_of_a_rule_and_of_a_policy_counts_for_the_digest() -> None:
    changes = [
        ("24", "25"),
        ("Factor: 3\n", "Factor: 4\n"),
        ("spread: rack", "spread: none"),
        ("10-14", "10-15"),
        ("MinIsr: true", "MinIsr: false"),
        ("5%", "6%"),
        ("0.5}", "0.25}"),
        ("[eu-1a, eu-1b]", "[eu-1b, eu-1a]"),
        ("clicks: {balanced", "clacks: {balanced"),
        ("decommission", "sold"),
        ("/d2", "/d3"),
        ("[1, 4]", "[1, 2]"),
        ("30MB/s", "31MB/s"),
        ("racks: 2", "racks: 1"),
        ("2TB", "3TB"),
        ("partitions: [7]", "partitions: [8]"),
    ]
    texts = [WHOLE, *(WHOLE.replace(old, new) for old, new in changes)]
    assert len({digest_of(read(text)) for text in texts}) == len(texts)
    assert digest_of(read("# moved\n" + WHOLE)) == digest_of(read(WHOLE))
