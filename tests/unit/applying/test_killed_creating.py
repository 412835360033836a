"""Killed before or after every effect, or answered by nobody: a topic gets its partitions once, and then its moves."""

import pytest
from msgspec.structs import replace
from tests.builders import TOPIC, TOPIC_ID, move, state
from tests.unit.applying.lab import MB, Boundary, Lab, killed_anywhere, lab

from replan.errors import Exit
from replan.model.api import replicas
from replan.planning.api import Create
from replan.simulator.api import (
    At,
    LagMetadata,
    LoseRequests,
    RepeatRequests,
    WriteKind,
)

CREATE = Create(TOPIC, TOPIC_ID, 2, (replicas(3, 4, 5), replicas(4, 5, 1)))
MOVES = (
    move([1, 2, 3], [4, 2, 5], partition=0, size=20 * MB),
    move([3, 4, 5], [3, 4, 5, 1], partition=2),
)
TROUBLES = (
    LoseRequests(WriteKind.CREATE, 1, None),
    LoseRequests(WriteKind.CREATE, 1, 0.0),
    LoseRequests(WriteKind.CREATE, 2, 30.0),
    RepeatRequests(WriteKind.CREATE, 1),
    LagMetadata(8.0),
)


def growing(*faults: At) -> Lab:
    """Two partitions to create, a move of an old partition and one of a new one."""
    states = [state([1, 2, 3], size=20 * MB), state([2, 3, 4], partition=1)]
    made = lab(states, MOVES, schedule=faults)
    made.plan = replace(made.plan, creates=(CREATE,))
    return made


def arrived(made: Lab) -> bool:
    topic = made.plane.simulation.cluster.topics[TOPIC]
    lists = {number: p.replicas for number, p in topic.partitions.items()}
    return lists == {
        0: replicas(4, 2, 5),
        1: replicas(2, 3, 4),
        2: replicas(3, 4, 5, 1),
        3: replicas(4, 5, 1),
    }


def test_killed_before_or_after_any_effect_the_next_run_arrives() -> None:
    for boundary, found in killed_anywhere(growing):
        assert found.apply().exit_code is Exit.OK, boundary
        assert arrived(found), boundary


@pytest.mark.parametrize("trouble", TROUBLES, ids=str)
def test_whatever_becomes_of_the_request_they_are_created_once(
    trouble: LoseRequests | RepeatRequests | LagMetadata,
) -> None:
    made = growing(At(0.0, trouble))
    outcome = made.apply()
    assert outcome.exit_code is Exit.OK
    assert arrived(made)


def test_the_same_plan_again_finds_it_done() -> None:
    made = growing()
    made.apply()
    counting = Boundary()
    assert made.apply(boundary=counting).exit_code is Exit.OK
    assert "create" not in counting.log
    assert arrived(made)
