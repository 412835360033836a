"""The page of a plan in a real browser: what is shown, filtered and counted, at the width of a desk and of a phone."""

from pathlib import Path

import pytest
from tests.browser.tools import DESKTOP, PHONE, opened, written
from tests.builders import brokers, move, placement, snapshot, state
from tests.unit.reporting.rendered import plan_page

from replan.model.api import BrokerId
from replan.planning.api import MoveReason, Plan, ReasonKind, make_plan
from replan.rehearsal.api import gantt, quick_rehearsal
from replan.reporting.api import PlanContext

pytestmark = pytest.mark.browser
GB = 10**9
ROWS = "#moves tbody tr"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """Two topics, six moves, with the cluster and a rehearsal."""
    states = [state([1, 2, 3], partition=p, size=2 * GB) for p in range(4)]
    states += [state([4, 5, 1], topic="clicks", partition=p, size=GB) for p in range(2)]
    seen = snapshot(states, registered=brokers(6))
    wanted = {"orders": [[1, 2, 6]] * 4, "clicks": [[5, 4, 1], [4, 5, 2]]}
    made = make_plan(placement(wanted), seen)
    lines, rehearsal = quick_rehearsal(made, seen)
    assert rehearsal is not None
    context = PlanContext(snapshot=seen, rehearsed=lines, timeline=gantt(rehearsal))
    return written(tmp_path, plan_page(made, context))


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_filters_show_and_count_what_they_choose(page: Path, viewport: dict[str, int]) -> None:
    seen = opened(
        page,
        ["text", "#shown"],
        ["fill", "#topic", "ord"],
        ["text", "#shown"],
        ["count", ROWS],
        ["fill", "#topic", ""],
        ["click", ".pick[data-broker='5']"],
        ["text", "#shown"],
        ["texts", f"{ROWS} td:first-child"],
        ["click", ".pick[data-broker='5']"],
        ["text", "#shown"],
        ["fill", "#broker", "6"],
        ["fill", "#topic", "nothing of this name"],
        ["text", "#shown"],
        ["width"],
        viewport=viewport,
    )
    *found, width = seen.found
    assert found == [
        "6 of 6 moves; 9 GB to copy",
        "4 of 6 moves; 8 GB to copy",
        4,
        "2 of 6 moves; 1 GB to copy",
        ["clicks-0", "clicks-1"],
        "6 of 6 moves; 9 GB to copy",
        "0 of 6 moves; 0 B to copy",
    ]
    assert width <= viewport["width"], (
        "the page itself scrolls down only; wide tables scroll inside"
    )


def test_brokers_are_shown_before_at_most_and_after_with_the_timeline(page: Path) -> None:
    cells = "#brokers tbody tr:has(.pick[data-broker='{}']) td"
    seen = opened(
        page, ["texts", cells.format(6)], ["texts", cells.format(3)], ["count", "svg .copy"]
    )
    six, three, copies = seen.found
    assert six[:7] == ["6", "a", "0 B", "8 GB", "8 GB", "0", "0 -> 4"]
    assert three[:7] == ["3", "c", "8 GB", "8 GB", "0 B", "0", "4 -> 0"]
    assert copies == 5


def test_the_keyboard_is_enough(page: Path) -> None:
    seen = opened(
        page,
        ["press", "/"],
        ["focused"],
        ["type", "clicks"],
        ["text", "#shown"],
        ["press", "Escape"],
        ["text", "#shown"],
        ["press", "Tab"],
        ["focused"],
    )
    assert seen.found == [
        "topic",
        "2 of 6 moves; 1 GB to copy",
        "6 of 6 moves; 9 GB to copy",
        "broker",
    ]


@pytest.mark.parametrize(("scheme", "paper"), [("light", "255, 255, 255"), ("dark", "20, 23, 29")])
def test_it_is_dark_or_light_as_it_is_read_and_as_it_is_chosen(
    page: Path, scheme: str, paper: str
) -> None:
    colour = ["style", "body", "backgroundColor"]
    seen = opened(
        page, colour, ["click", "#theme"], colour, ["click", "#theme"], colour, scheme=scheme
    )
    first, other, again = seen.found
    assert first == again == f"rgb({paper})"
    assert other != first


