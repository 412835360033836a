"""What a loop serves: whether it turns and is ready, its metrics as Prometheus reads them, its plans, for its page."""

import json

import msgspec
import pytest
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families
from tests.builders import brokers, placement, snapshot, state
from tests.unit.reporting.loop_statuses import HOSTILE, NOW, acting, at_rest, holding

from replan.commands.api import KEPT_PLANS, HttpResponse, LoopServer
from replan.planning.api import Plan, digest, make_plan
from replan.reconciling.api import LoopState, LoopStatus, Next
from replan.reporting.api import LoopCounts, policy, silence_of


@pytest.fixture
def server() -> LoopServer:
    return LoopServer(LoopCounts())


def answer(server: LoopServer, path: str) -> HttpResponse:
    found = server.respond(path)
    assert found is not None
    return found


def test_before_a_loop_has_said_anything_it_is_alive_and_not_ready(server: LoopServer) -> None:
    assert answer(server, "/healthz").status == 200
    for path in ("/readyz", "/view.json", "/status.json"):
        assert answer(server, path).status == 503
    assert b"replan_reconcile" not in answer(server, "/metrics").body
    assert server.respond("/plans/.html") is None
    assert server.respond("/../etc/passwd") is None


@pytest.mark.parametrize("state", LoopState)
def test_a_loop_that_holds_or_stands_by_is_ready_for_it_does_its_work(
    server: LoopServer, state: LoopState
) -> None:
    server.changed(msgspec.structs.replace(at_rest(), state=state))
    away = {LoopState.STARTING, LoopState.UNREACHABLE, LoopState.ENDED}
    assert answer(server, "/readyz").status == (503 if state in away else 200)
    assert state.value in answer(server, "/readyz").body.decode()


def test_a_loop_may_be_silent_for_its_rest_and_a_slow_round() -> None:
    resting = at_rest()
    assert silence_of(resting) == 298 + 600
    backing_off = msgspec.structs.replace(resting, next=Next(NOW + 3600))
    assert silence_of(backing_off) == 3600 + 600
    assert silence_of(msgspec.structs.replace(resting, next=None)) == 300 + 600


def test_metrics_are_what_prometheus_reads(server: LoopServer) -> None:
    for status in (at_rest(), acting(), holding()):
        server.changed(status)
        server.counts.add(status)
        text = answer(server, "/metrics").body.decode()
        families = {f.name: f for f in text_string_to_metric_families(text)}
        states = {s.labels["state"]: s.value for s in families["replan_reconcile_state"].samples}
        assert states[status.state.value] == sum(states.values()) == 1
        (info,) = families["replan_reconcile_info"].samples
        assert info.labels["cluster_name"] == status.cluster_name
        assert "process_resident_memory_bytes" in families
        assert "replan_reconcile_rounds_total" in text
    assert HOSTILE in acting().cluster_name


def test_the_status_is_served_whole(server: LoopServer) -> None:
    server.changed(acting())
    found = answer(server, "/status.json")
    assert found.content_type == "application/json"
    assert msgspec.json.decode(found.body, type=LoopStatus) == acting()
    document = json.loads(found.body)
    assert (document["kind"], document["formatVersion"]) == ("replan.reconcile", 1)


def plan_of(target: int) -> Plan:
    seen = snapshot([state([1, 2])], registered=brokers(4))
    return make_plan(placement({"orders": [[1, target]]}), seen)


def test_plans_of_the_last_rounds_have_pages_which_the_view_links(server: LoopServer) -> None:
    plan = plan_of(3)
    server.planned(plan, None)
    done = msgspec.structs.replace(acting().rounds[0], plan_digest=digest(plan))
    server.changed(msgspec.structs.replace(acting(), rounds=(done,)))
    shown = json.loads(answer(server, "/view.json").body)
    (row,) = shown["blocks"][-1]["tables"][0]["rows"]
    (link,) = [c for c in row if isinstance(c, dict) and c["type"] == "link"]
    page = answer(server, f"/{link['path']}")
    assert b"replan plan" in page.body
    assert "script-src 'unsafe-inline'" in page.headers["Content-Security-Policy"]
    assert "connect-src" not in page.headers["Content-Security-Policy"]
    assert answer(server, "/").headers["Content-Security-Policy"].startswith(policy())


def test_old_plans_are_forgotten(server: LoopServer) -> None:
    first = plan_of(3)
    server.planned(first, None)
    others = [replace(first, cluster_name=f"c{number}") for number in range(KEPT_PLANS)]
    for plan in others:
        server.planned(plan, None)
    assert server.respond(f"/plans/{digest(first)}.html") is None
    assert server.respond(f"/plans/{digest(others[-1])}.html") is not None
