"""Numbers as people read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import lists

from replan.wording import brokers, duration, rate, size


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (1234, "1.23 kB"),
        (999_499, "999 kB"),
        (999_500, "1 MB"),
        (45_600_000_000, "45.6 GB"),
        (10**12, "1 TB"),
        (10**15, "1 PB"),
        (123 * 10**16, "1,230 PB"),
    ],
)
def test_bytes(number: int, text: str) -> None:
    assert size(number) == text


@given(st.integers(0, 10**18))
def test_bytes_are_never_written_with_an_exponent(number: int) -> None:
    assert "e" not in size(number)


def test_rates() -> None:
    assert rate(None) == "unlimited"
    assert rate(50_000_000) == "50 MB/s"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.0 s"),
        (0.42, "0.4 s"),
        (9.94, "9.9 s"),
        (9.97, "10 s"),
        (12.4, "12 s"),
        (59.6, "1 min"),
        (200.0, "3 min 20 s"),
        (3599.7, "1 h"),
        (7500.0, "2 h 5 min"),
        (90_000.0, "25 h"),
        (172_799.0, "47 h 59 min"),
        (172_800.0, "2 days"),
        (20_001_600.0, "231 days 12 h"),
        (19_998_000.0, "231 days 11 h"),
        (259_199.0, "3 days"),
        (100_000_000.0, "1,157 days 10 h"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_lists() -> None:
    assert brokers(lists(1, 2, 3)) == "[1,2,3]"
    assert brokers(()) == "[]"
