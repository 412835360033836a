"""What a round plans of what is due, whatever it is called for people."""

from msgspec.structs import replace
from tests.builders import placement, snapshot, state
from tests.unit.planning.test_drift_classes import throttled

from replan.model.api import (
    LEADER_RATE,
    LEADER_REPLICAS,
    BrokerId,
    ConfigScope,
    SettingName,
    StandingRate,
    StandingThrottles,
    Where,
)
from replan.planning.api import ThrottleSetting
from replan.reconciling.api import History, Subject, deviations, look_at_cluster, plan_due

STALE = [
    ThrottleSetting.of(SettingName(ConfigScope.TOPIC, "orders", LEADER_REPLICAS), "0:1", None),
    ThrottleSetting.of(SettingName(ConfigScope.BROKER, "1", LEADER_RATE), "1000", None),
]
DECLARED = [
    ThrottleSetting.of(SettingName(ConfigScope.BROKER, "1", LEADER_RATE), "1000", "2000"),
    ThrottleSetting.of(SettingName(ConfigScope.TOPIC, "orders", LEADER_REPLICAS), "0:1", None),
]


def test_throttles_are_planned_by_what_they_are_and_by_no_sentence() -> None:
    rate = StandingRate(Where("f", 1, 1), 2000, None)
    to_stay = StandingThrottles({}, {BrokerId(1): rate})
    lists = {"orders": [[1, 2, 3]]}
    for declared, wanted in (
        (placement(lists), STALE),
        (placement(lists, standing=to_stay), DECLARED),
    ):
        looked = look_at_cluster(declared, throttled(snapshot([state([1, 2, 3])])))
        due = deviations(looked, History())
        assert len(due) == 2
        for words in ({}, {"detail": "in other words"}):
            renamed = [replace(of, subject=replace(of.subject, **words)) for of in due]
            assert [*plan_due(declared, looked, renamed).standing] == wanted


def test_of_what_is_not_due_no_throttle_is_planned() -> None:
    declared = placement({"orders": [[1, 2, 3]]})
    looked = look_at_cluster(declared, throttled(snapshot([state([1, 2, 3])])))
    first, _ = deviations(looked, History())
    assert first.subject == Subject("orders", detail=f"{LEADER_REPLICAS}=0:1")
    assert [*plan_due(declared, looked, [first]).standing] == STALE[:1]
