"""Why preferred elections are refused, and what is selected; which are planned, and need none, scenarios say."""

import pytest
from tests.builders import brokers, placement, snapshot, state

from replan.errors import BadUsage, WrongCluster
from replan.model.api import (
    Limit,
    Measure,
    Placement,
    Snapshot,
    TopicId,
    TopicPartition,
    Where,
    replicas,
)
from replan.planning.api import (
    LimitExceeded,
    PreferredElections,
    RefusalRule,
    Selection,
    dumps,
    loads,
    preferred_elections,
    request_digest,
)

ALL = Selection(everything=True)
OFFSETS_ID = TopicId("b2Zmc2V0cy1vZmZzZXRzMA")
PAYMENTS_ID = TopicId("cGF5bWVudHMtcGF5bWVuMA")
SEEN = snapshot(
    [
        state([1, 2, 3]),
        state([2, 3, 1], leader=3, partition=1),
        state([3, 1, 2], [1, 2], leader=1, partition=2),
        state([4, 1, 2], [4, 1, 2], leader=1, partition=3),
        state([1, 2, 3], [], leader=None, partition=4),
        state([1, 2, 3, 4], leader=2, adding=[4], partition=5),
        state([9, 1], [1], leader=1, partition=6),
        state([2, 1], leader=1, topic="__consumer_offsets", topic_id=OFFSETS_ID),
        state([2, 1], leader=1, topic="payments", topic_id=PAYMENTS_ID),
    ],
    registered=brokers(fenced=[4]),
)


def found(selection: Selection, seen: Snapshot = SEEN, **more: object) -> PreferredElections:
    declared = more.get("declared")
    assert declared is None or isinstance(declared, Placement)
    return preferred_elections(selection, seen, declared, {})


def of_orders(*numbers: int) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition("orders", number) for number in numbers)


def test_each_refusal_says_why() -> None:
    refusals = {
        r.partition.partition: (r.rule, r.facts.get("why")) for r in found(ALL).plan.refusals
    }
    unavailable = RefusalRule.PREFERRED_UNAVAILABLE
    assert refusals == {
        2: (unavailable, "not-in-sync"),
        3: (unavailable, "fenced"),
        4: (RefusalRule.NO_LEADER, None),
        5: (RefusalRule.RUNNING, None),
        6: (unavailable, "unregistered"),
    }


def test_partitions_named_one_by_one_fold_and_those_that_are_missing_are_named() -> None:
    elections = found(Selection(partitions=(*of_orders(1, 1, 0), *of_orders(77))))
    assert [m.partition for m in elections.plan.moves] == list(of_orders(1))
    assert elections.not_needed == of_orders(0)
    [refusal] = elections.plan.refusals
    assert (refusal.partition.partition, refusal.rule) == (77, RefusalRule.NO_SUCH_PARTITION)


def test_a_pattern_means_internal_topics_only_where_it_says_so() -> None:
    assert [m.partition.topic for m in found(Selection(topics=("p*", "*s"))).plan.moves] == [
        "orders",
        "payments",
    ]
    [move] = found(Selection(topics=("__*",))).plan.moves
    assert move.partition.topic == "__consumer_offsets"


def test_a_topic_that_is_not_there_is_an_error() -> None:
    with pytest.raises(BadUsage, match="--topic typo"):
        found(Selection(topics=("typo",)))


def test_the_limits_of_the_placement_hold() -> None:
    limit = Limit(Measure.LEADERS, Where("placement.yaml", 3, 1), 2)
    declared = placement()
    declared = Placement(declared.explicit, limits={Measure.LEADERS: limit})
    with pytest.raises(LimitExceeded):
        preferred_elections(ALL, SEEN, declared, {})
    assert len(preferred_elections(ALL, SEEN, declared, {Measure.LEADERS: 3}).plan.moves) == 3


def test_the_placement_of_another_cluster_is_refused() -> None:
    declared = Placement(placement().explicit, cluster_id="another")
    with pytest.raises(WrongCluster):
        found(ALL, declared=declared)


def test_the_plan_survives_its_file() -> None:
    plan = found(ALL).plan
    assert loads(dumps(plan), "plan.json") == plan
    assert plan.moves[1].target == replicas(2, 3, 1)


def test_the_same_request_is_known_again_and_another_one_is_not() -> None:
    one = Selection(topics=("orders",))
    assert request_digest(one, None) == request_digest(Selection(topics=("orders",)), None)
    assert request_digest(one, None) != request_digest(ALL, None)


def test_a_cluster_without_partitions_needs_no_election() -> None:
    empty = snapshot([])
    elections = preferred_elections(ALL, empty, None, {})
    assert elections.plan.empty
    assert elections.not_needed == ()
