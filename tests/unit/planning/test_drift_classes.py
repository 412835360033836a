"""Which class a difference gets, by what one snapshot shows."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.builders import brokers, listed_leader, placement, snapshot, state, with_throttled
from tests.readings import find_drift

from replan.model.api import (
    LEADER_RATE,
    LEADER_REPLICAS,
    LOG_DIRS_RATE,
    BrokerId,
    ConfigScope,
    ConfigSource,
    ConfigValue,
    LogDir,
    OwnApplication,
    PartitionState,
    Placement,
    RecoveryRule,
    RecoveryStrategy,
    SettingName,
    Snapshot,
    StandingRate,
    StandingThrottles,
    ThrottledReplicas,
    TopicPartition,
    Where,
    replicas,
)
from replan.planning.api import (
    CLASS_OF,
    Difference,
    DriftClass,
    DriftRule,
    ThrottleSetting,
    drift_report,
)


def classes(declared: Placement, seen: Snapshot) -> list[Difference]:
    return list(find_drift(declared, seen).differences)


ORDERS = placement({"orders": [[1, 2, 3]]})


@pytest.mark.parametrize(
    ("seen", "down", "kind", "rule"),
    [
        (state([1, 2, 3, 4], [1, 2, 3], adding=[4]), (), "replicas", DriftRule.RUNS_ELSEWHERE),
        (
            state([4, 1, 2, 3], [1, 2, 3], adding=[1, 2, 3], removing=[4]),
            (),
            "running",
            DriftRule.CONVERGES,
        ),
        (state([1, 2, 4]), (3,), "replicas", DriftRule.BROKER_DOWN),
        (state([1, 2, 4], [1, 2]), (4,), "replicas", DriftRule.BROKER_DOWN),
        (state([1, 2, 4], [1, 2]), (), "replicas", DriftRule.BROKER_DOWN),
        (state([1, 2, 4], [1, 4]), (2,), "replicas", DriftRule.LISTS_DIFFER),
        (state([2, 1, 3], [2, 3]), (1,), "order", DriftRule.BROKER_DOWN),
        (state([2, 1, 3]), (), "order", DriftRule.LISTS_DIFFER),
        (state([1, 2, 3], leader=2), (), "leader", DriftRule.LEADERSHIP_MOVED),
        (state([1, 2, 4]), (), "replicas", DriftRule.LISTS_DIFFER),
    ],
)
def test_the_first_rule_that_fits_gives_the_class(
    seen: PartitionState, down: Sequence[int], kind: str, rule: DriftRule
) -> None:
    found = classes(ORDERS, snapshot([seen], registered=brokers(fenced=down)))
    assert [(c.kind, c.rule, c.topic, c.partition) for c in found] == [(kind, rule, "orders", 0)]
    assert found[0].drift_class is CLASS_OF[rule]


@pytest.mark.parametrize(
    "seen",
    [state([1, 2, 3, 4], [1, 2, 3], adding=[4]), state([1, 2, 3, 4])],
)
def test_while_the_journal_cannot_be_read_nobody_is_blamed_for_a_move_in_the_middle(
    seen: PartitionState,
) -> None:
    """It may be that of replan's own application; without a leader its journal does not say."""
    for unread, wanted in ((True, DriftClass.UNKNOWN), (False, None)):
        report = drift_report(ORDERS, throttled(snapshot([seen])), journal_unread=unread)
        found = {c.drift_class for c in report.drift.differences}
        assert (found == {wanted}) is unread
        assert report.drift.none is False


def test_a_partition_that_differs_and_has_no_leader_is_two_differences() -> None:
    seen = snapshot([state([1, 2, 4], [], leader=None)], registered=brokers(fenced=(1, 2, 4)))
    assert [(c.kind, c.rule) for c in classes(ORDERS, seen)] == [
        ("no-leader", DriftRule.NO_LEADER),
        ("replicas", DriftRule.BROKER_DOWN),
    ]


@pytest.mark.parametrize("strategy", RecoveryStrategy)
def test_what_a_recovery_is_to_lead_again_is_drift_though_nothing_else_is_declared_of_it(
    strategy: RecoveryStrategy,
) -> None:
    """With `none` nothing is asked for: it is a warning then."""
    seen = snapshot([state([1, 2, 4], [], leader=None)], registered=brokers(fenced=(1, 2, 4)))
    rule = RecoveryRule(Where("placement.yaml", 1, 1), strategy)
    found = classes(replace(placement({}), recovery={"*": rule}), seen)
    wanted = [] if strategy is RecoveryStrategy.NONE else [("no-leader", DriftRule.NO_LEADER)]
    assert [(c.kind, c.rule) for c in found] == wanted


