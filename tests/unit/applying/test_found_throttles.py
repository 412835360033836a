"""Every throttle of a cluster is found, with whose it is."""

import json

from tests.unit.applying.test_cancelling import COPYING
from tests.unit.applying.test_kill_points import three_moves
from tests.unit.applying.test_steering import ledger_of

from replan.applying.journal.ledger import Ledger
from replan.applying.views.found_throttles import FoundThrottle, Owner, found_throttles
from replan.model.configs import FOLLOWER_RATE, LEADER_REPLICAS, ConfigScope, SettingName
from replan.model.names import BrokerId
from replan.reporting.cluster.throttle_text import render_throttles, render_throttles_json
from replan.simulator.cluster.faults import KillBroker


def test_replans_own_throttles_are_apart_from_others_with_what_was_before() -> None:
    made = three_moves()
    made.apply(stop=made.stop_at(COPYING))
    found = found_throttles(made.plane.observe(), ledger_of(made))
    rate = SettingName(ConfigScope.BROKER, "5", FOLLOWER_RATE)
    assert [f for f in found if f.setting == rate] == [
        FoundThrottle(rate, "5000000", Owner.COPIES, "9000000")
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


def test_a_rate_on_a_broker_that_is_down_is_shown_as_it_was_set() -> None:
    made = three_moves()
    made.apply(stop=made.stop_at(COPYING))
    made.plane.inject(KillBroker(BrokerId(5)))
    made.clock.sleep(30)
    found = found_throttles(made.plane.observe(), ledger_of(made))
    rate = SettingName(ConfigScope.BROKER, "5", FOLLOWER_RATE)
    assert FoundThrottle(rate, "5000000", Owner.SILENT, "9000000") in found
    assert "the broker is down; before: 9 MB/s" in render_throttles(found, "now")


def test_without_a_journal_nothing_is_replans() -> None:
    made = three_moves()
    found = found_throttles(made.plane.observe(), Ledger())
    assert found
    assert {f.owner for f in found} == {Owner.OTHER}
    assert render_throttles([], "now").startswith("No throttle is set.")
