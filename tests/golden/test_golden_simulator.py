"""The simulator runs every golden vector as Kafka's controllers do, version by version."""

import pytest
from tests.golden.language import Vector, for_version, read, tell
from tests.golden.simulator_driver import SimulatorDriver
from tests.golden.vectors import TEXT

from replan.simulator.api import RULES

VECTORS = read(TEXT)
CASES = [
    (version, vector)
    for version, rules in RULES.items()
    for elr in (False, True)
    if rules.knows_elr or not elr
    for vector in for_version(VECTORS, version, elr=elr)
]


@pytest.mark.parametrize(
    ("version", "vector"), CASES, ids=[f"{version}-{vector.title}" for version, vector in CASES]
)
def test_the_simulator_does_what_the_controller_does(version: str, vector: Vector) -> None:
    tell(vector, version, SimulatorDriver(version, elr=vector.elr))


def test_every_vector_is_numbered_in_order_and_told_to_some_version() -> None:
    assert [int(v.title.split(".")[0]) for v in VECTORS] == list(range(1, len(VECTORS) + 1))
    assert {v.title for v in VECTORS} == {vector.title for _, vector in CASES}


def test_a_vector_that_does_not_hold_says_what_was_found() -> None:
    (vector,) = read("1. wrong\ntopic [0,1,2]\nreassign [2,1,0]\n    r[2,1,0] L2 le0")

    with pytest.raises(AssertionError) as failure:
        tell(vector, "4.3", SimulatorDriver("4.3", elr=False))

    assert str(failure.value).splitlines()[0] == (
        "reassign [2,1,0]: expected r[2,1,0] L2 le0 a[] d[], found r[2,1,0] L0 le0 a[] d[]"
    )
