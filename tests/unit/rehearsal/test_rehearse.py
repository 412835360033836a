"""What a rehearsal finds out: durations, peaks, margins, what faults do, what does not arrive."""

import pytest
from msgspec.structs import replace
from tests.builders import brokers, move, snapshot, state
from tests.unit.applying.lab import plan_of as planned
from tests.unit.rehearsal.stages import MB, SEEN, faults_of, load_of, plan_of, rehearsed

from replan.applying.api import (
    AwaitingSync,
    ClusterSilent,
    NoSlot,
    Settings,
    Status,
    begun,
    fold,
    opening,
)
from replan.errors import Exit
from replan.model.api import (
    BrokerId,
    Features,
    LogDir,
    OwnApplication,
    Snapshot,
    TopicPartition,
    replicas,
)
from replan.planning.api import Plan, digest
from replan.rehearsal.api import (
    Harm,
    Options,
    cluster_of,
    rehearse_plan,
    snapshot_of_plan,
    with_version,
)
from replan.simulator.api import advance

pytestmark = pytest.mark.slow

NAME = TopicPartition("orders", 0)


def test_one_copy_takes_as_long_as_its_bytes_at_its_rate_and_the_settle_time() -> None:
    found = rehearsed(plan_of([1, 2, 4], rate=None), network=50.0 * MB)
    assert found.completed
    assert found.copied_bytes == pytest.approx(1_000 * MB, rel=0.001)
    assert found.seconds == pytest.approx(20 + 15, abs=4)
    (copy,) = found.copies
    assert (copy.partition, copy.source, copy.broker) == (NAME, BrokerId(1), BrokerId(4))
    assert copy.in_sync is not None
    assert copy.in_sync - copy.began == pytest.approx(20, abs=1)


def test_peaks_and_sums_are_counted_by_broker() -> None:
    found = rehearsed(plan_of([1, 2, 4], rate=None), network=50.0 * MB)
    assert load_of(found, 1).peak_out == pytest.approx(50 * MB)
    assert load_of(found, 4).peak_in == pytest.approx(50 * MB)
    assert load_of(found, 4).received_bytes == pytest.approx(1_000 * MB, rel=0.001)
    assert load_of(found, 4).peak_disk_bytes == pytest.approx(1_000 * MB, rel=0.001)
    assert load_of(found, 3).final_disk_bytes == -1_000 * MB


def test_disks_hold_copies_up() -> None:
    found = rehearsed(plan_of([1, 2, 4], rate=None), disk=10.0 * MB)
    assert found.seconds == pytest.approx(100 + 15, abs=5)


def test_the_throttle_of_the_plan_holds_copies_up_and_is_in_place_until_the_end() -> None:
    found = rehearsed(plan_of([1, 2, 4], rate=10 * MB))
    assert found.seconds > 100
    assert load_of(found, 1).peak_out <= 12 * MB
    assert found.seconds - 30 < found.throttled_seconds <= found.seconds


def test_a_wait_lasts_across_the_runs_of_the_command() -> None:
    """Nobody answers from second 20 on; the command leaves, and is run again after the last fault."""
    found = rehearsed(plan_of([1, 2, 4], [3, 1, 2], rate=10 * MB), "silence at 20s for 3m")
    assert found.completed
    assert any("run again" in note for note in found.notes)
    (silent,) = (w for w in found.waits if isinstance(w.reason, ClusterSilent))
    assert silent.longest_seconds >= 180.0


def test_the_smallest_headroom_has_its_partition_and_its_time() -> None:
    found = rehearsed(plan_of([1, 2, 4]), "kill 2 at 5s for 60s")
    smallest = found.smallest_headroom
    assert smallest is not None
    assert (smallest.replicas, smallest.at_seconds) == (0, 5.0)
    assert (smallest.in_sync, smallest.min_in_sync, smallest.before) == (2, 2, 1)


def test_a_fault_is_compared_with_itself_without_the_plan() -> None:
    found = rehearsed(plan_of([1, 2, 4]), "kill 1 at 5s for 60s")
    assert found.harm.leaderless_seconds == pytest.approx(9)
    assert found.without == Harm(0.0, found.harm.leaderless_seconds, 0)
    assert found.broken == ()


