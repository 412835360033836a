"""The findings of `doctor`, the leader blacklist, and throttles with whose each is, as text and JSON."""

from collections.abc import Mapping, Sequence

from msgspec.structs import asdict

from replan.applying.views.by_journal import OwnedThrottle, Owner
from replan.model.access import ClockDifference
from replan.model.configs import LEADER_RATE, LEADER_REPLICAS, LOG_DIRS_RATE, ConfigScope
from replan.planning.blacklist_report import BlacklistReport, EntryReport
from replan.planning.findings.checkup import Check, CheckKind, Level, Missing
from replan.reporting.json_report import json_report
from replan.reporting.lines import aligned_lines
from replan.wording import capped, count, duration, left_out, rate

ORDERS_SHOWN = 50
EMPTY_BLACKLIST = "The leader blacklist is empty."
NOT_DECLARED = (
    "The placement does not say who is on the leader blacklist (blacklists.leaders), so an earlier one goes on; an "
    "empty list ends it."
)
TO_BE_REVIEWED = "; to be reviewed"


def render_blacklist(report: BlacklistReport) -> str:
    """Each entry with what it does, then the remembered orders; ends with a newline."""
    titles = ("broker", "state", "replicas", "leads", "out of sync", "last in list", "entry")
    rows = [titles, *map(_row, report.entries)]
    nobody = [] if report.idle else [EMPTY_BLACKLIST if report.declared else NOT_DECLARED]
    lines = aligned_lines(rows) if report.entries else nobody
    lines += [f"No registered broker is in rack {e.rack} ({e.where})." for e in report.idle]
    if report.remembered:
        lines += ["", "Orders that are restored where no entry reaches them any more:"]
        lines += capped(
            [f"  {name}  {list(order)}" for name, order in report.remembered],
            str,
            limit=ORDERS_SHOWN,
        )
    return "\n".join(lines) + "\n"


def _row(of: EntryReport) -> tuple[str, ...]:
    numbers = (of.replicas, of.leads, of.behind, of.last)
    return (
        str(of.entry.broker),
        of.state.words + (TO_BE_REVIEWED if of.review_due else ""),
        *(f"{n:,}" for n in numbers),
        _entry(of),
    )


def _entry(of: EntryReport) -> str:
    entry = of.entry
    parts = [
        entry.reason,
        entry.owner,
        f"review by {entry.review_by}" if entry.review_by else None,
        f"topics {', '.join(entry.topics)}" if entry.topics else None,
        f"move {entry.move}",
        "until caught up" if entry.until_caught_up else None,
    ]
    return f"{'; '.join(p for p in parts if p)} ({entry.where})"


def render_blacklist_json(report: BlacklistReport) -> str:
    """The same as json; ends with a newline."""
    fields: dict[str, object] = {
        "declared": report.declared,
        "entries": [_json(e) for e in report.entries],
        "racksWithoutBrokers": [{"rack": e.rack, "where": e.where} for e in report.idle],
        "remembered": [{**name._asdict(), "replicas": order} for name, order in report.remembered],
    }
    return json_report("replan.blacklist", fields)


def _json(of: EntryReport) -> dict[str, object]:
    entry = of.entry
    members = {
        "broker": entry.broker,
        "where": entry.where,
        "state": of.state,
        "reason": entry.reason,
        "owner": entry.owner,
        "reviewBy": entry.review_by,
        "reviewDue": of.review_due or None,
        "topics": entry.topics,
        "move": entry.move,
        "until": "caught-up" if entry.until_caught_up else None,
        "replicas": of.replicas,
        "leads": of.leads,
        "outOfSync": of.behind,
        "lastInList": of.last,
    }
    return {key: value for key, value in members.items() if value is not None}


def render_throttles(throttles: Sequence[OwnedThrottle], observed_at: str) -> str:
    """Rates by broker, then lists by topic; ends with a newline."""
    if not throttles:
        return f"No throttle is set.\nAs of {observed_at}.\n"
    rows = [("Of", "Side", "Value", "Whose")]
    rows += [
        (f"{f.setting.scope} {f.setting.name}", _side(f), _value(f), _whose(f)) for f in throttles
    ]
    lines = aligned_lines(rows)
    return "\n".join([lines[0], *capped(lines[1:], str), f"As of {observed_at}."]) + "\n"


def _side(throttle: OwnedThrottle) -> str:
    if throttle.setting.key == LOG_DIRS_RATE:
        return "log directories"
    return "leader" if throttle.setting.key in {LEADER_RATE, LEADER_REPLICAS} else "follower"


def _value(throttle: OwnedThrottle) -> str:
    if throttle.setting.scope is ConfigScope.TOPIC or not throttle.value.isdigit():
        return throttle.value
    return rate(int(throttle.value))


def _whose(throttle: OwnedThrottle) -> str:
    text = throttle.owner.words
    if (
        throttle.owner not in {Owner.COPIES, Owner.RUNNING, Owner.KEPT, Owner.SILENT}
        or throttle.setting.scope is ConfigScope.TOPIC
    ):
        return text
    before = "not set" if throttle.before is None else rate(int(throttle.before))
    return f"{text}; before: {before}"


