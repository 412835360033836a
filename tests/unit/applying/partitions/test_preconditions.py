import pytest
from tests.builders import brokers, move

from replan.applying.api import EndReason, Fact, NotAsPlanned, broken_precondition
from replan.model.api import Broker, BrokerId, TopicSettings

RACKS = {b.id: b.rack for b in brokers()}
REGISTERED = {b.id: b for b in brokers()}
AS_PLANNED = TopicSettings(min_insync_replicas=2)
SWAP = move([1, 2, 3], [4, 2, 5], size=100)


@pytest.mark.parametrize(
    ("settings", "registered", "reason"),
    [
        (AS_PLANNED, REGISTERED, None),
        (None, REGISTERED, NotAsPlanned(Fact.TOPIC, SWAP.topic_id, None)),
        (
            TopicSettings(min_insync_replicas=3),
            REGISTERED,
            NotAsPlanned(Fact.MIN_ISR, 2, 3),
        ),
        (
            TopicSettings(min_insync_replicas=2, unclean_election=True),
            REGISTERED,
            NotAsPlanned(Fact.UNCLEAN_ELECTION, planned=False, observed=True),
        ),
        (
            AS_PLANNED,
            {b: r for b, r in REGISTERED.items() if b != 5},
            NotAsPlanned(Fact.REGISTRATION, RACKS[BrokerId(5)], None, BrokerId(5)),
        ),
        (
            AS_PLANNED,
            REGISTERED | {BrokerId(4): Broker(BrokerId(4), None)},
            NotAsPlanned(Fact.RACK, "a", None, BrokerId(4)),
        ),
        (AS_PLANNED, {b: r for b, r in REGISTERED.items() if b != 3}, None),
        (AS_PLANNED, REGISTERED | {BrokerId(4): Broker(BrokerId(4), "a", fenced=True)}, None),
        (AS_PLANNED, REGISTERED | {BrokerId(4): Broker(BrokerId(4), None, fenced=True)}, None),
        (
            AS_PLANNED,
            REGISTERED | {BrokerId(4): Broker(BrokerId(4), "z", fenced=True)},
            NotAsPlanned(Fact.RACK, "a", "z", BrokerId(4)),
        ),
    ],
)
def test_a_precondition_says_what_was_expected_and_what_is_found(
    settings: TopicSettings | None, registered: dict[BrokerId, Broker], reason: EndReason | None
) -> None:
    assert broken_precondition(SWAP, settings, registered, RACKS) == reason


def test_unclean_election_that_was_turned_off_is_not_as_planned_either() -> None:
    planned = move([1, 2, 3], [4, 2, 5], unclean_election=True)
    off = NotAsPlanned(Fact.UNCLEAN_ELECTION, planned=True, observed=False)
    assert broken_precondition(planned, AS_PLANNED, REGISTERED, RACKS) == off
