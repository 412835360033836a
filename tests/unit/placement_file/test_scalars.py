import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from replan.placement_file.api import means_itself, read_plain, read_plain_key


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0), ("7", 7), ("-1", -1), ("2147483648", 2147483648),
        ("0.5", 0.5), ("-1.25", -1.25),
        ("true", True), ("TRUE", True), ("False", False), ("null", None), ("", None),
        ("orders", "orders"), ("50MB/s", "50MB/s"), ("5%", "5%"), ("2026-12-01", "2026-12-01"),
        ("2026-12-01T18:00:00Z", "2026-12-01T18:00:00Z"), ("10.0.0.1", "10.0.0.1"), ("1.2.3", "1.2.3"),
        ("9" * 200_000 + "x",) * 2, ("010x", "010x"), ("nope", "nope"), ("-", "-"), ("1-2", "1-2"),
    ],
)  # fmt: skip
def test_a_word_that_all_readers_understand_alike_is_taken(text: str, value: object) -> None:
    read = read_plain(text)
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    "text",
    [
        *("y", "Y", "n", "N", "yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON", "off"),
        *("OFF", "010", "00", "-07", "0x1F", "0X1f", "0o17", "0b101", "1_000", "1:30", "12:30:45"),
        *("1:30.5", "+1", ".5", "1.", "1.0", "1e3", "1E3", "1.5e+3", "08", "0_1", "~", "<<", "="),
        *(".inf", "-.INF", ".NaN", "9" * 19, "9" * 5000),
    ],
)
def test_a_word_that_readers_or_people_misread_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(ValueError, match="; ") as refused:
        read_plain(text)
    assert str(refused.value).startswith(text)
    with pytest.raises(ValueError, match="; "):
        read_plain_key(text)
    assert not means_itself(text)


@pytest.mark.parametrize("text", ["", "null", "true", "0.5"])
def test_a_key_is_a_name_or_a_whole_number(text: str) -> None:
    with pytest.raises(ValueError, match=r"; (write one|quote it)$"):
        read_plain_key(text)


@given(st.from_regex(r"[-+.~0-9a-zA-Z_:eExoXyYnN]{1,8}", fullmatch=True))
def test_what_is_taken_means_the_same_to_yaml_1_1(text: str) -> None:
    try:
        value = read_plain(text)
    except ValueError:
        return
    try:
        other = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        return  # not a plain word at all, or a date that is not in the calendar
    if isinstance(other, dict | list):
        return  # not a plain word
    if isinstance(value, str) and not isinstance(other, str):
        assert text[:4].isdecimal()  # a date, which is taken as the text that it is
        assert "-" in text
    else:
        assert value == other
