"""A cluster as a lake keeps it."""

from replan.commands.shared.observed import observed
from replan.commands.shared.target import Observed, Target
from replan.fleet.collect import CollectedCluster, ended_applications


def collected_from(target: Target) -> CollectedCluster:
    """The cluster, where its logs end, and what its journal says of ended applications; a snapshot is all there is."""
    return collected_of(observed(target, log_ends=True))


def collected_of(observation: Observed) -> CollectedCluster:
    """The same of what was observed."""
    ended = () if observation.ledger is None else tuple(ended_applications(observation.ledger))
    return CollectedCluster(observation.snapshot, observation.log_ends, ended)
