"""Names and running reassignments."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import lists, state

from replan.model.api import TopicPartition, is_internal, parse_topic_partition


@given(st.text("ab.-_", min_size=1), st.integers(0, 10**6))
def test_a_name_survives_its_text(topic: str, number: int) -> None:
    name = TopicPartition(topic, number)
    assert parse_topic_partition(str(name)) == name


@pytest.mark.parametrize(
    "text",
    [
        *("", "orders", "orders-", "-1", "orders-x", "orders--x", "orders-1.0", "a-٣"),
        *("a-12345678901", "a-2147483648", "orders-01"),
    ],
)
def test_what_is_no_partition_is_said(text: str) -> None:
    with pytest.raises(ValueError, match=f"^{text!r} is not TOPIC-PARTITION$"):
        parse_topic_partition(text)


def test_internal_topics_begin_with_two_underscores() -> None:
    assert is_internal("__consumer_offsets")
    assert not is_internal("_private")


def test_a_running_reassignment_knows_its_target_and_the_members_before_it() -> None:
    running = state([4, 2, 1, 3], adding=[4], removing=[1, 3]).running
    assert running is not None
    assert running.target == lists(4, 2)
    assert running.original == lists(2, 1, 3)
    assert state([1, 2]).running is None
