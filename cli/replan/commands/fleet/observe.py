"""One look at a cluster, as a lake keeps it."""

from replan.commands.inputs.observed import observed
from replan.commands.inputs.target import Observed, Target
from replan.fleet.seen import Seen, ended_applications


def seen_by(target: Target) -> Seen:
    """The cluster, where its logs end, and what its journal says of ended applications; a snapshot is all there is."""
    return seen_of(observed(target, log_ends=True))


def seen_of(observation: Observed) -> Seen:
    """The same of what was observed."""
    ended = () if observation.ledger is None else tuple(ended_applications(observation.ledger))
    return Seen(observation.snapshot, observation.log_ends, ended)
