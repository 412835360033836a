"""Which tests one worker takes: what shares a cluster stays together, and what takes long is named as it is called."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.workers import SECONDS, seconds_of, unit_of

TREE = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "names",
    [
        (
            "tests/golden/test_golden_controller.py::test_vectors[1-4.4.0]",
            "tests/kafka/test_fake_brokers.py::test_elr_can_be_left_off[4.4.0]",
        ),
        (
            "tests/conformance/test_creating.py::test_a[kafka]",
            "tests/conformance/test_lag.py::test_b[kafka-twice]",
        ),
        ("tests/kafka/test_elections.py::test_a", "tests/kafka/test_recovery.py::test_b"),
        ("tests/unit/test_errors.py::test_a[1]", "tests/unit/test_errors.py::test_b[kafka]"),
    ],
)
def test_what_shares_a_cluster_or_a_module_is_a_unit(names: Sequence[str]) -> None:
    assert len({unit_of(name) for name in names}) == 1


@pytest.mark.parametrize(
    "names",
    [
        (
            "tests/golden/test_golden_controller.py::test_vectors[1-4.4.0]",
            "tests/golden/test_golden_controller.py::test_vectors[1-3.9.2]",
        ),
        (
            "tests/conformance/test_creating.py::test_a[kafka]",
            "tests/conformance/test_creating.py::test_a[simulator]",
        ),
        ("tests/kafka/test_two_machines.py::test_a", "tests/kafka/test_two_machines.py::test_b"),
    ],
)
def test_what_shares_nothing_is_not(names: Sequence[str]) -> None:
    assert len({unit_of(name) for name in names}) == len(names)


@pytest.mark.parametrize("name", SECONDS)
def test_what_takes_long_is_there(name: str) -> None:
    file, _, test = name.partition("::")
    words = re.compile(rf"^def {test.partition('[')[0] or 'test_'}", re.MULTILINE)
    assert words.search((TREE / file).read_text(encoding="utf-8"))
    assert seconds_of(name) == SECONDS[name]
