"""What commands print as JSON: the kind of each document, and how a test comes by it."""

from collections.abc import Mapping

KINDS: Mapping[str, Mapping[str, str]] = {
    "doctor": {"replan.checkup": ""},
    "status": {"replan.status": ""},
    "drift": {"replan.drift": "-f placement.yaml"},
    "explain": {"replan.explanation": "orders-0 -f placement.yaml"},
    "journal show": {"replan.journal": ""},
    "plan": {"replan.plan": "-f placement.yaml"},
    "show": {
        "replan.plan": "plan.json",
        "replan.planDifference": "plan.json --against other.json",
    },
    "diff": {"replan.placementDifference": "placement.yaml other.yaml"},
    "rehearse": {
        "replan.rehearsal": "plan.json",
        "replan.reconcileRehearsal": "--reconcile --for 1h -f placement.yaml",
    },
    "rollback": {"replan.plan": ""},
    "throttle show": {"replan.throttles": ""},
    "elect preferred": {"replan.election": "--all"},
    "elect best-log": {"replan.election": "--all"},
    "elect unclean": {"replan.election": "--all"},
    "elect designated": {"replan.election": "--partition orders-0 --leader 3 --unclean"},
    "blacklist show": {"replan.blacklist": "-f placement.yaml"},
}
"""By command, the kinds that it prints, each with arguments on a cluster that has been applied to."""
