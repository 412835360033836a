"""What becomes a move, what is only said, and what is not mentioned."""

from pathlib import Path

from msgspec.structs import replace
from tests.builders import TOPIC_ID, brokers, listed_leader, placement, snapshot, state, titled
from tests.goldens import check_cases

from replan.model.api import Broker, BrokerId, MoveThrottle, Placement, Snapshot, TopicId, replicas
from replan.planning.api import Move, MoveReason, Plan, ReasonKind, WarningKind, make_plan

THREE = snapshot([state([1, 2, 3])])


def only(asked: Placement, seen: Snapshot) -> Move:
    made = make_plan(asked, seen)
    assert made.refusals == ()
    assert len(made.moves) == 1
    return made.moves[0]


def test_partitions_in_place_are_not_mentioned() -> None:
    made = make_plan(placement({"orders": [[1, 2, 3]]}), THREE)
    assert made.empty
    assert made.warnings == ()


def test_an_empty_placement_asks_for_nothing() -> None:
    assert make_plan(placement(), THREE).empty
    assert make_plan(placement(), snapshot([])).empty


def test_a_move_carries_the_state_that_it_was_planned_from() -> None:
    seen = snapshot([state([1, 2, 3], leader=2, size=7)], min_insync_replicas=1, unclean=["orders"])
    assert only(placement({"orders": [[4, 2, 5]]}), seen) == Move(
        partition=next(iter(seen.states([0]))).partition,
        topic_id=TOPIC_ID,
        original=replicas(1, 2, 3),
        target=replicas(4, 2, 5),
        min_insync_replicas=1,
        unclean_election=True,
        reason=MoveReason(ReasonKind.DECLARED),
        bytes=7,
        leader=BrokerId(2),
    )


def test_a_plan_carries_cluster_racks_throttle_and_the_digest_of_the_placement() -> None:
    throttle = MoveThrottle(10**6, {BrokerId(1): None})
    made = make_plan(placement({"orders": [[1, 2, 3]]}, throttle=throttle), THREE)
    assert made.cluster_id == THREE.cluster_id
    assert made.placement_digest == "d" * 64
    assert dict(made.racks) == {1: "a", 2: "b", 3: "c", 4: "a", 5: "b"}
    assert made.throttle == throttle


REASONS: list[tuple[str, Placement, Snapshot, str]] = [
    ("replicas", placement({"orders": [[1, 2, 4]]}), THREE, "declared replicas"),
    ("increase", placement({"orders": [[1, 2, 3, 4]]}), THREE, "declared replicas"),
    ("decrease", placement({"orders": [[1, 2]]}), THREE, "declared replicas"),
    ("order", placement({"orders": [[2, 1, 3]]}), THREE, "declared order"),
    (
        "leader",
        placement({"orders": [[1, 2, 3]]}),
        snapshot([state([1, 2, 3], leader=3)]),
        "leader is 3, first of the list is 1",
    ),
    (
        "preferred leader",
        placement({"orders": [[1, 2, 3]]}, leaders={"orders-0": 2}),
        THREE,
        "preferred leader 2",
    ),
    (
        "preferred leader, undeclared, first already",
        placement(leaders={"orders-0": 1}),
        snapshot([state([1, 2, 3], leader=3)]),
        "preferred leader 1",
    ),
    (
        "blacklist",
        placement({"orders": [[1, 2, 3]]}, blacklist=[listed_leader(1, reason="disk at\n 92 %")]),
        THREE,
        "broker 1 is on the leader blacklist: disk at 92 %",
    ),
    (
        "blacklist, not leading",
        placement(blacklist=[listed_leader(2)]),
        THREE,
        "broker 2 is on the leader blacklist",
    ),
    (
        "blacklist, last already but leading",
        placement(blacklist=[listed_leader(3)]),
        snapshot([state([1, 2, 3], leader=3)]),
        "broker 3 is on the leader blacklist",
    ),
    (
        "other replicas, and an order that the blacklist changed",
        placement({"orders": [[1, 2, 4]]}, blacklist=[listed_leader(1, reason="disk")]),
        THREE,
        "declared replicas; broker 1 is on the leader blacklist: disk",
    ),
    (
        "other replicas, and a preferred leader",
        placement({"orders": [[1, 2, 4]]}, leaders={"orders-0": 4}),
        THREE,
        "declared replicas; preferred leader 4",
    ),
    (
        "other replicas, which the blacklist leaves in their order",
        placement({"orders": [[2, 4, 1]]}, blacklist=[listed_leader(1)]),
        THREE,
        "declared replicas",
    ),
    (
        "blacklist of other topics",
        placement({"orders": [[2, 1, 3]]}, blacklist=[listed_leader(1, topics=["clicks"])]),
        THREE,
        "declared order",
    ),
    (
        "two entries of one broker, the first in the file is shown",
        placement(
            blacklist=[
                listed_leader(1, reason="second", line=100),
                listed_leader(1, reason="first", topics=["orders"], line=99),
            ]
        ),
        THREE,
        "broker 1 is on the leader blacklist: first",
    ),
]


