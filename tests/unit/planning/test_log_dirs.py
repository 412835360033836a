"""Log directories that are to be empty: what goes where, what fits nowhere, and what is left alone."""

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.builders import HERE, brokers, drain, placement, ruled, snapshot, state, within
from tests.readings import find_drift

from replan.errors import BadPlacement
from replan.model.api import (
    HEADROOM,
    Balance,
    BrokerId,
    Limit,
    LogDir,
    LogDirBlacklist,
    Measure,
    Placement,
    Snapshot,
    Spread,
    TopicPartition,
)
from replan.planning.api import (
    BalanceUnreachable,
    DirRooms,
    LimitExceeded,
    OtherKind,
    RefusalRule,
    WarningKind,
    dumps,
    explain_partition,
    loads,
    log_dir_balance,
    log_drains,
    make_plan,
)

B4 = BrokerId(4)
TOTAL = 1000


def drained(*paths: str) -> Placement:
    return placement(log_dir_blacklist=tuple(LogDirBlacklist(B4, path, HERE) for path in paths))


def seen(sizes: list[int], *dirs: LogDir, fenced: bool = False) -> Snapshot:
    states = [state([4, 1, 2], partition=n, size=size) for n, size in enumerate(sizes)]
    registered = [replace(b, fenced=fenced and b.id == 4) for b in brokers(5, "abc")]
    return snapshot(states, registered=registered, log_dirs=dirs)


def in_drained(at: Snapshot) -> list[tuple[str | None, int | None, BrokerId | None, str]]:
    """What lies in the directory /a of broker 4, which is to be empty."""
    found = find_drift(drained("/a"), at).differences
    return [
        (d.topic, d.partition, d.broker, d.detail) for d in found if d.kind == OtherKind.LOG_DIR
    ]


def log_dir(path: str, usable: int = 900, *numbers: int, **more: bool | str) -> LogDir:
    lying = {"orders": numbers} if numbers else {}
    return LogDir(B4, path, TOTAL, usable, len(numbers), replicas=lying, **more)  # type: ignore[arg-type]


def test_the_largest_goes_where_most_room_is() -> None:
    at = seen([50, 300, 60], log_dir("/a", 500, 0, 1), log_dir("/b", 300, 2), log_dir("/c", 450))
    plan = make_plan(drained("/a"), at)
    assert loads(dumps(plan), "plan.json") == plan
    assert {(m.partition.partition, m.source, m.target) for m in plan.log_moves} == {
        (1, "/a", "/c"),
        (0, "/a", "/b"),
    }
    assert not plan.moves
    assert in_drained(at) == [("orders", 0, B4, "/a"), ("orders", 1, B4, "/a")]


def test_a_drain_leaves_room_for_the_replicas_that_the_same_plan_brings() -> None:
    """One of 380 comes to broker 4, which has 400 for it or for what leaves /a."""
    other = state([1, 2, 3], topic="clicks", size=380)
    at = seen([380], log_dir("/a", 900, 0, cordoned=True), log_dir("/b", 500))
    partitions = snapshot([state([4, 1, 2], size=380), other], registered=brokers(5, "abc"))
    both = replace(partitions, log_dirs=at.log_dirs)
    asked = replace(drained("/a"), explicit=placement({"clicks": [[4, 2, 3]]}).explicit)
    plan = make_plan(asked, both)
    assert [list(m.new) for m in plan.moves] == [[4]]
    assert plan.log_moves == ()
    [refused] = plan.refusals
    assert (refused.topic, refused.rule) == ("orders", RefusalRule.NO_ROOM_IN_LOG_DIRS)
    assert refused.facts["largest"] == 20


def test_what_fits_nowhere_is_refused_by_name() -> None:
    at = seen([500, 50], log_dir("/a", 500, 0, 1), log_dir("/b", 300))
    plan = make_plan(drained("/a"), at)
    assert [m.partition.partition for m in plan.log_moves] == [1]
    (refusal,) = plan.refusals
    assert refusal.rule is RefusalRule.NO_ROOM_IN_LOG_DIRS
    assert (refusal.facts["bytes"], refusal.facts["largest"]) == (500, 200)
    assert len(in_drained(at)) == 2


