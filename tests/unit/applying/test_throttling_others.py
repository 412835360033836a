"""`throttle RATE --running`: reassignments of other tools under replan's throttle, put back whatever is killed."""

from collections.abc import Sequence

import pytest
from tests.builders import CLUSTER_ID, move, state
from tests.unit.applying.lab import MB, Boundary, Lab, at, killed_anywhere, lab

from replan.applying.api import (
    Application,
    ApplicationStatus,
    Ending,
    Ledger,
    Owner,
    RateLowered,
    RunningCopies,
    Settings,
    SlowerAlready,
    Verb,
    not_ours,
    owned_throttles,
    plan_of_throttle,
)
from replan.errors import Exit, Held
from replan.model.api import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    BrokerId,
    ConfigOperation,
    ConfigScope,
    Look,
    Reassignment,
    TopicPartition,
    Wanted,
    broker_change,
    topic_change,
)
from replan.planning.api import dumps, loads, require_lawful
from replan.rehearsal.api import throttles_of
from replan.simulator.api import KillBroker, StartBroker

pytestmark = pytest.mark.slow

P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
RATE, SIZE = 20 * MB, 2_000 * MB
TOPIC = ConfigScope.TOPIC, "orders"
OWN = move([1, 3, 2], [1, 3, 5], partition=1, size=SIZE)


def copying(*, own: bool = False) -> Lab:
    """Another tool copies a partition of 2 GB from 1, 2 and 3 to 4; `own`: beside a plan of replan's."""
    made = lab(
        [state([1, 2, 3], size=SIZE), state([1, 3, 2], partition=1, size=SIZE)],
        [OWN] if own else [],
    )
    if not own:
        made.plan = plan_of_throttle(CLUSTER_ID, made.plane.look(Wanted()), RATE)
    begin(made)
    return made


def begin(made: Lab, name: TopicPartition = P0, *, to: Sequence[int] = (4, 2, 3)) -> None:
    lists = {name: tuple(map(BrokerId, to))}
    made.plane.reassign(lists, allow_replication_factor_change=True)


def throttle(made: Lab, boundary: Boundary | None = None) -> "object":
    return made.apply(others=True, boundary=boundary)


def running(made: Lab) -> set[TopicPartition]:
    return set(made.plane.look(Wanted()).running)


def test_without_an_application_it_opens_one_that_ends_with_the_copies() -> None:
    made = copying()
    seen: list[dict[str, str]] = []

    def look() -> bool:
        seen.append(made.configs().get(TOPIC, {}))
        return False

    outcome = made.apply(others=True, stop=look)
    assert (outcome.exit_code, outcome.ending, outcome.others) == (Exit.OK, Ending.COMPLETE, 1)
    entries = {LEADER_REPLICAS: "0:1,0:2,0:3", FOLLOWER_REPLICAS: "0:4"}
    assert any(entries.items() <= found.items() for found in seen)
    assert made.clock.now() > 0.5 * SIZE / RATE
    assert not running(made)
    assert not throttles_of(made.plane.simulation.cluster)
    assert max(p.others for p in made.reports) == 1
    assert made.ledger.application is None


def test_the_plan_of_it_can_be_read_again_by_whoever_resumes() -> None:
    plan = copying().plan
    assert require_lawful(loads(dumps(plan), "journal"), "journal") == plan


def copying_beside_a_rate() -> Lab:
    made = copying()
    made.plane.alter_configs(
        [broker_change(BrokerId(1), LEADER_RATE, ConfigOperation.SET, "90000000")]
    )
    return made


def test_what_only_removes_copies_nothing_and_is_left_alone() -> None:
    one, two = BrokerId(1), BrokerId(2)
    running = {
        P0: Reassignment((one, two), adding=(), removing=(two,)),
        P1: Reassignment((one, two), adding=(two,), removing=(one,)),
    }
    seen = Look(brokers={}, running=running)
    assert not_ours(seen, Ledger()).keys() == {P1}


def test_killed_before_or_after_any_effect_the_next_run_restores() -> None:
    before = copying_beside_a_rate().configs()
    for boundary, made in killed_anywhere(copying_beside_a_rate, throttle):
        opened = made.ledger.application
        if opened is not None:
            assert opened.others
            assert made.apply(verb=Verb.RESUME).exit_code is Exit.OK, boundary
        if running(made):  # killed before the application was opened
            made.apply(others=True)
        assert made.configs() == before, boundary
        assert not made.ledger.throttles, boundary


def hanging() -> Lab:
    """The target is dead, so the reassignment never ends; what is set is to be given up two minutes later."""
    made = copying()
    made.plane.inject(KillBroker(BrokerId(4)))
    made.settings = Settings(owner="ann@ops-1", give_up_seconds=120)
    return made


def test_what_hangs_on_a_dead_broker_is_given_up_restored_and_named() -> None:
    made = hanging()
    before = made.configs()
    outcome = made.apply(others=True)
    assert (outcome.exit_code, outcome.ending) == (Exit.HELD, Ending.OTHERS_HANG)
    assert outcome.copying == (P0,)
    assert running(made) == {P0}
    assert made.configs() == before
    assert made.ledger.application is None


