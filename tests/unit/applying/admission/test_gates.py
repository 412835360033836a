"""What must hold before a partition is touched, in the words that a person reads."""

import pytest
from tests.builders import brokers, move, state

from replan.applying.admission.disk_space import Room
from replan.applying.admission.gates import closed_gate
from replan.applying.observation.look import Observation
from replan.model.broker import Broker, LogDir
from replan.model.configs import TopicSettings
from replan.model.names import BrokerId, TopicPartition, replicas
from replan.model.partition import PartitionState, Reassignment
from replan.model.snapshot import Features
from replan.planning.moves import Move

AS_PLANNED = TopicSettings(min_insync_replicas=2)
SWAP = move([1, 2, 3], [4, 2, 5], size=100)


def seen(*fenced: int, settings: TopicSettings = AS_PLANNED, cordoned: int = 0) -> Observation:
    found = {
        b.id: Broker(b.id, b.rack, fenced=b.id in fenced, cordoned=b.id == cordoned)
        for b in brokers()
    }
    return Observation(brokers=found, topics={"orders": settings})


LOW = (
    "in sync and live: [1], with min.insync.replicas 2 at least 2 are needed before replicas are added, "
    "or writes stop for the whole copy; bring back the others first"
)


@pytest.mark.parametrize(
    ("planned", "found", "around", "message"),
    [
        pytest.param(SWAP, state([1, 2, 3]), seen(), None, id="all well"),
        pytest.param(
            SWAP,
            state([1, 2, 3]),
            seen(4),
            "broker 4 is to receive a replica and is fenced; start it",
            id="new broker fenced",
        ),
        pytest.param(
            SWAP,
            state([1, 2, 3]),
            seen(cordoned=5),
            "broker 5 is to receive a replica and all its log directories are cordoned; "
            "uncordon it, or plan without it",
            id="new broker cordoned",
        ),
        pytest.param(SWAP, state([1, 2, 3], [1, 2]), seen(), None, id="at min ISR"),
        pytest.param(
            move([1], [1, 4]), state([1]), seen(), LOW, id="writes would stop for the whole copy"
        ),
        pytest.param(
            SWAP,
            state([1, 2, 3], [1]),
            seen(),
            None,
            id="under min ISR: the start does not make it worse",
        ),
        pytest.param(
            SWAP, state([1, 2, 3], [1, 2]), seen(2), None, id="under min ISR since a broker died"
        ),
        pytest.param(
            move([1, 2], [1, 2, 4], min_insync_replicas=3),
            state([1, 2]),
            seen(),
            LOW.replace("[1]", "[1, 2]").replace("replicas 2 at least 2", "replicas 3 at least 3"),
            id="the minimum would rise",
        ),
        pytest.param(
            SWAP,
            state([1, 2, 3], [1]),
            seen(settings=TopicSettings(2, unclean_election=True)),
            "unclean.leader.election.enable is true and only [1] is in sync: an empty new replica could be "
            "elected; run `kafka-configs.sh --alter --entity-type topics --entity-name orders "
            "--add-config unclean.leader.election.enable=false` first, or bring back another replica",
            id="unclean guard",
        ),
        pytest.param(
            SWAP,
            state([1, 2, 3], [1, 2]),
            seen(settings=TopicSettings(2, unclean_election=True)),
            None,
            id="two in sync are enough for the unclean guard",
        ),
    ],
)
def test_a_gate_says_why_nothing_is_added_now(
    planned: Move, found: PartitionState, around: Observation, message: str | None
) -> None:
    assert closed_gate(planned, planned.expanded, found, around, Room()) == message


def test_room_is_judged_by_the_larger_of_planned_and_seen_size() -> None:
    room = Room((LogDir(BrokerId(5), "/a", 1000, 250, 0),))
    assert closed_gate(SWAP, SWAP.expanded, state([1, 2, 3]), seen(), room) is None
    closed = closed_gate(SWAP, SWAP.expanded, state([1, 2, 3], size=200), seen(), room)
    assert closed is not None
    assert closed.startswith("broker 5 has no room: 200 bytes to /a")


@pytest.mark.parametrize(
    ("guarded", "topic", "message"),
    [
        (True, "orders", None),
        (False, "clicks", None),
        (
            False,
            "orders",
            (
                "somebody else reassigns orders-7; this cluster (before 4.1) cannot guard a reorder against it; "
                "it goes on when that has ended"
            ),
        ),
    ],
)
def test_without_the_guard_a_reorder_waits_for_others_on_its_topic(
    guarded: bool, topic: str, message: str | None
) -> None:
    running = {
        TopicPartition(topic, 7): Reassignment(replicas(1, 2, 3, 4), replicas(4), replicas())
    }
    around = Observation(
        brokers={b.id: b for b in brokers()}, running=running, features=Features(guarded, guarded)
    )
    reorder = move([1, 2, 3], [2, 1, 3])
    assert closed_gate(reorder, reorder.target, state([1, 2, 3]), around, Room()) == message


def test_a_list_that_adds_nothing_passes_the_gates_of_copies() -> None:
    low = state([1, 2, 3, 4, 5], [1])
    assert closed_gate(SWAP, SWAP.target, low, seen(4), Room()) is None
