"""Preconditions: what was reviewed with the plan and must still hold, or the partition is stale.

A precondition is about topic, configured values and racks. It never reads ISR, leader, epochs or sizes. A fenced broker
is not gone, and before Kafka 4.1 its rack is not known.
"""

from collections.abc import Mapping

from replan.applying.reasons.ends import EndReason, Fact, NotAsPlanned
from replan.model.broker import Broker
from replan.model.configs import TopicSettings
from replan.model.names import BrokerId
from replan.planning.plans.moves import Move


def broken_precondition(
    move: Move,
    settings: TopicSettings | None,
    brokers: Mapping[BrokerId, Broker],
    racks: Mapping[BrokerId, str | None],
) -> EndReason | None:
    """What is not as it was when planned; None where all is."""
    if settings is None:
        return NotAsPlanned(Fact.TOPIC, move.topic_id, None)
    m, unclean = settings.min_insync_replicas, settings.unclean_election
    if m != move.min_insync_replicas:
        return NotAsPlanned(Fact.MIN_ISR, move.min_insync_replicas, m)
    if unclean != move.unclean_election:
        return NotAsPlanned(Fact.UNCLEAN_ELECTION, move.unclean_election, unclean)
    for broker in (
        b for b in move.target if b in racks
    ):  # an election's list may have had an unregistered one
        found, rack = brokers.get(broker), racks[broker]
        if found is None:
            return NotAsPlanned(Fact.REGISTRATION, rack, None, broker)
        unlisted = found.fenced and found.rack is None  # before 4.1 nobody lists it (KIP-1073)
        if found.rack != rack and not unlisted:
            return NotAsPlanned(Fact.RACK, rack, found.rack, broker)
    return None
