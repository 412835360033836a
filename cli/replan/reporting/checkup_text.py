"""The findings of `doctor` as lines: what was checked, what was found, and what to do about it."""

import json
from collections.abc import Mapping, Sequence

from replan.planning.checkup import NEEDED_ON_CLUSTER, Check, CheckKind, Level
from replan.reporting.table import columns
from replan.wording import count, left_out

TITLES: Mapping[CheckKind, str] = {
    CheckKind.REACHED: "cluster",
    CheckKind.PERMISSIONS_TO_PLAN: "may plan",
    CheckKind.PERMISSIONS_TO_APPLY: "may apply",
    CheckKind.BROKERS: "brokers",
    CheckKind.RACKS: "racks",
    CheckKind.SIZES: "sizes",
    CheckKind.HEALTH: "partitions",
    CheckKind.ELIGIBLE_LEADERS: "ELR",
    CheckKind.UNCLEAN_ELECTION: "unclean election",
    CheckKind.REASSIGNMENTS: "reassignments",
    CheckKind.JOURNAL: "journal",
    CheckKind.APPLICATION: "application",
    CheckKind.THROTTLES: "throttles",
}
FINE: Mapping[CheckKind, str] = {
    CheckKind.PERMISSIONS_TO_PLAN: "the operations on Cluster that plan, drift and status need are allowed",
    CheckKind.PERMISSIONS_TO_APPLY: "the operations on Cluster that apply needs are allowed",
    CheckKind.BROKERS: "all that are registered are live",
    CheckKind.RACKS: "known for all brokers, or for none",
    CheckKind.SIZES: "all brokers say what their log directories hold",
    CheckKind.HEALTH: "none without a leader, none at or under min ISR for want of replicas",
    CheckKind.ELIGIBLE_LEADERS: "on: who may lead without loss is known",
    CheckKind.UNCLEAN_ELECTION: "off for all topics",
    CheckKind.REASSIGNMENTS: "none is running",
    CheckKind.JOURNAL: "can be read",
    CheckKind.APPLICATION: "none is open",
    CheckKind.THROTTLES: "none is set",
}
WORDS: Mapping[CheckKind, tuple[str, str, str]] = {
    CheckKind.BROKERS: ("broker", "down", "bring them back, or drain them in the placement"),
    CheckKind.RACKS: ("broker", "without a rack", "set broker.rack, or `spread` cannot count them"),
    CheckKind.SIZES: (
        "broker",
        "without an answer",
        "sizes are unknown there: Describe on Cluster lets it answer",
    ),
    CheckKind.HEALTH: (
        "partition",
        "without a leader, at or under min ISR",
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
        "Describe and Read on its topic; see Permissions in docs/operations.md",
    ),
    CheckKind.APPLICATION: (
        "application",
        "open",
        "`replan resume` goes on with it, `replan abandon` gives it up",
    ),
    CheckKind.THROTTLES: (
        "throttle setting",
        "that no open application needs",
        "`replan throttle clear` restores replan's own and lists the others",
    ),
}
MARKS: Mapping[Level, str] = {Level.OK: "ok", Level.LOOK: "look", Level.WRONG: "WRONG"}


def check_text(check: Check) -> str:
    """What one check found; a way out where there is something to do."""
    if check.kind is CheckKind.REACHED:
        return f"{check.names[0]}, {count(check.count, 'partition')}"
    if check.kind in NEEDED_ON_CLUSTER and check.level is Level.LOOK:
        return "the cluster does not say what this user may do; Describe on Cluster lets it answer"
    if check.level is Level.OK:
        return FINE[check.kind]
    if check.kind in NEEDED_ON_CLUSTER:
        return f"{' and '.join(check.names)} on Cluster is missing for this user"
    if check.kind is CheckKind.ELIGIBLE_LEADERS:
        return "off: after a loss of all in-sync replicas nobody knows who has every record"
    noun, state, way_out = WORDS[check.kind]
    names = ", ".join([*check.names, *left_out(check.count - len(check.names))])
    named = f" ({names})" if names else ""
    return f"{count(check.count, noun)} {state}{named}; {way_out}"


def render_checkup(checks: Sequence[Check]) -> str:
    """One line a check, then how it is on the whole; ends with a newline."""
    rows = [(MARKS[check.level], TITLES[check.kind], check_text(check)) for check in checks]
    return "\n".join([*columns(rows), "", _summary(checks)]) + "\n"


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
    document = {
        "formatVersion": 1,
        "kind": "replan.checkup",
        "checks": [
            {
                "check": check.kind,
                "level": check.level,
                "count": check.count,
                "names": list(check.names),
                "message": check_text(check),
            }
            for check in checks
        ],
    }
    return json.dumps(document, indent=2) + "\n"
