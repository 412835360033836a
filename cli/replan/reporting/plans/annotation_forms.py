"""Findings as forges and scanners read them: workflow commands, a code quality report, SARIF, JUnit.

Each follows the format of its reader, cited at its function. The same findings give the same text.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from urllib.parse import quote
from xml.etree import ElementTree as ET

from replan.reporting.plans.annotations import Annotation, AnnotationLevel
from replan.reporting.xml_text import xml_document

TITLE = "replan"


def render_github(findings: Sequence[Annotation]) -> str:
    """Workflow commands, one a line (GitHub: "Workflow commands for GitHub Actions", `error` and `warning`)."""
    return "".join(_command(finding) for finding in findings)


def _command(finding: Annotation) -> str:
    properties = {"title": f"{TITLE}: {finding.rule}"}
    if finding.where is not None:
        place = finding.where
        properties = {
            "file": place.file,
            "line": str(place.line),
            "col": str(place.column),
            **properties,
        }
    named = ",".join(f"{key}={_escaped(value, ':,')}" for key, value in properties.items())
    return f"::{finding.level} {named}::{_escaped(finding.text)}\n"


def _escaped(text: str, more: str = "") -> str:
    for letter in "%\r\n" + more:
        text = text.replace(letter, f"%{ord(letter):02X}")
    return text


def render_gitlab(findings: Sequence[Annotation], file: str) -> str:
    """A code quality report (GitLab: "Code Quality", the subset of Code Climate's format that it reads).

    `file`: where findings are shown that have no place of their own.
    """
    severity: Mapping[AnnotationLevel, str] = {
        AnnotationLevel.ERROR: "major",
        AnnotationLevel.WARNING: "minor",
    }
    rows = []
    for finding in findings:
        path, line = file, 1
        if finding.where is not None:
            path, line = finding.where.file, finding.where.line
        identity = json.dumps([finding.rule, path, finding.text])
        rows.append(
            {
                "description": finding.text,
                "check_name": finding.rule,
                "fingerprint": hashlib.sha256(identity.encode()).hexdigest(),
                "severity": severity[finding.level],
                "location": {"path": path, "lines": {"begin": line}},
            }
        )
    return json.dumps(rows, indent=2) + "\n"


def render_sarif(findings: Sequence[Annotation], version: str) -> str:
    """One run (OASIS, "Static Analysis Results Interchange Format", 2.1.0)."""
    rules = sorted({finding.rule for finding in findings})
    document = {
        "version": "2.1.0",
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "replan",
                        "version": version,
                        "rules": [{"id": rule} for rule in rules],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_sarif(finding, rules.index(finding.rule)) for finding in findings],
            }
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def _sarif(finding: Annotation, rule: int) -> Mapping[str, object]:
    result: dict[str, object] = {
        "ruleId": finding.rule,
        "ruleIndex": rule,
        "level": finding.level,
        "message": {"text": finding.text},
    }
    if finding.where is not None:
        place = finding.where
        result["locations"] = [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(place.file)},
                    "region": {"startLine": place.line, "startColumn": place.column},
                }
            }
        ]
    return result


def annotations_junit(findings: Sequence[Annotation]) -> str:
    """One test suite: a case for each finding, which fails where it is an error; one that passes where there is none.

    The elements that Jenkins, GitLab and GitHub's readers have in common.
    """
    failures = sum(finding.level is AnnotationLevel.ERROR for finding in findings)
    counts = {"tests": str(max(1, len(findings))), "failures": str(failures), "errors": "0"}
    suites = ET.Element("testsuites", counts)
    suite = ET.SubElement(suites, "testsuite", {"name": TITLE, **counts})
    for finding in findings:
        place = "" if finding.where is None else str(finding.where)
        names = {"classname": finding.rule, "name": place or TITLE}
        if finding.where is not None:
            names |= {"file": finding.where.file, "line": str(finding.where.line)}
        case = ET.SubElement(suite, "testcase", names)
        if finding.level is AnnotationLevel.ERROR:
            ET.SubElement(case, "failure", {"message": finding.text, "type": finding.rule})
        else:
            ET.SubElement(case, "system-out").text = finding.text
    if not findings:
        ET.SubElement(suite, "testcase", {"classname": "replan", "name": TITLE})
    return xml_document(suites)
