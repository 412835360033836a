"""A process in a scenario: its failure is raised, and it can be ended then, too."""

import pytest

from replan.applying.api import Outcome
from replan.model.api import Clock
from replan.scenarios.api import Process
from replan.simulator.api import VirtualClock


def test_a_process_that_failed_is_ended_at_once() -> None:
    def fails(_: Clock) -> Outcome:
        raise AssertionError("a bug")

    process = Process(VirtualClock(), fails)
    with pytest.raises(AssertionError, match="a bug"):
        process.resume_until(1.0)
    process.kill()
    assert process.end is None