def test_a_new_broker_that_stays_dead_keeps_the_plan_from_completing_and_is_named() -> None:
    found = rehearsed(plan_of([1, 2, 4]), "kill 4 at 5s")
    assert not found.completed
    assert found.exit_code is Exit.HELD
    assert found.text.startswith("gave up, as nothing has moved for ")
    assert [r.hold for r in found.stopped] == [AwaitingSync(replicas(4), fenced=replicas(4))]
    assert found.seconds < 1_000


@pytest.mark.parametrize("patience", [None, 500.0, 3600.0])
def test_it_gives_up_in_the_second_in_which_the_applier_would(patience: float | None) -> None:
    faults, settings = faults_of("kill 4 at 5s"), Settings(give_up_seconds=patience)
    options = Options(faults=faults, settings=settings)
    plan = plan_of([1, 2, 4])
    quick = rehearse_plan(plan, SEEN, options)
    closely = rehearse_plan(plan, SEEN, replace(options, longest_stride_seconds=1.0))
    assert quick.seconds == closely.seconds
    assert quick.text == closely.text


def test_a_partition_that_another_tool_moves_is_left_to_it() -> None:
    found = rehearsed(plan_of([1, 2, 4]), "foreign reassign orders-0 [1,5] at 5s")
    assert not found.completed
    (stopped,) = found.stopped
    assert "another tool changed it" in stopped.message


@pytest.mark.parametrize(
    ("faults", "longer_than"),
    [
        # Another tool asks for the very list of the plan, so the partition counts as done.
        (["foreign reassign orders-0 [1,2,4] at 5s"], 0),
        (["foreign reassign orders-0 [1,2,4] at 30s"], 0),
        # A broker of the target dies while the applier looks at how it was before.
        (["looks take 9s at 33s for 9s", "kill 4 at 25s for 1s"], 0),
        # Nothing moves for ten minutes, and then what was to come has only just begun.
        (["stop 4 at 5s for 600s"], 605),
        (["silence for 2h at 5s", "silence for 10m at 7260s"], 7_860),
        (["silence for 20m at 0s"], 1_200),
    ],
    ids=lambda value: " and ".join(value) if isinstance(value, list) else "",
)
def test_what_only_delays_a_plan_is_waited_for_and_breaks_no_invariant(
    faults: list[str], longer_than: float
) -> None:
    found = rehearsed(plan_of([1, 2, 4]), *faults)
    assert (found.completed, found.broken) == (True, ())
    assert found.seconds > longer_than


def test_a_broker_that_is_cordoned_for_a_while_may_be_left_out_of_a_list() -> None:
    """From 4.4 on no list may name it, so it leaves with the request that adds the new replica."""
    faults = faults_of("cordon 3 at 0s for 20s")
    found = rehearse_plan(plan_of([1, 2, 4]), SEEN, Options(faults=faults, version="4.4"))
    assert (found.completed, found.broken) == (True, ())


def test_what_is_written_from_a_fault_on_takes_its_part_of_the_networks() -> None:
    """A replica that comes back shares its leader's network with the copy: later than without it, and no bug.

    Neither catches up: after an hour nothing is new, and only after four weeks has the copy lost all it had.
    """
    faults = ("produce orders-0 40MB/s at 3s", "fence 1 at 30s for 1s")
    found = rehearsed(plan_of([1, 2, 4]), *faults, limit_seconds=3_600)
    assert found.broken == ()


def test_a_plan_that_the_cluster_has_outrun_is_stale() -> None:
    plan = plan_of([1, 2, 4])
    seen = snapshot([state([5, 2, 3], size=MB)], registered=brokers(5))
    found = rehearsed(plan, seen=seen)
    assert not found.completed
    assert [r.message for r in found.stopped] == [
        "orders-0: planned from [1, 2, 3], found [5, 2, 3]; make a new plan"
    ]


def test_a_wait_for_a_slot_has_its_length() -> None:
    states = [state([1, 2, 3], partition=p, size=500 * MB) for p in range(8)]
    seen = snapshot(states, registered=brokers(5))
    found = rehearsed(plan_of(*[[1, 2, 4]] * 8, seen=seen, rate=None), seen=seen)
    assert found.completed
    (waited,) = found.waits
    assert waited.reason == NoSlot(BrokerId(1), limit=5, usual=5)
    assert waited.partitions == 3
    assert waited.longest_seconds == pytest.approx(25, abs=5)


