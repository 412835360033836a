"""Small worlds, all of each: no step breaks a law, and whenever nothing more goes wrong everything ends."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.builders import brokers, move, state
from tests.profiles import by_profile
from tests.smallworld.process import Fate
from tests.smallworld.search import Search
from tests.smallworld.world import SmallWorld
from tests.unit.applying.lab import MB, plan_of, simulation

from replan.model.api import MoveThrottle, Replicas, replicas
from replan.planning.api import Plan
from replan.simulator.api import ClusterState

FOUR = brokers(4)
MOST = by_profile(fast=300, ci=2_000, full=10_000, nightly=10_000_000)
"""States of one world."""
REORDERED = replicas(2, 1, 3)
ORIGINAL, TARGET, OTHER = replicas(1, 2, 3), replicas(1, 2, 4), replicas(3, 2, 1)
SHORT, SHORT_TARGET = replicas(2, 1), replicas(4, 2)
FEW_FATES = (Fate.AGAIN, Fate.DIES_LATE, Fate.DIES_AFTER)


def cluster(version: str, *listed: Replicas, unclean: bool = False) -> ClusterState:
    states = [state(replicas_, partition=p) for p, replicas_ in enumerate(listed)]
    return simulation(states, version, FOUR, unclean=unclean).cluster


def plan(
    *pairs: tuple[Replicas, Replicas], unclean: bool = False, throttle: MoveThrottle | None = None
) -> Plan:
    moves = [
        move(o, t, partition=p, unclean_election=unclean)
        for p, (o, t) in enumerate(pairs)
        if o != t
    ]
    return plan_of(moves, throttle=throttle, registered=FOUR)


def worlds(version: str, faults: int) -> list[SmallWorld]:
    """Both rules of completion are worlds of their own; `faults`: how many things may go wrong on one path."""

    def world(
        name: str, plans: list[Plan], *lists: Replicas, unclean: bool = False, **options: Any
    ) -> SmallWorld:
        founded = cluster(version, *lists, unclean=unclean)
        settings = {"faults": faults, **options}
        return SmallWorld(f"{name}, {version}", founded, plans, **settings)

    there = (ORIGINAL, TARGET)
    throttled = plan(there, throttle=MoveThrottle(5 * MB))
    return [
        world("requests and brokers fail", [plan(there)], ORIGINAL),
        world(
            "unclean election",
            [plan((SHORT, SHORT_TARGET), unclean=True)],
            SHORT,
            unclean=True,
            faults=faults + 1,
            fates=(Fate.LOST, Fate.DIES_AFTER),
        ),
        world(
            "other tools reassign",
            [plan(there)],
            ORIGINAL,
            others_lists=(ORIGINAL, OTHER, TARGET),
            others_settings=True,
            fates=FEW_FATES,
        ),
        world("throttled", [throttled], ORIGINAL),
        world(
            "other tools throttle", [throttled], ORIGINAL, others_throttles=True, fates=FEW_FATES
        ),
        world("brokers lag", [plan(there)], ORIGINAL, lags=True),
        world(
            "brokers lag behind a new order",
            [plan((ORIGINAL, REORDERED))],
            ORIGINAL,
            lags=True,
            faults=faults + 1,
            fates=(Fate.DIES_AFTER,),
        ),
        world("two plans", [plan(there), plan(there[::-1])], ORIGINAL, fates=FEW_FATES),
        world(
            "two partitions",
            [plan(there, (SHORT, SHORT_TARGET))],
            ORIGINAL,
            SHORT,
            fates=(Fate.LATE, Fate.DIES_BEFORE, Fate.DIES_AFTER),
        ),
    ]


def explored(world: SmallWorld, record: Callable[[str, object], None]) -> None:
    found = Search(world, MOST).run()
    record("states", found.states)
    record("steps", found.steps)
    record("longest shortest path", found.longest)
    record("longest way to an end", found.longest_end)
    record("closed", found.closed)
    assert not found.broken, "\n".join(
        f"{law}:\n  " + "\n  ".join(path) for law, path in found.broken.items()
    )
    assert found.closed or found.states >= MOST


@pytest.mark.slow
@pytest.mark.parametrize("world", worlds("4.3", 1), ids=lambda w: w.name)
def test_one_thing_may_go_wrong(
    world: SmallWorld, record_property: Callable[[str, object], None]
) -> None:
    explored(world, record_property)


@pytest.mark.nightly
@pytest.mark.parametrize("world", [*worlds("4.2", 2), *worlds("4.3", 2)], ids=lambda w: w.name)
def test_two_things_may_go_wrong(
    world: SmallWorld, record_property: Callable[[str, object], None]
) -> None:
    explored(world, record_property)