def render_throttles_json(throttles: Sequence[OwnedThrottle], observed_at: str) -> str:
    """One JSON document, format version 1."""
    fields: dict[str, object] = {
        "observedAt": observed_at,
        "throttles": [
            {**asdict(f.setting), "value": f.value, "whose": f.owner, "before": f.before}
            for f in throttles
        ],
    }
    return json_report("replan.throttles", fields)


TO_PLAN = "plan, drift, status, snapshot and export"
TO_APPLY = "apply, resume, abandon, elect and throttle"
TO_ADD_PARTITIONS = "apply of a plan that adds partitions"
SAVE = "elect --save-tails"
NEEDED_BY: Mapping[CheckKind, str] = {
    CheckKind.PERMISSIONS_TO_PLAN: TO_PLAN,
    CheckKind.PERMISSIONS_TO_APPLY: TO_APPLY,
    CheckKind.PERMISSIONS_TO_ADD_PARTITIONS: TO_ADD_PARTITIONS,
    CheckKind.PERMISSIONS_TO_SAVE_RECORDS: SAVE,
}
CHECK_TITLES: Mapping[CheckKind, str] = {
    CheckKind.REACHED: "cluster",
    CheckKind.PERMISSIONS_TO_PLAN: "may plan",
    CheckKind.PERMISSIONS_TO_APPLY: "may apply",
    CheckKind.PERMISSIONS_TO_ADD_PARTITIONS: "may add partitions",
    CheckKind.PERMISSIONS_TO_SAVE_RECORDS: "may save records",
    CheckKind.CLOCK: "clock",
    CheckKind.BROKERS: "brokers",
    CheckKind.RACKS: "racks",
    CheckKind.SIZES: "sizes",
    CheckKind.HEALTH: "partitions",
    CheckKind.LEADERLESS: "partitions",
    CheckKind.UNDER_MIN_ISR: "partitions",
    CheckKind.AT_MIN_ISR: "partitions",
    CheckKind.ELIGIBLE_LEADERS: "ELR",
    CheckKind.UNCLEAN_ELECTION: "unclean election",
    CheckKind.REASSIGNMENTS: "reassignments",
    CheckKind.JOURNAL: "journal",
    CheckKind.JOURNAL_TOPIC: "journal topic",
    CheckKind.APPLICATION: "application",
    CheckKind.THROTTLES: "throttles",
}
FINE_WORDS: Mapping[CheckKind, str] = {
    CheckKind.PERMISSIONS_TO_PLAN: f"all operations of {TO_PLAN} are allowed",
    CheckKind.PERMISSIONS_TO_APPLY: f"all operations of {TO_APPLY} are allowed",
    CheckKind.PERMISSIONS_TO_ADD_PARTITIONS: f"all operations of {TO_ADD_PARTITIONS} are allowed",
    CheckKind.PERMISSIONS_TO_SAVE_RECORDS: f"all operations of {SAVE} are allowed",
    CheckKind.BROKERS: "all that are registered, or in a list, are live",
    CheckKind.RACKS: "known for all live brokers, or for none",
    CheckKind.SIZES: "all brokers say what their log directories hold",
    CheckKind.HEALTH: "none without a leader, none at or under min ISR for want of replicas",
    CheckKind.ELIGIBLE_LEADERS: "on: who may lead without loss is known",
    CheckKind.UNCLEAN_ELECTION: "off for all topics",
    CheckKind.REASSIGNMENTS: "none is running",
    CheckKind.JOURNAL: "can be read",
    CheckKind.JOURNAL_TOPIC: "keeps what is written: one partition, compacted, replicated",
    CheckKind.APPLICATION: "none is open",
    CheckKind.THROTTLES: "none is left behind",
}
CHECK_WORDS: Mapping[CheckKind, tuple[str, str, str]] = {
    CheckKind.BROKERS: ("broker", "down", "bring back what is down, or drain it in the placement"),
    CheckKind.RACKS: ("broker", "without a rack", "set broker.rack, or `spread` cannot count them"),
    CheckKind.SIZES: (
        "broker",
        "without an answer",
        "sizes are unknown there: check that it works, and that this machine reaches what its advertised.listeners say",
    ),
    CheckKind.LEADERLESS: ("partition", "without a leader", "`replan status` says who is missing"),
    CheckKind.UNDER_MIN_ISR: (
        "partition",
        "under min ISR: writes with acks=all fail",
        "`replan status` says who is missing",
    ),
    CheckKind.AT_MIN_ISR: (
        "partition",
        "at min ISR: one failure more stops writes",
        "`replan status` says who is missing",
    ),
    CheckKind.UNCLEAN_ELECTION: (
        "topic",
        "with unclean.leader.election.enable",
        "Kafka itself may elect a replica that lost records; replan adds no replica while fewer than two are in sync",
    ),
    CheckKind.REASSIGNMENTS: (
        "partition",
        "being reassigned",
        "`replan status` shows how far; these are left out of a plan",
    ),
    CheckKind.JOURNAL: (
        "journal",
        "that cannot be read",
        "`replan journal show` says what to do; of ACLs see Permissions in `replan docs operations`",
    ),
    CheckKind.JOURNAL_TOPIC: (
        "flaw",
        "in the topic of the journal",
        "`replan apply` refuses a topic that would lose the journal, and warns of the rest",
    ),
    CheckKind.APPLICATION: (
        "application",
        "open",
        "`replan resume` goes on with it, `replan abandon` gives it up",
    ),
    CheckKind.THROTTLES: (
        "throttle setting",
        "that nothing needs",
        "`replan throttle clear` restores replan's own and lists the others",
    ),
}
CHECK_NAMES_SHOWN = 5
"""Of many: partitions, topics or brokers that are named; `--format json` has twenty."""
LEVEL_WORDS: Mapping[Level, str] = {
    Level.OK: "ok",
    Level.NOTE: "note",
    Level.LOOK: "look",
    Level.WRONG: "WRONG",
}


