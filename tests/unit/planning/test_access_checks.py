"""Which permissions are missing for which commands, and when clocks differ by too much."""

import json
from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.builders import brokers, move, snapshot, state
from tests.unit.applying.lab import plan_of

from replan.applying.api import ThrottledCopy, WantedThrottles
from replan.model.api import (
    Access,
    BrokerId,
    ClockDifference,
    Features,
    MoveThrottle,
    Side,
    SideRates,
    Snapshot,
    TopicId,
    replicas,
)
from replan.planning.api import (
    CheckKind,
    Create,
    Level,
    LogMove,
    Plan,
    brokers_down,
    clock_check,
    cluster_checks,
    missing_to_apply,
    permission_checks,
    unclean_topics,
)
from replan.reporting.api import check_text, render_checkup, render_checkup_json

JOURNAL = "__replan_journal"
EVERYTHING = frozenset(
    {"Read", "Write", "Create", "Alter", "Describe", "DescribeConfigs", "AlterConfigs"}
)


def missing(access: Access, *journals: str) -> dict[CheckKind, list[str]]:
    return {
        check.kind: [f"{m.operation} on {m.resource} {m.count}" for m in check.missing]
        for check in permission_checks(access, journals)
        if check.missing
    }


def test_who_may_do_everything_misses_nothing() -> None:
    allowed = Access(EVERYTHING, {"orders": EVERYTHING, JOURNAL: EVERYTHING})
    assert {c.level for c in permission_checks(allowed, [JOURNAL])} == {Level.OK}


def test_who_may_read_cannot_apply_and_adds_no_partitions() -> None:
    reading = frozenset({"Describe", "DescribeConfigs"})
    access = Access(
        reading,
        {"a": reading, "b": frozenset({"Describe"}), JOURNAL: reading | {"Read"}},
        describes_transactions=False,
    )
    assert missing(access, JOURNAL) == {
        CheckKind.PERMISSIONS_TO_PLAN: ["DescribeConfigs on Topic 1"],
        CheckKind.PERMISSIONS_TO_APPLY: [
            "Alter on Cluster 1",
            "AlterConfigs on Cluster 1",
            "AlterConfigs on Topic 2",
            "Write on Topic 1",
            "Write on TransactionalId 1",
        ],
        CheckKind.PERMISSIONS_TO_ADD_PARTITIONS: ["Alter on Topic 2"],
        CheckKind.PERMISSIONS_TO_SAVE_RECORDS: ["Read on Topic 2"],
    }
    levels = {c.kind: c.level for c in permission_checks(access, [JOURNAL])}
    assert levels[CheckKind.PERMISSIONS_TO_APPLY] is Level.WRONG
    assert levels[CheckKind.PERMISSIONS_TO_SAVE_RECORDS] is Level.NOTE


def test_without_describe_on_the_cluster_only_what_implies_it_is_known_to_be_missing() -> None:
    assert missing(Access(frozenset(), {}), JOURNAL) == {
        CheckKind.PERMISSIONS_TO_PLAN: ["Describe on Cluster 1"],
        CheckKind.PERMISSIONS_TO_APPLY: ["Alter on Cluster 1"],
    }


def test_a_cluster_that_does_not_say_is_worth_a_look() -> None:
    found = {c.kind: c for c in permission_checks(Access(None, {}), [JOURNAL])}
    assert found[CheckKind.PERMISSIONS_TO_APPLY].level is Level.LOOK
    assert "does not say" in check_text(found[CheckKind.PERMISSIONS_TO_APPLY])


def test_a_journal_that_is_not_there_needs_to_be_created_and_a_file_needs_nothing() -> None:
    access = Access(EVERYTHING, {}, not_created=frozenset({JOURNAL}))
    assert missing(access, JOURNAL) == {CheckKind.PERMISSIONS_TO_APPLY: ["Create on Topic 1"]}
    assert missing(access) == {}


