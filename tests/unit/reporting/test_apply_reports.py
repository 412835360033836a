"""What CI and monitoring read of `apply`: JUnit's XML and Prometheus' text."""

import xml.etree.ElementTree as ET

from msgspec.structs import replace
from tests.unit.applying.test_cancelling import COPYING
from tests.unit.applying.three_moves import three_moves

from replan.applying.api import Ending, NewBrokerFenced, Outcome, PartitionResult, Result
from replan.errors import Exit
from replan.model.api import BrokerId, TopicPartition
from replan.planning.api import Refusal, RefusalRule
from replan.reporting.api import outcome_junit, render_application_prometheus

DONE, STALE, WAITING, REFUSED = (TopicPartition("orders", n) for n in range(4))
OUTCOME = Outcome(
    exit_code=Exit.REFUSED,
    ending=Ending.INTERRUPTED,
    results=(
        PartitionResult(DONE, Result.DONE),
        PartitionResult(STALE, Result.STALE, 'orders-1: planned from [1], found <[2]> & "more"'),
        PartitionResult(WAITING, Result.WAITING, hold=NewBrokerFenced(BrokerId(4))),
    ),
    refusals=(Refusal(*REFUSED, RefusalRule.NO_LEADER, {"inSync": (1,), "target": (1, 2)}),),
)


def test_every_partition_is_a_case_and_what_stopped_or_is_refused_has_failed() -> None:
    root = ET.fromstring(outcome_junit(OUTCOME, "replan payments"))  # noqa: S314 - our own text
    (suite,) = root
    counts = {k: suite.attrib[k] for k in ("tests", "failures", "skipped", "errors")}
    assert counts == {"tests": "4", "failures": "2", "skipped": "1", "errors": "0"}
    cases = {case.attrib["name"]: [child.tag for child in case] for case in suite.iter("testcase")}
    assert cases == {
        "orders-0": [],
        "orders-1": ["failure"],
        "orders-2": ["skipped"],
        "orders-3": ["failure"],
    }
    failure = next(suite.iter("failure"))
    assert failure.attrib["message"] == OUTCOME.results[1].message


def test_what_a_broker_says_is_xml_in_any_case() -> None:
    said = replace(OUTCOME.results[1], message="refused: \x00\x1b[31m \ud800")
    text = outcome_junit(replace(OUTCOME, results=(said,)), "replan payments")
    (failure, _) = ET.fromstring(text).iter("failure")  # noqa: S314 - our own text
    assert failure.attrib["message"] == "refused: \ufffd\ufffd[31m \ufffd"


def test_metrics_follow_the_progress_and_end_with_the_exit_code() -> None:
    made = three_moves()
    outcome = made.apply(stop=made.stop_at(COPYING))
    text = render_application_prometheus(made.reports[-1], outcome, 'odd"id', 1_700_000_000.4)
    samples = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    of = '{cluster_id="odd\\"id"'
    assert samples[f'replan_apply_partitions{of},state="running"}}'] == str(
        made.reports[-1].running
    )
    assert samples[f'replan_apply_exit_code{of},ending="interrupted"}}'] == "130"
    assert samples[f"replan_apply_running{of}}}"] == "0"
    assert samples[f"replan_apply_timestamp_seconds{of}}}"] == "1700000000"
    assert float(samples[f"replan_apply_copied_bytes{of}}}"]) > 0
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(names) == len(set(names))
