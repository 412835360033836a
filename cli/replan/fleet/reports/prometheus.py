"""A report as Prometheus text, for the textfile collector."""

from datetime import datetime

from replan.fleet.reports.facts import FleetFacts
from replan.reporting.prometheus import Family, exposition

GAUGES = {
    "partitions": "Partitions that something is declared of.",
    "converging": "Partitions on the way to what is declared.",
    "flapping": "What began to drift three times or more in a week.",
    "copy_bytes": "Bytes to copy until everything is where it is declared.",
    "cross_rack_bytes": "Those of them that cross racks.",
}
"""What the facts say of each cluster under the same name."""


def render_prometheus(facts: FleetFacts) -> str:
    """In the text format 0.0.4."""
    judged = [c for c in facts.clusters if c.observed_at is not None]
    drifted = [
        ({"cluster": c.name, "class": name}, number)
        for c in judged
        for name, number in sorted(c.classes.items())
    ]
    oldest = [({"cluster": c.name}, _seconds(c.oldest)) for c in judged if c.oldest is not None]
    observed = [({"cluster": c.name}, _seconds(c.observed_at or "")) for c in judged]
    errors = [({"cluster": c.name}, len(c.errors)) for c in facts.clusters]
    families: tuple[Family, ...] = (
        *(
            (n, about, [({"cluster": c.name}, getattr(c, n)) for c in judged])
            for n, about in GAUGES.items()
        ),
        ("drifted", "What is not where it is declared, by class.", drifted),
        ("oldest_timestamp_seconds", "Since when the oldest of what drifts does so.", oldest),
        ("observed_timestamp_seconds", "When the cluster was observed.", observed),
        ("errors", "What could not be done.", errors),
    )
    return exposition(((f"replan_fleet_{name}", about, of) for name, about, of in families), {})


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
