"""Refusals and warnings at the lines that cause them, in the forms of their readers."""

import json
from html import unescape
from xml.etree import ElementTree as ET

import pytest
from msgspec.structs import replace
from tests.builders import FILE, brokers, placement, snapshot, state
from tests.readings import plan_text
from tests.unit.reporting.rendered import plan_markdown, plan_page

from replan.errors import BadUsage, Exit, ReplanError
from replan.model.api import (
    Acknowledgement,
    Limit,
    Measure,
    MistakenPlacement,
    OwnApplication,
    Placement,
    Spread,
    TopicPartition,
    TopicRule,
    Where,
    replicas,
)
from replan.placement_file.api import Source, fastest_parser, read_sources
from replan.planning.api import Plan, dumps, make_plan
from replan.reporting.api import (
    Annotation,
    AnnotationLevel,
    annotations_junit,
    error_annotations,
    plan_annotations,
    render_github,
    render_gitlab,
    render_sarif,
)

ODD = "\x1b50 %: a, b\r\nnext <line> & \u2028"
FINDINGS = [
    Annotation(AnnotationLevel.ERROR, "no-leader", Where("a,b:c.yaml", 7, 5), ODD),
    Annotation(AnnotationLevel.WARNING, "leaderless", None, "no place"),
]


def refused(made: Plan, asked: Placement) -> list[Annotation]:
    """The findings but for the conflicts behind them."""
    return [f for f in plan_annotations(made, asked) if f.rule != "conflict"]


def test_what_the_open_application_moves_is_its_own_in_every_form() -> None:
    """Whoever reads that another tool holds a partition cancels it, or waits for nobody."""
    asked = placement({"orders": [[1, 3]]})
    running = snapshot([state([1, 2, 3], adding=[2, 3], removing=[1])])
    own = OwnApplication("a-1", "ann", True, {TopicPartition("orders", 0): replicas(2, 3)})
    for known, rule in ((own, "own-running"), (None, "running")):
        made = make_plan(asked, replace(running, application=known))
        forms = [
            plan_text(made),
            plan_markdown(made),
            plan_page(made),
            render_github(plan_annotations(made, asked)),
        ]
        said = unescape(" ".join(forms)).count("replan's own reassignment to")
        assert said == (len(forms) if known else 0)
        assert [r["rule"] for r in json.loads(dumps(made))["refusals"]] == [rule]
        assert made.left_out is Exit.HELD


def test_refusals_of_one_entry_are_one_finding_at_its_line() -> None:
    asked = placement({"orders": [[1, 2]] * 3})
    made = make_plan(asked, snapshot([state([1], partition=p) for p in range(3)]))
    found = refused(made, asked)
    assert [(f.level, f.rule, f.where) for f in found] == [
        (AnnotationLevel.ERROR, "safe-start", Where(FILE, line, 5)) for line in (3, 4, 5)
    ]
    one_line = placement({"orders": {0: [1, 2]}})
    beyond = make_plan(
        placement({"orders": [[1, 2]] * 3}), snapshot([state([1], partition=p) for p in range(3)])
    )
    grouped = refused(beyond, one_line)
    assert [f.where for f in grouped] == [Where(FILE, 3, 5), Where(FILE, 2, 3)]
    assert grouped[1].text.endswith("; and 1 more partition")


def test_a_conflict_is_shown_at_the_first_of_its_places_and_names_all() -> None:
    at = {"replicationFactor": Where(FILE, 5, 5), "spread": Where(FILE, 6, 5)}
    rule = TopicRule(
        Where(FILE, 4, 3), "orders", replication_factor=4, spread=Spread.RACK, places=at
    )
    asked = placement(rules={"orders": rule})
    made = make_plan(asked, snapshot([state([1, 2, 3])], registered=brokers(3)))
    (found,) = [f for f in plan_annotations(made, asked) if f.rule == "conflict"]
    assert (found.level, found.where) == (AnnotationLevel.ERROR, at["replicationFactor"])
    assert found.text == (
        "orders-0: impossible while all of these hold: it needs 4 brokers, and 3 can hold it; "
        f"replicationFactor: 4 ({FILE}:5:5)"
    )


