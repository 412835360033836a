"""The open application and the throttles of a cluster, for those who only look: lines and JSON fields."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from replan.applying.reasons.holds import ArrivalPossible, Confirming
from replan.applying.views.found_throttles import FoundThrottle
from replan.applying.views.outcome import (
    AnyResult,
    LogMoveResult,
    PartitionResult,
    Result,
    SettingResult,
)
from replan.applying.views.standing import OpenApplication
from replan.reporting.lines import Line, Span, Tone, heading, line, plain
from replan.wording import capped, count

UNTHROTTLED = (
    "Until you resume, a kept replica that falls out of sync catches up under the copies' throttle."
)

CONFIRMED_LATER = "in sync; confirmed again once the application is resumed"
ALIKE = 5
"""Of one kind of reason, so many stand on lines of their own; more are one line."""
NAMED = 3
SHOWN_THROTTLES = 10
"""Of those so many are named."""

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
        f"{application.ended:,} of {application.ended + len(application.unfinished):,} ended"
    )


def application_lines(
    application: OpenApplication, resume: str, *, everything: bool = False
) -> list[Line]:
    """All of it: what is unfinished with what it waits for, in groups where many wait alike."""
    lines = [heading(headline(application, resume))]
    lines += _unfinished(application, alike=None if everything else ALIKE)
    if application.process is None and application.throttled and application.unfinished:
        lines += plain([UNTHROTTLED])
    return lines


def _unfinished(application: OpenApplication, alike: int | None) -> Iterator[Line]:
    """What is worth a look first, then what has begun; in one line what waits alike, or more than `alike` of a kind."""
    performed = application.process is not None
    kinds = dict[tuple[bool, bool, type[object] | None], list[AnyResult]]()
    for found in application.unfinished:
        hold = found.hold
        routine = hold is None or hold.routine
        kind = None if hold is None else type(hold)
        kinds.setdefault((routine, found.result is Result.WAITING, kind), []).append(found)
    for (routine, _, _), of_kind in sorted(kinds.items(), key=lambda of: (*of[0][:2], -len(of[1]))):
        tone = Tone.PLAIN if routine else Tone.CHANGES
        if alike is None:
            groups = [[found] for found in of_kind]
        elif len(of_kind) > alike:
            groups = [of_kind]
        else:
            groups = _by_hold(of_kind)
        for group in groups:
            yield line(Span(_together(group, performed=performed), tone), hang=6)


def _by_hold(of_kind: Sequence[AnyResult]) -> list[list[AnyResult]]:
    found = dict[object, list[AnyResult]]()
    for one in of_kind:
        found.setdefault(one.hold, []).append(one)
    return list(found.values())


def _together(group: Sequence[AnyResult], *, performed: bool) -> str:
    """What one, or several of a kind, wait for: for others than the first is counted."""
    if len(group) == 1:
        return f"  {group[0].subject}  {waits(group[0], performed=performed)}"
    limit = NAMED if len(group) > ALIKE else ALIKE
    named = ", ".join(capped(group, lambda f: str(f.subject), limit=limit))
    others = len({found.hold for found in group}) - 1
    more = f", or like that ({others:,} more)" if others else ""
    return f"  {len(group):,} {waits(group[0], performed=performed)}{more}: {named}"


def _state(found: AnyResult, *, performed: bool) -> str:
    if found.result is Result.WAITING:
        return "not started"
    return "running" if performed else "interrupted"


def waits(found: AnyResult, *, performed: bool) -> str:
    """What is unfinished waits for; of what runs, when its last step was.

    `performed`: whether a process is at work; without one nothing begins or goes on.
    """
    running, since = found.result is Result.RUNNING, ""
    if running and isinstance(found, PartitionResult) and found.last_step_at:
        since = f" (last step {found.last_step_at})"
    if found.hold is None:
        due = "its next request is due" if running else "can start"
        resumed = "" if performed else " once the application is resumed"
        return f"{due}{resumed}{since}"
    text = str(found.hold)
    if performed and isinstance(found.hold, ArrivalPossible):
        text = f"{found.hold.asked} {list(found.hold.replicas)} is asked for"
    if isinstance(found.hold, Confirming):
        longest = f"in sync; confirming for up to {found.hold.seconds:.0f} s"
        text = longest if performed else CONFIRMED_LATER
    return f"{_state(found, performed=performed)}: {text}{since}"


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
                **_subject_json(found),
                "result": found.result,
                "lastStepAt": (isinstance(found, PartitionResult) and found.last_step_at) or None,
                "hold": None
                if found.hold is None
                else {"kind": found.hold.kind, "text": str(found.hold)},
            }
            for found in application.unfinished
        ],
    }


def _subject_json(found: AnyResult) -> Mapping[str, object]:
    """A partition, a replica that goes to another log directory, or a throttle setting."""
    match found:
        case PartitionResult(partition):
            return {"topic": partition.topic, "partition": partition.partition}
        case LogMoveResult(partition, broker):
            return {"topic": partition.topic, "partition": partition.partition, "broker": broker}
        case SettingResult(setting):
            return {"scope": setting.scope, "name": setting.name, "setting": setting.key}


def throttle_lines(unknown: Sequence[FoundThrottle]) -> list[str]:
    """The throttle settings that no journal here knows, and what can be done."""
    if not unknown:
        return []
    found = count(len(unknown), "throttle setting")
    listed = capped(
        unknown, _throttle, limit=SHOWN_THROTTLES, way_out="`replan throttle show` lists them"
    )
    return [f"{found} in the cluster, not in this journal; whose is not known:", *listed, REMOVE]


def _throttle(found: FoundThrottle) -> str:
    setting = found.setting
    return f"  {setting.scope} {setting.name}  {setting.key}={found.value}"


def throttles_json(unknown: Sequence[FoundThrottle]) -> list[Mapping[str, object]]:
    """The fields of a JSON document."""
    return [{**asdict(found.setting), "value": found.value} for found in unknown]
