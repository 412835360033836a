import pytest

from replan.manifest.topic_names import check_topic, check_topic_or_pattern, literal_prefix, matches


@pytest.mark.parametrize(
    "name", ["orders", "a", "A.b_c-9", "...", "-", "_", "__consumer_offsets", "a" * 249]
)
def test_kafka_takes_these_names(name: str) -> None:
    check_topic(name)
    check_topic_or_pattern(name)


# Kafka's own TopicTest names the same: illegal characters, the two folders, the empty name, too long.
@pytest.mark.parametrize(
    "name", ["", ".", "..", "a" * 250, "a b", "köln", "a/b", "a,b", "a:b", "a\n", "٣"]
)
def test_kafka_refuses_these_names(name: str) -> None:
    with pytest.raises(ValueError, match="topic"):
        check_topic(name)
    with pytest.raises(ValueError, match="topic"):
        check_topic_or_pattern(name)


@pytest.mark.parametrize("pattern", ["pay *", "köln-*", "a/*"])
def test_a_pattern_that_can_match_no_topic_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="can match no topic"):
        check_topic_or_pattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "topic", "matched"),
    [
        ("orders", "orders", True),
        ("orders", "orders2", False),
        ("pay-*", "pay-eu", True),
        ("pay-?", "pay-eu", False),
        ("pay-[ab]", "pay-b", True),
        ("Pay-*", "pay-eu", False),
        ("*", "__consumer_offsets", False),
        ("_*", "__consumer_offsets", False),
        ("?_consumer*", "__consumer_offsets", False),
        ("__*", "__consumer_offsets", True),
        ("__consumer_offsets", "__consumer_offsets", True),
    ],
)
def test_a_pattern_reaches_internal_topics_only_where_both_underscores_are_written(
    pattern: str, topic: str, matched: bool
) -> None:
    assert matches(pattern, topic) is matched


@pytest.mark.parametrize(
    ("pattern", "prefix"), [("pay-*", "pay-"), ("*", ""), ("a?b*", "a"), ("orders", "orders")]
)
def test_the_literal_prefix_ends_at_the_first_wild_character(pattern: str, prefix: str) -> None:
    assert literal_prefix(pattern) == prefix
