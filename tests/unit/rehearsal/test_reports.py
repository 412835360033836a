"""How a rehearsal is reported: text, markdown, JSON, a page; and the summary of a plan."""

import json
import re

import pytest
from msgspec.structs import replace
from tests.builders import brokers, placement, snapshot, state
from tests.unit.rehearsal.stages import MB, SEEN, faults_of, plan_of, rehearsed
from tests.unit.reporting.rendered import rehearsal_markdown, rehearsal_page, rehearsal_text

from replan.applying.api import HoldReason, NoLeader, NoSlot, Progress
from replan.model.api import BrokerId, TopicPartition
from replan.planning.api import dumps, make_plan
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
from replan.wording import signed

pytestmark = pytest.mark.slow

PLAN = plan_of([1, 2, 4], rate=None)
NAME = TopicPartition("orders", 0)
HOW = "`replan rehearse` rehearses all of it"


def report(*faults: str) -> Report:
    options = Options(faults=faults_of(*faults))
    return report_on(PLAN, options, rehearsed(PLAN, *faults))


def test_the_text_begins_with_whether_the_plan_completes() -> None:
    lines = rehearsal_text(report()).splitlines()
    assert re.fullmatch(r"Completes: 1 move in \d+ s; 1 GB copied\.", lines[0])
    assert lines[1] == ("Smallest ISR headroom: 1 (unchanged; orders-0: 3 in sync, min ISR 2).")
    assert lines[2] == "Never under min ISR, never without a leader."
    assert lines[5].split() == [
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
        "Assumed: network 100 MB/s per broker and direction; disks unlimited; "
        "produce rates as in the cluster file, if any."
    )


def test_the_text_says_what_a_fault_does_with_and_without_the_plan() -> None:
    lines = rehearsal_text(report("kill 1 at 5s for 1m")).splitlines()
    assert "  1  5.0 s  kill 1 at 5s for 1m" in lines
    assert lines[2] == (
        "With the plan: never under min ISR, 9.0 s without a leader; "
        "without it: never under min ISR, 9.0 s without a leader (summed over the partitions of the plan)."
    )


def test_a_fault_after_the_end_is_marked() -> None:
    lines = rehearsal_text(report("rebalance at 9h")).splitlines()
    assert "  1  9 h  rebalance at 9h (after the end)" in lines
    assert lines[2] == (
        "Never under min ISR, never without a leader, with the plan and without it."
    )


def test_a_refused_fault_has_the_words_of_the_controller() -> None:
    asked = "foreign reassign orders-0 [1,9] at 5s"
    words = (
        "39 INVALID_REPLICA_ASSIGNMENT: The manual partition assignment includes broker 9, "
        "but no such broker is registered."
    )
    found = report(asked, "foreign delete-topic nosuch at 0s", "kill 3 at 5s for 20s")
    lines = rehearsal_text(found).splitlines()
    assert f"  2  5.0 s  {asked} (Kafka refuses it: {words})" in lines
    assert any("nosuch at 0s (Kafka refuses it: 3 UNKNOWN_TOPIC_OR_PARTITION" in li for li in lines)
    assert "  3  5.0 s  kill 3 at 5s for 20s" in lines


def test_the_text_names_what_stopped() -> None:
    lines = rehearsal_text(report("kill 4 at 5s")).splitlines()
    assert lines[0].startswith("Does not complete: after 6 min 45 s, gave up")
    at = lines.index("Not done:")
    assert lines[at + 1] == "  running: orders-0: waiting until 4 is in sync; fenced: 4"


def with_runs(*seconds: float) -> Report:
    """A report with runs that took so long, their seeds counted from 10; without faults."""
    whole = report()
    runs = (replace(whole.rehearsal, seconds=s) for s in seconds)
    return replace(whole, runs=tuple(RandomRun(seed, run) for seed, run in enumerate(runs, 10)))


def test_random_runs_are_shown_as_a_distribution() -> None:
    lines = rehearsal_text(with_runs(*map(float, range(20, 40)))).splitlines()
    at = lines.index("Random faults:")
    assert lines[at + 1] == "  20 runs with random faults (seeds 10 to 29): 20 completed."
    assert lines[at + 2] == "  Smallest ISR headroom: 1 in 20 runs."
    assert lines[at + 3] == "  No run takes a partition of the plan under its min ISR."
    assert lines[-5].split() == ["least", "median", "p90", "most"]
    assert lines[-4].split() == ["duration", "20", "s", "30", "s", "37", "s", "39", "s"]


