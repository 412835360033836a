"""A copy and a replica that goes to another directory of its broker, where only one of them has room."""

import pytest
from msgspec.structs import replace
from tests.builders import TOPIC_ID, brokers, move, state
from tests.unit.applying.lab import MB, Lab, killed_anywhere, lab

from replan.applying.api import Settings
from replan.errors import Exit
from replan.model.api import BrokerId, LogDir, TopicPartition, Wanted
from replan.planning.api import LogMove

B1 = BrokerId(1)
LIES = TopicPartition("clicks", 0)
SIZE = 380 * MB


def made(usable: int = 500 * MB) -> Lab:
    """Both come to /d1 of broker 1: the one from /d2, and the other from broker 4, as /d1 has the fewest logs."""
    states = [state([4, 2, 3], size=SIZE), state([1, 2, 3], topic=LIES.topic, size=SIZE)]
    settings = Settings(owner="ann@ops-1", give_up_seconds=600.0)
    dirs = (
        LogDir(B1, "/d1", 1000 * MB, usable, 0),
        LogDir(B1, "/d2", 1000 * MB, 500 * MB, 3, replicas={LIES.topic: (0,)}),
    )
    moves = [move([4, 2, 3], [1, 2, 3], size=SIZE)]
    found = lab(states, moves, registered=brokers(4, "abc"), settings=settings, log_dirs=dirs)
    within = LogMove(LIES.topic, TOPIC_ID, 0, B1, "/d2", "/d1", SIZE)
    found.plan = replace(found.plan, log_moves=(within,))
    return found


def lies_in(found: Lab) -> str | None:
    return found.plane.look(Wanted(places_of={B1: [LIES]})).places[B1][LIES].path


def offline(found: Lab) -> list[str]:
    return sorted(path for _, path in found.plane.simulation.world.lost_dirs)


def test_with_room_for_one_alone_the_other_waits_and_no_disk_is_full() -> None:
    found = made()
    outcome = found.apply()
    assert offline(found) == []
    assert outcome.exit_code is Exit.HELD
    assert lies_in(found) == "/d2"


def test_with_room_for_both_both_are_done() -> None:
    found = made(usable=900 * MB)
    assert found.apply().exit_code is Exit.OK
    assert (offline(found), lies_in(found)) == ([], "/d1")


@pytest.mark.slow
def test_the_next_process_knows_what_the_one_before_has_sent() -> None:
    for boundary, found in killed_anywhere(made):
        found.apply()
        assert offline(found) == [], boundary
