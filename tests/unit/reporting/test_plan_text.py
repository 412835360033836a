"""The plan as text: nothing is said twice, nothing is lost, and a terminal gets what it can show."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.builders import TOPIC_ID, move, placement, snapshot, state
from tests.readings import plan_text

from replan.model.api import BrokerId, TopicPartition
from replan.planning.api import (
    LogMove,
    Move,
    MoveReason,
    Plan,
    ReasonKind,
    dumps,
    estimate,
    loads,
    make_plan,
)
from replan.reporting.api import (
    PlanContext,
    Span,
    Tone,
    drawn,
    grouped,
    line,
    part_lines,
    plan_lines,
    table,
)

GB = 10**9
LISTS = st.lists(st.integers(1, 6), min_size=1, max_size=4, unique=True)
DRAINS = tuple(MoveReason(ReasonKind.DRAIN, broker=BrokerId(b)) for b in (1, 2))
REASONS = st.sampled_from((MoveReason(ReasonKind.DECLARED), *DRAINS))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    names = draw(
        st.lists(
            st.tuples(st.sampled_from(("a", "orders.eu", "__consumer_offsets")), st.integers(0, 9)),
            unique=True,
            max_size=15,
        )
    )
    moves = []
    for topic, partition in names:
        original, target = draw(LISTS), draw(LISTS)
        made = move(
            original,
            target,
            partition=partition,
            topic=topic,
            leader=draw(st.sampled_from(original)),
            size=draw(st.integers(0, 3 * GB)),
        )
        moves.append(replace(made, reason=draw(REASONS)))
    return Plan("c", "d", {}, tuple(moves))


ROW = re.compile(r"^  (?P<topic>\S*) .*partitions? (?P<numbers>[0-9, -]+)$")


def shown(text: str) -> list[TopicPartition]:
    """The partitions that the grouped moves name, their ranges written out."""
    found, topic = [], ""
    for row in filter(None, map(ROW.match, text.splitlines())):
        topic = row["topic"] or topic
        for part in row["numbers"].split(", "):
            first, _, last = part.partition("-")
            found += [TopicPartition(topic, p) for p in range(int(first), int(last or first) + 1)]
    return found


@given(plans())
def test_every_move_is_shown_exactly_once(plan: Plan) -> None:
    text = plan_text(plan, everything=True)
    assert sorted(shown(text)) == sorted(m.partition for m in plan.moves)


def test_of_many_brokers_that_change_the_rest_is_counted() -> None:
    moves = tuple(move([b], [b + 50], partition=b) for b in range(1, 16))
    assert "  and 10 more changed brokers" in plan_text(Plan("c", "d", {}, moves)).splitlines()


@pytest.mark.parametrize("steps", [True, False])
def test_all_of_a_plan_is_shown_although_it_moves_nothing_between_brokers(steps: bool) -> None:
    moves = tuple(LogMove("orders", TOPIC_ID, n, BrokerId(1), "/a", "/b", 1) for n in range(3))
    plan = Plan("c", "d", {}, (), log_moves=moves)
    lines = part_lines(plan, plan, everything=True, steps=steps)
    for text in (plan_text(plan, everything=True, steps=steps), drawn(lines)):
        assert all(f"orders-{n}" in text for n in range(3))


@given(plans())
def test_what_the_reasons_move_adds_up_to_what_the_head_says(plan: Plan) -> None:
    groups, cost = grouped(plan.moves), estimate(plan)
    assert sum(group.copies_bytes for group in groups) == cost.bytes
    assert sum(group.moves for group in groups) == len(plan.moves)
    assert sum(group.leaders for group in groups) == cost.leaders
    text = plan_text(plan)
    assert all(text.count(f"\n{group.reason}: ") == 1 for group in groups)


@given(plans(), st.integers(60, 200))
def test_colours_and_the_width_of_a_terminal_change_no_word(plan: Plan, width: int) -> None:
    lines = plan_lines(plan, everything=True)
    at_a_terminal = drawn(lines, width=width, colours=True)
    bare = re.sub("\x1b\\[[0-9]*m", "", at_a_terminal)
    assert bare.split() == drawn(lines).split()
    assert max(map(len, bare.splitlines())) <= width


def alike(partition: int, **of: int) -> Move:
    return move([1, 2], [1, 3], partition=partition, leader=1, size=of.get("size", GB))


def test_partitions_with_the_same_change_share_a_line_with_their_numbers_as_ranges() -> None:
    text = plan_text(Plan("c", "d", {}, tuple(alike(p) for p in (0, 1, 2, 3, 7))))
    assert "  orders  +3 -2  [1,2] -> [1,3]  5 GB  partitions 0-3, 7\n" in text


def test_the_lists_give_way_to_the_marks_where_they_differ() -> None:
    other = move([2, 1], [3, 1], partition=1, leader=1, size=GB)
    text = plan_text(Plan("c", "d", {}, (alike(0), other)))
    assert "  orders  +3 -2  2 GB  1 leader  partitions 0-1\n" in text


def test_what_changes_place_has_a_mark_of_its_own() -> None:
    plan = Plan("c", "d", {}, (move([1, 2, 4], [2, 1, 3], leader=1, size=GB),))
    assert "  orders  +3 -4 ~2 ~1  [1,2,4] -> [2,1,3]  1 GB  1 leader  partition 0\n" in (
        plan_text(plan)
    )


def test_a_partition_without_bytes_is_empty_where_every_broker_said_what_it_holds() -> None:
    seen = snapshot([state([1, 2])])
    unknown = replace(seen, silent=(BrokerId(2),))
    for found, said in ((seen, "empty"), (unknown, "size unknown, or empty")):
        made = make_plan(placement({"orders": [[1, 3]]}), found)
        assert loads(dumps(made), "p") == made
        for context in (PlanContext(), PlanContext(snapshot=found)):  # as `show` has it, and `plan`
            assert f"[1,2] -> [1,3]  {said}  partition 0\n" in plan_text(made, context)


def test_brokers_show_what_they_hold_before_at_most_and_after() -> None:
    seen = snapshot([state([1, 2], size=2 * GB), state([1, 3], partition=1, size=2 * GB)])
    made = make_plan(placement({"orders": [[1, 3], [1, 3]]}), seen)
    rows = plan_text(made, PlanContext(snapshot=seen)).splitlines()
    assert [" ".join(row.split()) for row in rows if row.endswith(("=", "+", "-"))] == [
        "2 b 2 GB 2 GB 0 B 0 1 -> 0 ---------------",
        "3 c 2 GB 4 GB 4 GB 0 1 -> 2 ===============+++++++++++++++",
    ]


def test_the_growth_of_a_replication_factor_is_to_be_looked_at_first() -> None:
    text = plan_text(Plan("c", "d", {}, (move([1, 2, 3], [1, 2, 3, 4], leader=1),)))
    head = text.partition("Look at this first:\n")[2]
    assert head.startswith("  More replicas than now: the replication factor grows: 1 ")


def test_a_control_character_in_a_name_reaches_no_terminal() -> None:
    cells = table([[Span("\x1b[31mred", Tone.COMES), "b\n"]])
    assert drawn(cells, colours=True) == "\x1b[32m\\u001b[31mred\x1b[0m  b\\u000a\n"


def test_a_line_goes_on_below_where_a_terminal_is_narrow() -> None:
    text = drawn([line("one two ", Span("three four", Tone.GOES), hang=2)], width=9, colours=True)
    assert text == "one two\n  \x1b[31mthree\x1b[0m\n  \x1b[31mfour\x1b[0m\n"


@pytest.mark.parametrize("width", [10, 16, 30])
def test_columns_beside_are_left_out_where_there_is_no_room(width: int) -> None:
    rows = table([["1 GB", "leaders", "====="]], indent=2, beside=2)
    whole = "  1 GB  leaders  ====="
    assert drawn(rows, width=width) == {10: whole[:6], 16: whole[:15], 30: whole}[width] + "\n"
