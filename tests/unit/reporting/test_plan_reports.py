"""A plan as text and as markdown."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.builders import brokers, listed_leader, move, placement, snapshot, state
from tests.goldens import check
from tests.readings import plan_text
from tests.unit.reporting.rendered import plan_markdown

from replan.model.api import Broker, BrokerId, MoveThrottle, TopicPartition, replicas
from replan.planning.api import (
    Plan,
    PlanWarning,
    Refusal,
    RefusalRule,
    WarningKind,
    digest,
    make_plan,
)
from replan.reporting.api import (
    LIMIT,
    SMALLEST,
    PlanContext,
    compare_plans,
    marker_of,
    render_steps,
    weight,
)

GOLDENS = Path(__file__).parent / "goldens"

pytestmark = pytest.mark.slow

GB = 10**9


def everything() -> Plan:
    """Each kind of move, of warning and of refusal."""
    states = [
        state([1, 2, 3], size=12 * GB),
        state([1, 2, 3], partition=1, size=3 * GB),
        state([1, 2], partition=2, leader=2),
        state([1, 2, 3], partition=3),
        state([1, 2], partition=4, size=GB),
        state([1, 9, 2], [1, 2], partition=5, size=GB),
        state([1, 2], partition=6),
        state([1], partition=7),
        state([1, 2, 5, 3], [1, 2, 3], partition=8, adding=[5], removing=[3]),
        state([2, 3], [2], leader=None, partition=9),
        state([1, 2, 3], topic="clicks"),
        state([1], [1], leader=None, topic="metrics"),
    ]
    return make_plan(
        placement(
            {
                "orders": {
                    0: [4, 5, 2],
                    1: [3, 1, 4],
                    2: [1, 2],
                    3: [1, 3],
                    4: [4, 1, 2],
                    5: [1, 4, 2],
                    6: [2, 1],
                    7: [1, 2, 3],
                    8: [1, 2, 4],
                    9: [2, 4],
                },
                "metrics": {0: [1]},
            },
            blacklist=[
                listed_leader(
                    1, topics=["clicks"], reason="disk at 92 % | <slow>", review_by="2026-11-01"
                )
            ],
            throttle=MoveThrottle(50_000_000, {BrokerId(4): 20_000_000, BrokerId(5): None}),
        ),
        snapshot(states, registered=brokers(5, fenced=[5]), unclean=["clicks"]),
    )


def large(count: int = 10_000) -> Plan:
    """Long names, a thousand refusals, and thousands of moves."""
    topic = "a-rather-long-name-of-a-topic." * 8
    return Plan(
        "c",
        "d",
        {},
        tuple(
            move([1, 2, 3], [4, 5, 6], partition=p, topic=topic, leader=1, size=GB)
            for p in range(count)
        ),
        refusals=tuple(
            Refusal(
                *TopicPartition(topic, p),
                RefusalRule.NO_LEADER,
                {"inSync": replicas(1), "target": (1, 2)},
            )
            for p in range(1000)
        ),
        warnings=tuple(
            PlanWarning(WarningKind.UNKNOWN_RACK, {"where": f"{topic}:{i}:1", "rack": "a"})
            for i in range(1000)
        ),
    )


def moves_alone(count: int) -> Plan:
    return Plan(
        "c", "d", {}, tuple(move([1, 2], [2, 1], partition=p, leader=1) for p in range(count))
    )


def test_each_kind_of_move_warning_and_refusal() -> None:
    made = everything()
    assert {r.rule for r in made.refusals} == {"safe-start", "running", "no-leader"}
    check(GOLDENS / "plan.txt", plan_text(made))
    check(GOLDENS / "plan.md", plan_markdown(made))


def test_nothing_to_do() -> None:
    made = make_plan(placement({"orders": [[1, 2]]}), snapshot([state([1, 2])]))
    check(GOLDENS / "nothing.txt", plan_text(made))
    check(GOLDENS / "nothing.md", plan_markdown(made))


def test_nothing_but_refusals() -> None:
    made = make_plan(placement({"orders": [[1, 2]]}), snapshot([state([1])]))
    check(GOLDENS / "refused.txt", plan_text(made))
    check(GOLDENS / "refused.md", plan_markdown(made))


def test_leaders_alone_need_no_throttle_and_say_nothing_of_one() -> None:
    asked = placement({"orders": [[1, 2]]}, throttle=MoveThrottle(10**6))
    text = plan_text(make_plan(asked, snapshot([state([1, 2], leader=2)])))
    check(GOLDENS / "leader.txt", text)


def test_a_plan_without_a_throttle_says_so() -> None:
    made = make_plan(placement({"orders": [[1, 3]]}), snapshot([state([1, 2])]))
    assert (
        "Copies run as fast as the brokers can (throttles.moves has no rate for them)"
        in plan_text(made)
    )
    assert (
        "No throttle is declared (throttles.moves): copies run as fast as the brokers can.\n"
        in render_steps(made)
    )


@pytest.mark.parametrize(
    ("throttle", "said"),
    [
        (MoveThrottle(10**6, keep=True), {"throttle.keep": (None, "true")}),
        (MoveThrottle(1_000_001), {"throttle.rate": ("1 MB/s", "1000001 B/s")}),
        (MoveThrottle(10**6, {BrokerId(3): 2**20}), {"throttle.brokers.3": (None, "1048576 B/s")}),
    ],
)
def test_plans_with_another_throttle_are_not_the_same(
    throttle: MoveThrottle, said: dict[str, tuple[str | None, str | None]]
) -> None:
    plan = Plan("C", "", {}, (move([1, 2], [1, 3]),), MoveThrottle(10**6))
    assert compare_plans(plan, replace(plan, throttle=throttle)).settings == said


def test_more_than_five_hundred_moves_are_counted_and_all_are_listed_when_asked() -> None:
    made = moves_alone(503)
    lines = plan_text(made, steps=True).splitlines()
    assert sum(line.startswith("orders-") for line in lines) == 500
    assert "and 3 more moves; save the plan with -o, `replan show --all PLAN` lists them" in lines
    complete = plan_text(made, everything=True, steps=True)
    assert sum(line.startswith("orders-") for line in complete.splitlines()) == 503
    assert "more move" not in complete


def test_refusals_are_counted_by_rule_and_the_first_five_hundred_are_listed() -> None:
    text = plan_text(large(1))
    assert "Refused (1,000 no-leader):\n" in text
    assert "\n  and 500 more\n" in text


def many_topics(count: int) -> Plan:
    """A plan whose names are not ASCII, so that bytes and characters differ."""
    moves = tuple(move([1, 2], [2, 3], topic=f"zahlungen-über-{t}", size=GB) for t in range(count))
    return Plan("c", "d", {BrokerId(b): "ä" for b in range(1, 500)}, moves)


@pytest.mark.parametrize("limit", [LIMIT, SMALLEST, 20_000])
@pytest.mark.parametrize(
    "made",
    [large, partial(large, 1), partial(moves_alone, 10_000), everything, partial(many_topics, 999)],
)
def test_markdown_fits_the_declared_size(made: Callable[[], Plan], limit: int) -> None:
    plan = made()
    text = plan_markdown(plan, limit=limit)
    assert weight(text) <= limit
    assert text.startswith(f"{marker_of('replan plan', plan.cluster_id)}\n## replan plan")
    assert digest(plan) in text
    assert text.count("<details>") == text.count("</details>")


def test_a_plan_of_very_many_moves_fits_a_comment() -> None:
    text = plan_markdown(moves_alone(20_000))
    assert weight(text) <= 60_000
    assert "20,000 moves" in text
    assert "… and 19,950 more." in text


def test_markdown_says_how_much_it_leaves_out() -> None:
    text = plan_markdown(many_topics(999))
    shown = text.count("<details><summary><code>")
    assert shown > 100
    assert f"… and {999 - shown:,} more topics with {999 - shown:,} moves, " in text
    assert f"{999 - shown} GB to copy: left out to fit, they are in the plan file." in text


def test_the_topic_that_copies_most_comes_first() -> None:
    small, big = move([1], [2], topic="a", size=GB), move([1], [2], topic="b", size=2 * GB)
    text = plan_markdown(Plan("c", "d", {}, (small, big)))
    assert text.index("<code>b</code>") < text.index("<code>a</code>")


def test_with_the_cluster_each_broker_has_its_bytes_before_at_most_and_after() -> None:
    seen = snapshot([state([1, 2], size=10 * GB)], registered=brokers(3))
    made = make_plan(placement({"orders": [[1, 3]]}), seen)
    text = plan_markdown(made, PlanContext(snapshot=seen, age_seconds=60.0))
    assert "| 2 | `b` | 10 GB | 10 GB | 0 B | 0 | 1 -> 0 |" in text
    assert "| 3 | `c` | 0 B | 10 GB | 10 GB | 0 | 0 -> 1 |" in text
    assert "1 broker unchanged" in text
    assert "from a snapshot that was 1 min old" in text


def test_a_name_cannot_end_the_marker_nor_a_fold() -> None:
    made = Plan("c --><b>", "d", {}, (move([1], [2], topic="</summary><b>"),))
    text = plan_markdown(made)
    assert text.splitlines()[0] == "<!-- replan plan c -_&gt;&lt;b&gt; -->"
    assert "<b>" not in re.sub("`[^`]*`", "", text)


def test_reasons_cannot_break_the_table() -> None:
    (row,) = [r for r in plan_markdown(everything()).splitlines() if "`clicks-0`" in r]
    assert r"disk at 92 % \| &lt;slow>" in row


def test_a_live_replica_that_cannot_be_named_is_said_to_be_dropped() -> None:
    seen = snapshot(
        [state([1, 2, 3])],
        registered=[Broker(BrokerId(b), cordoned=b == 3) for b in range(1, 6)],
    )
    text = render_steps(make_plan(placement({"orders": [[1, 2, 4]]}), seen))
    assert "copy to 4 (empty); no list may name 3, so Kafka drops it" in text
