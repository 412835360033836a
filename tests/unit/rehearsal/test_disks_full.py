"""What a rehearsal says of disks that fill, and of what it cannot know about them."""

from msgspec.structs import replace
from tests.builders import brokers, snapshot, state
from tests.unit.rehearsal.stages import MB, SEEN, plan_of, rehearsed

from replan.model.api import BrokerId, LogDir


def room(megabytes: int) -> tuple[LogDir, ...]:
    """Every broker has a second directory that takes what is new, with so much room."""
    return tuple(
        LogDir(BrokerId(b), path, 10_000 * MB, usable * MB, logs=logs)
        for b in range(1, 6)
        for path, usable, logs in (("a", 9_000, 5), ("b", megabytes, 0))
    )


def test_a_full_disk_is_said_with_its_broker_and_its_time() -> None:
    """The applier counts what another tool copies there only when it has seen it."""
    partitions = [state([1, 2, 3], partition=n, size=n * 1_000 * MB) for n in (1, 2)]
    partitions.append(state([1, 2, 3], partition=0))
    seen = snapshot(partitions, registered=brokers(5), log_dirs=room(2_500))
    plan = plan_of([1, 2, 3], [1, 2, 4], seen=seen)
    found = rehearsed(plan, "foreign reassign orders-2 [1,2,3,4] at 3s", seen=seen)
    assert not found.completed
    (note,) = [n for n in found.notes if "full" in n]
    assert note.startswith("log directory b of broker 4 was full after ")
    assert note.endswith(": Kafka takes it offline, with all replicas in it")


def test_growth_that_a_rehearsal_does_not_count_is_named_where_it_would_fill_disks() -> None:
    plan = plan_of([1, 2, 4])
    seen = replace(SEEN, log_dirs=room(500))
    found = rehearsed(plan, seen=replace(SEEN, log_dirs=room(5_000)), produce=1.0 * MB)
    assert [n for n in found.notes if "producers" in n] == []
    scarce = tuple(replace(d, usable_bytes=d.usable_bytes and 1_100 * MB) for d in seen.log_dirs)
    found = rehearsed(plan, seen=replace(SEEN, log_dirs=scarce), produce=40.0 * MB)
    (note,) = [n for n in found.notes if "producers" in n]
    assert note.endswith("which a rehearsal takes for granted: brokers 1, 2, 3")
