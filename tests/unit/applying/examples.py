"""An application of each kind of step, with what may become of its requests: what the kill matrix kills everywhere."""

from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace
from tests.builders import TOPIC, TOPIC_ID, move, state
from tests.unit.applying.lab import MB, Boundary, Killed, Lab, lab
from tests.unit.applying.three_moves import stands_at_the_target, three_moves

from replan.applying.api import (
    CREATES,
    LOG_MOVES,
    RECOVERIES,
    STANDING_THROTTLES,
    AnyKind,
    Settings,
    with_logs,
)
from replan.model.api import (
    FOLLOWER_RATE,
    LEADER_RATE,
    LEADER_REPLICAS,
    LOG_DIRS_RATE,
    MIN_INSYNC_REPLICAS,
    BrokerId,
    ConfigOperation,
    ConfigScope,
    LogDir,
    MoveThrottle,
    SettingName,
    TopicPartition,
    Wanted,
    broker_change,
    replicas,
    topic_change,
)
from replan.planning.api import (
    Create,
    LogMove,
    Plan,
    RecoveryMethod,
    RecoveryRequest,
    Selection,
    ThrottleSetting,
    partitions_to_probe,
    recovery_elections,
)
from replan.rehearsal.api import throttles_of
from replan.simulator.api import (
    AlterConfigs,
    DropFromIsr,
    Fault,
    KillBroker,
    LagMetadata,
    LoseRequests,
    RepeatRequests,
    SendRequest,
    SlowBroker,
    WriteKind,
)

ONE, TWO, THREE, B4 = BrokerId(1), BrokerId(2), BrokerId(3), BrokerId(4)
NAME = TopicPartition(TOPIC, 0)


def growing() -> Lab:
    """Two partitions to create, a move of an old partition and one of a new one."""
    moves = (
        move([1, 2, 3], [4, 2, 5], partition=0, size=20 * MB),
        move([3, 4, 5], [3, 4, 5, 1], partition=2),
    )
    made = lab([state([1, 2, 3], size=20 * MB), state([2, 3, 4], partition=1)], moves)
    new = Create(TOPIC, TOPIC_ID, 2, (replicas(3, 4, 5), replicas(4, 5, 1)))
    made.plan = replace(made.plan, creates=(new,))
    return made


def has_grown(made: Lab) -> bool:
    topic = made.plane.simulation.cluster.topics[TOPIC]
    lists = [tuple(p.replicas) for _, p in sorted(topic.partitions.items())]
    return lists == [(4, 2, 5), (2, 3, 4), (3, 4, 5, 1), (4, 5, 1)]


LIST = SettingName(ConfigScope.TOPIC, TOPIC, LEADER_REPLICAS)
NO_RATE = SettingName(ConfigScope.BROKER, "2", LEADER_RATE)
OWN_RATE = SettingName(ConfigScope.BROKER, "4", FOLLOWER_RATE)


def standing() -> Lab:
    """Three settings that are to stay, and a copy that needs two of their places for a while."""
    found = lab(
        [state([1, 2, 3], size=20 * MB)],
        [move([1, 2, 3], [1, 2, 4], size=20 * MB)],
        throttle=MoveThrottle(MB),
    )
    found.plane.alter_configs([broker_change(TWO, LEADER_RATE, ConfigOperation.SET, "9000000")])
    settings = (
        ThrottleSetting.of(LIST, None, "0:1"),
        ThrottleSetting.of(NO_RATE, "9000000", None),
        ThrottleSetting.of(OWN_RATE, None, "30000000"),
    )
    found.plan = replace(found.plan, standing=settings)
    return found


def are_set(found: Lab) -> bool:
    return throttles_of(found.plane.simulation.cluster) == {
        ("topic", TOPIC, LEADER_REPLICAS): "0:1",
        ("broker", "4", FOLLOWER_RATE): "30000000",
    }


def leaderless(dead: BrokerId | None = None) -> Lab:
    """One partition [1,3,2] that was led by 1, which is dead: 3,000 records there, 2,000 on 2, 1,000 on 3.

    `dead`: broker 3, which then has 2,000 and is dead, too; 2 has 1,000.
    """
    lags = {TWO: 1_000_000, THREE: 2_000_000} if dead is None else {TWO: 2_000_000, dead: 1_000_000}
    made = lab([state([1, 3, 2], size=3_000_000)], ())
    # with 2 the eligible leader replicas would be recovered cleanly
    one = topic_change(NAME.topic, MIN_INSYNC_REPLICAS, ConfigOperation.SET, "1")
    faults: tuple[Fault, ...] = (
        SendRequest(AlterConfigs((one,))),
        SlowBroker(TWO, 1),
        SlowBroker(THREE, 1),
        *(DropFromIsr(NAME, broker, lag) for broker, lag in lags.items()),
        *(KillBroker(broker) for broker in (dead, ONE) if broker is not None),
    )
    for fault in faults:
        made.plane.inject(fault)
    made.clock.sleep(15)
    made.plan = recovery_of(made, frozenset({ONE} if dead is None else {ONE, dead}))
    return made


def recovery_of(made: Lab, given_up: frozenset[BrokerId]) -> Plan:
    """The plan that lets its partitions be led again."""
    asked = RecoveryRequest(Selection(everything=True), RecoveryMethod.BALANCED, given_up=given_up)
    seen = made.plane.observe()
    seen = with_logs(made.plane, seen, partitions_to_probe(asked.selection, seen))
    return recovery_elections(asked, seen, None, {}).plan