def test_killed_while_it_gives_up_the_next_run_restores() -> None:
    before = hanging().configs()
    for boundary, made in killed_anywhere(hanging, throttle):
        if made.ledger.application is not None:
            made.apply(verb=Verb.RESUME)
        assert made.configs() == before, boundary
        assert made.ledger.application is None, boundary


def test_what_begins_while_it_is_at_work_is_throttled_too() -> None:
    made = copying()
    entries = set[str]()

    def look() -> bool:
        if made.clock.now() > 5 and P1 not in running(made) and "1:5" not in entries:
            begin(made, P1, to=(1, 3, 5))
        entries.update(made.configs().get(TOPIC, {}).get(FOLLOWER_REPLICAS, "").split(","))
        return False

    assert made.apply(others=True, stop=look).exit_code is Exit.OK
    assert {"0:4", "1:5"} <= entries
    assert not throttles_of(made.plane.simulation.cluster)


def test_what_another_tool_has_set_stays_or_is_restored_and_is_named() -> None:
    made = copying()
    made.plane.alter_configs(
        [
            topic_change("orders", LEADER_REPLICAS, ConfigOperation.SET, "0:1,7:8"),
            broker_change(BrokerId(1), LEADER_RATE, ConfigOperation.SET, "90000000"),
            broker_change(BrokerId(4), FOLLOWER_RATE, ConfigOperation.SET, "10000000"),
        ]
    )
    before = made.configs()
    outcome = made.apply(others=True)
    assert RateLowered(BrokerId(1), LEADER_RATE, 90 * MB, RATE) in outcome.notes
    assert SlowerAlready(BrokerId(4), FOLLOWER_RATE, 10 * MB, RATE) in outcome.notes
    assert made.configs() == before


def test_beside_a_plan_it_stays_until_both_have_ended() -> None:
    made = copying(own=True)
    entries = set[str]()

    def look() -> bool:
        entries.update(made.configs().get(TOPIC, {}).get(FOLLOWER_REPLICAS, "").split(","))
        return False

    inbox = at(made, (2, Verb.THROTTLE, str(RATE)), others=True)
    outcome = made.apply(arrived=inbox, stop=look)
    assert outcome.exit_code is Exit.OK
    assert made.partition(OWN).replicas == OWN.target
    assert "0:4" in entries
    assert not running(made)
    assert not throttles_of(made.plane.simulation.cluster)


def test_throttling_them_can_be_taken_back() -> None:
    made = copying()
    inbox = at(made, (4, Verb.THROTTLE, str(RATE)), others=False)
    assert made.apply(others=True, arrived=inbox).exit_code is Exit.OK
    assert made.clock.now() < 40
    assert running(made) == {P0}
    assert not throttles_of(made.plane.simulation.cluster)


def test_interrupted_it_stays_throttled_and_clear_leaves_what_the_copies_need() -> None:
    made = copying()
    outcome = made.apply(others=True, stop=made.stop_at(5))
    assert (outcome.exit_code, outcome.copying) == (Exit.INTERRUPTED, (P0,))
    cleared = made.clear()
    assert cleared.ending in {Ending.COPIES_THROTTLED, Ending.RESTORED}
    assert made.apply(verb=Verb.RESUME).exit_code is Exit.OK
    assert not throttles_of(made.plane.simulation.cluster)


def test_abandoned_it_names_the_copies_and_restores_all_where_they_may_run_free() -> None:
    made = copying()
    made.apply(others=True, stop=made.stop_at(3))

    for copies in (RunningCopies.REFUSED, RunningCopies.CANCELLED):
        with pytest.raises(Held, match="orders-0"):
            made.abandon(copies)
    assert made.configs()
    made.abandon(RunningCopies.UNTHROTTLED)
    assert not throttles_of(made.plane.simulation.cluster)


def test_cancelled_it_restores_and_leaves_the_copies_running() -> None:
    made = copying()
    made.apply(others=True, stop=made.stop_at(3))
    counting = Boundary()
    assert made.apply(verb=Verb.CANCEL, boundary=counting).exit_code is Exit.OK
    assert not {"reassign", "elect"} & set(counting.log)
    assert not throttles_of(made.plane.simulation.cluster)
    kept = made.ledger.records.values()
    ended = [r.status for r in kept if isinstance(r, Application)]
    assert ended == [ApplicationStatus.CANCELLED]


def test_a_kept_replica_that_falls_out_of_sync_is_not_starved_by_them() -> None:
    made = copying()
    freed = list[str]()

    def look() -> bool:
        now = made.clock.now()
        if 3 < now <= 4:
            made.plane.inject(KillBroker(BrokerId(3)))
        if 40 < now <= 41:
            made.plane.inject(StartBroker(BrokerId(3)))
        found = made.plane.look(Wanted(partitions=[P0])).partitions[P0]
        if now > 5 and BrokerId(3) not in found.isr and BrokerId(4) not in found.isr:
            freed.append(made.configs().get(TOPIC, {}).get(LEADER_REPLICAS, ""))
        return False

    assert made.apply(others=True, stop=look).exit_code is Exit.OK
    assert "" in freed
    assert not throttles_of(made.plane.simulation.cluster)


def test_show_says_whose_they_are() -> None:
    made = copying()
    made.apply(others=True, stop=made.stop_at(4))
    found = owned_throttles(made.plane.observe(), made.ledger)
    assert {f.owner for f in found} == {Owner.RUNNING}
