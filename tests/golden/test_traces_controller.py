"""Differential test: the simulator and a real controller agree on random stories: fields, epochs, codes and words.

Where a version knows ELR, half of them run with and half without. Fewer are run in which brokers restart.
"""

from contextlib import closing

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis.strategies import one_of
from tests.golden.controller_driver import ControllerDriver
from tests.golden.language import BROKERS, Driver, perform
from tests.golden.simulator_driver import SimulatorDriver
from tests.golden.steady import steadily
from tests.golden.traces import RESTARTS, STEPS, Words, traces
from tests.kafka.clusters import Controllers, by_night
from tests.kafka.harness.distribution import DEFAULT_VERSION, VERSIONS
from tests.profiles import by_profile

pytestmark = pytest.mark.kafka
PHASES = [Phase.explicit, Phase.reuse, Phase.generate]
STORIES = by_profile(fast=10, ci=12, full=20, nightly=5000)
"""By profile, on the version that tests use by default; a tenth on each other one, by night."""
RESTARTING = by_profile(fast=2, ci=2, full=3, nightly=250)
"""By profile, on each version: each restart waits for a session to end."""
SINCE_4_1 = ("cordon", "guarded")
STUMBLING = [
    ("topic", "[4,2,6]", "[3,1,6]", "min.insync.replicas=3"),
    ("unregister", "5"),
    ("reassign", "[2]"),
    ("shutdown", "2"),
    ("reassign", "[5,6,3]", "[6,1]"),
]
"""With ELR on, one part of the last request has a reason and the other fails without a word."""
KINDS = [(v, elr) for v in VERSIONS for elr in (False, True) if not (elr and v.startswith("3."))]


@pytest.mark.parametrize(
    ("version", "elr"),
    [pytest.param(v, elr, id=f"{v}{'-elr' * elr}", marks=by_night(v)) for v, elr in KINDS],
)
def test_the_simulator_agrees_with_the_controller_on_any_story(
    version: str, elr: bool, fake_brokers: Controllers
) -> None:
    started = fake_brokers(version, eligible_leader_replicas=elr)

    @settings(max_examples=stories(version), phases=PHASES)
    @given(trace=traces(STEPS, shortest=20, longest=25))
    @example(trace=STUMBLING)
    def agrees(trace: list[Words]) -> None:
        known = [w for w in trace if w[0] not in SINCE_4_1 or not version.startswith("3.")]
        with closing(ControllerDriver(started)) as real:
            agree(known, SimulatorDriver(version, elr=elr), real)

    agrees()


def stories(version: str) -> int:
    """How many stories run on each kind of controller of a version."""
    of_version = STORIES if version == DEFAULT_VERSION else STORIES // 10
    return of_version // sum(1 for v, _ in KINDS if v == version)


@pytest.mark.parametrize(
    "version", [pytest.param(v, marks=by_night(v)) for v in VERSIONS if not v.startswith("3.")]
)
@settings(max_examples=RESTARTING, phases=PHASES)
@given(trace=traces(one_of(STEPS, RESTARTS, RESTARTS), shortest=1, longest=20))
def test_the_simulator_agrees_where_brokers_restart(
    version: str, fake_brokers: Controllers, trace: list[Words]
) -> None:
    started = fake_brokers(version, restarts=True)

    def both() -> None:
        with closing(ControllerDriver(started)) as real:
            agree(trace, SimulatorDriver(version, elr=True), real)

    steadily(started, both)


def agree(trace: list[Words], simulated: Driver, real: Driver) -> None:
    """Perform a story on both; raises AssertionError at the first step that they see differently."""
    for number, tokens in enumerate(trace):
        if tokens[0] == "isr" and simulated.observe(0).leader is None:
            continue
        codes = perform(tokens, simulated), perform(tokens, real)
        told = " | ".join(" ".join(step) for step in trace[: number + 1])
        assert codes[0] == codes[1], f"{told}: codes {codes}"
        # What the controller leaves out, clients say.
        said = simulated.said, real.said
        assert all(b in (a, None) for a, b in zip(*said, strict=False)), f"{told}: {said}"
        assert simulated.configs() == real.configs(), told
        for broker in (None, *BROKERS):
            assert simulated.broker_configs(broker) == real.broker_configs(broker), told
        assert sorted(simulated.partitions()) == sorted(real.partitions()), told
        for partition in simulated.partitions():
            assert simulated.observe(partition) == real.observe(partition), f"{told}: p{partition}"
