"""examples/reconcile: what is watched is what is served, and what runs is as hardened as it says."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from tests.unit.reporting.loop_statuses import acting, at_rest

from replan.commands.api import LoopServer
from replan.model.api import DeviationKind
from replan.reconciling.api import LoopState, RoundResult
from replan.reporting.api import PERSON, LoopCounts

FILES = Path(__file__).parents[2] / "examples" / "reconcile"
RULES: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((FILES / "alerts.yaml").read_text())["groups"]
    for rule in group["rules"]
]
DASHBOARD: dict[str, Any] = json.loads((FILES / "grafana-dashboard.json").read_text())
QUERIES = {
    **{rule["alert"]: rule["expr"] for rule in RULES},
    **{f"{p['title']} {t['refId']}": t["expr"] for p in DASHBOARD["panels"] for t in p["targets"]},
}
LABELS = {
    "state": {state.value for state in LoopState} | {"done", "running", "waiting", "stopped"},
    "kind": {kind.value for kind in DeviationKind} | {PERSON},
    "result": {result.value for result in RoundResult},
}
"""The values that a label may have."""


@pytest.fixture(scope="module")
def served() -> set[str]:
    """Names of all samples that a loop serves."""
    server = LoopServer(LoopCounts())
    names = set[str]()
    for status in (at_rest(), acting()):
        server.changed(status)
        answer = server.respond("/metrics")
        assert answer is not None
        families = text_string_to_metric_families(answer.body.decode())
        names |= {sample.name for family in families for sample in family.samples}
    return names


def selectors(query: str) -> Iterator[promql_parser.VectorSelector]:
    """What a query reads."""
    found = list[promql_parser.VectorSelector]()

    def visit(part: object) -> None:
        if isinstance(part, promql_parser.VectorSelector):
            found.append(part)
        if isinstance(part, promql_parser.MatrixSelector):
            found.append(part.vector_selector)

    promql_parser.walk(promql_parser.parse(query), visit)
    yield from found


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_is_promql_and_reads_what_is_served(name: str, served: set[str]) -> None:
    read = list(selectors(QUERIES[name].replace("$instance", "a:1").replace("$__range", "1d")))
    assert read
    assert {selector.name for selector in read} <= served
    for selector in read:
        for matcher in selector.matchers.matchers:
            if matcher.name in LABELS:
                assert set(matcher.value.split("|")) <= LABELS[matcher.name]


def test_each_rule_says_what_it_is_and_how_urgent() -> None:
    assert len({rule["alert"] for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert rule["annotations"].keys() == {"summary", "description"}
        assert re.fullmatch(r"\d+[smhd]", rule.get("for", "0s"))


def test_the_dashboard_is_one_that_grafana_loads() -> None:
    assert DASHBOARD["uid"] == "replan-reconcile"
    assert DASHBOARD["schemaVersion"] >= 36
    assert "__inputs" not in DASHBOARD, "the data source is a variable: nothing is asked at import"
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
    variables = {variable["name"] for variable in DASHBOARD["templating"]["list"]}
    taken = set[tuple[int, int]]()
    for panel in DASHBOARD["panels"]:
        assert panel["datasource"]["uid"] == "${datasource}"
        assert panel["type"] in {"stat", "timeseries", "state-timeline"}
        assert panel["title"]
        assert panel["description"]
        used = set(re.findall(r"\$(\w+)", json.dumps(panel["targets"])))
        assert used - {"__range"} <= variables
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, f"{panel['title']} lies over another panel"
        taken |= cells


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
def test_the_unit_is_one_that_systemd_runs(tmp_path: Path) -> None:
    text = (FILES / "replan-reconcile.service").read_text()
    assert text.count("/opt/replan/bin/replan ") == 1
    unit = tmp_path / "replan-reconcile.service"
    unit.write_text(text.replace("/opt/replan/bin/replan ", "/bin/true "))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def pods() -> dict[str, dict[str, Any]]:
    """The pod of each file."""
    deployment, _ = yaml.safe_load_all((FILES / "kubernetes" / "deployment.yaml").read_text())
    (job,) = yaml.safe_load_all((FILES / "kubernetes" / "cronjob.yaml").read_text())
    return {
        "deployment": deployment["spec"]["template"]["spec"],
        "cronjob": job["spec"]["jobTemplate"]["spec"]["template"]["spec"],
    }


@pytest.mark.parametrize("name", ["deployment", "cronjob"])
def test_a_pod_is_nobody_and_writes_nothing_but_its_own_folders(name: str) -> None:
    pod = pods()[name]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    for container in (*pod["initContainers"], *pod["containers"]):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert "memory" in container["resources"]["limits"]
        assert all("valueFrom" not in entry for entry in container.get("env", ()))
        for mount in container["volumeMounts"]:
            if "secret" in volumes[mount["name"]]:
                assert mount["readOnly"]
    (replan,) = pod["containers"]
    mounts = {mount["mountPath"]: mount for mount in replan["volumeMounts"]}
    assert mounts["/checkout"]["readOnly"]
    named = [
        word.partition("=")[2].lstrip("@")
        for word in replan["args"]
        if "=/" in word or "=@/" in word
    ]
    named += [e["value"] for e in replan["env"] if e.get("value", "").startswith("/")]
    assert named
    for path in named:
        assert any(path == at or path.startswith(f"{at}/") for at in mounts), path


def test_probes_ask_what_is_served() -> None:
    pod = pods()["deployment"]
    (replan,) = pod["containers"]
    server = LoopServer(LoopCounts())
    server.changed(at_rest())
    for probe in ("livenessProbe", "readinessProbe"):
        answer = server.respond(replan[probe]["httpGet"]["path"])
        assert answer is not None
        assert answer.status == 200
        assert replan[probe]["httpGet"]["port"] == "http"
    (port,) = replan["ports"]
    assert f"--listen=:{port['containerPort']}" in replan["args"]
