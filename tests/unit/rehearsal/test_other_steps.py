"""Steps of a plan that are no moves, rehearsed from the plan alone: they end as on the cluster."""

from dataclasses import replace

from tests.builders import CLUSTER_ID, TOPIC_ID, move
from tests.unit.applying.lab import plan_of

from replan.model.configs import LEADER_RATE, LEADER_REPLICAS, ConfigScope, SettingName
from replan.model.names import BrokerId, TopicPartition
from replan.planning.log_dirs import LogMove
from replan.planning.standing_throttles import ThrottleSetting
from replan.rehearsal.options import Options
from replan.rehearsal.run import rehearse
from replan.rehearsal.setup import snapshot_of


def test_standing_throttles_and_moves_between_directories_are_done() -> None:
    other = TopicPartition("clicks", 3)
    plan = replace(
        plan_of([move([1, 2, 3], [1, 2, 4], size=1_000_000)]),
        standing=(
            ThrottleSetting(SettingName(ConfigScope.TOPIC, "state", LEADER_REPLICAS), "0:1", "*"),
            ThrottleSetting(SettingName(ConfigScope.BROKER, "2", LEADER_RATE), "9000", None),
        ),
        log_moves=(
            LogMove(other, TOPIC_ID, BrokerId(4), "/a", "/b", 1_000_000),
            LogMove(TopicPartition("orders", 0), TOPIC_ID, BrokerId(2), "/a", "/b", 1_000_000),
        ),
    )
    assert plan.cluster_id == CLUSTER_ID
    found = rehearse(plan, snapshot_of(plan), Options())
    assert found.completed, found.text
