"""Prometheus' text format, for a textfile collector or a push gateway ("Exposition formats", text-based, 0.0.4).

Written in it: how far `apply` is, and drift. Every state and class has a sample, also where it is 0, so that a series
does not end when drift does.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from replan.applying.views.outcome import Outcome
from replan.applying.views.progress import CopyProgress, Progress
from replan.planning.findings.drift_classes import DriftClass
from replan.planning.findings.drift_report import DriftReport

_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})

Family = tuple[str, str, Iterable[tuple[Mapping[str, str], float]]]
"""Name and help of a gauge, and its samples: labels and value."""


def exposition(families: Iterable[Family], common: Mapping[str, str]) -> str:
    """All samples, each with the common labels; ends with a newline."""
    return "".join(
        f"# HELP {name} {text}\n# TYPE {name} gauge\n"
        + "".join(_sample(name, {**common, **labels}, value) for labels, value in samples)
        for name, text, samples in families
    )


def _sample(name: str, labels: Mapping[str, str], value: float) -> str:
    named = ",".join(f'{key}="{text.translate(_ESCAPED)}"' for key, text in labels.items())
    return f"{name}{{{named}}} {value:.15g}\n"


def render_application_prometheus(
    progress: Progress | None, outcome: Outcome | None, cluster_id: str, seconds: float
) -> str:
    """What was last reported, of a moment in seconds since 1970; `outcome`: how it has ended, once it has."""
    families: list[Family] = []
    if progress is not None:
        families = [*_counts(progress), *_copies(progress.copies)]
    if outcome is not None:
        code = [({"ending": outcome.ending}, int(outcome.exit_code))]
        families.append(
            ("replan_apply_exit_code", "The exit code of the process that ended.", code)
        )
    families.append(
        ("replan_apply_running", "Whether the process is at work.", [({}, float(outcome is None))])
    )
    families.append(
        ("replan_apply_timestamp_seconds", "When this was written.", [({}, float(round(seconds)))])
    )
    return exposition(families, {"cluster_id": cluster_id})


def _counts(progress: Progress) -> list[Family]:
    states = {
        "done": progress.done,
        "running": progress.running,
        "waiting": progress.waiting,
        "stopped": progress.stopped,
    }
    held = 0 if progress.admission is None else 1
    return [
        (
            "replan_apply_partitions",
            "Partitions of the plan, by how far they are.",
            [({"state": state}, number) for state, number in states.items()],
        ),
        ("replan_apply_held", "Whether nothing new is begun at all.", [({}, held)]),
        (
            "replan_apply_throttle_settings",
            "Throttle settings that are still to be restored.",
            [({}, progress.throttles)],
        ),
    ]


def _copies(copies: Sequence[CopyProgress]) -> list[Family]:
    """Sums: a plan may have thousands of copies, and a series for each would outlive it."""
    replicas = [r for copy in copies for r in copy.replicas]
    stalled = sum(1 for copy in copies if copy.stalled is not None)
    return [
        (
            "replan_apply_copied_bytes",
            "Bytes that running copies have copied.",
            [({}, sum(r.copied_bytes or 0 for r in replicas))],
        ),
        (
            "replan_apply_copying_total_bytes",
            "Bytes that running copies have to copy in all.",
            [({}, sum(r.total_bytes for r in replicas))],
        ),
        (
            "replan_apply_bytes_per_second",
            "The rate of all running copies.",
            [({}, sum(r.bytes_per_second or 0 for r in replicas if not r.in_sync))],
        ),
        ("replan_apply_stalled_copies", "Copies that do not move.", [({}, stalled)]),
    ]


def render_drift_prometheus(report: DriftReport, seconds_of: Callable[[str], float]) -> str:
    """All samples; ends with a newline. `seconds_of` a moment (RFC 3339) are those since 1970."""
    drift = report.drift
    cluster = {"cluster": report.cluster_name or drift.cluster_id, "cluster_id": drift.cluster_id}
    families: Iterable[Family] = (
        (
            "replan_drift",
            "Differences between the cluster and its placement, by who must act; in-flight is no drift.",
            [({"class": drift_class}, number) for drift_class, number in report.tally().items()],
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
        drifted = (c for c in report.of(drift_class) if c.is_drift)
        spells = [spell for c in drifted if (spell := report.spell(c)) is not None]
        if spells:
            yield {"class": drift_class}, min(seconds_of(spell.since) for spell in spells)
