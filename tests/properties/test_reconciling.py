"""The laws of a loop that reconciles, on drawn days: brokers die and return, people move, placements are released.

1. Nothing is done that policy does not allow: each round puts right kinds that it names, and none other.
2. What policy allows is put right: after the last event and the longest threshold the loop rests with nothing left that
   it may do, or it says why it holds or is refused.
3. A broker that is back before its time moves nothing.
4. What it began, it ends: no copy runs at the end, and no application is open.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st
from tests.builders import brokers, placement, snapshot, state
from tests.properties.hostile import as_found

from replan.applying.journal.ledger import fold
from replan.applying.journal.protocol import MemoryJournal
from replan.model.declared.placement import Placement
from replan.model.declared.reconcile import DeviationKind, Reconcile
from replan.model.declared.rules import Spread, TopicRule
from replan.model.declared.where import Where
from replan.model.names import BrokerId, TopicPartition, replicas
from replan.reconciling.status import LoopState, Refused
from replan.rehearsal.reconcile import Month, Release, run_loop
from replan.simulator.cluster.faults import Ask, At, KillBroker, StartBroker
from replan.simulator.controller.commands import AlterReassignments
from replan.simulator.persistence.from_snapshot import from_snapshot

HARD = as_found(fast=5, ci=15, nightly=10_000)
HOUR = 3_600.0
MB = 1_000_000
BASE = ((1, 2, 3), (2, 3, 4), (3, 4, 5), (4, 5, 6), (5, 6, 1), (6, 1, 2))
LAST_EVENT_HOURS, END_HOURS = 48, 80
KINDS = (
    DeviationKind.BROKER_DOWN,
    DeviationKind.PLACEMENT_CHANGED,
    DeviationKind.CHANGED_ELSEWHERE,
    DeviationKind.LEADERSHIP_MOVED,
)


@dataclass(frozen=True, slots=True)
class Days:
    """What happens."""

    policy: Reconcile
    by_rule: bool
    faults: tuple[At, ...]
    outages: tuple[float, ...]
    """How long each broker was down."""
    released: tuple[tuple[float, tuple[tuple[int, ...], ...]], ...]


def _declared(days: Days, lists: Sequence[Sequence[int]]) -> Placement:
    if days.by_rule:
        rule = TopicRule(
            where=Where("placement.yaml", 3, 3),
            pattern="orders",
            replication_factor=3,
            spread=Spread.RACK,
        )
        return placement(rules={"orders": rule}, reconcile=days.policy)
    return placement({"orders": [list(of) for of in lists]}, reconcile=days.policy)


@st.composite
def some_days(draw: st.DrawFn) -> Days:
    thresholds = st.sampled_from([0, 600, 1_800, 7_200])
    policy = Reconcile(draw(st.dictionaries(st.sampled_from(KINDS), thresholds)))
    faults: list[At] = []
    outages = []
    clock = 1.0
    while clock < LAST_EVENT_HOURS and draw(st.integers(0, 5)):
        clock += draw(st.sampled_from([0.3, 2.0, 7.0]))
        if draw(st.booleans()):
            broker, hours = (
                BrokerId(draw(st.integers(1, 6))),
                draw(st.sampled_from([0.1, 0.4, 3.0])),
            )
            faults += [
                At(clock * HOUR, KillBroker(broker)),
                At((clock + hours) * HOUR, StartBroker(broker)),
            ]
            outages.append(hours * HOUR)
            clock += hours
        else:
            number = draw(st.integers(0, 5))
            target = draw(st.permutations(range(1, 7)))[:3]
            name = TopicPartition("orders", number)
            faults.append(At(clock * HOUR, Ask(AlterReassignments(((name, replicas(*target)),)))))
    released = []
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.floats(1, LAST_EVENT_HOURS)) * HOUR
        lists: list[tuple[int, ...]] = list(BASE)
        lists[draw(st.integers(0, 5))] = tuple(draw(st.permutations(range(1, 7)))[:3])
        released.append((at, tuple(lists)))
    return Days(policy, draw(st.booleans()), tuple(faults), tuple(outages), tuple(sorted(released)))


def happens(days: Days) -> tuple[Month, MemoryJournal]:
    states = [state(of, partition=i, size=200 * MB) for i, of in enumerate(BASE)]
    simulation = from_snapshot(snapshot(states, registered=brokers(6, "abc")), "4.3")
    releases = [Release(0, _declared(days, BASE))]
    releases += [
        Release(at, replace(_declared(days, lists), digest=f"{number}" * 64))
        for number, (at, lists) in enumerate(days.released)
    ]
    journal = MemoryJournal()
    return run_loop(simulation, releases, END_HOURS * HOUR, days.faults, journal=journal), journal


@HARD
@given(some_days())
def test_a_loop_keeps_its_laws_whatever_happens(days: Days) -> None:
    month, journal = happens(days)
    rounds = month.watched.rounds.values()
    for one in rounds:
        assert one.kinds
        assert set(one.kinds) <= days.policy.put_right.keys()
    down = days.policy.put_right.get(DeviationKind.BROKER_DOWN)
    if down is None or all(outage < down - 60 for outage in days.outages):
        assert all(DeviationKind.BROKER_DOWN not in one.kinds for one in rounds)
    last = month.watched.last
    assert last is not None
    held = any(h.until >= month.seconds - 2 * HOUR for h in month.watched.holds)
    for left in last.deviations:
        assert left.due_at is None or held or isinstance(left.why_not, Refused), left
    assert last.state is LoopState.ENDED
    partitions = month.simulation.cluster.topics["orders"].partitions.values()
    assert not any(p.adding or p.removing for p in partitions)
    assert fold(journal.read()).application is None