def test_the_worst_run_comes_with_the_seed_that_repeats_it() -> None:
    slow = with_runs(20.0, 90.0, 30.0)
    assert slow.worst == slow.runs[1]
    suffers = replace(slow.runs[2].rehearsal, harm=Harm(5.0, 0.0, 0))
    assert suffers.smallest_headroom is not None
    suffers = replace(suffers, smallest_headroom=replace(suffers.smallest_headroom, replicas=-1))
    harmed = replace(slow, runs=(*slow.runs[:2], RandomRun(12, suffers)))
    assert harmed.worst == harmed.runs[2]
    text = rehearsal_text(harmed)
    assert "  Smallest ISR headroom: -1 in 1 run, 1 in 2 runs." in text
    assert (
        "  Partitions of the plan fall under min ISR in 1 run (seed 12); without the plan in none of them."
    ) in text
    assert (
        "  Worst: seed 12 (30 s, headroom -1: no fault); show it with --seed 12 and without --runs."
        in text
    )
    failed = replace(harmed, runs=(*harmed.runs, RandomRun(61, report("kill 4 at 5s").rehearsal)))
    assert failed.worst == failed.runs[3]
    assert (
        "  Seed 61 does not complete (kill 4 at 5s): running: orders-0: waiting until 4 is in sync; fenced: 4"
    ) in rehearsal_text(failed)


def test_of_many_runs_that_do_not_complete_the_rest_is_counted() -> None:
    fails = report("kill 4 at 5s")
    runs = tuple(RandomRun(seed, fails.rehearsal) for seed in range(12))
    assert "  and 2 more incomplete runs" in rehearsal_text(replace(fails, runs=runs)).splitlines()


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


def test_the_markdown_has_its_loads_in_a_table() -> None:
    text = rehearsal_markdown(report("kill 1 at 5s for 1m"))
    assert text.startswith(f"## replan rehearse: {PLAN.cluster_id}\n\n**Completes: 1 move in ")
    assert "| broker | peak out | peak in | sent | received | disk peak | disk at end |" in text
    assert "| 1 | 5.0 s | `kill 1 at 5s for 1m` |" in text


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


def test_bytes_more_or_less_have_their_sign() -> None:
    assert [signed(n) for n in (0, 1_000, -1_000)] == ["0 B", "+1 kB", "-1 kB"]


def test_the_summary_of_a_plan_is_two_lines_and_always_the_same() -> None:
    lines = quick_rehearsal(PLAN, SEEN)[0]
    assert re.fullmatch(
        r"Rehearsed \(network 100 MB/s per broker, nothing produced\): \d+ s; peak 100 MB/s out of broker 1\.",
        lines[0],
    )
    assert lines[1].startswith("Smallest ISR headroom: 1")
    assert len(lines) == 2
    assert quick_rehearsal(PLAN, SEEN)[0] == lines
    assert dumps(PLAN) == dumps(plan_of([1, 2, 4], rate=None))


def test_other_topics_play_no_part_in_the_summary() -> None:
    others = [state([1, 2, 3], topic=t, size=MB) for t in ("a", "z")]
    seen = snapshot(
        [*others, state([1, 2, 3], size=1_000 * MB), state([2, 3, 1], partition=1, size=100 * MB)],
        registered=brokers(5),
    )
    assert quick_rehearsal(PLAN, seen)[0] == quick_rehearsal(PLAN, SEEN)[0]


def test_a_plan_that_does_nothing_has_no_summary() -> None:
    assert quick_rehearsal(plan_of([1, 2, 3]), SEEN)[0] == ()


def test_a_large_plan_is_estimated_by_a_coarser_model_and_says_so() -> None:
    states = [state([1, 2, 3], partition=p) for p in range(201)]
    seen = snapshot(states, registered=brokers(5))
    large = make_plan(placement({"orders": [[1, 2, 4]] * 201}), seen)
    lines = quick_rehearsal(large, seen)[0]
    assert lines[0].startswith("Estimated by a coarser model, as it has more than 200 moves; ")
    assert HOW in lines[0]
    assert lines[1].startswith("Smallest ISR headroom: 1 (unchanged; orders-0: ")
    assert len(lines) == 2


def test_a_plan_of_many_new_partitions_is_estimated() -> None:
    plan = make_plan(placement({"orders": [[1, 2, 4], [2, 3, 1], *[[1, 2, 3]] * PARTITIONS]}), SEEN)
    assert (len(plan.moves), len(plan.creates)) == (1, 1)
    assert quick_rehearsal(plan, SEEN)[0][0].startswith(
        "Estimated by a coarser model, as its topics have more than 5,000 partitions; "
    )


def test_a_plan_that_takes_very_long_is_estimated() -> None:
    seen = snapshot([state([1, 2, 3], size=10_000_000 * MB)], registered=brokers(5))
    lines = quick_rehearsal(plan_of([1, 2, 4], seen=seen, rate=MB), seen)[0]
    assert "takes very long" in lines[0]
    assert "10 TB out of broker 1 at 1 MB/s" in lines[0]
