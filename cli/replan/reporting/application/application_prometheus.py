"""How far `apply` is, in Prometheus' text format: every state has a sample, also where it is 0."""

from collections.abc import Sequence

from replan.applying.views.outcome import Outcome
from replan.applying.views.progress import CopyProgress, Progress
from replan.reporting.prometheus import Family, exposition


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
