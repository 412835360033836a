"""Brokers that do not serve, as a sentence and as JSON: `plan`, `drift` and `status` say the same of them."""

from collections.abc import Mapping

from replan.planning.findings.health import BrokerDown
from replan.wording import count


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
