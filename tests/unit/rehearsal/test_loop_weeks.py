"""Rehearsed weeks of a loop: what a seed draws, what is summed up, and how it is said."""

import itertools
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from tests.builders import brokers, snapshot, state
from tests.unit.reconciling.test_loop import HOUR, LISTS, MB, RULE, at, cluster, reader

from replan.errors import Exit
from replan.faults.api import FaultContext
from replan.model.api import BrokerId, DeviationKind, Placement
from replan.reconciling.api import LoopPorts, LoopSettings
from replan.rehearsal.api import (
    LAST_PART,
    STRIDE_SECONDS,
    Drawn,
    InjectedFault,
    LoopRehearsal,
    LoopRun,
    Options,
    Release,
    WatchedLoop,
    drawn_weeks,
    fault_context,
    loop_outcome,
    loop_rehearsal_report,
    render_loop_rehearsal_json,
    run_loop,
    time_since_start,
    without_policy,
)
from replan.reporting.api import drawn, html_document, markdown_document, text_lines
from replan.simulator.api import KillBroker, LoseRequests, StartBroker, WriteKind, from_snapshot

DAY = 24 * HOUR
POLICY = "reconcile: {putRight: {brokerDown: 30m}}"
BY_LIST = f"assignments: {{orders: {{partitions: {[list(of) for of in LISTS]}}}}}"


@pytest.fixture(name="placement", scope="module")
def _placement(tmp_path_factory: pytest.TempPathFactory) -> Placement:
    return reader(tmp_path_factory.mktemp("placements"))(RULE, POLICY)


def months(placement: Placement, hours: float, *faults: object) -> tuple[LoopRun, LoopRun]:
    """With the loop, and with doing nothing."""
    schedule = tuple(f for of in faults for f in of)  # type: ignore[attr-defined]
    releases = [Release(0, placement)]
    acting = run_loop(cluster(), releases, hours * HOUR, schedule)
    return acting, run_loop(cluster(), without_policy(releases), hours * HOUR, schedule)


@pytest.fixture(name="report", scope="module")
def _report(placement: Placement) -> LoopRehearsal:
    """Broker 6 is away for good from the first hour, and 3 and 6, a rack, for an hour from the fifth."""
    faults = (
        *at(1, KillBroker(BrokerId(6))),
        *at(5, KillBroker(BrokerId(3))),
        *at(6, StartBroker(BrokerId(3))),
    )
    acting, idle = months(placement, 9, faults)
    return LoopRehearsal(
        cluster_id="MkU3OEVBNTcwNTJENDM2Qg",
        cluster_name="payments-eu",
        placement_digest="ab" * 32,
        policy=placement.reconcile,
        options=Options(version="4.3"),
        every_seconds=300,
        seed=None,
        faults=(InjectedFault(HOUR, None, "kill 6"), InjectedFault(5 * HOUR, 6 * HOUR, "kill 3")),
        acting=loop_outcome(acting),
        idle=loop_outcome(idle),
    )


def test_what_the_loop_puts_right_is_over_sooner_than_what_nobody_does(
    report: LoopRehearsal,
) -> None:
    [down] = [of for of in report.acting.kinds if of.kind is DeviationKind.BROKER_DOWN]
    [idle] = [of for of in report.idle.kinds if of.kind is DeviationKind.BROKER_DOWN]
    assert (down.by_rounds, down.left, down.found) == (1, 0, 2)
    assert (idle.by_rounds, idle.left, idle.found) == (0, 1, 2)
    assert 0.5 * HOUR <= down.longest_seconds < 2 * HOUR
    assert idle.longest_seconds == pytest.approx(8 * HOUR, abs=400)
    assert report.acting.copied_bytes == sum(6 in of for of in LISTS) * 100 * MB
    assert report.idle.copied_bytes == 0
    assert report.acting.lack.under_replicated < report.idle.lack.under_replicated


def test_each_hour_of_each_partition_without_a_replica_counts(report: LoopRehearsal) -> None:
    """3 of 6 partitions are on broker 6, which is fenced after 9 s and is away to the end."""
    alone = 3 * 8 * HOUR
    both = 3 * HOUR - sum({3, 6} <= set(of) for of in LISTS) * HOUR
    assert report.idle.lack.under_replicated == pytest.approx(alone + both, rel=0.01)


