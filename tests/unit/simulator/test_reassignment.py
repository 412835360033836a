"""AlterPartitionReassignments: merging, completing, refusing, in Kafka's words and limits."""

import pytest
from tests.unit.simulator.controllers import Controller, named

from replan.model.api import Rejected, replicas
from replan.simulator.api import (
    MAX_RECORDS,
    RULES,
    AlterReassignments,
    Completion,
    PartitionLists,
    completed,
    reverted,
    rules_of,
)

Ids = tuple[int, ...]


def lists(listed: Ids, isr: Ids, adding: Ids = (), removing: Ids = ()) -> PartitionLists:
    return PartitionLists(replicas(*listed), replicas(*isr), replicas(*adding), replicas(*removing))


# PartitionReassignmentRevertTest, restated.
@pytest.mark.parametrize("rule", Completion)
def test_a_reassignment_of_which_nobody_would_stay_never_completes(rule: Completion) -> None:
    everybody = replicas(1, 2)
    assert completed(PartitionLists(everybody, everybody, (), everybody), rule) is None


def test_a_cancel_that_leaves_nobody_in_sync_is_unclean() -> None:
    kept = reverted(lists((4, 5, 1, 2), (4, 5), (4, 5), (1, 2)))
    assert kept is not None
    assert (kept.replicas, kept.isr, kept.unclean) == ((1, 2), (1,), True)
    assert reverted(lists((4,), (4,), (4,))) is None


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


def test_an_unknown_version_is_named_with_those_that_are_known() -> None:
    with pytest.raises(ValueError, match=r"Kafka '2\.8\.1' is not simulated") as failure:
        rules_of("2.8.1")
    assert str(failure.value) == (
        f"Kafka '2.8.1' is not simulated; the simulated versions are {', '.join(RULES)}"
    )
    assert rules_of("4.3.1") == rules_of("4.3")