def check_text(check: Check) -> str:
    """What one check found; a way out where there is something to do."""
    if check.kind is CheckKind.REACHED:
        return _reached(check)
    if check.clock is not None:
        return _clock(check.clock, check.level)
    if check.kind in NEEDED_BY and check.level is not Level.OK:
        return _permissions(check)
    if check.level is Level.OK:
        return FINE_WORDS[check.kind]
    if check.kind is CheckKind.ELIGIBLE_LEADERS:
        return f"off: after a loss of all in-sync replicas nobody knows who has every record; {_turn_on(check.level)}"
    noun, state, way_out = CHECK_WORDS[check.kind]
    shown = check.names[:CHECK_NAMES_SHOWN]
    names = ", ".join([*shown, *left_out(check.count - len(shown))])
    named = f" ({names})" if names else ""
    return f"{count(check.count, noun)} {state}{named}; {way_out}"


def _turn_on(level: Level) -> str:
    if level is Level.NOTE:
        return "Kafka has it on by default from 4.1 on"
    return "`kafka-features.sh upgrade --feature eligible.leader.replicas.version=1` turns it on"


def _reached(check: Check) -> str:
    if check.level is Level.WRONG:
        return f"it answers, and its state is refused: {check.names[0]}"
    return f"{check.names[0]}, {count(check.count, 'partition')}"


def _permissions(check: Check) -> str:
    if not check.missing:
        return "the cluster does not say what this user may do; Describe on Cluster lets it answer"
    return (
        f"not allowed: {'; '.join(map(missing_text, check.missing))}; for {NEEDED_BY[check.kind]}"
    )


def missing_text(missing: Missing) -> str:
    """An ACL that is missing: the operation, and on what."""
    if missing.count == 1:
        return " ".join([f"{missing.operation} on {missing.resource}", *missing.names])
    named = ", ".join([*missing.names[:3], *left_out(missing.count - len(missing.names[:3]))])
    return f"{missing.operation} on {count(missing.count, 'topic')} ({named})"


def _clock(difference: ClockDifference, level: Level) -> str:
    ahead = "ahead of" if difference.ahead_seconds > 0 else "behind"
    apart = f"{duration(abs(difference.ahead_seconds))} {ahead} that of the active controller ({difference.controller})"
    sentence = f"this machine's is {apart}, give or take {duration(difference.within_seconds)}"
    if level is Level.OK:
        return sentence
    return (
        f"{sentence}; dates in a placement and ages of snapshots go by this machine's: set it right"
    )


def render_checkup(checks: Sequence[Check]) -> str:
    """One line a check, the worst first, then how it is on the whole; ends with a newline."""
    worst_first = sorted(checks, key=lambda check: -[*Level].index(check.level))
    rows = [
        (LEVEL_WORDS[check.level], CHECK_TITLES[check.kind], check_text(check))
        for check in worst_first
    ]
    return "\n".join([*aligned_lines(rows), "", _summary(checks)]) + "\n"


def _summary(checks: Sequence[Check]) -> str:
    wrong = sum(check.level is Level.WRONG for check in checks)
    look = sum(check.level is Level.LOOK for check in checks)
    if not wrong and not look:
        return "Everything is ready."
    parts = [f"{wrong} wrong"] if wrong else []
    parts += [f"{look} to look at"] if look else []
    return f"{count(len(checks), 'check')}: {', '.join(parts)}."


def render_checkup_json(checks: Sequence[Check]) -> str:
    """One JSON document, format version 1."""
    fields: dict[str, object] = {
        "checks": [
            {
                "check": check.kind,
                "level": check.level,
                "count": check.count,
                "names": check.names,
                **_measures(check),
                "message": check_text(check),
            }
            for check in checks
        ],
    }
    return json_report("replan.checkup", fields)


def _measures(check: Check) -> dict[str, object]:
    """The fields that few checks have."""
    measures: dict[str, object] = {}
    if check.kind in NEEDED_BY:
        measures["missing"] = check.missing
    if check.clock is not None:
        measures["aheadSeconds"] = round(check.clock.ahead_seconds, 3)
        measures["withinSeconds"] = round(check.clock.within_seconds, 3)
        measures["controller"] = check.clock.controller
    return measures
