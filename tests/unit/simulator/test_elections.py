"""Elections: who leads, what is answered, and the limits of one request."""

import pytest
from tests.unit.simulator.controllers import TOPIC, Controller, named

from replan.model.api import (
    UNCLEAN_ELECTION,
    Accepted,
    ConfigOperation,
    OutcomeUnknown,
    Rejected,
    replicas,
    topic_change,
)
from replan.simulator.api import (
    MAX_ELECTIONS_PER_RUN,
    AlterConfigs,
    AlterReassignments,
    ElectLeaders,
    ElectUncleanLeaders,
    RebalanceLeaders,
)

NOT_NEEDED = Rejected(84, "ELECTION_NOT_NEEDED", "Leader election not needed for topic partition.")


def reordered(count: int) -> Controller:
    """A controller on which that many partitions are not led by their first replica."""
    controller = Controller(*[[1, 2]] * count)
    for start in range(0, count, 5_000):
        chunk = range(start, min(start + 5_000, count))
        controller.ask(AlterReassignments(tuple((named(i), replicas(2, 1)) for i in chunk)))
    return controller


def test_electing_everywhere_leaves_out_what_needs_no_election() -> None:
    controller = Controller([1, 2], [3, 2], [2, 1])
    controller.fence(3)
    controller.ask(AlterReassignments(((named(2), replicas(1, 2)),)))
    decision = controller.ask(ElectLeaders(None))
    assert [(name, type(answer)) for name, answer in decision.each] == [
        (named(1), Rejected),
        (named(2), Accepted),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (9_999, Accepted()),
        (
            10_000,
            OutcomeUnknown("the active controller resigned: exactly 10,000 elections"),
        ),
        (
            10_001,
            Rejected(
                44,
                "POLICY_VIOLATION",
                "Unable to perform excessively large batch operation: 10001 elections.",
            ),
        ),
    ],
)
def test_one_request_holds_fewer_than_ten_thousand_elections(
    count: int, expected: Accepted | OutcomeUnknown | Rejected
) -> None:
    controller = reordered(count)
    decision = controller.ask(ElectLeaders(None))
    assert decision.whole == expected
    elected = sum(p.leader == 2 for _, p in controller.state.partitions())
    assert elected == (count if expected == Accepted() else 0)


def test_the_rebalance_takes_a_thousand_at_a_time() -> None:
    controller = reordered(MAX_ELECTIONS_PER_RUN + 5)
    controller.ask(RebalanceLeaders())
    assert sum(p.leader == 2 for _, p in controller.state.partitions()) == MAX_ELECTIONS_PER_RUN
    controller.ask(RebalanceLeaders())
    assert all(p.leader == 2 for _, p in controller.state.partitions())


@pytest.mark.parametrize(("allowed", "leader"), [("false", None), ("true", 2)])
def test_the_unclean_timer_asks_only_where_the_topic_allows_it(
    allowed: str, leader: int | None
) -> None:
    controller = Controller([1, 2])
    controller.ask(controller.isr(1))
    controller.fence(1)
    change = topic_change(TOPIC, UNCLEAN_ELECTION, ConfigOperation.SET, allowed)
    controller.ask(AlterConfigs((change,)))
    assert controller.partition().leader is None
    controller.ask(ElectUncleanLeaders())
    assert controller.partition().leader == leader