def test_a_replica_that_fits_nowhere_keeps_no_move_of_its_partition_back() -> None:
    at = seen([500], log_dir("/a", 500, 0), log_dir("/b", 300))
    plan = make_plan(replace(drained("/a"), replica_blacklist=drain(2)), at)
    assert [r.rule for r in plan.refusals] == [RefusalRule.NO_ROOM_IN_LOG_DIRS]
    assert [(m.partition.partition, m.leaving) for m in plan.moves] == [(0, (2,))]


@pytest.mark.parametrize(
    ("measure", "most"),
    [
        (Measure.BYTES, 299),
        (Measure.BYTES_PER_BROKER, 299),
        (Measure.PARTITIONS, 0),
        (Measure.TOPICS, 0),
    ],
)
def test_a_drain_counts_for_the_limits(measure: Measure, most: int) -> None:
    at = seen([300], log_dir("/a", 500, 0), log_dir("/b", 900))
    limited = replace(drained("/a"), limits={measure: Limit(measure, HERE, most)})
    with pytest.raises(LimitExceeded):
        make_plan(limited, at)
    enough = replace(limited, limits={measure: Limit(measure, HERE, most + 1)})
    assert len(make_plan(enough, at).log_moves) == 1


def test_an_empty_directory_is_no_drift_and_no_plan() -> None:
    at = seen([50], log_dir("/a", 900), log_dir("/b", 800, 0))
    assert make_plan(drained("/a"), at).empty
    assert find_drift(drained("/a"), at).none


def test_cordoned_offline_and_other_drained_directories_take_nothing() -> None:
    at = seen(
        [50],
        log_dir("/a", 900, 0),
        log_dir("/b", cordoned=True),
        log_dir("/c", error="KAFKA_STORAGE_ERROR"),
        log_dir("/d"),
        log_dir("/e", 500),
    )
    (moved,) = make_plan(drained("/a", "/d"), at).log_moves
    assert moved.target == "/e"


def test_a_fenced_broker_or_an_offline_directory_is_named() -> None:
    for at in (
        seen([50], fenced=True),
        seen([50], log_dir("/a", error="KAFKA_STORAGE_ERROR"), log_dir("/b", 900, 0)),
    ):
        plan = make_plan(drained("/a"), at)
        assert plan.empty
        assert WarningKind.LOG_DIR_UNREAD in {w.kind for w in plan.warnings}


@pytest.mark.parametrize(
    ("asked", "match"),
    [
        (drained("/x"), "no log directory /x"),
        (drained("/a", "/b"), "no other log directory"),
        (
            placement(log_dir_blacklist=(LogDirBlacklist(BrokerId(9), "/a", HERE),)),
            "not registered",
        ),
    ],
)
def test_mistakes_have_their_place(asked: Placement, match: str) -> None:
    with pytest.raises(BadPlacement, match=match):
        make_plan(asked, seen([50], log_dir("/a", 900, 0), log_dir("/b")))


@given(
    sizes=st.lists(st.integers(0, 400), min_size=1, max_size=8),
    usable=st.lists(st.integers(0, TOTAL), min_size=1, max_size=4),
)
def test_no_directory_is_ever_fuller_than_allowed(sizes: list[int], usable: list[int]) -> None:
    others = [log_dir(f"/o{n}", room) for n, room in enumerate(usable)]
    at = seen(sizes, log_dir("/a", 0, *range(len(sizes))), *others)
    found = log_drains(drained("/a"), at, {})
    assert len(found.moves) + len(found.no_room) == len(sizes)
    for other in others:
        taken = sum(m.bytes for m in found.moves if m.target == other.path)
        room = (other.usable_bytes or 0) - int(TOTAL * HEADROOM)
        assert taken <= max(0, room)