def test_the_picture_has_the_most_under_replicated_of_each_part(report: LoopRehearsal) -> None:
    """Broker 6 is away from the first of nine hours on; rack c from the fifth to the sixth."""
    alone, both = 3.0, float(sum(bool({3, 6} & set(of)) for of in LISTS))
    parts = len(report.idle.peaks)
    assert list(report.idle.peaks[: parts // 9]) == [0.0] * (parts // 9)
    assert {alone, both} == set(report.idle.peaks[parts // 9 + 1 :])
    assert report.acting.peaks[parts * 4 // 9] == 0
    shown = html_document(loop_rehearsal_report(report))
    assert shown.count(f", {both:.0f} at most") == 2
    assert "with doing nothing" in shown


def test_a_rack_that_is_down_holds_and_says_why(report: LoopRehearsal) -> None:
    held = {of.why: of for of in report.acting.held}
    assert set(held) == {"brokers-down", "racks-down"}
    assert held["racks-down"].times == 1
    assert held["racks-down"].seconds == pytest.approx(HOUR, abs=400)


def test_a_loop_that_is_at_rest_at_the_end_exits_0(report: LoopRehearsal) -> None:
    assert report.exit_code is Exit.OK


def test_a_loop_that_holds_at_the_end_exits_3(placement: Placement) -> None:
    faults = at(1, KillBroker(BrokerId(3)), KillBroker(BrokerId(6)))
    acting = loop_outcome(run_loop(cluster(), [Release(0, placement)], 3 * HOUR, faults))
    idle = loop_outcome(run_loop(cluster(), [Release(0, placement)], HOUR))
    made = LoopRehearsal("x", None, "", placement.reconcile, Options(), 300, None, (), acting, idle)
    assert made.exit_code is Exit.REFUSED


def test_all_forms_say_the_same(report: LoopRehearsal) -> None:
    text = drawn(text_lines(loop_rehearsal_report(report)))
    assert text.startswith(
        "9 h: 1 of 2 deviations put right in 1 round, 300 MB copied; at rest at the end.\n"
    )
    for form in (
        text,
        markdown_document(loop_rehearsal_report(report)),
        html_document(loop_rehearsal_report(report)),
    ):
        for said in ("a broker is down", "racks are down", "kill 6", "under-replicated"):
            assert said in form
    found = json.loads(render_loop_rehearsal_json(report))
    assert (found["kind"], found["formatVersion"]) == ("replan.reconcileRehearsal", 1)
    assert found["acting"]["copiedBytes"] == report.acting.copied_bytes
    assert found["acting"]["rounds"][0]["kinds"] == ["brokerDown"]
    assert 1.5 * HOUR <= found["acting"]["rounds"][0]["beganAt"] < 1.7 * HOUR
    assert found["doingNothing"]["kinds"][0]["left"] == 1


def test_moments_of_weeks_are_said_in_days() -> None:
    assert time_since_start(3 * DAY + 4.2 * HOUR) == "3 d 04:12"


def context(count: int = 60) -> FaultContext:
    states = [state(of, partition=i) for i, of in enumerate(LISTS)]
    return fault_context(from_snapshot(snapshot(states, registered=brokers(count, "abc")), "4.3"))


def test_a_seed_draws_the_same_again_and_another_one_something_else(placement: Placement) -> None:
    def drawn_by(seed: int) -> Drawn:
        return drawn_weeks(seed, 30 * DAY, placement, context())

    assert drawn_by(1) == drawn_by(1)
    assert drawn_by(1).faults != drawn_by(2).faults


def test_a_month_has_of_everything_that_happens(placement: Placement) -> None:
    found = drawn_weeks(3, 30 * DAY, placement, context())
    kinds = Counter(re.split(r" (?=\d|topic|rack|a |b |c )", f.text)[0] for f in found.faults)
    assert kinds["restart"] > 20
    assert kinds["kill"] >= 3
    assert {f.text.split()[0] for f in found.faults} == {"restart", "kill", "lose", "foreign"}
    assert all(f.at_seconds <= 30 * DAY * LAST_PART for f in found.faults)


def test_of_two_accidents_the_second_begins_once_the_first_is_over(placement: Placement) -> None:
    for seed in range(20):
        lasting = [
            f.schedule
            for f in drawn_weeks(seed, 9 * DAY, placement, context(6)).faults
            if len(f.schedule) > 1
        ]
        for before, after in itertools.pairwise(lasting):
            assert after[0].seconds > before[-1].seconds


def test_releases_drain_a_broker_and_give_it_back_or_change_a_list(
    placement: Placement, tmp_path: Path
) -> None:
    by_list = reader(tmp_path)(BY_LIST, POLICY)
    said: set[str] = set()
    for seed in range(8):
        for declared in (placement, by_list):
            found = drawn_weeks(seed, 30 * DAY, declared, context(6)).releases
            assert [r.at for r, _ in found] == sorted(r.at for r, _ in found)
            assert len({r.placement.digest for r, _ in found}) == len(found)
            said |= {re.sub(r"\d+", "N", text) for _, text in found}
    assert said == {
        "release: drains broker N",
        "release: broker N is back",
        "release: orders-N is [N, N, N]",
    }


def test_the_applier_looks_closely_when_a_lost_request_arrives_late(placement: Placement) -> None:
    looked = list[float]()

    def asleep(ports: LoopPorts, _settings: LoopSettings, _watched: WatchedLoop) -> None:
        """Sleeps of a second while nothing happens: as the first look, long before the request arrives, and then."""
        for moment in (0.0, HOUR, 2 * HOUR + 300):
            ports.clock.sleep(max(0.0, moment - ports.clock.now()))
            before = ports.clock.now()
            (ports.pace or ports.clock).sleep(1.0)
            looked.append(ports.clock.now() - before)

    lost = at(2, LoseRequests(WriteKind.REASSIGN, 1, 300.0))
    run_loop(cluster(), [Release(0, placement)], 3 * HOUR, lost, lives=asleep)
    assert looked == [1.0, STRIDE_SECONDS, 1.0]
