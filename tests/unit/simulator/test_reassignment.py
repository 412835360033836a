"""AlterPartitionReassignments: merging, completing, refusing, in Kafka's words and limits."""

import pytest
from tests.unit.simulator.controllers import P0, Controller, named

from replan.model.api import Accepted, BrokerId, Rejected, TopicPartition, replicas
from replan.simulator.api import (
    MAX_RECORDS,
    RULES,
    AlterReassignments,
    Completion,
    CordonDirs,
    PartitionLists,
    UnregisterBroker,
    completed,
    retargeted,
    reverted,
    rules_of,
)

Ids = tuple[int, ...]


def to(*ids: int, partition: TopicPartition = P0) -> AlterReassignments:
    return AlterReassignments(((partition, replicas(*ids)),))


def lists(listed: Ids, isr: Ids, adding: Ids = (), removing: Ids = ()) -> PartitionLists:
    return PartitionLists(replicas(*listed), replicas(*isr), replicas(*adding), replicas(*removing))


# PartitionReassignmentReplicasTest, restated.
@pytest.mark.parametrize(
    ("current", "target", "expected"),
    [
        ((3, 2, 1), (3, 2, 1), ((3, 2, 1), (), ())),
        ((3, 2, 1), (3, 6, 2, 1, 5), ((3, 6, 2, 1, 5), (5, 6), ())),
        ((3, 2, 1, 0), (3, 1), ((3, 1, 0, 2), (), (0, 2))),
        ((3, 2, 1, 0), (7, 3, 1, 9), ((7, 3, 1, 9, 0, 2), (7, 9), (0, 2))),
        ((3, 2, 1), (1, 2, 3), ((1, 2, 3), (), ())),
    ],
)
def test_a_target_merges_with_what_is_listed(
    current: tuple[int, ...],
    target: tuple[int, ...],
    expected: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]],
) -> None:
    found = retargeted(lists(replicas(*current), ()), replicas(*target))
    assert (found.replicas, found.adding, found.removing) == expected


@pytest.mark.parametrize(
    ("before", "whole_target", "adding_only"),
    [
        (lists((0, 1, 2), (0, 1, 2)), None, None),
        (lists((3, 4, 0, 1), (0, 1, 3, 4), (3, 4), (0, 1)), ((3, 4), (3, 4)), ((3, 4), (3, 4))),
        (lists((3, 4, 0, 1), (0, 1, 3), (3, 4), (0, 1)), None, None),
        (lists((0, 1, 3), (0, 3), (3,)), None, ((0, 1, 3), (0, 3))),
        (lists((1, 3, 0), (0, 3), (3,), (0,)), None, ((1, 3), (3,))),
        (lists((1, 3, 0, 2), (0, 2, 3), (3,), (0, 2)), None, None),
        (lists((1, 2, 4), (1, 2, 4), (4,), (4,)), ((1, 2), (1, 2)), None),
        (lists((1, 0), (0,), (), (0,)), None, None),
    ],
)
def test_a_reassignment_completes_by_the_rule_of_its_version(
    before: PartitionLists,
    whole_target: tuple[tuple[int, ...], tuple[int, ...]] | None,
    adding_only: tuple[tuple[int, ...], tuple[int, ...]] | None,
) -> None:
    for rule, expected in (
        (Completion.WHOLE_TARGET_IN_SYNC, whole_target),
        (Completion.ADDING_IN_SYNC, adding_only),
    ):
        found = completed(before, rule)
        assert (None if found is None else (found.replicas, found.isr)) == expected


# PartitionReassignmentRevertTest, restated.
@pytest.mark.parametrize("rule", Completion)
def test_a_reassignment_of_which_nobody_would_stay_never_completes(rule: Completion) -> None:
    everybody = replicas(1, 2)
    assert completed(PartitionLists(everybody, everybody, (), everybody), rule) is None