def test_partitions_and_topics_that_are_not_there() -> None:
    declared = placement({"orders": [[1, 2, 3], [2, 3, 1]], "nowhere": {0: [1, 2, 3]}})
    found = classes(declared, snapshot([state([1, 2, 3])]))
    assert [(c.topic, c.partition, c.rule) for c in found] == [
        ("nowhere", 0, DriftRule.TOPIC_ABSENT),
        ("orders", 1, DriftRule.TOO_FEW_PARTITIONS),
        (None, None, DriftRule.CONTRADICTS),
    ]


def test_a_topic_with_more_partitions_than_declared_is_one_difference() -> None:
    """As one with fewer than its rule counts; it names the first that is too many."""
    states = [state([1, 2, 3], partition=p) for p in range(3)]
    found = classes(ORDERS, snapshot(states))
    assert [(c.partition, c.rule, c.detail) for c in found] == [
        (1, DriftRule.TOO_MANY_PARTITIONS, "declared 1, has 3"),
    ]


@pytest.mark.parametrize(
    "seen",
    [
        state([2, 3, 4], [2, 3], adding=[4]),
        state([2, 3, 4], removing=[4]),
        state([2, 3, 4, 5], [2, 3, 5], adding=[4], removing=[5]),
    ],
    ids=["it adds", "it only removes", "both"],
)
def test_what_another_tool_reassigns_is_that_tools_drift(seen: PartitionState) -> None:
    (found,) = classes(ORDERS, snapshot([seen]))
    assert (found.rule, found.drift_class) == (DriftRule.RUNS_ELSEWHERE, DriftClass.OTHER_TOOL)


def test_what_replans_own_application_has_left_running_is_interrupted_for_everybody() -> None:
    """`drift`, fleets and the loop read the same value."""
    seen = snapshot([state([2, 3, 4], [2, 3], adding=[4])])
    to = {TopicPartition("orders", 0): replicas(2, 3, 4)}
    own = OwnApplication("plan-1", "ann@ops-1", at_work=False, targets=to)
    (found,) = classes(ORDERS, replace(seen, application=own))
    assert (found.rule, found.drift_class) == (DriftRule.INTERRUPTED, DriftClass.OPERATOR)


def throttled(seen: Snapshot, rate: ConfigSource = ConfigSource.BROKER) -> Snapshot:
    rates = {BrokerId(1): {LEADER_RATE: ConfigValue("1000", rate)}}
    return replace(with_throttled(seen, orders="0:1"), broker_configs=rates)


def test_a_throttle_that_nothing_needs_is_stale() -> None:
    found = classes(ORDERS, throttled(snapshot([state([1, 2, 3])])))
    assert [(c.topic, c.broker, c.drift_class, c.detail) for c in found] == [
        ("orders", None, DriftClass.STALE_THROTTLE, "leader.replication.throttled.replicas=0:1"),
        (None, 1, DriftClass.STALE_THROTTLE, f"{LEADER_RATE}=1000"),
    ]
    assert [c.setting for c in found] == [
        ThrottleSetting.of(SettingName(ConfigScope.TOPIC, "orders", LEADER_REPLICAS), "0:1", None),
        ThrottleSetting.of(SettingName(ConfigScope.BROKER, "1", LEADER_RATE), "1000", None),
    ]


def dirs_of(*held: tuple[int, int]) -> tuple[LogDir, ...]:
    """Log directories of broker 1 with so many logs, of which so many are of replicas that lie there."""
    return tuple(
        LogDir(BrokerId(1), f"/d{i}", logs=logs, replicas={"orders": tuple(range(lie))})
        for i, (logs, lie) in enumerate(held)
    )