@pytest.mark.parametrize("spread", [Spread.NONE, Spread.RACK])
def test_a_list_that_gets_shorter_leaves_the_broker_whose_directory_is_drained(
    spread: Spread,
) -> None:
    """Broker 5 is the most loaded, and has the highest id: it would give way, and the replica on 4 would be copied."""
    dirs = (log_dir("/a", 900, 0), log_dir("/b", 900, 1))
    states = [state([1, 2, 4, 5], size=10), state([1, 4, 2, 5], partition=1, size=10)]
    states += [state([5], topic="clicks", size=10)]
    at = snapshot(states, registered=brokers(5, "abcde"), log_dirs=dirs)
    asked = replace(drained("/a"), rules=ruled(replication_factor=3, spread=spread))
    plan = make_plan(asked, at)
    left = {m.partition.partition: set(m.original) - set(m.target) for m in plan.moves}
    assert left == {0: {4}, 1: {5}}
    assert plan.log_moves == ()


def test_what_goes_to_directories_on_one_volume_shares_its_room() -> None:
    at = seen([300, 300], log_dir("/a", 0, 0, 1), log_dir("/b", 500), log_dir("/c", 500))
    found = log_drains(drained("/a"), at, {})
    assert ([m.target for m in found.moves], found.no_room[0].largest) == (["/b"], 100)
    apart = seen([300, 300], log_dir("/a", 0, 0, 1), log_dir("/b", 500), log_dir("/c", 520))
    assert {m.target for m in log_drains(drained("/a"), apart, {}).moves} == {"/b", "/c"}


def test_a_balance_of_directories_on_one_volume_shares_its_room() -> None:
    """What goes to /c leaves as little in /d."""
    full = log_dir("/b", 50, 0, 1, 2, 3)
    for usable, moved in ((300, 1), (320, 2)):
        at = seen([150] * 4, full, log_dir("/c", 300), log_dir("/d", usable))
        found = log_dir_balance(even(5), at, {}, log_drains(even(5), at, {}))
        assert len(found.moves) == moved


@given(
    st.lists(st.lists(st.booleans(), min_size=1, max_size=3), min_size=1, max_size=4),
    st.data(),
)
def test_no_volume_is_given_more_than_it_takes_whatever_comes(
    volumes: list[list[bool]], data: st.DataObject
) -> None:
    """`volumes`: of each directory on them, whether it is closed; one volume does not say what it has."""
    room = data.draw(st.lists(st.integers(100, 500), min_size=len(volumes), max_size=len(volumes)))
    made = [
        tuple(
            LogDir(B4, f"/{v}{d}", None if unknown else 1000, None if unknown else room[v])
            for d in range(len(of))
        )
        for v, of in enumerate(volumes)
        for unknown in [v == 3]
    ]
    closed = {f"/{v}{d}" for v, of in enumerate(volumes) for d, shut in enumerate(of) if shut}
    rooms = DirRooms.of(made, closed)
    open_ = {d.path for of in made for d in of} - closed
    comes: Counter[int] = Counter()
    for size in data.draw(st.lists(st.integers(1, 300), max_size=12)):
        source = data.draw(st.none() | st.sampled_from([d.path for of in made for d in of]))
        could = {p for p in open_ if source is None or p[1] != source[1]}
        left = {p: 1000 if p[1] == "3" else room[int(p[1])] - 100 - comes[int(p[1])] for p in could}
        path = rooms.taken(size, away_from=source)
        if path is None:
            assert all(of < size for of in left.values())
        else:
            assert left[path] >= size
            assert path[1] == "3" or left[path] == max(of for p, of in left.items() if p[1] != "3")
            comes[int(path[1])] += size
    assert rooms.whole == sum(
        room[v] - 100 - comes[v] for v in {int(p[1]) for p in open_} if v != 3
    )


