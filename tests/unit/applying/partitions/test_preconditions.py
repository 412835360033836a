import pytest
from tests.builders import brokers, move

from replan.applying.partitions.preconditions import precondition
from replan.model.broker import Broker
from replan.model.configs import TopicSettings
from replan.model.names import BrokerId

RACKS = {b.id: b.rack for b in brokers()}
REGISTERED = {b.id: b for b in brokers()}
AS_PLANNED = TopicSettings(min_insync_replicas=2)
SWAP = move([1, 2, 3], [4, 2, 5], size=100)


@pytest.mark.parametrize(
    ("settings", "registered", "message"),
    [
        (AS_PLANNED, REGISTERED, None),
        (None, REGISTERED, "orders-0: topic orders is not there any more; make a new plan"),
        (
            TopicSettings(min_insync_replicas=3),
            REGISTERED,
            "orders-0: planned with min.insync.replicas 2, found 3; make a new plan",
        ),
        (
            TopicSettings(min_insync_replicas=2, unclean_election=True),
            REGISTERED,
            "orders-0: planned with unclean.leader.election.enable false, found true; make a new plan",
        ),
        (
            AS_PLANNED,
            {b: r for b, r in REGISTERED.items() if b != 5},
            "orders-0: broker 5 of target [4, 2, 5] was registered when planned, now it is not; make a new plan",
        ),
        (
            AS_PLANNED,
            REGISTERED | {BrokerId(4): Broker(BrokerId(4), None)},
            "orders-0: broker 4 was planned in rack a, found in rack None; make a new plan",
        ),
        (AS_PLANNED, {b: r for b, r in REGISTERED.items() if b != 3}, None),
        (AS_PLANNED, REGISTERED | {BrokerId(4): Broker(BrokerId(4), "a", fenced=True)}, None),
    ],
)
def test_a_precondition_says_what_was_expected_and_what_is_found(
    settings: TopicSettings | None, registered: dict[BrokerId, Broker], message: str | None
) -> None:
    assert precondition(SWAP, settings, registered, RACKS) == message