@pytest.mark.parametrize(
    ("dirs", "source", "stale"),
    [
        (dirs_of((2, 2), (1, 1)), ConfigSource.BROKER, True),
        (dirs_of((2, 0)), ConfigSource.BROKER, True),
        (dirs_of((2, 2), (2, 1)), ConfigSource.BROKER, False),
        ((), ConfigSource.BROKER, False),
        (dirs_of((2, 2), (1, 1)), ConfigSource.CLUSTER_DEFAULT, False),
    ],
    ids=[
        "nothing copies",
        "one directory",
        "a copy is on its way",
        "nobody says",
        "of all brokers",
    ],
)
@pytest.mark.parametrize("adding", [(), (4,)], ids=["", "a reassignment runs"])
def test_a_rate_between_log_directories_is_stale_where_no_replica_may_be_on_its_way(
    dirs: tuple[LogDir, ...], source: ConfigSource, stale: bool, adding: Sequence[int]
) -> None:
    """A reassignment does not go at it, and no placement declares it to stay."""
    seen = snapshot([state([1, 2, 3, *adding], adding=adding)])
    rates = {BrokerId(1): {LOG_DIRS_RATE: ConfigValue("1000", source)}}
    seen = replace(seen, broker_configs=rates, log_dirs=dirs)
    standing = StandingThrottles({}, {BrokerId(1): StandingRate(Where("f", 1, 1), None, None)})
    for declared in (placement({}), placement({}, standing=standing)):
        found = classes(declared, seen)
        own = [c for c in found if c.drift_class is DriftClass.STALE_THROTTLE]
        where = SettingName(ConfigScope.BROKER, "1", LOG_DIRS_RATE)
        assert [(c.broker, c.setting) for c in own] == (
            [(1, ThrottleSetting.of(where, "1000", None))] if stale else []
        )


def test_a_throttle_that_is_not_as_declared_says_what_it_is_to_be() -> None:
    standing = StandingThrottles({}, {BrokerId(1): StandingRate(Where("f", 1, 1), 2000, None)})
    seen = throttled(snapshot([state([1, 2, 3])]))
    drift = find_drift(placement({"orders": {}}, standing=standing), seen)
    (found,) = [c for c in drift.differences if c.rule is DriftRule.THROTTLE_DIFFERS]
    assert found.setting == ThrottleSetting.of(
        SettingName(ConfigScope.BROKER, "1", LEADER_RATE), "1000", "2000"
    )
    assert (found.topic, found.broker, drift.standing) == (None, 1, (found.setting,))


@pytest.mark.parametrize(
    ("seen", "more", "open_"),
    [
        (throttled(snapshot([state([1, 2, 3, 4], adding=[1])])), {}, False),
        (throttled(snapshot([state([1, 2, 3])])), {}, True),
        (
            throttled(snapshot([state([1, 2, 3])]), ConfigSource.CLUSTER_DEFAULT),
            {"standing": StandingThrottles({"ord*": ThrottledReplicas(Where("f", 1, 1))})},
            False,
        ),
    ],
    ids=["a reassignment runs", "replan's own application is open", "it is declared"],
)
def test_a_throttle_that_something_needs_is_not(
    seen: Snapshot, more: dict[str, Any], open_: bool
) -> None:
    own = OwnApplication("plan-1", "ann@ops-1", at_work=True, targets={}) if open_ else None
    found = classes(placement({"orders": {}}, **more), replace(seen, application=own))
    assert [c for c in found if c.drift_class is DriftClass.STALE_THROTTLE] == []


def test_an_entry_after_its_date_is_named_with_its_place() -> None:
    listed = (
        listed_leader(5, review_by="2026-11-20T00:00:00Z"),
        listed_leader(4, review_by="2027-01-01T00:00:00Z"),
    )
    declared = placement({"orders": [[1, 2, 3]]}, blacklist=listed)
    (found,) = classes(declared, snapshot([state([1, 2, 3])]))
    assert (found.rule, found.kind, found.broker) == (DriftRule.DATE_PASSED, "leader-blacklist", 5)
    assert found.detail == "placement.yaml:201:7"


def test_every_rule_is_in_the_documentation_in_its_order() -> None:
    page = (Path(__file__).parents[3] / "docs" / "fleet.md").read_text(encoding="utf-8")
    table = page.split("| class | rule | what the snapshot shows |\n", 1)[1].split("\n\n", 1)[0]
    rows = [line.split("|") for line in table.splitlines()[1:]]
    named = [(row[1].strip().strip("`"), row[2].strip().strip("`")) for row in rows]
    assert named == [(CLASS_OF[rule].value, rule.value) for rule in DriftRule]