def test_how_full_disks_get_is_known_where_their_sizes_are() -> None:
    seen = snapshot(
        [state([1, 2, 3], size=1_000 * MB)],
        registered=brokers(5),
    )
    dirs = tuple(
        LogDir(BrokerId(b), "data", total_bytes=10_000 * MB, usable_bytes=8_000 * MB, logs=1)
        for b in range(1, 6)
    )
    seen = replace(seen, log_dirs=dirs)
    found = rehearsed(plan_of([1, 2, 4], seen=seen), seen=seen)
    assert load_of(found, 4).busiest_disk == pytest.approx(0.3, abs=0.001)


def test_a_disk_that_is_lost_on_the_way_delays_a_plan_and_harms_nobody_more_than_it_does_anyway() -> (
    None
):
    logs = {"a": 2, "b": 1}
    dirs = tuple(LogDir(BrokerId(b), path, logs=logs[path]) for b in range(1, 6) for path in logs)
    seen = snapshot([state([1, 2, 3], size=1_000 * MB)], registered=brokers(5), log_dirs=dirs)
    plan = plan_of([1, 2, 4], seen=seen)
    found = rehearsed(
        plan, "lose disk 4 b at 5s for 60s", "lose disk 1 b at 30s for 60s", seen=seen
    )
    assert found.completed
    assert found.broken == ()
    assert found.seconds > rehearsed(plan, seen=seen).seconds


def test_a_cluster_that_stays_silent_for_longer_than_a_rehearsal_is_said() -> None:
    found = rehearsed(plan_of([1, 2, 4]), "silence for 90d at 5s")
    assert (found.completed, found.given_up) == (False, True)
    assert found.text.startswith("it had not ended after 30 days")


def test_a_replica_that_catches_up_throttled_while_nobody_can_lift_that_is_noted_and_no_bug() -> (
    None
):
    """Where the application sees it, the same fault needs no note: it lifts the throttle of that partition."""
    plan, falls = plan_of([1, 2, 4], rate=2 * MB), "lag orders-0 broker 2 by 100MB at 7s"
    found = rehearsed(plan, "silence at 5s for 40s", falls)
    assert found.broken == ()
    assert any("throttle, later than without the plan: orders-0" in note for note in found.notes)
    seen = rehearsed(plan, falls)
    assert (seen.broken, seen.notes) == ((), ())


def test_time_passes_in_strides_and_ends_where_it_ends_without_them() -> None:
    plan = plan_of([1, 2, 4], [2, 3, 5], rate=MB)
    quick = rehearsed(plan)
    closely = rehearse_plan(plan, SEEN, Options(longest_stride_seconds=1.0))
    assert quick.seconds == pytest.approx(closely.seconds, abs=2)
    assert [c.in_sync for c in quick.copies] == pytest.approx([c.in_sync for c in closely.copies])


def test_the_same_rehearsal_gives_the_same_result() -> None:
    plan = plan_of([1, 2, 4], [2, 3, 5])
    assert rehearsed(plan, "kill 2 at 7s for 40s") == rehearsed(plan, "kill 2 at 7s for 40s")


def test_a_plan_alone_stands_for_the_cluster_that_it_was_made_from() -> None:
    plan = Plan(
        cluster_id="c",
        placement_digest="0" * 64,
        racks={BrokerId(b): None for b in range(1, 5)},
        moves=(move([1, 2], [1, 3], partition=4, size=MB, leader=2, min_insync_replicas=1),),
    )
    stage = cluster_of(snapshot_of_plan(plan))
    partition = stage.cluster.partition(TopicPartition("orders", 4))
    assert partition is not None
    assert (partition.replicas, partition.leader) == ((1, 2), 2)
    assert len(stage.cluster.topics["orders"].partitions) == 5
    assert rehearse_plan(plan, snapshot_of_plan(plan), Options()).completed