@titled("asked seen reason", REASONS)
def test_a_move_says_why(asked: Placement, seen: Snapshot, reason: str) -> None:
    assert str(only(asked, seen).reason) == reason


def test_another_leader_alone_is_a_move_of_one_step_and_no_list() -> None:
    asked = placement({"orders": [[1, 2, 3]]})
    assert only(asked, snapshot([state([1, 2, 3], leader=3)])).is_leader_only


QUIET: list[tuple[str, Placement, Snapshot]] = [
    (
        "the first is out of sync",
        placement({"orders": [[1, 2, 3]]}),
        snapshot([state([1, 2, 3], [2, 3])]),
    ),
    (
        "an unmanaged partition, led by an unlisted one",
        placement(blacklist=[listed_leader(3)]),
        snapshot([state([1, 2, 3], leader=2)]),
    ),
    (
        "an unmanaged partition that a reassignment runs on",
        placement(blacklist=[listed_leader(1)]),
        snapshot([state([1, 2, 4], [1, 2], adding=[4])]),
    ),
    (
        "an internal topic, beside an entry for the patterns of others",
        placement(blacklist=[listed_leader(1, topics=["*"])]),
        snapshot([state([1, 2], topic="__consumer_offsets")]),
    ),
]


@titled("asked seen", QUIET)
def test_what_nobody_could_or_should_change_is_not_mentioned(
    asked: Placement, seen: Snapshot
) -> None:
    made = make_plan(asked, seen)
    assert made.empty
    assert made.warnings == ()


def test_a_restarting_broker_makes_no_plan_even_where_it_held_the_only_replica() -> None:
    seen = snapshot(
        [state([1], [1], leader=None), state([1, 2], [2], partition=1)],
        registered=brokers(5, fenced=[1]),
        min_insync_replicas=1,
    )
    made = make_plan(placement({"orders": [[1], [1, 2]]}), seen)
    assert made.empty
    assert said(made) == [
        (
            "no leader: 1 partition (orders-0); no move helps there: bring back a broker that was in sync, or see what "
            "`replan elect best-log` could do"
        ),
        "broker 1 is down: 2 replicas on it; of its partitions 1 without a leader",
        "Kafka elects broker 1 by itself once it is back: it is in sync: 1 partition (orders-0)",
    ]


def test_a_partition_without_a_leader_is_named_whether_declared_or_not() -> None:
    seen = snapshot([state([1, 2], [1], leader=None)], registered=brokers(2, fenced=[1]))
    made = make_plan(placement({}), seen)
    assert made.empty
    assert [w.kind for w in made.warnings] == [
        WarningKind.LEADERLESS,
        WarningKind.BROKER_DOWN,
        WarningKind.AWAITED,
    ]
    assert made.warnings[0].facts["partitions"] == ("orders-0",)


def test_what_is_on_its_way_already_is_said_and_not_planned() -> None:
    seen = snapshot(
        [state([1, 2, 4, 3], [1, 2, 3], adding=[4], removing=[3]), state([1, 2], partition=1)]
    )
    made = make_plan(placement({"orders": {0: [1, 2, 4], 1: [1, 2]}}), seen)
    assert made.empty
    assert said(made) == [
        "a reassignment to the declared list is already running: 1 partition (orders-0)"
    ]


