"""The risks of a plan in plain words: what happens, then what it concerns."""

from collections.abc import Mapping

from replan.planning.findings.risks import Risk, RiskKind
from replan.wording import count, left_out

NAMED = 20
RISKS: Mapping[RiskKind, tuple[str, str]] = {
    RiskKind.RECORDS_LOST: (
        "Unclean elections lose records for good, and need --unclean on the command line",
        "partition",
    ),
    RiskKind.WITHOUT_LEADER: ("Without a leader: nobody can read or write", "partition"),
    RiskKind.BELOW_MIN_ISR: (
        "Shorter than min.insync.replicas afterwards, as `belowMinIsr: true` accepts",
        "partition",
    ),
    RiskKind.FEWER_REPLICAS: (
        "Fewer copies of the data afterwards; getting one back means to copy it again",
        "partition",
    ),
    RiskKind.MORE_REPLICAS: ("More replicas than now: the replication factor grows", "partition"),
    RiskKind.ALL_REPLACED: ("No replica stays where it is", "partition"),
    RiskKind.NEW_PARTITIONS: (
        "New partitions cannot be taken away again, and keys map to other partitions from then on",
        "topic",
    ),
    RiskKind.BLACKLIST_LIFTED: (
        "No longer on the leader blacklist, so the orders from before it come back",
        "broker",
    ),
    RiskKind.INTERNAL_TOPICS: (
        "Internal topics change: what depends on them, as consumer groups do, pauses where a leader moves",
        "topic",
    ),
    RiskKind.UNTHROTTLED: (
        "Copies run as fast as the brokers can (throttles.moves has no rate)",
        "partition",
    ),
    RiskKind.LIMIT_RAISED: ("Raised for this plan alone, with --allow", "limit"),
}


def risk_text(risk: Risk, named: int = NAMED) -> str:
    """One line: what happens, how many it concerns, and the first of them."""
    what, noun = RISKS[risk.kind]
    total = len(risk.names) + risk.more
    shown = risk.names[:named]
    return f"{what}: {count(total, noun)} ({', '.join([*shown, *left_out(total - len(shown))])})."
