"""Steps of a plan that are no moves, rehearsed from the plan alone: they end as on the cluster."""

import pytest
from msgspec.structs import replace
from tests.builders import CLUSTER_ID, TOPIC_ID, move, state
from tests.unit.applying.lab import plan_of

from replan.faults.api import read_fault
from replan.model.api import (
    LEADER_RATE,
    LEADER_REPLICAS,
    BrokerId,
    ConfigScope,
    ReplicaLog,
    SettingName,
    TopicId,
)
from replan.planning.api import (
    LogMove,
    Plan,
    Recovery,
    RecoveryMethod,
    RecoveryWish,
    ThrottleSetting,
    candidates,
    chosen_recovery,
)
from replan.rehearsal.api import (
    Options,
    cluster_of,
    fault_context,
    rehearse_on,
    rehearse_plan,
    snapshot_of_plan,
    stopped_lines,
)


def log_move(broker: int, size: int = 1_000_000) -> LogMove:
    """A replica of clicks-3 goes from `/a` to `/b`."""
    topic_id = TopicId("clicks-topic-id-00000")
    return LogMove("clicks", topic_id, 3, BrokerId(broker), "/a", "/b", size)


def test_standing_throttles_and_moves_between_directories_are_done() -> None:
    plan = replace(
        plan_of([move([1, 2, 3], [1, 2, 4], size=1_000_000)]),
        standing=(
            ThrottleSetting.of(
                SettingName(ConfigScope.TOPIC, "state", LEADER_REPLICAS), "0:1", "*"
            ),
            ThrottleSetting.of(SettingName(ConfigScope.BROKER, "2", LEADER_RATE), "9000", None),
        ),
        log_moves=(
            log_move(4),
            LogMove("orders", TOPIC_ID, 0, BrokerId(2), "/a", "/b", 1_000_000),
            log_move(1),
        ),
    )
    assert plan.cluster_id == CLUSTER_ID
    found = rehearse_plan(plan, snapshot_of_plan(plan), Options())
    assert found.completed, found.text


def test_a_move_between_directories_that_is_not_done_is_named_and_counted() -> None:
    plan = replace(plan_of([move([1, 2], [2, 1])]), log_moves=(log_move(4, 10**12),))
    stage = cluster_of(snapshot_of_plan(plan))
    killed = read_fault("kill 4 at 5s", fault_context(stage))
    found = rehearse_on(plan, stage, Options(faults=(killed,), limit_looks=200))
    assert not found.completed
    assert [r.subject for r in found.stopped] == ["clicks-3 on broker 4"]
    (line,) = list(stopped_lines(found))[:1]
    assert line.startswith("running: clicks-3 on broker 4: ")
    cut = rehearse_on(plan, stage, Options(limit_looks=10))
    assert cut.text.endswith("; 1 of 2 partitions not done")


@pytest.fixture
def unclean() -> Plan:
    """Broker 1 is dead and had the most; 2 has 2,000 records, 3 has 1,000, and stands before it in the list."""
    logs = {
        BrokerId(2): ReplicaLog(2000, 0, epochs={0: 2000}),
        BrokerId(3): ReplicaLog(1000, 0, epochs={0: 1000}),
    }
    seen = state([1, 3, 2], [1], leader=None, size=2_000_000)
    found = candidates(seen, logs, {BrokerId(2), BrokerId(3)}, {BrokerId(b) for b in (1, 2, 3)})
    chosen = chosen_recovery(
        seen, found, RecoveryWish(RecoveryMethod.BALANCED, given_up=frozenset({BrokerId(1)}))
    )
    assert isinstance(chosen, Recovery)
    return replace(plan_of(()), recoveries=(chosen,))


def test_a_recovery_is_rehearsed_from_the_plan_alone(unclean: Plan) -> None:
    found = rehearse_plan(unclean, snapshot_of_plan(unclean), Options())
    assert (found.completed, found.changes, found.broken) == (True, 1, ())
    (row,) = found.recovered
    assert (row.leader, row.clean, row.stated_loss, row.measured_loss) == (2, False, 0, 0)
    assert [(change.before, change.after) for change in found.leaders] == [(None, 2)]
    assert found.harm.leaderless_seconds > 0


def test_a_recovery_whose_log_falls_silent_does_not_complete(unclean: Plan) -> None:
    stage = cluster_of(snapshot_of_plan(unclean))
    killed = read_fault("kill 2 at 1s", fault_context(stage))
    found = rehearse_on(unclean, stage, Options(faults=(killed,), limit_looks=200))
    assert not found.completed
    (row,) = found.recovered
    assert (row.leader, row.measured_loss) == (None, None)
