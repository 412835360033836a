"""Every example and random plans, killed before or after every effect, over both forms of the journal.

Whoever resumes comes to the same end as an application that nobody kills: the same lists, orders and leaders, no
throttle of replan's, nothing open. By day one effect of each is tried, by night all of them, and requests that arrive
after the takeover.
"""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import islice
from pathlib import Path

import pytest
from msgspec import Struct, field
from msgspec.structs import replace
from tests.builders import move, snapshot, state
from tests.unit.applying.lab import MB, Boundary, Killed, Lab, killed_anywhere, plan_of
from tests.unit.applying.three_moves import stands_at_the_target, three_moves

from replan.applying.api import Application, FileJournal, Journal, Record, Settings, fold
from replan.errors import Exit
from replan.kafka.api import entry, record_of
from replan.model.api import MoveThrottle, Snapshot
from replan.placement_file.api import load_placement
from replan.planning.api import Plan, make_plan
from replan.reporting.api import outcome_text
from replan.simulator.api import (
    LoseRequests,
    SimulatedControlPlane,
    VirtualClock,
    WriteKind,
    from_snapshot,
)
from replan.snapshots.api import read_snapshot

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[3] / "examples"
NAMES = sorted(p.parent.name for p in EXAMPLES.glob("*/cluster.json"))
RANDOM = [f"random-{seed}" for seed in range(40)]
JOURNALS = ("file", "topic")


class TopicForm(Struct):
    """The records as the compacted topic holds them: bytes by key, one append all or none."""

    kept: dict[bytes, bytes] = field(default_factory=dict)

    def read(self) -> Sequence[Record]:
        return [record_of(key, value) for key, value in self.kept.items()]

    def append(self, records: Sequence[Record]) -> None:
        for key, value in [entry(record) for record in records]:
            if value is None:
                self.kept.pop(key, None)
            else:
                self.kept[key] = value


@cache
def job(name: str) -> tuple[Snapshot, Plan]:
    """A cluster, and the plan that is performed on it."""
    if name in NAMES:
        seen = read_snapshot(EXAMPLES / name / "cluster.json")
        return seen, make_plan(load_placement([EXAMPLES / name / "placement.yaml"]), seen)
    chance = random.Random(name)  # noqa: S311  # the same plan of a name each time
    lists = [chance.sample(range(1, 6), 3) for _ in range(chance.randint(1, 4))]
    targets = [chance.sample(range(1, 6), chance.randint(2, 4)) for _ in lists]
    size = [chance.randint(1, 60) * MB for _ in lists]
    states = [state(o, partition=n, size=size[n]) for n, o in enumerate(lists)]
    moves = [
        move(o, t, partition=n, size=size[n])
        for n, (o, t) in enumerate(zip(lists, targets, strict=True))
        if o != t
    ]
    rate = chance.choice([None, 5 * MB, 20 * MB])
    return snapshot(states), plan_of(moves, throttle=None if rate is None else MoveThrottle(rate))


def cluster_of(name: str) -> Lab:
    seen, plan = job(name)
    clock = VirtualClock()
    plane = SimulatedControlPlane(from_snapshot(seen, "4.3"), clock)
    return Lab(plane, clock, plan, settings=Settings(owner="ann@ops-1"), longest_ticks=20_000)


@contextmanager
def process(kept: Path | TopicForm, cluster_id: str) -> Iterator[Journal]:
    """The journal as one process has it."""
    if isinstance(kept, TopicForm):
        yield kept
        return
    with FileJournal(kept, cluster_id) as journal:
        yield journal


def end_of(found: Lab) -> object:
    """Lists, orders, leaders and settings."""
    seen = found.plane.observe()
    states = seen.states(range(seen.partitions.num_rows))
    return {
        (s.partition, s.replicas, s.leader, s.adding, s.removing) for s in states
    }, found.configs()


@cache
def undisturbed(name: str) -> tuple[object, int]:
    """The end of an application that nobody kills, and how many effects it has."""
    found, counting = cluster_of(name), Boundary()
    assert found.apply(boundary=counting).exit_code is Exit.OK
    return end_of(found), counting.crossings


def killed(
    name: str, kept: Path | TopicForm, boundary: Boundary, late: LoseRequests | None = None
) -> Lab:
    """An application killed once, and resumed by another process to its end."""
    found = cluster_of(name)
    cluster_id = found.plan.cluster_id
    if late is not None:
        found.plane.inject(late)
    with process(kept, cluster_id) as found.journal:
        try:
            found.apply(boundary=boundary)
        except Killed:
            pass
        else:  # a lost request may leave fewer effects than there were to count
            assert late is not None
    found.settings = replace(found.settings, owner="bob@ops-2")
    with process(kept, cluster_id) as found.journal:
        assert found.apply().exit_code is Exit.OK
        left = fold(found.journal.read())
        opened = [r for r in found.journal.read() if isinstance(r, Application)]
    assert left.application is None
    assert not left.throttles
    assert opened
    return found


def check(
    name: str, journal: str, effect: int, folder: Path, late: LoseRequests | None = None
) -> None:
    end, _ = undisturbed(name)
    for after in (False, True):
        kept = TopicForm() if journal == "topic" else folder / f"{effect}-{after}.journal"
        boundary = Boundary(kill_after=effect) if after else Boundary(kill_before=effect)
        assert end_of(killed(name, kept, boundary, late)) == end


@pytest.mark.parametrize("journal", JOURNALS)
@pytest.mark.parametrize("name", [*NAMES, *RANDOM[:3]])
def test_killed_at_one_boundary_every_example_ends_the_same(
    name: str, journal: str, tmp_path: Path
) -> None:
    _, effects = undisturbed(name)
    check(name, journal, 1 + (len(name) + len(journal)) % effects, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("journal", JOURNALS)
@pytest.mark.parametrize("name", [*NAMES, *RANDOM])
def test_killed_at_every_boundary_it_ends_the_same(name: str, journal: str, tmp_path: Path) -> None:
    for effect in range(1, undisturbed(name)[1] + 1):
        check(name, journal, effect, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", [WriteKind.REASSIGN, WriteKind.CONFIGURE])
@pytest.mark.parametrize("seconds", [30.0, 80.0])
@pytest.mark.parametrize("name", [*NAMES, *RANDOM[:10]])
def test_requests_that_arrive_after_the_takeover_change_nothing(
    name: str, seconds: float, kind: WriteKind, tmp_path: Path
) -> None:
    late = LoseRequests(kind, 1, seconds)
    for effect in range(2, undisturbed(name)[1] + 1, 3):
        check(name, "topic", effect, tmp_path, late)


def has_arrived(made: Lab) -> bool:
    """Every list as it is wanted, led by its first, and all settings as they were."""
    return stands_at_the_target(made) and made.configs() == three_moves().configs()


def test_undisturbed_it_arrives_and_leaves_no_trace() -> None:
    made = three_moves()
    assert outcome_text(made.apply()) == "3 done"
    assert has_arrived(made)


def test_beside_what_another_tool_has_set_it_arrives_wherever_it_was_killed() -> None:
    for boundary, made in killed_anywhere(three_moves):
        assert made.apply().exit_code is Exit.OK, boundary
        assert has_arrived(made), boundary


def test_killed_twice_the_third_run_arrives() -> None:
    for boundary, made in islice(killed_anywhere(three_moves), 1, None, 6):
        with suppress(Killed):
            made.apply(boundary=Boundary(kill_before=3))
        assert made.apply().exit_code is Exit.OK
        assert has_arrived(made), boundary