def test_a_cancel_drops_the_adding_and_keeps_the_removing() -> None:
    kept = reverted(lists((4, 1, 2, 3), (1, 2, 4), (4,), (3,)))
    assert kept is not None
    assert (kept.replicas, kept.isr, kept.unclean) == ((1, 2, 3), (1, 2), False)


def test_a_cancel_that_leaves_nobody_in_sync_is_unclean() -> None:
    kept = reverted(lists((4, 5, 1, 2), (4, 5), (4, 5), (1, 2)))
    assert kept is not None
    assert (kept.replicas, kept.isr, kept.unclean) == ((1, 2), (1,), True)
    assert reverted(lists((4,), (4,), (4,))) is None


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (
            to(1, partition=TopicPartition("clicks", 0)),
            Rejected(3, "UNKNOWN_TOPIC_OR_PARTITION", "Unable to find a topic named clicks."),
        ),
        (
            to(1, partition=named(7)),
            Rejected(3, "UNKNOWN_TOPIC_OR_PARTITION", "Unable to find partition orders:7."),
        ),
        (
            AlterReassignments(((named(7), None),)),
            Rejected(3, "UNKNOWN_TOPIC_OR_PARTITION", "Unable to find partition orders:7."),
        ),
        (
            AlterReassignments(((P0, None),)),
            Rejected(
                85, "NO_REASSIGNMENT_IN_PROGRESS", "No partition reassignment is in progress."
            ),
        ),
        (
            to(),
            Rejected(
                39,
                "INVALID_REPLICA_ASSIGNMENT",
                "The manual partition assignment includes an empty replica list.",
            ),
        ),
        (
            to(9, 8, 1, 1),
            Rejected(
                39,
                "INVALID_REPLICA_ASSIGNMENT",
                "The manual partition assignment includes the broker 1 more than once.",
            ),
        ),
        (
            to(9, 8, 1),
            Rejected(
                39,
                "INVALID_REPLICA_ASSIGNMENT",
                "The manual partition assignment includes broker 8, but no such broker is registered.",
            ),
        ),
        (
            to(-1, 1),
            Rejected(
                39,
                "INVALID_REPLICA_ASSIGNMENT",
                "The manual partition assignment includes broker -1, but no such broker is registered.",
            ),
        ),
    ],
)
def test_a_refusal_has_kafkas_code_and_words_and_changes_nothing(
    command: AlterReassignments, expected: Rejected
) -> None:
    controller = Controller([1, 2, 3])
    before = controller.state
    assert controller.answer(command) == expected
    assert controller.state is before


def test_an_unclean_cancel_is_refused_with_the_reason() -> None:
    controller = Controller([1, 2, 3])
    controller.ask(to(4, 5, 6))
    controller.ask(controller.isr(1, 4))
    controller.fence(1)
    assert controller.answer(AlterReassignments(((P0, None),))) == Rejected(
        39,
        "INVALID_REPLICA_ASSIGNMENT",
        "Unable to revert partition assignment for orders:0 because it would require an unclean "
        "leader election.",
    )


@pytest.mark.parametrize(("version", "refused"), [("4.3", False), ("4.4", True)])
def test_a_fully_cordoned_broker_is_refused_from_4_4_on(version: str, refused: bool) -> None:
    controller = Controller([1, 2, 3], version=version)
    controller.ask(CordonDirs(BrokerId(3), frozenset({"data"})))
    answer = controller.answer(to(3, 2, 1))
    if refused:
        assert answer == Rejected(
            39,
            "INVALID_REPLICA_ASSIGNMENT",
            "The manual partition assignment includes broker 3, but all its log directories are "
            "cordoned.",
        )
    else:
        assert answer == Accepted()


