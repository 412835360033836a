"""Throttles that are to stay, beside what the kill matrix says of them."""

import pytest
from tests.builders import TOPIC
from tests.unit.applying.examples import LIST, NO_RATE, OWN_RATE, standing

from replan.applying.api import Result
from replan.errors import Exit
from replan.model.api import LEADER_REPLICAS, ConfigOperation, ConfigScope, topic_change

pytestmark = pytest.mark.slow


def test_a_value_that_another_tool_has_changed_since_is_left_alone() -> None:
    found = standing()
    found.plane.alter_configs([topic_change(TOPIC, LEADER_REPLICAS, ConfigOperation.SET, "0:3")])
    outcome = found.apply()
    assert outcome.exit_code is Exit.REFUSED
    assert {r.subject: r.result for r in outcome.settings} == {
        LIST: Result.STALE,
        NO_RATE: Result.DONE,
        OWN_RATE: Result.DONE,
    }
    configs = found.plane.simulation.cluster.configs
    assert configs[ConfigScope.TOPIC, TOPIC][LEADER_REPLICAS] == "0:3"
