import pytest

from replan.model.api import literal_prefix, matches, ties, winners


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


# The rows of the table "which entry" in docs/precedence.md.
@pytest.mark.parametrize(
    ("entries", "topic", "winner"),
    [
        (["orders", "orders*", "*"], "orders", "orders"),
        (["orders*", "*"], "orders-eu", "orders*"),
        (["o*", "orders-*", "ord*"], "orders-eu", "orders-*"),
        (["orders-??", "*"], "orders-eu", "orders-??"),
        (["orders-*-eu", "orders-*"], "orders-x-us", "orders-*"),
        (["pay-*"], "orders", None),
        (["*"], "__consumer_offsets", None),
        (["__*", "*"], "__consumer_offsets", "__*"),
        (["__consumer_offsets", "__*"], "__consumer_offsets", "__consumer_offsets"),
        (["orders-*", "orders-*-eu"], "orders-x-eu", None),
    ],
)
def test_an_exact_name_wins_then_the_longest_literal_prefix(
    entries: list[str], topic: str, winner: str | None
) -> None:
    assert winners(dict.fromkeys(entries, ()), [topic]).get(topic) == winner
    assert winners(dict.fromkeys(entries[::-1], ()), [topic]).get(topic) == winner


def test_two_patterns_that_fit_equally_well_are_a_tie() -> None:
    topics = ["orders-x-eu", "orders-x-us", "clicks"]
    assert ties(dict.fromkeys(["orders-*-eu", "orders-*", "*", "clicks"], ()), topics) == {
        "orders-x-eu": ["orders-*", "orders-*-eu"]
    }
    assert ties(dict.fromkeys(["orders-*-eu", "orders-*", "orders-x-eu"], ()), topics) == {}


@pytest.mark.parametrize(
    ("entries", "topic", "winner"),
    [
        ({"*": ["orders"], "o*": []}, "orders", "o*"),
        ({"*": [], "o*": ["orders"]}, "orders", "*"),
        ({"*": ["ord*"]}, "orders", None),
        ({"*": ["ord*"]}, "other", "*"),
        ({"orders-*": ["orders-*-eu"], "orders-*-eu": []}, "orders-x-eu", "orders-*-eu"),
        ({"__*": ["*"]}, "__consumer_offsets", "__*"),
        ({"__*": ["__consumer_offsets"]}, "__consumer_offsets", None),
    ],
)
def test_what_an_entry_excepts_goes_to_the_next_one(
    entries: dict[str, list[str]], topic: str, winner: str | None
) -> None:
    assert winners(entries, [topic]).get(topic) == winner
    assert ties(entries, [topic]) == {}
