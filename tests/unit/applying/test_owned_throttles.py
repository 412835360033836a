"""Every throttle of a cluster is found, with whose it is."""

import json

from msgspec.structs import replace
from tests.unit.applying.examples import leaving_a_directory
from tests.unit.applying.test_cancelling import COPYING
from tests.unit.applying.three_moves import three_moves

from replan.applying.api import (
    Ledger,
    OwnedThrottle,
    Owner,
    nobodys,
    owned_throttles,
    throttles_seen_twice,
    unknown_throttles,
)
from replan.model.api import (
    FOLLOWER_RATE,
    LEADER_REPLICAS,
    LOG_DIRS_RATE,
    BrokerId,
    ConfigOperation,
    ConfigScope,
    SettingName,
    broker_change,
)
from replan.planning.api import ThrottleSetting
from replan.reporting.api import render_throttles, render_throttles_json
from replan.simulator.api import KillBroker


def test_replans_own_throttles_are_apart_from_others_with_what_was_before() -> None:
    made = three_moves()
    made.apply(stop=made.stop_at(COPYING))
    found = owned_throttles(made.plane.observe(), made.ledger)
    rate = SettingName(ConfigScope.BROKER, "5", FOLLOWER_RATE)
    assert [f for f in found if f.setting == rate] == [
        OwnedThrottle(rate, "5000000", Owner.COPIES, "9000000")
    ]
    listed = SettingName(ConfigScope.TOPIC, "orders", LEADER_REPLICAS)
    owners = {f.owner: f.value for f in found if f.setting == listed}
    assert set(owners[Owner.OTHER].split(",")) == {"7:8", "0:1"}
    assert "7:8" not in owners[Owner.COPIES]
    document = json.loads(render_throttles_json(found, "now"))
    assert len(document["throttles"]) == len(found)
    text = render_throttles(found, "now")
    assert "before: 9 MB/s" in text
    assert all(line == line.rstrip() for line in text.splitlines())


def test_what_is_restored_between_a_look_and_the_reading_of_the_journal_is_not_said_to_be_nobodys() -> (
    None
):
    made = three_moves()
    made.apply(stop=made.stop_at(COPYING))
    seen = made.plane.observe()
    before = unknown_throttles(seen, made.ledger)
    made.apply()
    ledger = made.ledger
    found = unknown_throttles(seen, ledger)
    assert len(found) > len(before)
    left = nobodys(throttles_seen_twice(seen, made.plane.observe, ledger))
    assert {(f.setting, *sorted(f.value.split(","))) for f in left if "7:8" in f.value} == {
        (f.setting, *sorted(f.value.split(","))) for f in before if "7:8" in f.value
    }
    assert all(f.setting in {b.setting for b in before} for f in left)


def test_a_rate_on_a_broker_that_is_down_is_shown_as_it_was_set() -> None:
    made = three_moves()
    made.apply(stop=made.stop_at(COPYING))
    made.plane.inject(KillBroker(BrokerId(5)))
    made.clock.sleep(30)
    found = owned_throttles(made.plane.observe(), made.ledger)
    rate = SettingName(ConfigScope.BROKER, "5", FOLLOWER_RATE)
    assert OwnedThrottle(rate, "5000000", Owner.SILENT, "9000000") in found
    assert "the broker is down; before: 9 MB/s" in render_throttles(found, "now")


def test_the_rate_of_copies_between_log_directories_is_listed_with_whose_it_is() -> None:
    found = leaving_a_directory()
    found.apply(stop=found.stop_at(2.0))
    (rate,) = [
        f
        for f in owned_throttles(found.plane.observe(), found.ledger)
        if f.setting.key == LOG_DIRS_RATE
    ]
    assert (rate.setting.name, rate.value, rate.owner) == ("4", "10000000", Owner.COPIES)
    assert "broker 4  log directories  10 MB/s" in render_throttles([rate], "now")


def test_what_is_declared_to_stay_is_replans_own_as_long_as_it_has_that_value() -> None:
    made = three_moves()
    rate = SettingName(ConfigScope.BROKER, "3", FOLLOWER_RATE)
    stays = ThrottleSetting.of(rate, before=None, after="7000000")
    made.plan = replace(made.plan, moves=(), standing=(stays,))
    made.apply()
    found = owned_throttles(made.plane.observe(), made.ledger)
    assert OwnedThrottle(rate, "7000000", Owner.DECLARED) in found
    assert rate.name not in {
        t.setting.name for t in unknown_throttles(made.plane.observe(), made.ledger)
    }
    made.plane.alter_configs(
        [broker_change(BrokerId(3), FOLLOWER_RATE, ConfigOperation.SET, "8000000")]
    )
    found = owned_throttles(made.plane.observe(), made.ledger)
    assert OwnedThrottle(rate, "8000000", Owner.OTHER) in found


def test_without_a_journal_nothing_is_replans() -> None:
    made = three_moves()
    found = owned_throttles(made.plane.observe(), Ledger())
    assert found
    assert {f.owner for f in found} == {Owner.OTHER}
    assert render_throttles([], "now").startswith("No throttle is set.")
