from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan.model.api import LARGEST_RATE, SMALLEST_RATE
from replan.placement_file.api import (
    format_rate,
    parse_broker_range,
    parse_day,
    parse_percentage,
    parse_rate,
    parse_seconds,
)
from replan.wording import rate as printed


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("5%", Fraction(1, 20)),
        ("5 %", Fraction(1, 20)),
        ("0%", Fraction(0)),
        ("12.5%", Fraction(1, 8)),
        ("0.25%", Fraction(1, 400)),
        ("0.125%", Fraction(1, 800)),
        ("0.001%", Fraction(1, 100_000)),
        ("999.999%", Fraction(999_999, 100_000)),
        ("4142.3%", Fraction(41_423, 1_000)),
    ],
)
def test_a_percentage_is_exact_to_its_third_decimal(text: str, exact: Fraction) -> None:
    assert parse_percentage(text) == exact


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("500ms", 0.5), ("1.5s", 1.5), ("5m", 300), ("1h", 3_600), ("2d", 172_800)],
)
def test_a_duration_is_seconds(text: str, seconds: float) -> None:
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "5 s", "-5s", "5min", "s"])
def test_what_is_not_a_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="is no duration; write"):
        parse_seconds(text)


@pytest.mark.parametrize("text", ["0-0", "3-3", "10-14", "0-2147483647", "2147483647-2147483647"])
def test_a_range_of_brokers_includes_both_ends(text: str) -> None:
    first, last = map(int, text.split("-"))
    assert parse_broker_range(text) == (first, last)


@pytest.mark.parametrize("text", ["4-3", "0-2147483648", "2147483648-2147483648"])
def test_a_range_of_brokers_ends_at_the_last_id_and_does_not_go_down(text: str) -> None:
    with pytest.raises(ValueError, match="none above 2147483647"):
        parse_broker_range(text)


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("50MB/s", 50_000_000),
        ("50MiB/s", 52_428_800),
        ("1.5GB/s", 1_500_000_000),
        ("800KB/s", 800_000),
        ("1KB/s", 1_000),
        ("1KiB/s", 1_024),
        ("1kB/s", 1_000),
        ("1 kB/s", 1_000),
        ("20 MB/s", 20_000_000),
        ("1.5 GiB/s", 1_610_612_736),
        ("1000B/s", 1_000),
        ("2TB/s", 2_000_000_000_000),
        ("0.5TiB/s", 549_755_813_888),
        ("1.33MiB/s", 1_394_606),
        ("9223372036854775807B/s", LARGEST_RATE),
        ("unlimited", None),
    ],
)
def test_a_rate_is_bytes_per_second(text: str, rate: int | None) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("50", '"50" is not a rate; it needs a unit, e.g. 50MB/s'),
        ("0", '"0" is not a rate; write 1KB/s or more, or unlimited'),
        ("50000000", '"50000000" is not a rate; it needs a unit: 50MB/s if bytes per second are meant'),
        ("50  MB/s", '"50  MB/s" is not a rate; write 50MB/s'),
        ("50MB", '"50MB" is not a rate; write 50MB/s'),
        (f"{'9' * 20}GB/s", f'"{"9" * 20}GB/s" is not a rate; write fewer digits: up to 19, and 9 behind the point'),
        ("50MBps", '"50MBps" is not a rate; write 50MB/s'),
        ("50mib/s", '"50mib/s" is not a rate; write 50MiB/s if bytes are meant, 6.25MiB/s if bits are'),
        ("50Mb/s", '"50Mb/s" is not a rate; Kafka counts bytes, not bits: write 6.25MB/s for 50Mb/s'),
        ("1Gbps", '"1Gbps" is not a rate; Kafka counts bytes, not bits: write 0.125GB/s for 1Gbps'),
        ("8000bit/s", '"8000bit/s" is not a rate; Kafka counts bytes, not bits: write 1000B/s for 8000bit/s'),
        ("999B/s", "999B/s is below 1KB/s, at which nothing would move; write 1KB/s or more, or unlimited"),
        ("0MB/s", "0MB/s is below 1KB/s, at which nothing would move; write 1KB/s or more, or unlimited"),
        ("9223372036854775808B/s", "9223372036854775808B/s is more than Kafka can hold; write unlimited"),
        (
            "fast",
            '"fast" is not a rate; write a number with its unit, e.g. 50MB/s or 50MiB/s, or unlimited',
        ),
    ],
)  # fmt: skip
def test_what_is_not_a_rate_is_refused_with_advice(text: str, advice: str) -> None:
    with pytest.raises(ValueError, match="; ") as refused:
        parse_rate(text)
    assert str(refused.value) == advice


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (50_000_000, "50MB/s"),
        (52_428_800, "50MiB/s"),
        (1_500_000_000, "1.5GB/s"),
        (800_000, "800KB/s"),
        (1_000, "1KB/s"),
        (1_234_567, "1234567B/s"),
        (None, "unlimited"),
    ],
)
def test_a_rate_is_written_as_people_would(rate: int | None, text: str) -> None:
    assert format_rate(rate) == text


@pytest.mark.parametrize("figure", [1_000, 800_000, 20_000_000, 1_500_000_000, 999 * 10**12])
def test_a_rate_is_read_as_reports_print_it(figure: int) -> None:
    assert parse_rate(printed(figure)) == figure


@given(st.none() | st.integers(SMALLEST_RATE, LARGEST_RATE))
def test_every_rate_reads_back_as_it_was_written(rate: int | None) -> None:
    assert parse_rate(format_rate(rate)) == rate


@pytest.mark.parametrize(
    ("text", "expiry"),
    [
        ("2026-12-01", "2026-12-01"),
        ("2026-12-01T18:00:00Z", "2026-12-01T18:00:00Z"),
        ("2026-12-01T18:00:00+02:00", "2026-12-01T16:00:00Z"),
        ("2026-12-31T23:30:00-01:00", "2027-01-01T00:30:00Z"),
        ("0999-01-01T00:00:00Z", "0999-01-01T00:00:00Z"),
    ],
)
def test_an_expiry_compares_as_text_in_utc(text: str, expiry: str) -> None:
    assert parse_day(text) == expiry


@pytest.mark.parametrize(
    "text",
    ["", "tomorrow", "2026-2-1", "2026-02-30", "20261201", "2026-12-01T18:00:00",
     "2026-12-01 18:00:00Z", "2026-12-01T25:00:00Z", "0001-01-01T00:00:00+10:00"],
)  # fmt: skip
def test_what_is_not_in_the_calendar_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"; (correct it|write it as 2026-12-01 or as)"):
        parse_day(text)