def test_a_plan_with_nothing_to_do_completes() -> None:
    found = rehearsed(plan_of([1, 2, 3]))
    assert found.completed
    assert (found.moves, found.smallest_headroom, found.copied_bytes) == (0, None, 0)


@pytest.mark.parametrize(
    ("guard", "elr", "cordoned", "version"),
    [
        (False, False, False, "3.9"),
        (False, True, False, "4.0"),
        (True, False, False, "4.1"),
        (True, True, False, "4.1"),
        (True, True, True, "4.3"),
    ],
)
def test_the_version_is_the_oldest_with_the_features_of_the_snapshot(
    guard: bool, elr: bool, cordoned: bool, version: str
) -> None:
    registered = [replace(b, cordoned=cordoned) for b in brokers(3)]
    seen = snapshot([state([1, 2, 3])], registered=registered, features=Features(guard, elr))
    assert cluster_of(seen).cluster.version == version


def test_another_version_is_refused_where_it_cannot_have_such_a_cluster() -> None:
    stage = cluster_of(snapshot([state([1, 2, 3])], features=Features(True, True)))
    assert with_version(stage, "4.2").cluster.version == "4.2"
    for version, why in (("3.9", "eligible leader replicas"), ("5.0", "not simulated")):
        with pytest.raises(ValueError, match=why):
            with_version(stage, version)


@pytest.mark.parametrize("version", ["3.9", "4.3"])
def test_another_version_rebalances_leaders_as_that_version_does(version: str) -> None:
    reordered = snapshot([state([1, 2, 3], leader=2)], features=Features(False, False))
    stage = advance(with_version(cluster_of(reordered), version), 301)
    assert stage.cluster.topics["orders"].partitions[0].leader == 1


def test_what_was_done_before_may_be_led_by_another_since() -> None:
    flipped, grows = move([2, 1, 3], [1, 2, 3]), move([1, 2, 3], [1, 2, 3, 4], partition=1)
    plan = planned([flipped, grows])
    seen = snapshot([state([1, 2, 3], leader=2), state([1, 2, 3], partition=1, size=MB)])
    opened = opening(plan, digest(plan), fold(()), Settings(owner="ann"))
    done = replace(begun(flipped, fold(opened)), status=Status.DONE)
    found = rehearse_plan(plan, seen, Options(journal=(*opened, done)))
    assert found.broken == ()
    assert found.exit_code is Exit.OK


def with_open_application(size: int, rate: int) -> Snapshot:
    """SEEN in the middle of an application that adds 4 to orders-0, of this size, at this rate."""
    begun = state([1, 2, 3, 4], [1, 2, 3], adding=[4], size=size)
    rates = {BrokerId(1): rate, BrokerId(4): rate}
    own = OwnApplication("a-1", "ann", False, {NAME: replicas(1, 2, 3, 4)}, rates)
    other = state([2, 3, 1], partition=1, size=100 * MB)
    return replace(snapshot([begun, other], registered=brokers(5)), application=own)


@pytest.mark.parametrize("rate", [None, 2 * MB])
def test_copies_of_the_open_application_are_replans_own_and_keep_their_throttle(
    rate: int | None,
) -> None:
    seen = with_open_application(1_000 * MB, 5 * MB)
    made = plan_of([1, 2, 3, 4], [2, 3, 4], seen=seen, rate=rate)
    options = Options(settings=Settings(slots_per_broker=1))
    found = rehearse_plan(made, seen, options)
    assert found.completed
    assert not found.broken
    assert found.seconds > 1_000 / 5
    assert load_of(found, 1).peak_out <= 6 * MB
    (slot,) = (w.reason for w in found.waits if isinstance(w.reason, NoSlot))
    assert "replan's open application moves orders-0" in str(slot)
    assert "other tools" not in str(slot)


def test_a_partition_that_is_not_done_waits_for_the_open_application_and_no_other_tool() -> None:
    seen = with_open_application(100_000 * MB, MB)
    made = plan_of([1, 2, 3, 4], [2, 3, 4], seen=seen)
    settings = Settings(slots_per_broker=1, give_up_seconds=60.0)
    found = rehearse_plan(made, seen, Options(settings=settings))
    assert not found.completed
    (left,) = found.stopped
    assert str(left.hold).endswith("replan's open application moves orders-0")
