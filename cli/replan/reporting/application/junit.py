"""How `apply` ended as JUnit's XML, for the test reports of CI: a case for each partition, by topic."""

from xml.etree.ElementTree import Element, SubElement

from replan.applying.views.outcome import (
    LogMoveResult,
    Outcome,
    PartitionResult,
    Result,
    SettingResult,
)
from replan.model.names import TopicPartition
from replan.reporting.application.outcome_text import STOPPED, outcome_text
from replan.reporting.xml_text import xml_document


def outcome_junit(outcome: Outcome, name: str) -> str:
    """One suite: what was stopped or refused has failed, what is not over was skipped; ends with a newline."""
    suite = Element("testsuite", name=name)
    failed = skipped = 0
    for result in outcome.results:
        case = _case(suite, result)
        if result.result in STOPPED:
            failed += 1
            SubElement(case, "failure", type=result.result, message=result.message)
        elif result.result in {Result.RUNNING, Result.WAITING}:
            skipped += 1
            why = result.result if result.hold is None else str(result.hold)
            SubElement(case, "skipped", message=why)
    for refusal in outcome.refusals:
        failed += 1
        case = _named(suite, refusal.partition)
        SubElement(case, "failure", type=refusal.rule, message=str(refusal))
    SubElement(suite, "system-out").text = outcome_text(outcome)
    total = len(outcome.results) + len(outcome.refusals)
    suite.attrib |= {
        "tests": str(total),
        "failures": str(failed),
        "skipped": str(skipped),
        "errors": str(int(bool(outcome.error))),
    }
    root = Element("testsuites")
    root.append(suite)
    return xml_document(root)


def _case(suite: Element, result: PartitionResult | SettingResult | LogMoveResult) -> Element:
    match result:
        case PartitionResult(partition):
            return _named(suite, partition)
        case SettingResult(subject):
            group = subject.name
        case LogMoveResult(partition):
            group = partition.topic
    return SubElement(suite, "testcase", classname=group, name=str(result.subject))


def _named(suite: Element, partition: TopicPartition) -> Element:
    return SubElement(suite, "testcase", classname=partition.topic, name=str(partition))
