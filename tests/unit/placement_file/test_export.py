from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.builders import CLUSTER_ID, brokers, snapshot, state

from replan.errors import BadUsage
from replan.model.api import PartitionState, Placement
from replan.placement_file.api import Source, export_placement, fastest_parser, load_sources
from replan.planning.api import make_plan

NAMES = st.one_of(
    st.from_regex(r"[a-zA-Z0-9._-]{1,6}", fullmatch=True).filter(lambda n: n not in {".", ".."}),
    st.sampled_from(
        ["on", "NO", "null", "010", "1e3", "1.0", "2024", "2026-12-01", "-", "y", "a-b"]
    ),
)
LISTS = st.lists(st.integers(1, 5), min_size=1, max_size=4, unique=True)


def load(text: str) -> Placement:
    return load_sources([Source("placement.yaml", text)], fastest_parser())


def lists_of(placement: Placement) -> dict[tuple[str, int], list[int]]:
    rows = placement.explicit.to_pylist()
    return {(r["topic"], r["partition"]): r["replicas"] for r in rows}


@st.composite
def settled(draw: st.DrawFn) -> list[PartitionState]:
    """Partitions of some topics, led by their first replica, nothing running."""
    topics = draw(st.dictionaries(NAMES, st.sets(st.integers(0, 4), min_size=1), max_size=4))
    return [
        state(draw(LISTS), partition=number, topic=topic)
        for topic, numbers in topics.items()
        for number in numbers
    ]


def test_an_export_reads_like_a_hand_written_placement_file() -> None:
    states = [
        state([1, 2, 3], partition=0, topic="orders"),
        state([2, 3, 1], partition=1, topic="orders"),
        state([3, 1], partition=7, topic="clicks"),
        state([1], partition=0, topic="on"),
        state([1, 2], partition=0, topic="__consumer_offsets"),
    ]
    assert export_placement(snapshot(states)) == (
        "# yaml-language-server: $schema=placement.v1.json\n"
        "version: 1\n"
        "cluster:\n"
        f"  id: {CLUSTER_ID}\n"
        "assignments:\n"
        "  clicks:\n"
        "    partitions:\n"
        "      7: [3, 1]\n"
        '  "on":\n'
        "    partitions:\n"
        "      - [1]  # 0\n"
        "  orders:\n"
        "    partitions:\n"
        "      - [1, 2, 3]  # 0\n"
        "      - [2, 3, 1]  # 1\n"
    )


@given(settled())
def test_an_export_loads_to_the_same_lists(states: list[PartitionState]) -> None:
    placement = load(export_placement(snapshot(states)))
    visible = [s for s in states if not s.partition.topic.startswith("__")]
    assert lists_of(placement) == {tuple(s.partition): list(s.replicas) for s in visible}
    assert placement.cluster_id == CLUSTER_ID


@given(settled())
def test_planning_an_export_against_its_own_cluster_is_empty(states: list[PartitionState]) -> None:
    seen = snapshot(states)
    plan = make_plan(load(export_placement(seen)), seen)
    assert plan.moves == ()
    assert plan.refusals == ()


@given(settled(), st.text("abc", min_size=5, max_size=5))
def test_planning_the_rules_of_a_cluster_copies_nothing(
    states: list[PartitionState], racks: str
) -> None:
    seen = snapshot(states, registered=brokers(5, racks))
    placement = load(export_placement(seen, rules=True))
    plan = make_plan(placement, seen)
    assert [move for move in plan.moves if move.new or move.leaving] == []
    assert plan.refusals == ()


def test_the_rule_of_most_topics_is_the_pattern_and_mixed_factors_are_lists() -> None:
    states = [
        *(state([1, 2, 3], topic=topic) for topic in ("clicks", "orders")),
        state([1, 4], topic="logs"),
        state([1, 2], topic="mixed"),
        state([1, 2, 3], topic="mixed", partition=1),
    ]
    text = export_placement(snapshot(states, registered=brokers(6, "abc")), rules=True)
    assert text.partition("assignments:\n")[2] == (
        '  "*": {replicationFactor: 3, spread: rack}\n'
        "  logs: {replicationFactor: 2}\n"
        "  mixed:\n"
        "    partitions:\n"
        "      - [1, 2]  # 0\n"
        "      - [1, 2, 3]  # 1\n"
    )


def test_a_running_reassignment_is_written_as_it_will_end() -> None:
    running = state([4, 2, 5, 1, 3], [1, 2, 3], adding=[4, 5], removing=[1, 3])
    only_dropping = state([1, 2, 3], removing=[3], partition=1)
    placement = load(export_placement(snapshot([running, only_dropping])))
    assert lists_of(placement) == {("orders", 0): [4, 2, 5], ("orders", 1): [1, 2]}


def test_a_list_stays_as_it_is_whoever_leads() -> None:
    led_by_its_second = state([1, 2, 3], leader=2)
    placement = load(export_placement(snapshot([led_by_its_second])))
    assert lists_of(placement) == {("orders", 0): [1, 2, 3]}
    assert placement.preferred_leaders == {}


@pytest.mark.parametrize(
    ("patterns", "exported"),
    [
        ([], {"pay-eu", "pay-us", "orders"}),
        (["*"], {"pay-eu", "pay-us", "orders"}),
        (["pay-*"], {"pay-eu", "pay-us"}),
        (["orders", "pay-[u]s"], {"orders", "pay-us"}),
        (["__consumer_offsets"], {"__consumer_offsets"}),
        (["__*", "orders"], {"__consumer_offsets", "__replan", "orders"}),
    ],
)
def test_internal_topics_are_exported_only_when_asked_for(
    patterns: Sequence[str], exported: set[str]
) -> None:
    names = ("pay-eu", "pay-us", "orders", "__consumer_offsets", "__replan")
    seen = snapshot([state([1, 2], topic=name) for name in names])
    assert set(load(export_placement(seen, patterns)).topics) == exported


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("ordrs", f"cluster {CLUSTER_ID} has no topic ordrs; check the name, or use a pattern such as 'pay*'"),
        (
            "x*",
            f"no topic of cluster {CLUSTER_ID} matches x*; internal topics match only patterns that begin with __",
        ),
    ],
)  # fmt: skip
def test_a_pattern_that_means_nothing_is_refused(pattern: str, message: str) -> None:
    with pytest.raises(BadUsage) as refused:
        export_placement(snapshot([state([1, 2])]), ["orders", pattern])
    assert str(refused.value) == message


def test_a_cluster_without_topics_exports_an_empty_mapping() -> None:
    assert load(export_placement(snapshot([]))).explicit.num_rows == 0


@given(st.from_regex(r"[A-Za-z0-9_-]{22}", fullmatch=True) | st.text(min_size=1))
def test_every_cluster_id_survives(cluster_id: str) -> None:
    seen = replace(snapshot([]), cluster_id=cluster_id)
    assert load(export_placement(seen)).cluster_id == cluster_id


def test_an_export_of_many_topics_matches_no_name_against_all_others() -> None:
    topics = 20_000  # each against each takes minutes
    text = export_placement(snapshot([state([1], topic=f"topic-{n}") for n in range(topics)]))
    assert text.count("\n  topic-") == topics
