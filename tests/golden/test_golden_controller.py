"""Real controllers tell every golden vector as the table says, version by version.

By day the default version tells all of them, and each other one those in which it differs from that.
"""

from contextlib import closing

import pytest
from tests.golden.controller_driver import ControllerDriver
from tests.golden.language import Vector, for_version, read, tell
from tests.golden.steady import steadily
from tests.golden.vectors import TEXT
from tests.kafka.clusters import Controllers, by_night
from tests.kafka.harness.distribution import DEFAULT_VERSION, VERSIONS

pytestmark = pytest.mark.kafka

CASES = [
    (version, vector)
    for version in VERSIONS
    for elr in (False, True)
    if not (elr and version.startswith("3."))
    for vector in for_version(read(TEXT), version, elr=elr)
]


@pytest.mark.parametrize(
    ("version", "vector"),
    [
        pytest.param(
            version,
            vector,
            id=f"{version}-{vector.title}",
            marks=() if vector.differs(version, DEFAULT_VERSION) else by_night(version),
        )
        for version, vector in CASES
    ],
)
def test_the_controller_does_what_the_table_says(
    version: str, vector: Vector, fake_brokers: Controllers
) -> None:
    restarts = any(step.words[0] == "restart" for step in vector.steps)
    started = fake_brokers(version, eligible_leader_replicas=vector.elr, restarts=restarts)

    def told() -> None:
        with closing(ControllerDriver(started)) as driver:
            tell(vector, version, driver)

    steadily(started, told)
