"""A report as Prometheus text, for the textfile collector."""

from datetime import datetime

from replan.fleet.reports.facts import FleetFacts
from replan.reporting.prometheus import exposition

Sample = tuple[dict[str, str], float]


def render_prometheus(facts: FleetFacts) -> str:
    """In the text format 0.0.4."""
    judged = [c for c in facts.clusters if c.observed_at is not None]
    families: dict[str, tuple[str, list[Sample]]] = {
        "replan_fleet_partitions": (
            "Partitions that something is declared of.",
            [({"cluster": c.name}, c.partitions) for c in judged],
        ),
        "replan_fleet_drifted": (
            "What is not where it is declared, by class.",
            [
                ({"cluster": c.name, "class": name}, number)
                for c in judged
                for name, number in sorted(c.classes.items())
            ],
        ),
        "replan_fleet_converging": (
            "Partitions on the way to what is declared.",
            [({"cluster": c.name}, c.converging) for c in judged],
        ),
        "replan_fleet_flapping": (
            "What began to drift three times or more in a week.",
            [({"cluster": c.name}, c.flapping) for c in judged],
        ),
        "replan_fleet_oldest_timestamp_seconds": (
            "Since when the oldest of what drifts does so.",
            [({"cluster": c.name}, _seconds(c.oldest)) for c in judged if c.oldest is not None],
        ),
        "replan_fleet_copy_bytes": (
            "Bytes to copy until everything is where it is declared.",
            [({"cluster": c.name}, c.copy_bytes) for c in judged],
        ),
        "replan_fleet_cross_rack_bytes": (
            "Those of them that cross racks.",
            [({"cluster": c.name}, c.cross_rack_bytes) for c in judged],
        ),
        "replan_fleet_observed_timestamp_seconds": (
            "When the cluster was observed.",
            [
                ({"cluster": c.name}, _seconds(c.observed_at))
                for c in judged
                if c.observed_at is not None
            ],
        ),
        "replan_fleet_errors": (
            "What could not be done.",
            [({"cluster": c.name}, len(c.errors)) for c in facts.clusters],
        ),
    }
    return exposition(((name, *found) for name, found in families.items()), {})


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
