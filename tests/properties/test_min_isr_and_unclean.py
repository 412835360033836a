"""What planning refuses, what a gate holds and what is taken back go by the same replicas in sync."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.builders import brokers, move, state
from tests.unit.applying.partitions.test_judge import EXPAND, own, sight

from replan.applying.api import (
    CopyStopsWrites,
    Room,
    Suspect,
    UncleanElectionPossible,
    WritesWouldStop,
    closed_gate,
    judge_while_copying,
)
from replan.model.api import Broker, BrokerId, Look, PartitionState, TopicSettings
from replan.planning.api import Move, RefusalRule, SafetyRules

BROKERS = range(1, 7)
IDS = st.sampled_from(BROKERS)


@dataclass(frozen=True)
class Start:
    """A move that adds replicas, and the cluster in which it is planned and asked for."""

    move: Move
    state: PartitionState
    brokers: tuple[Broker, ...]

    @property
    def look(self) -> Look:
        m = self.move.min_insync_replicas
        settings = TopicSettings(m, unclean_election=self.move.unclean_election)
        return Look(brokers={b.id: b for b in self.brokers}, topics={"orders": settings})

    def refused(self) -> set[RefusalRule]:
        ids = frozenset(b.id for b in self.brokers)
        live = frozenset(b.id for b in self.brokers if b.live)
        broken_rules = SafetyRules(ids, live, frozenset(), {}, {})
        return {refusal.rule for refusal in broken_rules.refusals(self.move, self.state)}


@st.composite
def starts(draw: st.DrawFn) -> Start:
    original = draw(st.lists(IDS, min_size=1, max_size=4, unique=True))
    added = draw(st.lists(IDS.filter(lambda b: b not in original), min_size=1, unique=True))
    kept = draw(st.lists(st.sampled_from(original), unique=True))
    isr = [b for b in original if draw(st.booleans())] or original[:1]
    planned = move(
        original,
        [*kept, *added],
        min_insync_replicas=draw(st.integers(1, 7)),
        unclean_election=draw(st.booleans()),
        below_min_isr=draw(st.booleans()),
    )
    fenced = draw(st.sets(st.sampled_from(original)))
    return Start(planned, state(original, isr), brokers(len(BROKERS), fenced=tuple(fenced)))


@given(starts())
def test_no_gate_opens_for_what_planning_refuses(start: Start) -> None:
    gate = closed_gate(start.move, start.move.expanded, start.state, start.look, Room(), {})
    refused = start.refused()
    if RefusalRule.SAFE_START in refused:
        assert isinstance(gate, WritesWouldStop)
    elif not isinstance(gate, WritesWouldStop):
        unclean = RefusalRule.UNCLEAN_GUARD in refused
        assert unclean == isinstance(gate, UncleanElectionPossible)


@given(starts())
def test_a_copy_that_a_gate_lets_begin_is_not_taken_back_in_the_same_cluster(start: Start) -> None:
    m, found = start.move, start.state
    if closed_gate(m, m.expanded, found, start.look, Room(), {}) is not None:
        return
    listed, members = [*m.original, *m.new], [*found.isr]
    record = replace(own(replace(EXPAND, replicas=m.expanded), planned=m), past=(m.expanded,))
    running = state(listed, isr=members, adding=m.new, leader=members[0])
    seen = replace(sight(record, running, planned=m), look=start.look)
    _, verdict = judge_while_copying(seen)
    worse = verdict.reason if isinstance(verdict, Suspect) else None
    assert not isinstance(worse, CopyStopsWrites | UncleanElectionPossible)


def test_a_replica_on_a_fenced_broker_keeps_no_promise() -> None:
    start = Start(
        move([1, 2, 3], [1, 2, 4], unclean_election=True),
        state([1, 2, 3], [1, 2]),
        brokers(len(BROKERS), fenced=(2,)),
    )
    assert start.state.live_isr(start.look.live) == (BrokerId(1),)
    assert start.refused() == {RefusalRule.UNCLEAN_GUARD}
    gate = closed_gate(start.move, start.move.expanded, start.state, start.look, Room(), {})
    assert gate == UncleanElectionPossible("orders", (BrokerId(1),))
