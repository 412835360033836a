"""The throttles of a cluster, and whose each is, as text and JSON."""

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from replan.applying.views.found_throttles import FoundThrottle, Owner
from replan.model.configs import LEADER_RATE, LEADER_REPLICAS, LOG_DIRS_RATE, ConfigScope
from replan.reporting.table import columns
from replan.wording import capped, rate

WHOSE: Mapping[Owner, str] = MappingProxyType(
    {
        Owner.COPIES: "replan's, while copies run",
        Owner.RUNNING: "replan's, for reassignments of other tools",
        Owner.SILENT: "replan's, when it was set; the broker is down",
        Owner.KEPT: "replan's, kept on purpose",
        Owner.DECLARED: "replan's, declared to stay",
        Owner.OTHER: "not in the journal: another tool's, or declared to stay a long time ago",
        Owner.DEFAULT: "default of all brokers",
        Owner.UNUSED: "from the broker's file; Kafka does not use it",
    }
)


def render_throttles(found: Sequence[FoundThrottle], observed_at: str) -> str:
    """Rates by broker, then lists by topic; ends with a newline."""
    if not found:
        return f"No throttle is set.\nAs of {observed_at}.\n"
    rows = [("Of", "Side", "Value", "Whose")]
    rows += [(f"{f.setting.scope} {f.setting.name}", _side(f), _value(f), _whose(f)) for f in found]
    lines = columns(rows)
    return "\n".join([lines[0], *capped(lines[1:], str), f"As of {observed_at}."]) + "\n"


def _side(found: FoundThrottle) -> str:
    if found.setting.key == LOG_DIRS_RATE:
        return "log directories"
    return "leader" if found.setting.key in {LEADER_RATE, LEADER_REPLICAS} else "follower"


def _value(found: FoundThrottle) -> str:
    if found.setting.scope is ConfigScope.TOPIC or not found.value.isdigit():
        return found.value
    return rate(int(found.value))


def _whose(found: FoundThrottle) -> str:
    text = WHOSE[found.owner]
    if (
        found.owner not in {Owner.COPIES, Owner.RUNNING, Owner.KEPT, Owner.SILENT}
        or found.setting.scope is ConfigScope.TOPIC
    ):
        return text
    before = "not set" if found.before is None else rate(int(found.before))
    return f"{text}; before: {before}"


def render_throttles_json(found: Sequence[FoundThrottle], observed_at: str) -> str:
    """One JSON document, format version 1."""
    document = {
        "formatVersion": 1,
        "kind": "replan.throttles",
        "observedAt": observed_at,
        "throttles": [
            {
                "scope": f.setting.scope,
                "name": f.setting.name,
                "key": f.setting.key,
                "value": f.value,
                "whose": f.owner,
                "before": f.before,
            }
            for f in found
        ],
    }
    return json.dumps(document, indent=2) + "\n"
