"""How `apply` ended as JUnit's XML, for the test reports of CI: a case for each partition, by topic."""

from xml.etree.ElementTree import Element, SubElement

from replan.applying.views.outcome import Outcome, Result, SettingResult
from replan.reporting.application.outcome_text import STOPPED, outcome_text
from replan.reporting.xml_text import xml_document


def outcome_junit(outcome: Outcome, name: str) -> str:
    """One suite: what was stopped or refused has failed, what is not over was skipped; ends with a newline."""
    suite = Element("testsuite", name=name)
    failed = skipped = 0
    for result in outcome.results:
        group = result.subject.name if isinstance(result, SettingResult) else result.partition.topic
        case = _case(suite, group, result.subject)
        if result.result in STOPPED:
            failed += 1
            SubElement(case, "failure", type=result.result, message=result.message)
        elif result.result in {Result.RUNNING, Result.WAITING}:
            skipped += 1
            why = result.result if result.hold is None else str(result.hold)
            SubElement(case, "skipped", message=why)
    for refusal in outcome.refusals:
        failed += 1
        case = _case(suite, refusal.partition.topic, refusal.partition)
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


def _case(suite: Element, group: str, subject: object) -> Element:
    return SubElement(suite, "testcase", classname=group, name=str(subject))
