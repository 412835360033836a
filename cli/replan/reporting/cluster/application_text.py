"""The open application and the throttles of a cluster, for those who only look: lines and JSON fields."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from replan.applying.reasons.kinds import kind_of
from replan.applying.views.outcome import PartitionResult, Result
from replan.applying.views.standing import OpenApplication, StandingThrottle
from replan.reporting.sentences.hold_text import hold_text
from replan.wording import capped, count

UNTHROTTLED = (
    "Until you resume, a kept replica that falls out of sync catches up under the copies' throttle."
)

REMOVE = (
    "  Where nobody needs them: `kafka-configs.sh --alter --entity-type brokers|topics --entity-name NAME "
    "--delete-config KEY`."
)


def headline(application: OpenApplication, resume: str) -> str:
    """Whose it is, whether it runs, how far it is, and the command that goes on."""
    state = "interrupted" if application.process is None else f"running: {application.process}"
    if application.paused_by:
        state += f"; paused by {application.paused_by}"
    if application.cancelled_by:
        state += f"; being cancelled by {application.cancelled_by}"
    if application.takes_back:
        state += f"; takes back {application.takes_back}, which was cancelled"
    goes_on = f"; `{resume}` goes on" if application.process is None else ""
    return (
        f"replan's application {application.id} is {state}{goes_on}; begun by {application.owner}; "
        f"{count(application.ended, 'partition')} ended, {len(application.unfinished):,} unfinished"
    )


def application_lines(application: OpenApplication, resume: str) -> list[str]:
    """All of it: each unfinished partition with what it waits for."""
    lines = [headline(application, resume)]
    performed = application.process is not None
    found = application.unfinished
    lines += [f"  {line}" for line in capped(found, lambda f: waits(f, performed=performed))]
    if application.process is None and application.throttled and application.unfinished:
        lines.append(UNTHROTTLED)
    return lines


def waits(found: PartitionResult, *, performed: bool) -> str:
    """What an unfinished partition waits for, and since when: its last step, or the beginning of the application.

    `performed`: whether a process is at work; without one nothing begins or goes on.
    """
    running = found.result is Result.RUNNING
    since = ""
    if found.last_step_at:
        since = f" ({'last step' if running else 'since'} {found.last_step_at})"
    if found.hold is None:
        due = "its next request is due" if running else "can start"
        resumed = "" if performed else " once the application is resumed"
        return f"{found.partition}  {due}{resumed}{since}"
    began = "not started" if not running else "running" if performed else "interrupted"
    return f"{found.partition}  {began}: {hold_text(found.hold)}{since}"


def application_json(application: OpenApplication, resume: str) -> Mapping[str, object]:
    """The fields of a JSON document."""
    return {
        "id": application.id,
        "owner": application.owner,
        "process": application.process,
        "pausedBy": application.paused_by or None,
        "cancelledBy": application.cancelled_by or None,
        "takesBack": application.takes_back or None,
        "ended": application.ended,
        "resume": resume,
        "unfinished": [
            {
                "topic": found.partition.topic,
                "partition": found.partition.partition,
                "result": found.result,
                "lastStepAt": found.last_step_at or None,
                "hold": None
                if found.hold is None
                else {"kind": kind_of(found.hold), "text": hold_text(found.hold)},
            }
            for found in application.unfinished
        ],
    }


def throttle_lines(unknown: Sequence[StandingThrottle]) -> list[str]:
    """The throttle settings that no journal here knows, and what can be done."""
    if not unknown:
        return []
    found = count(len(unknown), "throttle setting")
    listed = capped(unknown, _throttle)
    return [f"{found} in the cluster, not in this journal; whose is not known:", *listed, REMOVE]


def _throttle(found: StandingThrottle) -> str:
    return f"  {found.scope} {found.name}  {found.key}={found.value}"


def throttles_json(unknown: Sequence[StandingThrottle]) -> list[Mapping[str, object]]:
    """The fields of a JSON document."""
    return [asdict(found) for found in unknown]
