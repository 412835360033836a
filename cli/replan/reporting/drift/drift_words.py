"""The words of drift that all its forms share: how a partition differs, who must act, and one line for each thing."""

from collections.abc import Mapping

from replan.planning.comparison.diff import DifferenceKind
from replan.planning.findings.drift_classes import Difference, DriftClass, OtherKind
from replan.planning.findings.drift_report import DriftReport
from replan.reporting.sentences.health_text import (
    broker_down_text,
    elr_gone_text,
    unclean_text,
)
from replan.reporting.sentences.plan_notes import warning_text
from replan.wording import brokers, capped, count, left_out

MEANINGS: Mapping[DifferenceKind | OtherKind, str] = {
    DifferenceKind.MISSING: "declared, but not in the cluster",
    DifferenceKind.REPLICAS: "other replicas",
    DifferenceKind.ORDER: "other order",
    DifferenceKind.RUNNING: "on the way to the declared list",
    DifferenceKind.LEADER: "another leader",
    DifferenceKind.UNPLACEABLE: "no list keeps its rule or its drain; `replan plan` says why",
    DifferenceKind.NO_LEADER: "no leader: nobody can read or write it",
    DifferenceKind.PREFERRED_ABSENT: "the preferred leader is no replica",
    OtherKind.PARTITIONS: "another number of partitions",
    OtherKind.LOG_DIR: "a replica in a log directory that is to be empty",
    OtherKind.STANDING: "a throttle that is to stay",
    OtherKind.THROTTLE: "a throttle",
    OtherKind.LEADER_BLACKLIST: "an entry of the leader blacklist",
    OtherKind.REPLICA_BLACKLIST: "an entry of the replica blacklist",
    OtherKind.LOG_DIR_BLACKLIST: "an entry of the log directory blacklist",
    OtherKind.BALANCE: "the balance",
    OtherKind.PLACEMENT: "a line of the placement",
}
"""What differs, by the kind of a `Difference`, in a few words."""

CLASSES: Mapping[DriftClass, tuple[str, str]] = {
    DriftClass.MISTAKE: (
        "Mistakes in the placement",
        "correct the file; until then `replan plan` plans nothing",
    ),
    DriftClass.OPERATOR: (
        "Changed in the cluster or in the placement, and not in both",
        "apply the placement, or change it",
    ),
    DriftClass.FAILURE: (
        "Because brokers are down or out of sync",
        "bring them back; a plan replaces them where they are drained",
    ),
    DriftClass.OTHER_TOOL: (
        "Being moved elsewhere by another tool",
        "let it end, or cancel it, and plan again",
    ),
    DriftClass.PARTITION_COUNT: (
        "Another number of partitions than declared",
        "declare what there is, or plan the rest",
    ),
    DriftClass.STALE_THROTTLE: (
        "Throttles that nothing needs",
        "`replan throttle clear` removes replan's own and lists the others",
    ),
    DriftClass.REVIEW_DUE: (
        "Blacklist entries to be reviewed",
        "take them out, or give them another date",
    ),
    DriftClass.UNKNOWN: (
        "Not explained by the state of the cluster",
        "`replan explain` says more; where the journal of an open application is not read, it may be that application",
    ),
    DriftClass.IN_FLIGHT: ("On the way to what is declared", "nothing: it is no drift"),
}
"""What a class means, and what to do; the worst for its reader first."""


def subject(found: Difference) -> str:
    """What drifted: a partition, a topic, a broker or the cluster."""
    if found.topic is not None:
        return found.topic if found.partition is None else f"{found.topic}-{found.partition}"
    return "the cluster" if found.broker is None else f"broker {found.broker}"


def differences(report: DriftReport, drift_class: DriftClass) -> list[Difference]:
    """Those of a class, without the throttles that are to stay: they are listed apart, with both values."""
    return [c for c in report.of(drift_class) if c.kind is not OtherKind.STANDING]


def compared(found: Difference) -> tuple[str, str]:
    """What is declared and what is there, in words of one table."""
    declared = brokers(found.declared) if found.declared else ""
    observed = brokers(found.observed) if found.observed else ""
    if found.kind == DifferenceKind.LEADER:
        return str(found.declared[0]), f"{found.leader}"
    if found.kind == OtherKind.LOG_DIR:
        return "", f"broker {found.broker}, {found.detail}"
    return declared, observed or found.detail


def since(report: DriftReport, found: Difference) -> str:
    """Since when something drifts, and how often it began; empty where nobody asked."""
    spell = report.spell(found)
    if spell is None:
        return ""
    often = f", {spell.spells:,} times" if spell.spells > 1 else ""
    return f"{spell.since}{often}{', flapping' if spell.flapping else ''}"


def by_class(report: DriftReport) -> str:
    """How many differences each class has: `2 operator, 1 failure`."""
    tally = report.tally()
    return ", ".join(
        f"{tally[c]:,} {c}" for c in CLASSES if tally[c] and c is not DriftClass.IN_FLIGHT
    )


def total(report: DriftReport) -> int:
    """How many differences there are; what is on its way is none."""
    tally = report.tally()
    return sum(number for found, number in tally.items() if found is not DriftClass.IN_FLIGHT)


def summary(report: DriftReport) -> str:
    """The one line that says whether there is drift."""
    if report.drift.none:
        return f"No drift, as of {report.drift.observed_at}."
    return f"Drift: {count(total(report), 'difference')}, as of {report.drift.observed_at}."


def acknowledged(report: DriftReport) -> list[str]:
    """A line about what is acknowledged, if anything is."""
    known = report.drift.acknowledged
    if not known:
        return []
    names = ", ".join(capped(known, limit=20))
    return [f"{count(len(known), 'partition')} acknowledged, so not counted: {names}."]


def electable(report: DriftReport) -> list[str]:
    """A line about the partitions that the next failure leaves without a clean leader, if there are any."""
    number, shown = report.electable.at_risk, report.electable.named[:5]
    if not number:
        return []
    named = ", ".join([*map(str, shown), *left_out(number - len(shown))])
    return [
        f"{count(number, 'partition')} with at most one electable replica (ISR or ELR): {named}."
    ]


def warnings(report: DriftReport) -> list[str]:
    """What is no difference by itself: brokers that are down, topics with unclean election, an ELR that is gone."""
    drift = report.drift
    found = [broker_down_text(down) for down in drift.down]
    if drift.unjudged:
        number = count(drift.unjudged, "partition")
        found.append(
            f"{number} not judged by racks: Kafka does not tell the rack of a broker that is down"
        )
    found += [unclean_text(drift.unclean)] if drift.unclean else []
    found += map(warning_text, drift.warnings)
    return found + ([elr_gone_text(drift.elr_gone)] if drift.elr_gone else [])
