"""A loop as its journal tells of it: what it waits for, as far as that outlives a process."""

import pytest

from replan.applying.api import Lease
from replan.reconciling.api import (
    Begun,
    EndedWorse,
    LoopState,
    Memory,
    RoundsFail,
    SomebodyPaused,
    UnderMinIsr,
    memory_records,
    standing_loop,
)
from replan.reporting.api import loop_lines


@pytest.mark.parametrize(
    ("memory", "state", "reason"),
    [
        (Memory(), LoopState.AT_REST, None),
        (Memory(since={"brokerDown 3": 1.0}), LoopState.DIFFERS, None),
        (
            Memory(paused=SomebodyPaused("bob", 1.0)),
            LoopState.PAUSED,
            SomebodyPaused("bob", 1.0),
        ),
        (Memory(worse=EndedWorse(3, 0, 2)), LoopState.HOLDING, EndedWorse(3, 0, 2)),
        (Memory(under=("a-0",)), LoopState.HOLDING, UnderMinIsr(("a-0",), 1)),
        (Memory().failed("no", 995.0), LoopState.BACKING_OFF, RoundsFail(1, "no", 1055.0)),
    ],
)
def test_what_a_loop_keeps_says_how_it_stands(
    memory: Memory, state: LoopState, reason: object
) -> None:
    records = [Lease("id", "alice@ops-1", "", 3), *memory_records(memory, ())]
    status = standing_loop(records, 1_000.0, applying=False)
    assert status is not None
    assert (status.state, status.reasons) == (state, () if reason is None else (reason,))
    assert status.instance == "alice@ops-1"
    assert status.looked_at is None
    told = str([*loop_lines(status, 1_000.0)])
    assert "alice@ops-1" in told
    for unknown in ("last look", "every 5 min", "next one due", "not looked yet"):
        assert unknown not in told


def test_without_a_lease_there_is_no_loop() -> None:
    assert standing_loop(memory_records(Memory(), ()), 1_000.0, applying=False) is None


def test_a_round_whose_application_somebody_has_ended_acts_no_more() -> None:
    begun = Begun(number=1, began_at=1.0, kinds=(), plan_digest="digest", unhealthy=())
    memory = Memory(begun=begun, since={"brokerDown 3": 1.0})
    records = [Lease("id", "alice@ops-1", "", 3), *memory_records(memory, ())]
    for applying, state in ((True, LoopState.ACTING), (False, LoopState.DIFFERS)):
        status = standing_loop(records, 1_000.0, applying=applying)
        assert status is not None
        assert status.state is state