def test_a_journal_of_another_name_needs_the_topic_of_the_lock_as_well() -> None:
    """Whoever may write only its own journal cannot lock the cluster."""
    other = "payments-journal"
    access = Access(
        EVERYTHING, {"orders": EVERYTHING, other: EVERYTHING, JOURNAL: READING | {"Read"}}
    )
    assert missing(access, JOURNAL, other) == {CheckKind.PERMISSIONS_TO_APPLY: ["Write on Topic 1"]}
    assert lacking(plan_of([MOVE]), access, [JOURNAL, other]) == [f"Write on Topic {JOURNAL}"]
    new = Access(EVERYTHING, {other: EVERYTHING}, not_created=frozenset({JOURNAL}))
    assert missing(new, JOURNAL, other) == {CheckKind.PERMISSIONS_TO_APPLY: ["Create on Topic 1"]}


@pytest.mark.parametrize(
    ("ahead", "within", "level"),
    [(0.2, 0.1, Level.OK), (-30, 0.1, Level.LOOK), (12, 5, Level.OK), (3600, 2, Level.LOOK)],
)
def test_clocks_may_differ_by_what_the_measurement_allows_and_ten_seconds(
    ahead: float, within: float, level: Level
) -> None:
    check = clock_check(ClockDifference(BrokerId(3), ahead, within))
    assert check.level is level
    assert ("behind" in check_text(check)) == (ahead < 0)


@pytest.mark.parametrize(
    ("features", "level"),
    [
        (Features(eligible_leader_replicas=True), Level.OK),
        (Features(replication_factor_guard=True), Level.LOOK),
        (Features(), Level.NOTE),
    ],
    ids=["on", "4.1 without", "before 4.1"],
)
def test_a_cluster_that_is_too_old_for_elr_is_ready(features: Features, level: Level) -> None:
    checks = list(cluster_checks(snapshot([state([1, 2])], features=features)))
    (check,) = [c for c in checks if c.kind is CheckKind.ELIGIBLE_LEADERS]
    assert check.level is level
    assert ("kafka-features.sh" in check_text(check)) == (level is Level.LOOK)


def test_the_worst_stands_first_and_of_many_partitions_some_are_named() -> None:
    at_minimum = [state([1, 2], [1], partition=n) for n in range(9)]
    checks = list(cluster_checks(snapshot(at_minimum, min_insync_replicas=1)))
    lines = render_checkup(checks).splitlines()
    first, second, *_ = lines
    assert first.startswith("WRONG  partitions"), lines
    assert "orders-4, and 4 more" in first
    assert second.startswith(("look", "note", "ok"))
    assert len(lines) == len(checks) + 2


def test_many_topics_are_counted_and_json_has_the_fields() -> None:
    access = Access(EVERYTHING, {f"t{n:02}": frozenset({"Describe"}) for n in range(30)})
    checks = [
        *permission_checks(access, []),
        clock_check(ClockDifference(BrokerId(3), -30.0004, 0.1)),
        *cluster_checks(snapshot([state([1, 2])])),
    ]
    assert "DescribeConfigs on 30 topics (t00, t01, t02, and 27 more)" in render_checkup(checks)
    found = {c["check"]: c for c in json.loads(render_checkup_json(checks))["checks"]}
    (first,) = found["permissions-to-plan"]["missing"]
    assert (first["operation"], first["resource"], first["count"]) == (
        "DescribeConfigs",
        "Topic",
        30,
    )
    assert len(first["names"]) == 20
    clock = found["clock"]
    assert (clock["aheadSeconds"], clock["withinSeconds"], clock["controller"]) == (-30.0, 0.1, 3)


READING = frozenset({"Describe", "DescribeConfigs"})
MOVE = move([1, 2], [1, 3])
ORDER = move([1, 2], [2, 1])


def lacking(
    plan: Plan, access: Access, journals: Collection[str] = (), throttled: Collection[str] = ()
) -> list[str]:
    return [
        " ".join([m.operation, "on", m.resource, *m.names])
        for m in missing_to_apply(plan, access, journals, throttled)
    ]


def test_who_may_read_lacks_what_the_plan_needs_and_no_more() -> None:
    access = Access(READING, {"orders": READING, "other": frozenset({"Describe"})})
    assert lacking(plan_of([ORDER]), access) == ["Alter on Cluster"]
    assert lacking(plan_of([MOVE]), access) == ["Alter on Cluster"]
    limited = plan_of([MOVE], throttle=MoveThrottle(5_000_000))
    of_throttles = ["AlterConfigs on Cluster", "AlterConfigs on Topic orders"]
    assert lacking(limited, access) == ["Alter on Cluster", *of_throttles]
    assert lacking(plan_of([ORDER], throttle=MoveThrottle(None)), access) == ["Alter on Cluster"]


