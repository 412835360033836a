"""Annotations as forges and scanners read them: workflow commands, a code quality report, SARIF, JUnit.

Each follows the format of its reader, cited at its function. The same annotations give the same text.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from urllib.parse import quote
from xml.etree import ElementTree as ET

from replan.reporting.plans.annotations import Annotation, AnnotationLevel
from replan.reporting.xml_text import xml_document

TITLE = "replan"


def render_github(annotations: Sequence[Annotation]) -> str:
    """Workflow commands, one a line (GitHub: "Workflow commands for GitHub Actions", `error` and `warning`)."""
    return "".join(_command(annotation) for annotation in annotations)


def _command(annotation: Annotation) -> str:
    properties = {"title": f"{TITLE}: {annotation.rule}"}
    if annotation.where is not None:
        place = annotation.where
        properties = {
            "file": place.file,
            "line": str(place.line),
            "col": str(place.column),
            **properties,
        }
    named = ",".join(f"{key}={_escaped(value, ':,')}" for key, value in properties.items())
    return f"::{annotation.level} {named}::{_escaped(annotation.text)}\n"


def _escaped(text: str, more: str = "") -> str:
    for letter in "%\r\n" + more:
        text = text.replace(letter, f"%{ord(letter):02X}")
    return text


def render_gitlab(annotations: Sequence[Annotation], file: str) -> str:
    """A code quality report (GitLab: "Code Quality", the subset of Code Climate's format that it reads).

    `file`: where annotations are shown that have no place of their own.
    """
    severity: Mapping[AnnotationLevel, str] = {
        AnnotationLevel.ERROR: "major",
        AnnotationLevel.WARNING: "minor",
    }
    rows = []
    for annotation in annotations:
        path, line = file, 1
        if annotation.where is not None:
            path, line = annotation.where.file, annotation.where.line
        identity = json.dumps([annotation.rule, path, annotation.text])
        rows.append(
            {
                "description": annotation.text,
                "check_name": annotation.rule,
                "fingerprint": hashlib.sha256(identity.encode()).hexdigest(),
                "severity": severity[annotation.level],
                "location": {"path": path, "lines": {"begin": line}},
            }
        )
    return json.dumps(rows, indent=2) + "\n"


def render_sarif(annotations: Sequence[Annotation], version: str) -> str:
    """One run (OASIS, "Static Analysis Results Interchange Format", 2.1.0)."""
    rules = sorted({annotation.rule for annotation in annotations})
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
                "results": [
                    _sarif(annotation, rules.index(annotation.rule)) for annotation in annotations
                ],
            }
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def _sarif(annotation: Annotation, rule: int) -> Mapping[str, object]:
    result: dict[str, object] = {
        "ruleId": annotation.rule,
        "ruleIndex": rule,
        "level": annotation.level,
        "message": {"text": annotation.text},
    }
    if annotation.where is not None:
        place = annotation.where
        result["locations"] = [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(place.file)},
                    "region": {"startLine": place.line, "startColumn": place.column},
                }
            }
        ]
    return result


def annotations_junit(annotations: Sequence[Annotation]) -> str:
    """One test suite: a case for each annotation, failing where it is an error; one that passes where there is none.

    The elements that Jenkins, GitLab and GitHub's readers have in common.
    """
    failures = sum(annotation.level is AnnotationLevel.ERROR for annotation in annotations)
    counts = {"tests": str(max(1, len(annotations))), "failures": str(failures), "errors": "0"}
    suites = ET.Element("testsuites", counts)
    suite = ET.SubElement(suites, "testsuite", {"name": TITLE, **counts})
    for annotation in annotations:
        place = "" if annotation.where is None else str(annotation.where)
        names = {"classname": annotation.rule, "name": place or TITLE}
        if annotation.where is not None:
            names |= {"file": annotation.where.file, "line": str(annotation.where.line)}
        case = ET.SubElement(suite, "testcase", names)
        if annotation.level is AnnotationLevel.ERROR:
            ET.SubElement(case, "failure", {"message": annotation.text, "type": annotation.rule})
        else:
            ET.SubElement(case, "system-out").text = annotation.text
    if not annotations:
        ET.SubElement(suite, "testcase", {"classname": "replan", "name": TITLE})
    return xml_document(suites)
