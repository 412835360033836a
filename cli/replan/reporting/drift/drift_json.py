"""Drift as one JSON document."""

import json
from collections.abc import Mapping

from replan.planning.findings.drift_classes import Difference
from replan.planning.findings.drift_report import DriftReport
from replan.planning.safety.placing_refusals import balance_text
from replan.reporting.sentences.health_text import broker_down_json


def render_drift_json(report: DriftReport, *, unmanaged: bool = False) -> str:
    """The document, in a stable order; ends with a newline."""
    drift = report.drift
    document: dict[str, object] = {
        "formatVersion": 1,
        "kind": "replan.drift",
        "clusterId": drift.cluster_id,
        "clusterName": report.cluster_name,
        "observedAt": drift.observed_at,
        "drift": not report.drift.none,
        "classes": report.tally(),
        "differences": [_difference(report, found) for found in report.drift.differences],
        "partitionCounts": [
            {"topic": c.topic, "declared": c.declared, "observed": c.observed} for c in drift.counts
        ],
        "standing": [
            {
                "scope": s.setting.scope,
                "name": s.setting.name,
                "key": s.setting.key,
                "declared": s.after,
                "observed": s.before,
            }
            for s in drift.standing
        ],
        "unbalanced": [
            {
                "measure": r.imbalance.measure,
                "where": str(r.where),
                "asked": r.facts["asked"],
                "reached": r.facts["reached"],
                "brokers": list(r.imbalance.brokers),
                "message": balance_text(r.facts),
            }
            for r in drift.unbalanced
        ],
        "acknowledged": [
            {"topic": tp.topic, "partition": tp.partition} for tp in drift.acknowledged
        ],
        "brokersDown": [broker_down_json(found) for found in drift.down],
        "uncleanElection": list(report.drift.unclean),
        "elrCleared": [{"topic": n.topic, "partition": n.partition} for n in report.drift.elr_gone],
        "electable": {
            "fewest": report.electable.least,
            "atRisk": report.electable.at_risk,
            "partitions": {str(n): found for n, found in report.electable.partitions.items()},
        },
    }
    if unmanaged:
        document["unmanaged"] = [{"topic": t, "partitions": n} for t, n in report.unmanaged.items()]
    return json.dumps(document, indent=2) + "\n"


def _difference(report: DriftReport, found: Difference) -> Mapping[str, object]:
    """Who must act, by which rule, and what differs; fields that it does not have are null.

    Since when, how often and whether it flaps, where that was asked for.
    """
    spell = report.spell(found)
    return {
        "class": found.drift_class,
        "rule": found.rule,
        "kind": found.kind,
        "topic": found.topic,
        "partition": found.partition,
        "broker": found.broker,
        "declared": list(found.declared),
        "observed": list(found.observed),
        "leader": found.leader,
        "detail": found.detail or None,
    } | (
        {}
        if spell is None
        else {"since": spell.since, "spells": spell.spells, "flapping": spell.flapping}
    )
