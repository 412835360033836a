"""Brokers show partitions later than the controller has them; every implementation of the port says so in one way.

Real brokers lag when they please, so the adapter is held to it against a cluster that exists on the wire only.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
from tests.conformance.lab import reassign
from tests.conformance.simulator_lab import SimulatorLab
from tests.kafka.harness.fake_cluster import FakeCluster, Shape

from replan.kafka.api import open_cluster
from replan.model.api import BrokerId, ClusterReader, Reassignment, TopicPartition, Wanted, replicas
from replan.simulator.api import LagMetadata


@dataclass(frozen=True, slots=True)
class Lagging:
    """A cluster whose brokers do not know yet that 4 is being added to a partition, nor of another one's new order."""

    reader: ClusterReader
    growing: TopicPartition
    """The controller has [1, 2, 3, 4], adding 4; brokers show [1, 2, 3]."""
    reordered: TopicPartition
    """The controller has [4, 3, 2], and nothing runs; brokers show [2, 3, 4]."""
    catch_up: Callable[[], None]
    """Let brokers know of the first."""
    fall_behind: Callable[[], None]
    """From now on what is shown is older than that, for a second or two."""


def simulated(_stack: ExitStack) -> Lagging:
    lab = SimulatorLab("4.3.1")
    grows, turns = lab.create_topic([[1, 2, 3]]), lab.create_topic([[2, 3, 4]])
    lab.write(grows, 10_000_000_000)
    lab.control_plane.inject(LagMetadata(5))
    lab.clock.sleep(6)
    reassign(lab, grows, 1, 2, 3, 4)
    reassign(lab, turns, 4, 3, 2)
    return Lagging(
        lab.control_plane,
        TopicPartition(grows, 0),
        TopicPartition(turns, 0),
        lambda: lab.clock.sleep(6),
        lambda: lab.control_plane.inject(LagMetadata(60)),
    )


def on_the_wire(stack: ExitStack) -> Lagging:
    cluster = stack.enter_context(FakeCluster(Shape(brokers=5, partitions=2, moves=1)))
    grows, turns = TopicPartition("t00000", 0), TopicPartition("t00000", 1)
    cluster.trouble.shown[grows] = [1, 2, 3]
    connected = stack.enter_context(open_cluster(cluster.bootstrap, None))

    def catch_up() -> None:
        cluster.trouble.metadata_offsets.clear()
        cluster.trouble.shown.clear()

    def fall_behind() -> None:
        """The broker that showed it freezes, and those that are left catch up a second later."""
        trouble = cluster.trouble
        trouble.frozen.add(1)
        trouble.metadata_offsets |= dict.fromkeys(range(2, 6), 99)
        trouble.shown[grows] = [1, 2, 3]
        later = threading.Timer(4.5, catch_up)
        later.start()
        stack.callback(later.join)

    return Lagging(connected, grows, turns, catch_up, fall_behind)


@pytest.fixture(params=[simulated, pytest.param(on_the_wire, marks=pytest.mark.kafka)])
def lagging(request: pytest.FixtureRequest) -> Iterator[Lagging]:
    """A cluster whose brokers lag behind its controller."""
    with ExitStack() as stack:
        yield request.param(stack)


def test_what_runs_and_is_not_shown_yet_is_unclear(lagging: Lagging) -> None:
    seen = lagging.reader.look(Wanted(partitions=[lagging.growing, lagging.reordered]))

    assert seen.running == {
        lagging.growing: Reassignment(replicas(1, 2, 3, 4), adding=replicas(4), removing=())
    }
    assert seen.unclear == {lagging.growing}
    assert list(seen.partitions) == [lagging.reordered]


def test_what_does_not_run_is_as_brokers_show_it_however_old(lagging: Lagging) -> None:
    seen = lagging.reader.look(Wanted(partitions=[lagging.reordered]))

    state = seen.partitions[lagging.reordered]
    assert (state.replicas, state.adding) == (replicas(2, 3, 4), ())
    assert seen.unclear == frozenset()


def test_what_brokers_show_is_clear_once_it_fits_what_runs(lagging: Lagging) -> None:
    lagging.catch_up()

    seen = lagging.reader.look(Wanted(partitions=[lagging.growing]))

    state = seen.partitions[lagging.growing]
    assert (state.replicas, state.adding, state.removing) == (
        replicas(1, 2, 3, 4),
        replicas(4),
        (),
    )
    assert BrokerId(4) not in state.isr
    assert seen.unclear == frozenset()


def test_what_was_shown_once_is_not_shown_older_again(lagging: Lagging) -> None:
    wanted = Wanted(partitions=[lagging.growing])
    lagging.catch_up()
    before = lagging.reader.look(wanted).partitions[lagging.growing]
    lagging.fall_behind()

    seen = lagging.reader.look(wanted)

    assert seen.unclear == frozenset()
    assert seen.partitions[lagging.growing].replicas == before.replicas


def test_an_observation_takes_the_lists_of_what_runs_from_the_controller(lagging: Lagging) -> None:
    observed = lagging.reader.observe().partition(lagging.growing)

    assert observed is not None
    assert (observed.replicas, observed.adding) == (replicas(1, 2, 3, 4), replicas(4))