def even(part: int, *, required: bool = False) -> Placement:
    tolerances = within(logDirs=Fraction(part, 100))
    return placement(balance=Balance(HERE, tolerances, required=required))


def test_directories_are_balanced_by_moves_within_their_broker() -> None:
    at = seen([50, 30, 20, 20, 40], log_dir("/a", 600, 0, 1, 2, 3), log_dir("/b", 800, 4))
    plan = make_plan(even(10), at)
    used = {"/a": 120, "/b": 40}
    for move in plan.log_moves:
        used[move.source] -= move.bytes
        used[move.target] += move.bytes
    assert used == {"/a": 80, "/b": 80}
    assert not plan.moves
    [drift] = find_drift(even(10), at).unbalanced
    assert drift.imbalance.brokers == (4,)
    assert "now (brokers 4); a plan brings 3 replicas to other log directories" in str(drift)
    assert "Write `logDirs" not in str(drift)
    assert loads(dumps(plan), "plan.json") == plan


def test_a_directory_of_a_larger_volume_has_a_larger_share() -> None:
    small = LogDir(B4, "/a", 1000, 900, 1, replicas={"orders": (0,)})
    large = LogDir(B4, "/b", 3000, 2700, 3, replicas={"orders": (1, 2, 3)})
    at = seen([20, 20, 20, 20], small, large)
    assert make_plan(even(0), at).log_moves == ()
    assert find_drift(even(0), at).none


def test_a_directory_that_is_above_its_share_gives_to_one_that_holds_more_and_is_below() -> None:
    small = LogDir(B4, "/a", 1000, 500, 5, replicas={"orders": tuple(range(5))})
    large = LogDir(B4, "/b", 3000, 2700, 1, replicas={"orders": (5,)})
    plan = make_plan(even(10), seen([20, 20, 20, 20, 20, 120], small, large))
    assert [(m.source, m.target, m.bytes) for m in plan.log_moves] == [("/a", "/b", 20)] * 2


def test_explain_names_a_required_balance_only_where_the_plan_is_refused_for_it() -> None:
    reached = seen([50, 30, 20, 20, 40], log_dir("/a", 600, 0, 1, 2, 3), log_dir("/b", 800, 4))
    missed = seen([100], log_dir("/a", 800, 0), log_dir("/b"))
    name = TopicPartition("orders", 0)
    assert make_plan(even(10, required=True), reached).log_moves
    assert explain_partition(even(10, required=True), reached, name).unbalanced == ()
    [reason] = explain_partition(even(10, required=True), missed, name).unbalanced
    assert reason.facts["measure"] == "logDirs"


def test_directories_that_nothing_brings_nearer_are_a_warning_and_no_drift() -> None:
    at = seen([100], log_dir("/a", 800, 0), log_dir("/b"))
    plan = make_plan(even(10), at)
    assert plan.log_moves == ()
    [warning] = [w for w in plan.warnings if w.kind is WarningKind.BALANCE]
    assert warning.facts["measure"] == "logDirs"
    found = find_drift(even(10), at)
    assert found.unbalanced == ()
    assert warning in found.warnings
    with pytest.raises(BalanceUnreachable, match="logDirs"):
        make_plan(even(10, required=True), at)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=12), st.data())
def test_the_second_plan_of_directories_is_empty(sizes: list[int], data: st.DataObject) -> None:
    places = data.draw(
        st.lists(st.sampled_from("abc"), min_size=len(sizes), max_size=len(sizes)), "places"
    )

    def lying(at: list[str]) -> Snapshot:
        return seen(
            sizes,
            *(
                log_dir(f"/{d}", 900, *(n for n, place in enumerate(at) if place == d))
                for d in "abc"
            ),
        )

    asked = even(data.draw(st.sampled_from([0, 10, 30])))
    moves = make_plan(asked, lying(places)).log_moves
    for move in moves:
        places[move.partition.partition] = move.target[1]
    assert make_plan(asked, lying(places)).log_moves == ()
