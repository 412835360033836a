"""Preconditions: what was reviewed with the plan and must still hold, or the partition is stale.

A precondition is about topic, configured values and racks. It never reads ISR, leader, epochs or sizes.
"""

from collections.abc import Mapping

from replan.applying.reasons import (
    BrokerUnregistered,
    EndReason,
    MinIsrChanged,
    RackChanged,
    TopicGone,
    UncleanElectionChanged,
)
from replan.model.broker import Broker
from replan.model.configs import TopicSettings
from replan.model.names import BrokerId
from replan.planning.moves import Move


def broken_precondition(
    move: Move,
    settings: TopicSettings | None,
    brokers: Mapping[BrokerId, Broker],
    racks: Mapping[BrokerId, str | None],
) -> EndReason | None:
    """What is not as it was when planned; None where all is."""
    if settings is None:
        return TopicGone()
    if settings.min_insync_replicas != move.min_insync_replicas:
        return MinIsrChanged(move.min_insync_replicas, settings.min_insync_replicas)
    if settings.unclean_election != move.unclean_election:
        return UncleanElectionChanged(move.unclean_election, settings.unclean_election)
    for broker in move.target:
        found = brokers.get(broker)
        if found is None:
            return BrokerUnregistered(broker, move.target)
        if found.rack != racks.get(broker):
            return RackChanged(broker, racks.get(broker), found.rack)
    return None
