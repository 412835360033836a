"""Drift in Prometheus' text format, for a textfile collector or a push gateway.

Every class has a sample, also where it is 0, so that a
series does not end when drift does.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from replan.planning.findings.drift_classes import DriftClass
from replan.planning.findings.drift_report import DriftReport
from replan.reporting.prometheus import Family, exposition


def render_drift_prometheus(report: DriftReport, seconds_of: Callable[[str], float]) -> str:
    """All samples; ends with a newline. `seconds_of` a moment (RFC 3339) are those since 1970."""
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
            [({}, seconds_of(drift.observed_at))],
        ),
    )
    if report.spells is not None:
        since = "Since when the oldest difference of a class is there."
        oldest = ("replan_drift_oldest_timestamp_seconds", since, list(_oldest(report, seconds_of)))
        families = (*families, oldest)
    return exposition(families, cluster)


def _oldest(
    report: DriftReport, seconds_of: Callable[[str], float]
) -> Iterator[tuple[Mapping[str, str], float]]:
    """Of each class that has a difference."""
    for drift_class in DriftClass:
        spells = [spell for c in report.of(drift_class) if (spell := report.spell(c)) is not None]
        if spells and drift_class is not DriftClass.IN_FLIGHT:
            yield {"class": drift_class}, min(seconds_of(spell.since) for spell in spells)