@given(st.data())
def test_a_plan_needs_alterconfigs_where_applying_sets_a_throttle_and_nowhere_else(
    data: st.DataObject,
) -> None:
    rates = st.none() | st.just(5_000_000)
    sides = rates | st.builds(SideRates, rates, rates)
    throttle = data.draw(
        st.none()
        | st.builds(MoveThrottle, rates, st.dictionaries(st.integers(1, 4).map(BrokerId), sides))
    )
    lists = st.permutations([1, 2, 3, 4]).map(lambda of: of[:2])
    drawn = data.draw(st.lists(st.tuples(lists, lists), max_size=3))
    moves = [move(o, t, topic=f"t{n}") for n, (o, t) in enumerate(drawn) if o != t]
    within = [
        LogMove("t9", TopicId("x"), 0, BrokerId(b), "/a", "/b", 5)
        for b in data.draw(st.sets(st.integers(1, 4), max_size=2))
    ]
    plan = replace(plan_of(moves, throttle=throttle), log_moves=tuple(within))
    wanted = WantedThrottles.of([ThrottledCopy(m) for m in plan.moves if m.new], throttle)
    topics = sorted({topic for topic, _ in wanted.entries})
    on = {" ".join(["AlterConfigs on Topic", *topics])} if topics else set[str]()
    own = throttle is not None and any(
        throttle.rate_of(m.broker, Side.FOLLOWER) is not None for m in within
    )
    on |= {"AlterConfigs on Cluster"} if wanted.rates or own else set()
    access = Access(READING | {"Alter"}, {f"t{n}": READING | {"Alter"} for n in range(10)})
    assert {text for text in lacking(plan, access) if text.startswith("AlterConfigs")} == on


def test_partitions_to_be_added_need_alter_and_copies_of_others_their_throttle() -> None:
    access = Access(READING, {"orders": READING})
    adding = replace(plan_of([]), creates=(Create("orders", TopicId("t"), 1, (replicas(1, 2),)),))
    assert lacking(adding, access) == ["Alter on Topic orders"]
    running = plan_of([], throttle=MoveThrottle(5_000_000))
    assert lacking(running, access, throttled=["orders"]) == [
        "AlterConfigs on Cluster",
        "AlterConfigs on Topic orders",
    ]


def test_the_journal_counts_where_it_is_a_topic() -> None:
    access = Access(
        EVERYTHING,
        {"orders": EVERYTHING, JOURNAL: READING | {"Read"}},
        describes_transactions=False,
        transactional_id="replan-j",
    )
    assert lacking(plan_of([MOVE]), access) == []
    assert lacking(plan_of([MOVE]), access, [JOURNAL]) == [
        f"Write on Topic {JOURNAL}",
        "Write on TransactionalId replan-j",
    ]


def test_nobody_is_refused_for_what_the_cluster_does_not_say_or_a_topic_that_is_gone() -> None:
    assert lacking(plan_of([MOVE], throttle=MoveThrottle(1)), Access(None, {})) == []


@pytest.mark.parametrize(
    ("seen", "down", "without_rack"),
    [
        (snapshot([state([1, 2])], registered=brokers(3, "abc")), (), ()),
        (snapshot([state([1, 9])], registered=brokers(3, "abc")), ("9",), ()),
        (snapshot([state([1, 2])], registered=brokers(3, "abc", fenced=[3])), ("3",), ()),
        (
            snapshot(
                [state([1, 2])],
                registered=[
                    replace(b, rack=None) if b.id > 1 else b for b in brokers(3, "abc", fenced=[3])
                ],
            ),
            ("3",),
            ("2",),
        ),
    ],
    ids=["none", "not registered", "fenced", "fenced, and Kafka does not tell its rack"],
)
def test_doctor_names_the_brokers_that_status_and_drift_call_down(
    seen: Snapshot, down: tuple[str, ...], without_rack: tuple[str, ...]
) -> None:
    found = {check.kind: check.names for check in cluster_checks(seen)}
    assert found[CheckKind.BROKERS] == tuple(str(of.broker) for of in brokers_down(seen)) == down
    assert found[CheckKind.RACKS] == without_rack
    assert found[CheckKind.UNCLEAN_ELECTION] == unclean_topics(seen)
