"""How a rehearsal is reported: text, markdown, JSON, a page; and the summary of a plan."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.builders import brokers, placement, snapshot, state
from tests.goldens import check_cases
from tests.unit.rehearsal.stages import MB, SEEN, faults_of, plan_of, rehearsed
from tests.unit.reporting.rendered import rehearsal_markdown, rehearsal_page, rehearsal_text

from replan.applying.api import HoldReason, NoLeader, NoSlot, Progress
from replan.model.api import BrokerId, Snapshot, TopicPartition
from replan.planning.api import Plan, dumps, make_plan
from replan.rehearsal.api import (
    PARTITIONS,
    Copied,
    Harm,
    Options,
    RandomRun,
    Report,
    ReportedWaits,
    Waited,
    lanes,
    quick_rehearsal,
    render_rehearsal_json,
    report_on,
    tick_seconds,
)
from replan.reporting.api import Mark, axis, script_of

pytestmark = pytest.mark.slow

PLAN = plan_of([1, 2, 4], rate=None)
NAME = TopicPartition("orders", 0)


def report(*faults: str) -> Report:
    options = Options(faults=faults_of(*faults))
    return report_on(PLAN, options, rehearsed(PLAN, *faults))


def with_runs(*seconds: float) -> Report:
    """A report with runs that took so long, their seeds counted from 10; without faults."""
    whole = report()
    runs = (replace(whole.rehearsal, seconds=s) for s in seconds)
    return replace(whole, runs=tuple(RandomRun(seed, run) for seed, run in enumerate(runs, 10)))


def worse(whole: Report) -> Report:
    """The same, but in its last run partitions fall under min ISR."""
    harmed = replace(whole.runs[-1].rehearsal, harm=Harm(5.0, 0.0, 0))
    assert harmed.smallest_headroom is not None
    harmed = replace(harmed, smallest_headroom=replace(harmed.smallest_headroom, replicas=-1))
    return replace(whole, runs=(*whole.runs[:-1], RandomRun(whole.runs[-1].seed, harmed)))


def test_the_worst_run_is_the_slowest_unless_one_harms_or_does_not_complete() -> None:
    slow = with_runs(20.0, 90.0, 30.0)
    assert slow.worst == slow.runs[1]
    harmed = worse(slow)
    assert harmed.worst == harmed.runs[2]
    failed = replace(harmed, runs=(*harmed.runs, RandomRun(61, report("kill 4 at 5s").rehearsal)))
    assert failed.worst == failed.runs[3]


def summaries() -> Iterator[tuple[str, Plan, Snapshot]]:
    yield "a summary", PLAN, SEEN
    seen = snapshot([state([1, 2, 3], partition=p) for p in range(201)], registered=brokers(5))
    large = make_plan(placement({"orders": [[1, 2, 4]] * 201}), seen)
    yield "a summary of many moves", large, seen
    grown = placement({"orders": [[1, 2, 4], [2, 3, 1], *[[1, 2, 3]] * PARTITIONS]})
    yield "a summary of many new partitions", make_plan(grown, SEEN), SEEN
    seen = snapshot([state([1, 2, 3], size=10_000_000 * MB)], registered=brokers(5))
    long = plan_of([1, 2, 4], seen=seen, rate=MB)
    yield "a summary of what takes very long", long, seen


def test_reports_and_summaries_are_as_the_golden_file_has_them() -> None:
    fails = report("kill 4 at 5s")
    refused = ("foreign reassign orders-0 [1,9] at 5s", "foreign delete-topic nosuch at 0s")
    harmed = worse(with_runs(20.0, 90.0, 30.0))
    reports = {
        "no fault": report(),
        "a broker that dies": report("kill 1 at 5s for 1m"),
        "a fault after the end": report("rebalance at 9h"),
        "faults that Kafka refuses": report(*refused, "kill 3 at 5s for 20s"),
        "what does not complete": fails,
        "random runs": with_runs(*map(float, range(20, 40))),
        "random runs of which two are bad": replace(
            harmed, runs=(*harmed.runs, RandomRun(61, fails.rehearsal))
        ),
        "random runs that do not complete": replace(
            fails, runs=tuple(RandomRun(seed, fails.rehearsal) for seed in range(12))
        ),
    }
    cases = [(title, rehearsal_text(of)) for title, of in reports.items()]
    cases += [("markdown", rehearsal_markdown(reports["a broker that dies"]))]
    cases += [(title, "\n".join(quick_rehearsal(plan, of)[0])) for title, plan, of in summaries()]
    check_cases(Path(__file__).parent / "goldens" / "reports.txt", cases)
    assert dumps(PLAN) == dumps(plan_of([1, 2, 4], rate=None))


def test_every_form_has_the_distribution_and_the_worst_seed() -> None:
    runs = with_runs(*map(float, range(20, 40)))
    assert "| duration | 20 s | 30 s | 37 s | 39 s |" in rehearsal_markdown(runs)
    page = rehearsal_page(runs)
    spread = (("least", "20 s"), ("median", "30 s"), ("p90", "37 s"), ("most", "39 s"))
    assert "".join(f'<td data-head="{head}">{text}</td>' for head, text in spread) in page
    assert '<td data-head="seed">29</td><td data-head="duration">39 s</td>' in page
    assert "1 of 20 runs: 20 s to 21 s" in page
    found = json.loads(render_rehearsal_json(runs))["spread"]
    assert found == {
        "completed": 20,
        "seconds": {"least": 20.0, "median": 29.5, "p90": 37.0, "most": 39.0},
        "smallestHeadroom": [{"replicas": 1, "runs": 20}],
        "underMinIsr": [],
        "worstSeed": 29,
    }


def test_each_wait_has_the_reason_of_the_one_that_waited_longest() -> None:
    waits = ReportedWaits()
    first, second = TopicPartition("orders", 1), TopicPartition("orders", 2)
    looks: list[tuple[float, dict[TopicPartition, HoldReason]]] = [
        (0.0, {first: NoSlot(BrokerId(4), 5, 5), second: NoSlot(BrokerId(5), 5, 5)}),
        (9.0, {first: NoLeader()}),
    ]
    for at, holds in looks:
        waits(Progress(at, 2, 0, 0, 0, 2, holds=holds, now=at))
    (longest, *_) = waits.by_kind({}, 20.0)
    assert longest == Waited(NoSlot(BrokerId(5), 5, 5), 2, second, 20.0)


def test_the_document_holds_everything_in_numbers() -> None:
    found = json.loads(render_rehearsal_json(report("kill 1 at 5s for 1m")))
    assert found["kind"] == "replan.rehearsal"
    assert found["completes"] is True
    assert found["rehearsal"]["smallestHeadroom"]["partition"] == "orders-0"
    assert found["rehearsal"]["copies"][0]["broker"] == 4
    assert found["rehearsal"]["absent"][0]["began"] == 5.0
    assert found["assumed"]["diskBytesPerSecond"] is None


def test_the_page_stands_alone_and_escapes_what_people_wrote() -> None:
    faulty = report("kill 4 at 5s for 1m", "foreign config topic <b> delete key at 9h")
    text = rehearsal_page(faulty)
    assert "://" not in text
    assert "default-src 'none'" in text
    assert "url(" not in text
    assert (
        '<td data-head="fault" class="left prose">foreign config topic &lt;b&gt; delete key at 9h (after the end)</td>'
        in text
    )
    assert text.count('<rect class="copy"') == 1
    assert text.count('<rect class="away"') == 1
    assert text.count('<line class="fault"') == 1
    assert text.count('<line class="lasts"') == 1
    assert "prefers-color-scheme: dark" in text
    assert re.findall("<script[^>]*>", text) == ["<script>"]
    assert script_of() in text


def test_no_label_of_a_time_axis_passes_the_right_edge() -> None:
    labels = axis([Mark(500.0, "1 min"), Mark(988.0, "10 min 24 s")], 14)
    assert labels == (
        '<text class="time" x="500.0" y="14">1 min</text>'
        '<text class="time last" x="988.0" y="14">10 min 24 s</text>'
    )


def test_the_headroom_over_time_begins_at_the_start_and_reaches_the_smallest() -> None:
    found = report("kill 4 at 1s for 5s", "kill 3 at 2s for 20s").rehearsal
    moments = [of.at_seconds for of in found.headroom]
    assert moments[0] == 0.0
    assert moments == sorted(set(moments))
    assert found.smallest_headroom is not None
    assert min(of.replicas for of in found.headroom) == found.smallest_headroom.replicas
    pairs = zip(found.headroom, found.headroom[1:], strict=False)
    assert all(one.replicas != other.replicas for one, other in pairs)
    page = rehearsal_page(report("kill 3 at 2s for 20s"))
    assert "<h2>ISR headroom</h2>" in page


def test_copies_that_overlap_have_lanes_of_their_own() -> None:
    def copy(began: float, in_sync: float | None) -> Copied:
        return Copied(NAME, None, BrokerId(4), 0, began, in_sync)

    first, second, third = copy(0, 10), copy(5, None), copy(10, 20)
    assert lanes([first, second, third], 30) == [[first, third], [second]]


def test_the_time_axis_has_round_marks() -> None:
    assert [tick_seconds(total) for total in (5, 29, 400, 80_000)] == [1.0, 5.0, 120.0, 14_400.0]
    assert tick_seconds(10_000_000) > 86_400


def test_other_topics_play_no_part_in_the_summary() -> None:
    others = [state([1, 2, 3], topic=t, size=MB) for t in ("a", "z")]
    seen = snapshot(
        [*others, state([1, 2, 3], size=1_000 * MB), state([2, 3, 1], partition=1, size=100 * MB)],
        registered=brokers(5),
    )
    assert quick_rehearsal(PLAN, seen)[0] == quick_rehearsal(PLAN, SEEN)[0]


def test_a_plan_that_does_nothing_has_no_summary() -> None:
    assert quick_rehearsal(plan_of([1, 2, 3]), SEEN)[0] == ()