def test_a_list_that_declares_fewer_partitions_is_shown_at_its_entry() -> None:
    asked = placement({"orders": [[1, 2]]}, limits={})
    made = make_plan(asked, snapshot([state([1, 2]), state([1, 2], partition=1)]))
    assert [(f.level, f.rule, f.where) for f in plan_annotations(made, asked)] == [
        (AnnotationLevel.ERROR, "fewer-partitions", Where(FILE, 2, 3))
    ]


def test_a_warning_is_shown_at_its_entry() -> None:
    asked = placement(
        {"orders": [[1, 2]]},
        acknowledged=[Acknowledgement("none", None, Where(FILE, 8, 3), "x", "2027-01-01")],
    )
    made = make_plan(asked, snapshot([state([1, 2])]))
    assert [(f.level, f.rule, f.where) for f in plan_annotations(made, asked)] == [
        (AnnotationLevel.WARNING, "matches-nothing", Where(FILE, 8, 3))
    ]


def test_every_mistake_of_the_file_and_every_exceeded_limit_has_its_line() -> None:
    with pytest.raises(MistakenPlacement) as mistaken:
        read_sources(
            [Source("p.yaml", "version: 1\nlimits: {bytes: x}\nnone: 1\n")], fastest_parser()
        )
    assert [f.where and f.where.line for f in error_annotations(mistaken.value)] == [2, 3]
    limit = Limit(Measure.PARTITIONS, Where(FILE, 9, 3), 0)
    with pytest.raises(ReplanError) as exceeded:
        make_plan(
            placement({"orders": [[2, 1]]}, limits={Measure.PARTITIONS: limit}),
            snapshot([state([1, 2])]),
        )
    (found,) = error_annotations(exceeded.value)
    assert (found.rule, found.where) == ("limit", limit.where)
    assert [f.where for f in error_annotations(BadUsage("why"))] == [None]


def test_workflow_commands_are_one_line_each() -> None:
    assert render_github(FINDINGS) == (
        "::error file=a%2Cb%3Ac.yaml,line=7,col=5,title=replan%3A no-leader::"
        "\x1b50 %25: a, b%0D%0Anext <line> & \u2028\n"
        "::warning title=replan%3A leaderless::no place\n"
    )


def test_a_code_quality_report_has_a_place_for_each_and_stable_fingerprints() -> None:
    rows = json.loads(render_gitlab(FINDINGS, "placement.yaml"))
    assert [(r["severity"], r["location"]) for r in rows] == [
        ("major", {"path": "a,b:c.yaml", "lines": {"begin": 7}}),
        ("minor", {"path": "placement.yaml", "lines": {"begin": 1}}),
    ]
    assert len({r["fingerprint"] for r in rows}) == 2
    assert json.loads(render_gitlab(FINDINGS[1:], "placement.yaml"))[0] == rows[1]
    assert json.loads(render_gitlab([], "placement.yaml")) == []


def test_sarif_names_its_rules_and_points_at_them() -> None:
    (run,) = json.loads(render_sarif(FINDINGS, "1.2.3"))["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert [rules[r["ruleIndex"]] for r in run["results"]] == ["no-leader", "leaderless"]
    region = run["results"][0]["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 7, "startColumn": 5}
    place = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": "a%2Cb%3Ac.yaml"}
    assert "locations" not in run["results"][1]


@pytest.mark.parametrize(("findings", "failures", "cases"), [(FINDINGS, 1, 2), ([], 0, 1)])
def test_junit_fails_where_something_is_not_planned(
    findings: list[Annotation], failures: int, cases: int
) -> None:
    root = ET.fromstring(annotations_junit(findings).encode())  # noqa: S314 - it is our own
    assert root.attrib == {"tests": str(cases), "failures": str(failures), "errors": "0"}
    assert len(root.findall("testsuite/testcase")) == cases
    assert len(root.findall("testsuite/testcase/failure")) == failures