@pytest.mark.parametrize(
    ("first", "target", "expected"),
    [
        (None, (1, 2, 4), Accepted()),
        (None, (1, 2, 3, 4), "The replication factor is changed from 3 to 4"),
        ((4, 5, 6), (1, 2, 4), Accepted()),
        ((4, 5), (1, 2, 4), "The replication factor is changed from 2 to 3"),
    ],
)
def test_the_guard_of_the_replication_factor_judges_what_will_be(
    first: tuple[int, ...] | None, target: tuple[int, ...], expected: Accepted | str
) -> None:
    controller = Controller([1, 2, 3])
    if first is not None:
        controller.ask(to(*first))
    answer = controller.answer(AlterReassignments(((P0, replicas(*target)),), False))
    if isinstance(expected, str):
        assert answer == Rejected(38, "INVALID_REPLICATION_FACTOR", expected)
    else:
        assert answer == expected


def test_the_guard_does_not_hold_a_cancel_up() -> None:
    controller = Controller([1, 2, 3])
    controller.ask(to(1, 2, 3, 4))
    assert controller.answer(AlterReassignments(((P0, None),), False)) == Accepted()


@pytest.mark.parametrize("version", ["3.9", "4.0"])
def test_a_version_without_the_guard_says_so(version: str) -> None:
    controller = Controller([1, 2, 3], version=version)
    decision = controller.ask(AlterReassignments(((P0, replicas(1, 2, 4)),), False))
    assert decision.whole == Rejected(
        35, "UNSUPPORTED_VERSION", "AllowReplicationFactorChange needs Kafka 4.1 or later."
    )


def test_what_is_valid_is_applied_though_others_are_refused() -> None:
    controller = Controller([1, 2, 3], [1, 2, 3])
    decision = controller.ask(
        AlterReassignments(((named(0), replicas(9)), (named(1), replicas(3, 2, 1))))
    )
    assert [type(answer) for _, answer in decision.each] == [Rejected, Accepted]
    assert controller.partition(1).replicas == (3, 2, 1)


@pytest.mark.slow
def test_beyond_ten_thousand_records_the_surplus_fails_and_the_rest_is_applied() -> None:
    count = MAX_RECORDS + 2
    controller = Controller(*[[1, 2, 3]] * count)
    unchanged = (named(0), replicas(1, 2, 3))
    items = [(named(i), replicas(3, 2, 1)) for i in range(count)]
    decision = controller.ask(AlterReassignments((*items, unchanged)))
    codes = [a.code if isinstance(a, Rejected) else 0 for _, a in decision.each]
    assert codes == [0] * MAX_RECORDS + [-1, -1, 0]
    assert controller.partition(MAX_RECORDS - 1).replicas == (3, 2, 1)
    assert controller.partition(MAX_RECORDS).replicas == (1, 2, 3)


def test_an_unregistered_broker_can_only_be_dropped() -> None:
    controller = Controller([1, 2, 3])
    controller.ask(UnregisterBroker(BrokerId(3)))
    assert controller.partition().replicas == (1, 2, 3)
    assert isinstance(controller.answer(to(3, 2, 1)), Rejected)
    assert controller.answer(to(2, 1)) == Accepted()
    assert controller.partition().replicas == (2, 1)


def test_a_stale_eligible_leader_that_is_no_replica_makes_the_controller_stumble() -> None:
    """Seen on 4.3.1: the new list names a live broker that is still in the ELR, and nobody is in the ISR."""
    controller = Controller([1, 5, 2], elr=True, configs={"min.insync.replicas": "2"})
    controller.ask(to(5))
    controller.fence(5)
    assert controller.partition().elr == (1, 2, 5)
    assert controller.answer(to(1)) == Rejected(
        -1,
        "UNKNOWN_SERVER_ERROR",
        "The server experienced an unexpected error when processing the request.",
    )


def test_an_unknown_version_is_named_with_those_that_are_known() -> None:
    with pytest.raises(ValueError, match=r"Kafka '2\.8\.1' is not simulated") as failure:
        rules_of("2.8.1")
    assert str(failure.value) == (
        f"Kafka '2.8.1' is not simulated; the simulated versions are {', '.join(RULES)}"
    )
    assert rules_of("4.3.1") == rules_of("4.3")
