"""What the page of a plan says without a browser; what its script does is in tests/browser."""

import re

from msgspec.structs import replace
from tests.builders import TOPIC_ID, lists, move
from tests.unit.reporting.rendered import plan_page

from replan.model.api import BrokerId, MoveThrottle
from replan.planning.api import Candidate, LogMove, Loss, Plan, Recovery, RecoveryMethod, Tail
from replan.reporting.api import PlanContext

TIMES = re.compile(
    r'<tr><td data-head="broker">(\d+)</td><td[^>]*>([^<]*)</td><td[^>]*>([^<]*)</td><td class="bars">'
)
NOTHING = Plan("c", "d", {BrokerId(1): "a"}, ())


def test_a_recovery_that_loses_records_is_the_first_thing_that_is_listed() -> None:
    lost = Recovery(
        topic="orders",
        number=7,
        topic_id=TOPIC_ID,
        original=lists(1, 2),
        order=lists(2, 1),
        method=RecoveryMethod.AGGRESSIVE,
        clean=False,
        leader_epoch=0,
        candidates=(Candidate(broker=BrokerId(1), alive=False), Candidate(broker=BrokerId(2))),
        loss=Loss.of((Tail(BrokerId(1), 500, 1500),)),
    )
    text = plan_page(replace(NOTHING, recoveries=(lost,)))
    assert "orders-7  no leader -&gt; 2" in text
    assert "Loses at least 1,000 records: those of broker 1 from offset 500 on" in text
    first = "<h2>Look at this first</h2>"
    assert (
        text.index("<h2>")
        == text.index(first)
        < text.index("Unclean elections lose records", text.index(first))
    )
    assert text.index(first) < text.index("<h2>Partitions without a leader (1)</h2>")


def test_replicas_that_change_their_log_directory_are_listed() -> None:
    moved = LogMove("orders", TOPIC_ID, 0, BrokerId(4), "/<a>", "/b", 20_000_000)
    text = plan_page(replace(NOTHING, log_moves=(moved,)))
    assert "orders-0</td>" in text
    assert "broker 4  /&lt;a&gt; -&gt; /b, 20 MB" in text


def test_a_plan_too_large_to_rehearse_shows_how_long_each_broker_copies_at_least() -> None:
    moves = tuple(move([1, 2], [2, 3], partition=p, size=50_000_000) for p in range(300))
    throttle = MoveThrottle(50_000_000, {BrokerId(3): 10_000_000})
    page = plan_page(replace(NOTHING, moves=moves, throttle=throttle))
    assert TIMES.findall(page) == [("3", "–", "25 min"), ("1", "5 min", "–")]
    assert "At least, by broker" not in plan_page(replace(NOTHING, moves=moves))
    unthrottled = plan_page(replace(NOTHING, moves=moves), PlanContext(network=100_000_000.0))
    assert "a network of 100 MB/s" in unthrottled
    assert TIMES.findall(unthrottled) == [
        ("1", "2 min 30 s", "–"),
        ("3", "–", "2 min 30 s"),
    ]
    drawn = PlanContext(timeline="<svg></svg>")
    assert "At least, by broker" not in plan_page(
        replace(NOTHING, moves=moves, throttle=throttle), drawn
    )


def test_on_a_phone_a_cell_that_says_what_it_is_has_no_head_in_front() -> None:
    moves = tuple(move([1, 2], [3, 2], partition=p, size=50_000_000) for p in range(2))
    page = plan_page(replace(NOTHING, moves=moves))
    assert re.search(r'<td data-head=""[^>]*>2 leaders</td>', page)
    assert re.search(r'<td data-head=""[^>]*>partitions 0[^<]*1</td>', page)
    assert re.search(r'<td data-head="copy"[^>]*>100 MB</td>', page)
