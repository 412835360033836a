"""How a rehearsal is told: text, markdown, JSON, a page; and the two lines of a plan."""

import json
import re
from dataclasses import replace

from tests.builders import brokers, placement, snapshot, state
from tests.unit.rehearsal.stages import MB, SEEN, plan_of, rehearsed

from replan.model.names import BrokerId, TopicPartition
from replan.planning.plan_file import dumps
from replan.planning.planner import make_plan
from replan.rehearsal.document import render_rehearsal_json
from replan.rehearsal.essence import essence_of
from replan.rehearsal.faults import parse_fault
from replan.rehearsal.gantt import lanes, tick_seconds
from replan.rehearsal.markdown import render_rehearsal_markdown
from replan.rehearsal.options import Options
from replan.rehearsal.page import render_rehearsal_page
from replan.rehearsal.report import Chanced, Report, report_on
from replan.rehearsal.result import Copied
from replan.rehearsal.text import render_rehearsal, signed

PLAN = plan_of([1, 2, 4], rate=None)
NAME = TopicPartition("orders", 0)
HOW = "`replan rehearse` tells how long it takes and how loaded the brokers are."


def report(*faults: str) -> Report:
    options = Options(faults=tuple(parse_fault(f) for f in faults))
    return report_on(PLAN, options, rehearsed(PLAN, *faults))


def test_the_text_begins_with_whether_it_arrives() -> None:
    lines = render_rehearsal(report()).splitlines()
    assert re.fullmatch(r"It arrives: 1 move in \d+ s; 1 GB copied\.", lines[0])
    assert lines[1] == (
        "Lowest margin over min ISR: 1, as in the beginning (orders-0: 3 in sync, min ISR 2)."
    )
    assert lines[4].split() == [
        "broker",
        "peak",
        "out",
        "peak",
        "in",
        "sent",
        "received",
        "disk",
        "peak",
        "disk",
        "at",
        "end",
    ]
    assert lines[-2] == (
        "Assumed: network 100 MB/s a broker and direction; disks as fast as needed; "
        "produce rates as in the cluster file, if any."
    )


def test_the_text_of_a_fault_tells_what_it_does_with_and_without_the_plan() -> None:
    lines = render_rehearsal(report("kill 1 at 5s for 1m")).splitlines()
    assert "      5.0 s  kill 1 at 5s for 1m"[1:] in lines
    assert (
        "  With the plan: never under min ISR, 9.0 s without a leader. "
        "The same faults without it: never under min ISR, 9.0 s without a leader."
    ) in lines


def test_the_text_of_what_does_not_arrive_names_what_stopped() -> None:
    lines = render_rehearsal(report("kill 4 at 5s")).splitlines()
    assert lines[0].startswith("It does not arrive: after 1 h")
    assert lines[1] == "  running: orders-0: waiting until 4 is in sync; fenced: 4"


def test_runs_by_chance_are_told_as_a_distribution_and_failures_by_seed() -> None:
    whole = report()
    runs = tuple(
        Chanced(seed, replace(whole.rehearsal, seconds=float(seed))) for seed in (10, 20, 60)
    )
    failed = Chanced(61, report("kill 4 at 5s").rehearsal)
    text = render_rehearsal(replace(whole, runs=(*runs, failed)))
    assert "  4 runs with faults by chance (seeds 10 to 61): 3 arrive." in text
    assert "  duration: min 10 s, median 40 s, max 1 h 0 min" in text.replace(
        "1 h 1 min", "1 h 0 min"
    )
    assert (
        "  seed 61 does not arrive (kill 4 at 5s): running: orders-0: waiting until 4 is in sync; fenced: 4"
    ) in text


def test_the_markdown_has_its_loads_in_a_table() -> None:
    text = render_rehearsal_markdown(report("kill 1 at 5s for 1m"))
    assert text.startswith("## replan rehearse\n\n**It arrives: 1 move in ")
    assert "| broker | peak out | peak in | sent | received | disk peak | disk at end |" in text
    assert "- `kill 1 at 5s for 1m`" in text


