"""Real controllers tell every golden vector as the table says, version by version."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest
from tests.golden.controller_driver import ControllerDriver
from tests.golden.language import Vector, for_version, read, tell
from tests.golden.steady import steadily
from tests.golden.vectors import TEXT
from tests.kafka.harness.distribution import VERSIONS
from tests.kafka.harness.fake_brokers import ONE_HOUR_MS, FakeBrokers

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("controllers")]
SHORT_SESSION_MS = 1500

Kind = tuple[str, bool, bool]
"""Version, ELR on, sessions short enough for brokers to restart."""

CASES = [
    (version, vector)
    for version in VERSIONS
    for elr in (False, True)
    if not (elr and version.startswith("3."))
    for vector in for_version(read(TEXT), version, elr=elr)
]


@pytest.fixture(scope="module")
def controller() -> Iterator[Callable[[Kind], FakeBrokers]]:
    """Starts each kind of controller once, and one at a time."""
    running: dict[Kind, FakeBrokers] = {}
    with ExitStack() as ending:

        def started(kind: Kind) -> FakeBrokers:
            if kind not in running:
                version, elr, short = kind
                running[kind] = ending.enter_context(
                    FakeBrokers(
                        version,
                        eligible_leader_replicas=elr,
                        session_timeout_ms=SHORT_SESSION_MS if short else ONE_HOUR_MS,
                    )
                )
            return running[kind]

        yield started


@pytest.mark.parametrize(
    ("version", "vector"), CASES, ids=[f"{version}-{vector.title}" for version, vector in CASES]
)
def test_the_controller_does_what_the_table_says(
    version: str, vector: Vector, controller: Callable[[Kind], FakeBrokers]
) -> None:
    restarts = any(step.words[0] == "restart" for step in vector.steps)
    started = controller((version, vector.elr, restarts))

    def told() -> None:
        with closing(ControllerDriver(started)) as driver:
            tell(vector, version, driver)

    steadily(started, told)
