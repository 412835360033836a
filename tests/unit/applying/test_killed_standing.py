"""Throttles that are to stay, killed before or after every effect, or answered by nobody: set once."""

import pytest
from msgspec.structs import replace
from tests.builders import TOPIC, move, state
from tests.unit.applying.lab import MB, Boundary, Lab, killed_anywhere, lab

from replan.applying.api import Result
from replan.errors import Exit
from replan.model.api import (
    FOLLOWER_RATE,
    LEADER_RATE,
    LEADER_REPLICAS,
    BrokerId,
    ConfigScope,
    MoveThrottle,
    SettingName,
    broker_change,
    topic_change,
)
from replan.model.api import ConfigOperation as Operation
from replan.planning.api import ThrottleSetting
from replan.rehearsal.api import throttles_of
from replan.simulator.api import (
    LagMetadata,
    LoseRequests,
    RepeatRequests,
    WriteKind,
)

pytestmark = pytest.mark.slow

OWN_RATE = SettingName(ConfigScope.BROKER, "4", FOLLOWER_RATE)
LIST = SettingName(ConfigScope.TOPIC, TOPIC, LEADER_REPLICAS)
NO_RATE = SettingName(ConfigScope.BROKER, "2", LEADER_RATE)
STANDING = (
    ThrottleSetting.of(LIST, None, "0:1"),
    ThrottleSetting.of(NO_RATE, "9000000", None),
    ThrottleSetting.of(OWN_RATE, None, "30000000"),
)
TROUBLES = (
    LoseRequests(WriteKind.CONFIGURE, 1, None),
    LoseRequests(WriteKind.CONFIGURE, 1, 0.0),
    LoseRequests(WriteKind.CONFIGURE, 2, 30.0),
    RepeatRequests(WriteKind.CONFIGURE, 1),
    LagMetadata(8.0),
)


def made(*faults: LoseRequests | RepeatRequests | LagMetadata) -> Lab:
    """Three settings and a copy that needs two of their places for a while."""
    found = lab(
        [state([1, 2, 3], size=20 * MB)],
        [move([1, 2, 3], [1, 2, 4], size=20 * MB)],
        throttle=MoveThrottle(MB),
    )
    found.plane.alter_configs([broker_change(BrokerId(2), LEADER_RATE, Operation.SET, "9000000")])
    found.plan = replace(found.plan, standing=STANDING)
    for fault in faults:
        found.plane.inject(fault)
    return found


def arrived(found: Lab) -> bool:
    return throttles_of(found.plane.simulation.cluster) == {
        ("topic", TOPIC, LEADER_REPLICAS): "0:1",
        ("broker", "4", FOLLOWER_RATE): "30000000",
    }


def test_killed_before_or_after_any_effect_the_next_run_arrives() -> None:
    for boundary, found in killed_anywhere(made):
        assert found.apply().exit_code is Exit.OK, boundary
        assert arrived(found), boundary


@pytest.mark.parametrize("trouble", TROUBLES, ids=str)
def test_whatever_becomes_of_the_request_they_are_set_in_the_end(
    trouble: LoseRequests | RepeatRequests | LagMetadata,
) -> None:
    found = made(trouble)
    assert found.apply().exit_code is Exit.OK
    assert arrived(found)


def test_a_value_that_another_tool_has_changed_since_is_left_alone() -> None:
    found = made()
    found.plane.alter_configs([topic_change(TOPIC, LEADER_REPLICAS, Operation.SET, "0:3")])
    outcome = found.apply()
    assert outcome.exit_code is Exit.REFUSED
    assert {r.subject: r.result for r in outcome.settings} == {
        LIST: Result.STALE,
        NO_RATE: Result.DONE,
        OWN_RATE: Result.DONE,
    }
    configs = found.plane.simulation.cluster.configs
    assert configs[ConfigScope.TOPIC, TOPIC][LEADER_REPLICAS] == "0:3"


def test_the_same_plan_again_finds_it_done() -> None:
    found = made()
    found.apply()
    counting = Boundary()
    assert found.apply(boundary=counting).exit_code is Exit.OK
    assert "configure" not in counting.log