def test_a_declared_leader_waits_for_a_foreign_reassignment_on_its_partition() -> None:
    seen = snapshot([state([1, 2, 4], [1, 2], adding=[4])])
    made = make_plan(placement(leaders={"orders-0": 2}), seen)
    assert [(r.rule, r.held) for r in made.refusals] == [("running", True)]


def test_members_that_no_request_may_name_travel_with_the_move() -> None:
    seen = snapshot(
        [state([1, 2, 9], [1, 2])],
        registered=[Broker(BrokerId(b), "a", cordoned=b == 2) for b in range(1, 6)],
    )
    made = only(placement({"orders": [[1, 3, 4]]}), seen)
    assert made.unnameable == {2, 9}
    assert made.expanded == (1, 3, 4)


def said(made: Plan) -> list[str]:
    return [str(w) for w in made.warnings]


WARNINGS: list[tuple[str, Placement, Snapshot]] = [
    (
        "fenced",
        placement({"orders": [[1, 2, 4]]}),
        snapshot([state([1, 2, 3])], registered=brokers(5, fenced=[4])),
    ),
    (
        "unclean",
        placement({"orders": [[2, 1]], "clicks": [[2, 1]]}),
        snapshot([state([1, 2]), state([1, 2], topic="clicks")], unclean=["orders", "clicks"]),
    ),
    (
        "preferred and blacklisted",
        placement({"orders": [[2, 1, 3]]}, leaders={"orders-0": 1}, blacklist=[listed_leader(1)]),
        snapshot([state([2, 3, 1])]),
    ),
    ("unregistered on the blacklist", placement(blacklist=[listed_leader(9)]), THREE),
    ("expired", placement(blacklist=[listed_leader(5, review_by="2026-11-21")]), THREE),
    ("hidden", placement({"orders": [[1, 2, 3]]}), replace(THREE, hidden=("payouts",))),
    (
        "min ISR above replicas",
        placement({"orders": [[1, 2]], "clicks": [[1, 2]]}),
        snapshot([state([1, 2]), state([1, 2], topic="clicks")], min_insync_replicas=3),
    ),
]


def test_a_warning_is_one_line_complete_in_itself() -> None:
    """In `goldens/warnings.txt`."""
    told: list[tuple[str, str]] = []
    for title, asked, seen in WARNINGS:
        down = "broker 4 is down: no replica on it"
        (warning,) = [text for text in said(make_plan(asked, seen)) if text != down]
        assert "\n" not in warning
        told.append((title, warning))
    check_cases(Path(__file__).parent / "goldens" / "warnings.txt", told)


def test_an_entry_to_be_reviewed_later_today_is_not_named() -> None:
    asked = placement(blacklist=[listed_leader(5, review_by="2026-11-21T18:00:00Z")])
    assert make_plan(asked, THREE).warnings == ()


def test_warnings_name_twenty_partitions_and_count_the_rest() -> None:
    states = [state([1], [1], leader=None, partition=p) for p in range(23)]
    seen = snapshot(states, min_insync_replicas=1)
    warning, awaited = said(make_plan(placement({"orders": [[1]] * 23}), seen))
    assert awaited.startswith("Kafka elects broker 1 by itself once it is back: it is in sync: 23 ")
    assert warning.startswith("no leader: 23 partitions (orders-0, orders-1, orders-2, ")
    assert "orders-19 and 3 more); no move helps there" in warning


def test_internal_topics_are_planned_when_they_are_named() -> None:
    seen = snapshot([state([1, 2], topic="__consumer_offsets")])
    asked = placement({"__consumer_offsets": [[2, 1]]})
    assert only(asked, seen).target == (2, 1)
    by_name = placement(blacklist=[listed_leader(1, topics=["__consumer_offsets"])])
    assert only(by_name, seen).target == (2, 1)


def test_a_recreated_topic_is_planned_with_its_new_id() -> None:
    seen = snapshot([state([1, 2], topic_id=TopicId("a-topic-made-yesterday"))])
    assert only(placement({"orders": [[2, 1]]}), seen).topic_id == "a-topic-made-yesterday"
