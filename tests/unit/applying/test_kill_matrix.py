"""Plans of every kind of step, every example and random plans, killed before or after every effect.

An effect is a request that writes, or an append to the journal. Whoever resumes comes to the same end as an application
that nobody kills: the same lists, orders, leaders, directories and settings, no throttle of replan's, nothing open. By
day every effect of the kinds is tried and one of each other plan; by night all of them over both forms of the journal,
and requests that arrive after the takeover. What only one kind has is in `test_log_moves`, `test_recovering` and so on.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import pytest
from msgspec import Struct, field
from msgspec.structs import replace
from tests.builders import move, snapshot, state
from tests.unit.applying.examples import OF_KINDS, lies
from tests.unit.applying.lab import MB, Boundary, Killed, Lab, killed_anywhere, plan_of
from tests.unit.applying.three_moves import three_moves

from replan.applying.api import (
    Application,
    FileJournal,
    Journal,
    Record,
    Settings,
    StepRecord,
    Verb,
    open_plan,
)
from replan.errors import Exit
from replan.kafka.api import entry, record_of
from replan.model.api import MoveThrottle, Snapshot
from replan.placement_file.api import load_placement
from replan.planning.api import Plan, make_plan
from replan.reporting.api import outcome_text
from replan.simulator.api import (
    Fault,
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
    if name in OF_KINDS:
        return OF_KINDS[name].made()
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
    """Lists, orders, leaders, directories and settings."""
    seen = found.plane.observe()
    states = seen.states(range(seen.partitions.num_rows))
    return (
        {(s.partition, s.replicas, s.leader, s.adding, s.removing) for s in states},
        lies(found),
        found.configs(),
    )


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
        example = OF_KINDS.get(name)
        if example is not None and example.kind is not None and boundary.log[-1] == example.request:
            assert [*found.ledger.steps], "what is asked for is written down first"
        assert found.apply().exit_code is Exit.OK
        left = found.ledger
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
@pytest.mark.parametrize("name", [*OF_KINDS, *NAMES, *RANDOM])
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


def test_undisturbed_three_moves_are_said_to_be_done() -> None:
    assert outcome_text(three_moves().apply()) == "3 done"


@pytest.mark.parametrize("kind", OF_KINDS)
def test_undisturbed_it_arrives_and_the_same_plan_again_finds_it_done(kind: str) -> None:
    made = OF_KINDS[kind].made()
    assert made.apply().exit_code is Exit.OK
    assert OF_KINDS[kind].arrived(made)
    again = Boundary()
    assert outcome_text(made.apply(boundary=again)) == (
        "nothing to do: the cluster is as the plan wants it"
    )
    assert again.log == []


@pytest.mark.parametrize("kind", OF_KINDS)
def test_a_plan_of_any_kind_killed_at_every_boundary_ends_the_same(
    kind: str, tmp_path: Path
) -> None:
    for effect in range(1, undisturbed(kind)[1] + 1):
        check(kind, "topic", effect, tmp_path)


@pytest.mark.parametrize("kind", OF_KINDS)
def test_killed_twice_the_third_run_arrives(kind: str) -> None:
    for boundary, made in killed_anywhere(OF_KINDS[kind].made):
        with suppress(Killed):
            made.apply(boundary=Boundary(kill_before=3))
        assert made.apply().exit_code is Exit.OK
        assert end_of(made) == undisturbed(kind)[0], boundary


@pytest.mark.parametrize(
    ("kind", "trouble"),
    [pytest.param(k, t, id=f"{k}-{t}") for k, of in OF_KINDS.items() for t in of.troubles],
)
def test_whatever_becomes_of_its_requests_it_ends_the_same(kind: str, trouble: Fault) -> None:
    made = OF_KINDS[kind].made()
    made.plane.inject(trouble)
    assert made.apply().exit_code is Exit.OK
    assert end_of(made) == undisturbed(kind)[0]
    made.clock.sleep(100)
    assert end_of(made) == undisturbed(kind)[0]


@pytest.mark.parametrize(
    "half_way", [made for of in OF_KINDS.values() for made in of.half_way], ids=lambda m: m.__name__
)
def test_a_cancel_that_is_killed_goes_on_and_ends_as_one_that_is_not(
    half_way: Callable[[], Lab],
) -> None:
    whole = half_way()
    cancel(whole, Boundary())
    for boundary, made in killed_anywhere(half_way, cancel):
        if made.ledger.application is not None:
            cancel(made, Boundary())
        assert (end_of(made), statuses(made)) == (end_of(whole), statuses(whole)), boundary
        assert not made.ledger.throttles


def cancel(made: Lab, boundary: Boundary) -> None:
    """As it is, or the one that takes it back already."""
    made.apply(open_plan(made.ledger), verb=Verb.CANCEL, boundary=boundary)


def statuses(made: Lab) -> list[tuple[str, str]]:
    """Of what the journal says, by what it is about."""
    kept = made.ledger.records
    return sorted((repr(key), r.status) for key, r in kept.items() if isinstance(r, StepRecord))
