"""The open application and the throttles of a cluster, for those who only look: lines and JSON fields."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from replan.applying.reasons.holds import Confirming
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
"""Of what waits alike, so many are listed one by one; more are one line."""
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
    """What is worth a look first; `alike`: how many of one kind are listed one by one."""
    performed = application.process is not None
    groups = dict[tuple[bool, str, type[object] | None], list[AnyResult]]()
    for found in application.unfinished:
        hold = found.hold
        news = hold is not None and not hold.routine
        kind = None if hold is None else type(hold)
        groups.setdefault((news, _state(found, performed=performed), kind), []).append(found)
    for (news, _, _), group in sorted(groups.items(), key=lambda of: (not of[0][0], -len(of[1]))):
        tone = Tone.CHANGES if news else Tone.PLAIN
        if alike is None or len(group) <= alike:
            texts = [f"  {found.subject}  {waits(found, performed=performed)}" for found in group]
        else:
            named = ", ".join(capped(group, lambda f: str(f.subject), limit=NAMED))
            text = waits(group[0], performed=performed)
            others = len({found.hold for found in group}) - 1
            more = f"; {others:,} more like that" if others else ""
            texts = [f"  {len(group):,} {text}{more}: {named}"]
        yield from (line(Span(text, tone), hang=6) for text in texts)


def _state(found: AnyResult, *, performed: bool) -> str:
    if found.result is Result.WAITING:
        return "not started"
    return "running" if performed else "interrupted"


def waits(found: AnyResult, *, performed: bool) -> str:
    """What is unfinished waits for, and since when: its last step, or the beginning of the application.

    `performed`: whether a process is at work; without one nothing begins or goes on.
    """
    running, since = found.result is Result.RUNNING, ""
    if isinstance(found, PartitionResult) and found.last_step_at:
        since = f" ({'last step' if running else 'since'} {found.last_step_at})"
    if found.hold is None:
        due = "its next request is due" if running else "can start"
        resumed = "" if performed else " once the application is resumed"
        return f"{due}{resumed}{since}"
    text = str(found.hold)
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
