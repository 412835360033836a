"""Brokers that do not serve, and elections that lose records: `plan`, `drift` and `status` say the same of them."""

from collections.abc import Mapping, Sequence

from replan.model.names import TopicPartition
from replan.planning.findings.health import BrokerDown
from replan.wording import SHOWN, capped, count


def broker_down_text(found: BrokerDown) -> str:
    """Which broker is down, and what it holds; without a full stop."""
    state = "is down" if found.registered else "is not registered"
    held = f"{count(found.replicas, 'replica')} on it" if found.replicas else "no replica on it"
    ill = [
        f"{number:,} {text}"
        for number, text in (
            (found.leaderless, "without a leader"),
            (found.under_min_isr, "under min ISR"),
        )
        if number
    ]
    partitions = f"; of its partitions {' and '.join(ill)}" if ill else ""
    return f"broker {found.broker} {state}: {held}{partitions}"


def broker_down_json(found: BrokerDown) -> Mapping[str, object]:
    """The fields of a JSON document."""
    return {
        "broker": found.broker,
        "registered": found.registered,
        "replicas": found.replicas,
        "withoutLeader": found.leaderless,
        "underMinIsr": found.under_min_isr,
    }


def unclean_text(topics: Sequence[str]) -> str:
    """Topics where unclean election is on, and what that means."""
    return (
        f"unclean.leader.election.enable is true for {count(len(topics), 'topic')} "
        f"({', '.join(capped(topics, limit=SHOWN))}): Kafka itself may elect a replica that lost records"
    )


def elr_gone_text(partitions: Sequence[TopicPartition]) -> str:
    """Partitions whose ELR has been cleared, and by what."""
    named = ", ".join(capped(partitions, str, limit=SHOWN))
    return (
        f"no eligible replica although under min ISR: {count(len(partitions), 'partition')} ({named}): a change of "
        "min.insync.replicas clears the ELR of a topic, as an unclean election or unclean restarts do"
    )
