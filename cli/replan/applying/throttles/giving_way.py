"""Which rates of replan's throttle give way to a replica that catches up: pure.

An entry of throttled replicas that replan did not set limits nothing until its broker has a rate, and replan sets rates
for its copies. A replica that falls out of the ISR would then come back at that rate, shared with the copies, though
without replan nothing held it. The entry belongs to whoever set it and stays; the rate is replan's own, and goes back
to what it was before until the replica is in sync. Meanwhile no copy begins that needs the rate; those that run stay
throttled on their other side. Fetches are limited by the leader's rate if the leader's list names the replica of the
leader, and by the follower's if the follower's list names that of the follower (ReplicaManager, ReplicaFetcherThread).
"""

from collections.abc import Iterator

from replan.applying.journal.ledger import Ledger
from replan.applying.throttles.broker_rates import Rate
from replan.model.configs import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    TopicSettings,
    elements,
    override_of,
)
from replan.model.control_plane import Look
from replan.model.names import BrokerId, TopicPartition

CatchingUp = tuple[Rate, TopicPartition]
"""A rate, and a partition of which a replica comes back at it because of an entry that replan did not set."""


def behind_entries_of_others(seen: Look, ledger: Ledger) -> Iterator[CatchingUp]:
    """The live replicas out of the ISR, new ones apart, whose fetches such an entry limits at a rate of replan's."""
    for name, state in seen.partitions.items():
        settings = seen.topics.get(name.topic)
        if settings is None or state.leader is None:
            continue
        out = set(state.replicas).difference(state.isr, state.adding)
        if not out:
            continue
        for broker in sorted(b for b in out if seen.live(b)):
            for config, of, limit in (
                (LEADER_REPLICAS, state.leader, LEADER_RATE),
                (FOLLOWER_REPLICAS, broker, FOLLOWER_RATE),
            ):
                if _named_by_others(name, of, config, settings, ledger):
                    yield (of, limit), name


def _named_by_others(
    name: TopicPartition, broker: BrokerId, config: str, settings: TopicSettings, ledger: Ledger
) -> bool:
    present, prior = (
        elements(override_of(settings, config)),
        ledger.entries.get((name.topic, config)),
    )
    ours = () if prior is None else prior.ours
    entry = f"{name.partition}:{broker}"
    return "*" in present or (entry in present and entry not in ours)