def leader(made: Lab) -> BrokerId | None:
    partition = made.plane.simulation.cluster.partition(NAME)
    assert partition is not None
    return partition.leader


def list_changed() -> Lab:
    """Its process died when the list was changed and nobody elected yet."""
    made = leaderless()
    try:
        made.apply(boundary=Boundary(kill_after=4))
    except Killed:
        return made
    raise AssertionError("not killed")


LYING: dict[str, dict[str, tuple[int, ...]]] = {
    "/a": {TOPIC: (0, 1)},
    "/b": {TOPIC: (2,)},
    "/c": {},
}
DIRS = tuple(LogDir(B4, path, 10**9, 9 * 10**8, 1, replicas=of) for path, of in LYING.items())


def leaving_a_directory() -> Lab:
    """Two replicas leave /a, one of them of a partition that another move is for."""
    states = [state([4, 1, 2], partition=n, size=20 * MB) for n in range(3)]
    moves = [move([4, 1, 2], [4, 1, 3], size=20 * MB)]
    found = lab(states, moves, throttle=MoveThrottle(10 * MB), log_dirs=DIRS)
    within = [
        LogMove(TOPIC, TOPIC_ID, number, B4, "/a", target, 20 * MB)
        for number, target in ((0, "/b"), (1, "/c"))
    ]
    found.plan = replace(found.plan, log_moves=tuple(within))
    return found


def rate_left_behind() -> Lab:
    """Their broker has a rate that somebody left, which the same plan takes away."""
    found = leaving_a_directory()
    found.plane.alter_configs([broker_change(B4, LOG_DIRS_RATE, ConfigOperation.SET, "5000")])
    where = SettingName(ConfigScope.BROKER, str(B4), LOG_DIRS_RATE)
    found.plan = replace(found.plan, standing=(ThrottleSetting.of(where, "5000", None),))
    return found


def copying_within() -> Lab:
    """One replica is on its way to its directory, slowly; the other one has not begun."""
    found = leaving_a_directory()
    found.settings = Settings(owner="ann@ops-1", slots_per_broker=1)
    found.plan = replace(found.plan, moves=(), throttle=MoveThrottle(MB))
    found.apply(stop=found.stop_at(8))
    place = found.plane.look(Wanted(places_of={B4: [NAME]})).places[B4][NAME]
    assert place.future_path == "/b"
    return found


def lies(found: Lab) -> dict[int, str | None]:
    """In which directory of broker 4 each replica lies; none is on its way."""
    names = [TopicPartition(TOPIC, number) for number in range(3)]
    places = found.plane.look(Wanted(places_of={B4: names})).places.get(B4, {})
    assert all(place.future_path is None for place in places.values())
    return {name.partition: place.path for name, place in places.items()}


def has_left(found: Lab) -> bool:
    return lies(found) == {0: "/b", 1: "/c", 2: "/b"} and not throttles_of(
        found.plane.simulation.cluster
    )


def three_copying() -> Lab:
    """Two of three moves copy."""
    made = three_moves()
    made.apply(stop=made.stop_at(4))
    return made


def three_confirming() -> Lab:
    """The same once both are in sync, and wait for the settle time."""
    made = three_moves()
    made.apply(stop=made.stop_at(14))
    return made


def has_moved(made: Lab) -> bool:
    """Every list as it is wanted, led by its first, and all settings as they were."""
    return stands_at_the_target(made) and made.configs() == three_moves().configs()


def troubles(kind: WriteKind, *more: Fault) -> tuple[Fault, ...]:
    """What may become of its requests."""
    return (
        LoseRequests(kind, 1, None),
        LoseRequests(kind, 1, 0.0),
        LoseRequests(kind, 2, 30.0),
        RepeatRequests(kind, 1),
        *more,
    )


@dataclass(frozen=True)
class Example:
    """An application of one kind of step."""

    made: Callable[[], Lab]
    arrived: Callable[[Lab], bool]
    request: str
    """How a boundary calls what it sends."""
    kind: AnyKind | None = None
    """None: of moves, or a second one of a kind."""
    troubles: tuple[Fault, ...] = ()
    half_way: tuple[Callable[[], Lab], ...] = ()
    """Some to be cancelled."""


LAG = LagMetadata(8.0)
OF_KINDS = {
    "moves": Example(
        three_moves,
        has_moved,
        "reassign",
        None,
        (
            *troubles(WriteKind.REASSIGN, LAG),
            *troubles(WriteKind.CONFIGURE),
            *troubles(WriteKind.ELECT),
        ),
        (three_copying, three_confirming),
    ),
    "creates": Example(growing, has_grown, "create", CREATES, troubles(WriteKind.CREATE, LAG)),
    "standing throttles": Example(
        standing, are_set, "configure", STANDING_THROTTLES, troubles(WriteKind.CONFIGURE, LAG)
    ),
    "recoveries": Example(
        leaderless,
        lambda made: leader(made) == TWO,
        "elect",
        RECOVERIES,
        (
            *troubles(WriteKind.REASSIGN, LoseRequests(WriteKind.REASSIGN, 1, 30.0)),
            *troubles(WriteKind.ELECT, LoseRequests(WriteKind.ELECT, 1, 30.0), LAG),
        ),
        (list_changed,),
    ),
    "log moves": Example(
        leaving_a_directory,
        has_left,
        "move logs",
        LOG_MOVES,
        troubles(WriteKind.MOVE_LOGS, LoseRequests(WriteKind.MOVE_LOGS, 2, None), LAG),
        (copying_within,),
    ),
    "log moves and their rate": Example(rate_left_behind, has_left, "move logs"),
}
