"""A report as Prometheus text, for the textfile collector."""

from collections.abc import Iterable
from datetime import datetime

from replan.fleet.reports.facts import ClusterFacts, FleetFacts
from replan.reporting.prometheus import exposition

MetricSample = tuple[dict[str, str], float]
NUMBERS = {
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
    classes = [(c, name, number) for c in judged for name, number in sorted(c.classes.items())]
    families: dict[str, tuple[str, list[MetricSample]]] = {
        **{name: (about, _samples(judged, name)) for name, about in NUMBERS.items()},
        "drifted": (
            "What is not where it is declared, by class.",
            [({"cluster": c.name, "class": name}, number) for c, name, number in classes],
        ),
        "oldest_timestamp_seconds": (
            "Since when the oldest of what drifts does so.",
            [({"cluster": c.name}, _seconds(c.oldest)) for c in judged if c.oldest is not None],
        ),
        "observed_timestamp_seconds": (
            "When the cluster was observed.",
            [({"cluster": c.name}, _seconds(c.observed_at or "")) for c in judged],
        ),
        "errors": (
            "What could not be done.",
            [({"cluster": c.name}, len(c.errors)) for c in facts.clusters],
        ),
    }
    return exposition(((f"replan_fleet_{name}", *found) for name, found in families.items()), {})


def _samples(clusters: Iterable[ClusterFacts], name: str) -> list[MetricSample]:
    return [({"cluster": c.name}, getattr(c, name)) for c in clusters]


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