def test_controls_are_not_printed(page: Path) -> None:
    seen = opened(page, ["media", "print"], ["visible", "#filter"], ["visible", "#moves"])
    assert seen.found == [False, True]


def test_a_page_that_is_dark_is_printed_dark_on_white(page: Path) -> None:
    colours = ["style", "body", "backgroundColor"], ["style", "body", "color"]
    seen = opened(page, *colours, ["media", "print"], *colours, scheme="dark")
    assert seen.found == [
        "rgb(20, 23, 29)",
        "rgb(228, 232, 240)",
        "rgb(255, 255, 255)",
        "rgb(28, 35, 48)",
    ]


def test_paper_says_how_many_moves_are_not_on_it(tmp_path: Path) -> None:
    moves = tuple(move([1, 2], [2, 3], partition=p, size=GB) for p in range(300))
    seen = opened(
        written(tmp_path, plan_page(Plan("c", "d", {}, moves))),
        ["media", "print"],
        ["count", ROWS],
        ["visible", "#more"],
        ["text", "#more"],
    )
    assert seen.found == [200, True, "and 100 more"]


def test_what_others_call_things_is_text(tmp_path: Path) -> None:
    topic = "</script><img src=x onerror=alert(1)>"
    made = Plan(topic, "d", {}, (move([1, 2], [2, 3], topic=topic, size=GB),), cluster_name=topic)
    seen = opened(
        written(tmp_path, plan_page(made)),
        ["text", f"{ROWS} td:first-child"],
        ["text", "h1"],
        ["count", "img"],
    )
    assert seen.found == [f"{topic}-0", topic, 0]


def test_letters_that_reverse_a_line_are_seen_and_reverse_nothing(tmp_path: Path) -> None:
    why = MoveReason(ReasonKind.LEADER_BLACKLIST, BrokerId(1), note="\u202edrawkcab")
    made = Plan("c", "d", {}, (move([1, 2], [2, 1], size=GB, reason=why),))
    seen = opened(written(tmp_path, plan_page(made)), ["text", f"{ROWS} td:last-child"])
    assert "\\u202edrawkcab" in seen.found[0]
    assert "\u202e" not in seen.found[0]


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("topic", ["orders", "x" * 249], ids=["short", "longest"])
def test_all_of_a_move_is_in_sight(tmp_path: Path, topic: str, viewport: dict[str, int]) -> None:
    made = Plan("c", "d", {}, (move([1, 2], [2, 3], topic=topic, size=GB),))
    seen = opened(
        written(tmp_path, plan_page(made)),
        ["boxes", f"{ROWS} td"],
        ["boxes", ROWS],
        ["width"],
        viewport=viewport,
    )
    cells, (row,), page_width = seen.found
    assert len(cells) == 6
    assert all(cell["x"] + cell["width"] <= viewport["width"] for cell in cells)
    assert row["height"] < (110 if topic == "orders" else 250)
    assert page_width <= viewport["width"]


def test_a_hundred_thousand_moves_are_one_page_of_less_than_five_megabytes(tmp_path: Path) -> None:
    moves = tuple(
        move(
            [100 + p % 97, 300 + p % 89, 500 + p % 83],
            [200 + p % 79, 300 + p % 89, 600 + p % 73],
            partition=p % 1000,
            topic=f"topic-{p // 1000}",
            size=GB + p,
            leader=300 + p % 89,
        )
        for p in range(100_000)
    )
    text = plan_page(Plan("c", "d", {}, moves))
    assert len(text.encode()) < 5_000_000
    seen = opened(
        written(tmp_path, text),
        ["text", "#shown"],
        ["fill", "#topic", "topic-99"],
        ["text", "#shown"],
        ["count", ROWS],
        ["click", "#more"],
        ["count", ROWS],
    )
    assert seen.found[0] == "100,000 of 100,000 moves; 200 TB to copy"
    assert seen.found[1].startswith("1,000 of 100,000 moves; ")
    assert seen.found[2:] == [200, 400]
