"""`next_request` over random histories of one partition, under both rules of completion.

Brokers die and come back, followers fall behind, a change slips in between looking and asking.
"""

from collections import deque

from hypothesis import given, note
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.builders import lists, move
from tests.properties.reassigning import Partition
from tests.strategies import replica_lists

from replan.model.api import BrokerId, Replicas
from replan.planning.api import (
    Done,
    Move,
    NextStep,
    OffPath,
    Request,
    RequestKind,
    Stale,
    Wait,
    next_request,
    planned_requests,
)

POLLS_TO_SETTLE = 3
POLLS_TO_ARRIVE = 40


class Mover:
    """Polls a partition and asks what the function says, with the settle time as a number of polls."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.polls: deque[frozenset[BrokerId]] = deque(maxlen=POLLS_TO_SETTLE)

    def look(self) -> NextStep:
        """Look once, and judge; every law that a single answer can break is checked here."""
        move, seen = self.partition.move, self.partition.seen()
        self.polls.append(frozenset(seen.isr))
        settled = len(self.polls) == POLLS_TO_SETTLE and all(
            set(move.target) <= isr for isr in self.polls
        )
        answer = next_request(move, seen, settled=settled)
        note(f"{seen.replicas} isr {seen.isr} +{seen.adding} -{seen.removing}: {answer}")
        assert not isinstance(answer, OffPath | Stale)
        if isinstance(answer, Request):
            assert seen.leader is not None
            if answer.kind is not RequestKind.ELECT:
                self._takes_away_only_what_it_may(answer.replicas, settled=settled)
        return answer

    def _takes_away_only_what_it_may(self, asked: Replicas, *, settled: bool) -> None:
        move, seen = self.partition.move, self.partition.seen()
        dropped = set(seen.replicas) - set(asked) - set(seen.removing)
        assert settled or dropped <= move.unnameable
        if not settled and dropped & set(seen.isr):
            assert set(move.original) & set(move.target) <= set(seen.isr)
        if seen.running is not None:
            assert asked == move.target, "only assign goes over what runs"
            assert set(seen.adding) <= set(move.new)
            assert set(seen.removing) <= move.unnameable


@st.composite
def moves(draw: st.DrawFn) -> Move:
    original = draw(replica_lists())
    target = draw(replica_lists())
    if draw(st.integers(0, 3)) == 0:
        target = tuple(draw(st.permutations(original)))
    leaving = [b for b in original if b not in target]
    unnameable = [b for b in leaving if draw(st.integers(0, 3)) == 0]
    return move(original, target, unnameable=unnameable)


@st.composite
def partitions(draw: st.DrawFn) -> Partition:
    """At the start of a move; unregistered members are dead for ever, cordoned ones live."""
    of = draw(moves())
    unregistered = {b for b in of.unnameable if draw(st.booleans())}
    dead = {b for b in of.original if b in unregistered or draw(st.integers(0, 4)) == 0}
    live = [b for b in of.original if b not in dead]
    isr = [b for b in live if draw(st.integers(0, 3))] or live[:1] or [of.original[0]]
    leaders = [b for b in isr if b in live]
    return Partition(
        of,
        of.original,
        tuple(isr),
        draw(st.sampled_from(leaders)) if leaders else None,
        joins_suffice=draw(st.booleans()),
        dead=dead,
    )


def upset(data: st.DataObject, partition: Partition) -> None:
    """Something happens to a broker of the partition."""
    members = sorted({*partition.replicas, *partition.move.target})
    broker = data.draw(st.sampled_from(members))
    kinds = [partition.fence, partition.unfence, partition.leave_isr, partition.catch_up]
    data.draw(st.sampled_from([*kinds, partition.catch_up, partition.unfence]))(broker)


def heal(partition: Partition) -> None:
    """The brokers of the target are back; leaving ones only where nobody else could lead."""
    needed = set(partition.move.target)
    if partition.leader is None:
        needed |= set(partition.isr)
    for broker in sorted(needed):
        partition.unfence(broker)
    for broker in partition.replicas:
        if broker in needed:
            partition.catch_up(broker)


@given(partitions(), st.data())
def test_every_history_ends_where_the_move_wants_it_and_never_leaves_the_path(
    partition: Partition, data: st.DataObject
) -> None:
    mover = Mover(partition)
    for _ in range(data.draw(st.integers(0, 12))):
        answer = mover.look()
        for _ in range(data.draw(st.integers(0, 2))):
            upset(data, partition)
        if isinstance(answer, Request) and answer.kind is not RequestKind.ELECT:
            partition.ask(answer)
    for _ in range(POLLS_TO_ARRIVE):
        heal(partition)
        answer = mover.look()
        if isinstance(answer, Done):
            break
        if not isinstance(answer, Wait):
            assert isinstance(answer, Request)
            partition.ask(answer)
    assert isinstance(answer, Done)
    assert partition.replicas == partition.move.target
    assert partition.leader == partition.move.target[0]


@given(partitions())
def test_a_move_of_healthy_brokers_takes_the_requests_that_its_preview_shows(
    partition: Partition,
) -> None:
    asked: list[Request] = []
    shown = list(planned_requests(replace(partition.move, leader=partition.leader)))
    mover = Mover(partition)
    for _ in range(POLLS_TO_ARRIVE):
        heal(partition)
        answer = mover.look()
        if isinstance(answer, Request):
            asked.append(answer)
            partition.ask(answer)
    assert _lists(asked) == _lists(shown)
    kinds = [r.kind for r in asked]
    assert kinds == [k for k in RequestKind if k in kinds]


def _lists(requests: list[Request]) -> list[Request]:
    """Without elections: one falls away or comes up where a leader dies on the way."""
    return [r for r in requests if r.kind is not RequestKind.ELECT]


@given(st.booleans())
def test_a_dead_broker_that_leaves_does_not_hold_up_one_that_is_no_longer_registered(
    joins_suffice: bool,
) -> None:
    of = move([1, 2, 3], [1, 4], unnameable=[3])
    partition = Partition(
        of, of.original, lists(1), BrokerId(1), joins_suffice, dead=set(lists(2, 3))
    )
    mover = Mover(partition)
    for _ in range(POLLS_TO_ARRIVE):
        answer = mover.look()
        if isinstance(answer, Request):
            partition.ask(answer)
        partition.catch_up(BrokerId(4))
    assert isinstance(answer, Done)
