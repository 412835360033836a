"""Drift in Prometheus' text format, for a textfile collector or a push gateway.

Every class has a sample, also where it is 0, so that a
series does not end when drift does.
"""

from collections.abc import Iterable

from replan.planning.drift_report import DriftReport
from replan.reporting.prometheus import Family, exposition


def render_drift_prometheus(report: DriftReport, observed_seconds: float) -> str:
    """All samples, of a moment in seconds since 1970; ends with a newline."""
    drift = report.drift
    cluster = {"cluster": report.cluster_name or drift.cluster_id, "cluster_id": drift.cluster_id}
    families: Iterable[Family] = (
        (
            "replan_drift",
            "Differences between the cluster and its placement, by who must act; in-flight is no drift.",
            [({"class": found}, number) for found, number in report.tally().items()],
        ),
        (
            "replan_drift_acknowledged",
            "Partitions whose difference is acknowledged until a date.",
            [({}, len(drift.acknowledged))],
        ),
        (
            "replan_unmanaged_topics",
            "Topics that no entry of the placement names.",
            [({}, len(report.unmanaged))],
        ),
        (
            "replan_electable_partitions",
            "Partitions by the number of replicas that can be elected without loss: ISR and ELR.",
            [
                ({"replicas": str(replicas)}, number)
                for replicas, number in sorted(report.electable.partitions.items())
            ],
        ),
        (
            "replan_electable_at_risk",
            "Partitions of several replicas of which at most one can be elected without loss.",
            [({}, report.electable.at_risk)],
        ),
        (
            "replan_electable_replicas_min",
            "The fewest electable replicas of any partition.",
            [] if report.electable.least is None else [({}, report.electable.least)],
        ),
        (
            "replan_observed_timestamp_seconds",
            "When the cluster was looked at.",
            [({}, observed_seconds)],
        ),
    )
    return exposition(families, cluster)
