"""Preconditions: what was reviewed with the plan and must still hold, or the partition is stale.

A precondition is about topic, configured values and racks. It never reads ISR, leader, epochs or sizes.
"""

from collections.abc import Mapping

from replan.model.broker import Broker
from replan.model.configs import TopicSettings
from replan.model.names import BrokerId
from replan.planning.moves import Move

AGAIN = "make a new plan"


def precondition(
    move: Move,
    settings: TopicSettings | None,
    brokers: Mapping[BrokerId, Broker],
    racks: Mapping[BrokerId, str | None],
) -> str | None:
    """What is not as it was when planned, expected and found; None where all is."""
    if settings is None:
        return f"{move.partition}: topic {move.partition.topic} is not there any more; {AGAIN}"
    if settings.min_insync_replicas != move.min_insync_replicas:
        return (
            f"{move.partition}: planned with min.insync.replicas {move.min_insync_replicas}, "
            f"found {settings.min_insync_replicas}; {AGAIN}"
        )
    if settings.unclean_election != move.unclean_election:
        return (
            f"{move.partition}: planned with unclean.leader.election.enable {_yes(move.unclean_election)}, "
            f"found {_yes(settings.unclean_election)}; {AGAIN}"
        )
    return _brokers_as_planned(move, brokers, racks)


def _brokers_as_planned(
    move: Move, brokers: Mapping[BrokerId, Broker], racks: Mapping[BrokerId, str | None]
) -> str | None:
    for broker in move.target:
        found = brokers.get(broker)
        if found is None:
            return (
                f"{move.partition}: broker {broker} of target {list(move.target)} was registered when planned, "
                f"now it is not; {AGAIN}"
            )
        if found.rack != racks.get(broker):
            return (
                f"{move.partition}: broker {broker} was planned in rack {racks.get(broker)}, "
                f"found in rack {found.rack}; {AGAIN}"
            )
    return None


def _yes(value: bool) -> str:
    return "true" if value else "false"
