import pytest

from replan.placement_file.api import check_topic, check_topic_or_pattern


@pytest.mark.parametrize(
    "name", ["orders", "a", "A.b_c-9", "...", "-", "_", "__consumer_offsets", "a" * 249]
)
def test_kafka_takes_these_names(name: str) -> None:
    check_topic(name)
    check_topic_or_pattern(name)


@pytest.mark.parametrize("pattern", ["*", "a-[0-9]?", "[!_]*", "[ab][!-z]"])
def test_a_pattern_may_have_sets(pattern: str) -> None:
    check_topic_or_pattern(pattern)


# Kafka's own TopicTest names the same: illegal characters, the two folders, the empty name, too long.
@pytest.mark.parametrize(
    "name", ["", ".", "..", "a" * 250, "a b", "köln", "a/b", "a,b", "a:b", "a\n", "٣"]
)
def test_kafka_refuses_these_names(name: str) -> None:
    with pytest.raises(ValueError, match="topic"):
        check_topic(name)
    with pytest.raises(ValueError, match="topic"):
        check_topic_or_pattern(name)


@pytest.mark.parametrize(
    "pattern", ["pay *", "köln-*", "a/*", "!a*", "a-[0-9", "a*]", "a[]", "a[!]"]
)
def test_a_pattern_that_can_match_no_topic_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="can match no topic"):
        check_topic_or_pattern(pattern)