def test_the_document_holds_everything_in_numbers() -> None:
    found = json.loads(render_rehearsal_json(report("kill 1 at 5s for 1m")))
    assert found["kind"] == "replan.rehearsal"
    assert found["arrives"] is True
    assert found["rehearsal"]["lowest"]["partition"] == "orders-0"
    assert found["rehearsal"]["copies"][0]["broker"] == 4
    assert found["rehearsal"]["absent"][0]["began"] == 5.0
    assert found["assumed"]["diskBytesPerSecond"] is None


def test_the_page_stands_alone_and_escapes_what_people_wrote() -> None:
    faulty = report("kill 4 at 5s for 1m", "unset topic <b> key at 9h")
    text = render_rehearsal_page(faulty)
    assert "<script" not in text
    assert "http" not in text
    assert "url(" not in text
    assert "<li>unset topic &lt;b&gt; key at 9h (after the end)</li>" in text
    assert text.count('<rect class="copy"') == 1
    assert text.count('<rect class="away"') == 1
    assert text.count('<line class="fault"') == 1
    assert "prefers-color-scheme: dark" in text


def test_copies_that_overlap_have_lanes_of_their_own() -> None:
    def copy(began: float, in_sync: float | None) -> Copied:
        return Copied(NAME, None, BrokerId(4), 0, began, in_sync)

    first, second, third = copy(0, 10), copy(5, None), copy(10, 20)
    assert lanes([first, second, third], 30) == [[first, third], [second]]


def test_the_time_axis_has_round_marks() -> None:
    assert [tick_seconds(total) for total in (5, 29, 400, 80_000)] == [1.0, 5.0, 120.0, 14_400.0]
    assert tick_seconds(10_000_000) > 86_400


def test_bytes_more_or_less_have_their_sign() -> None:
    assert [signed(n) for n in (0, 1_000, -1_000)] == ["0 B", "+1 kB", "-1 kB"]


def test_the_essence_of_a_plan_is_two_lines_and_always_the_same() -> None:
    lines = essence_of(PLAN, SEEN)
    assert re.fullmatch(
        r"Rehearsed \(network 100 MB/s a broker, nobody produces\): \d+ s; peak 100 MB/s out of broker 1\.",
        lines[0],
    )
    assert lines[1].startswith("Lowest margin over min ISR: 1")
    assert len(lines) == 2
    assert essence_of(PLAN, SEEN) == lines
    assert dumps(PLAN) == dumps(plan_of([1, 2, 4], rate=None))


def test_other_topics_play_no_part_in_the_essence() -> None:
    others = [state([1, 2, 3], topic=t, size=MB) for t in ("a", "z")]
    seen = snapshot(
        [*others, state([1, 2, 3], size=1_000 * MB), state([2, 3, 1], partition=1, size=100 * MB)],
        registered=brokers(5),
    )
    assert essence_of(PLAN, seen) == essence_of(PLAN, SEEN)


def test_a_plan_that_does_nothing_has_no_essence() -> None:
    assert essence_of(plan_of([1, 2, 3]), SEEN) == ()


def test_a_large_plan_is_not_rehearsed_and_says_so() -> None:
    states = [state([1, 2, 3], partition=p) for p in range(201)]
    seen = snapshot(states, registered=brokers(5))
    large = make_plan(placement({"orders": [[1, 2, 4]] * 201}), seen)
    (line,) = essence_of(large, seen)
    assert line == f"Not rehearsed here, as it has more than 200 moves: {HOW}"


def test_a_plan_that_takes_very_long_is_not_rehearsed_to_the_end() -> None:
    seen = snapshot([state([1, 2, 3], size=10_000_000 * MB)], registered=brokers(5))
    (line,) = essence_of(plan_of([1, 2, 4], seen=seen, rate=MB), seen)
    assert line == f"Not rehearsed to the end, as it takes very long: {HOW}"
