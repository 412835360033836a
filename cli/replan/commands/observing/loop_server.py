"""What a loop serves by `--listen`: its page, its status, plans of its last rounds, metrics, and whether it turns."""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import partial
from http import HTTPStatus
from threading import Lock

from prometheus_client import (
    CollectorRegistry,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from replan.commands.observing.http_server import HttpResponse
from replan.model.snapshot import Snapshot
from replan.planning.plans.plan import Plan
from replan.planning.plans.plan_file import digest
from replan.reconciling.status import KEPT_ROUNDS, LoopState, LoopStatus, encode_status
from replan.reporting.loop.loop_metrics import LoopCounts, metrics_of
from replan.reporting.loop.loop_page import VIEW_PATH, policy, render_loop_page, render_view
from replan.reporting.loop.loop_view import PATIENCE_SECONDS, plan_path, silence_of
from replan.reporting.page import POLICY, html_document
from replan.reporting.plans.plan_context import PlanContext
from replan.reporting.plans.plan_report import plan_report

JSON = "application/json"
HTML = "text/html; charset=utf-8"
NOT_READY = frozenset({LoopState.STARTING, LoopState.UNREACHABLE, LoopState.ENDED})
"""It cannot do its work now. A loop that stands by, holds or waits for a person is ready: that is its work."""
KEPT_PLANS = KEPT_ROUNDS + 1


class LoopServer:
    """Keeps what was last said of a loop, and answers from that: an answer asks the loop for nothing."""

    def __init__(self, counts: LoopCounts) -> None:
        self.counts = counts
        self._lock = Lock()
        self._status: LoopStatus | None = None
        self._heard = time.monotonic()
        self._plans: OrderedDict[str, tuple[Plan, Snapshot | None]] = OrderedDict()
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(_StatusCollector(self))
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)

    def changed(self, status: LoopStatus) -> None:
        """A new status."""
        with self._lock:
            self._status, self._heard = status, time.monotonic()

    def planned(self, plan: Plan, snapshot: Snapshot | None) -> None:
        """A plan that a round applies; the last ones are kept, for their pages."""
        name = digest(plan)
        with self._lock:
            self._plans[name] = (plan, snapshot)
            self._plans.move_to_end(name)
            while len(self._plans) > KEPT_PLANS:
                self._plans.popitem(last=False)

    @property
    def status(self) -> LoopStatus | None:
        """The last one."""
        with self._lock:
            return self._status

    def respond(self, path: str) -> HttpResponse | None:
        """The answer for a path."""
        fixed: dict[str, Callable[[], HttpResponse]] = {
            "/": self._page,
            f"/{VIEW_PATH}": partial(self._of_status, render=self._view),
            "/status.json": partial(self._of_status, render=encode_status),
            "/metrics": self._metrics,
            "/healthz": self._health,
            "/readyz": self._ready,
            "/favicon.ico": lambda: HttpResponse(b"", status=HTTPStatus.NO_CONTENT),
        }
        answer = fixed.get(path)
        return self._plan(path) if answer is None else answer()

    def _page(self) -> HttpResponse:
        framed = f"{policy()}; frame-ancestors 'none'"
        headers = {"Content-Security-Policy": framed}
        return HttpResponse(render_loop_page().encode(), HTML, headers=headers)

    def _of_status(self, render: Callable[[LoopStatus], bytes]) -> HttpResponse:
        status = self.status
        if status is None:
            return _unavailable("It has said nothing yet.")
        return HttpResponse(render(status), JSON)

    def _view(self, status: LoopStatus) -> bytes:
        with self._lock:
            plans, silent = frozenset(self._plans), time.monotonic() - self._heard
        return render_view(status, status.at + silent, plans)

    def _metrics(self) -> HttpResponse:
        return HttpResponse(generate_latest(self._registry), CONTENT_TYPE_PLAIN_0_0_4)

    def _health(self) -> HttpResponse:
        """Whether the loop turns: it says something at each round, and every few seconds while it applies."""
        with self._lock:
            status, silent = self._status, time.monotonic() - self._heard
        most = PATIENCE_SECONDS if status is None else silence_of(status)
        if silent > most:
            return _unavailable(
                f"The loop has said nothing for {silent:.0f} s; more than {most:.0f} s is too long."
            )
        return HttpResponse(f"The loop turns; it said something {silent:.0f} s ago.\n".encode())

    def _ready(self) -> HttpResponse:
        status = self.status
        if status is None or status.state in NOT_READY:
            state = LoopState.STARTING if status is None else status.state
            return _unavailable(f"Not ready: {state.value}.")
        return HttpResponse(f"Ready: {status.state.value}.\n".encode())

    def _plan(self, path: str) -> HttpResponse | None:
        with self._lock:
            kept = next((p for n, p in self._plans.items() if path == f"/{plan_path(n)}"), None)
        if kept is None:
            return None
        plan, snapshot = kept
        text = html_document(plan_report(plan, PlanContext(snapshot=snapshot)))
        headers = {"Content-Security-Policy": f"{POLICY}; frame-ancestors 'none'"}
        return HttpResponse(text.encode(), HTML, headers=headers)


def _unavailable(text: str) -> HttpResponse:
    return HttpResponse(f"{text}\n".encode(), status=HTTPStatus.SERVICE_UNAVAILABLE)


class _StatusCollector(Collector):
    """Reads the metrics of the last status whenever they are asked for."""

    def __init__(self, server: LoopServer) -> None:
        self._server = server

    def collect(self) -> Iterator[Family]:
        """All families."""
        status = self._server.status
        if status is None:
            return
        for metric in metrics_of(status, self._server.counts):
            made = CounterMetricFamily if metric.counts else GaugeMetricFamily
            samples = list(metric.samples)
            family = made(metric.name, metric.help, labels=list(samples[0][0]) if samples else [])
            for labels, value in samples:
                family.add_metric(list(labels.values()), value)
            yield family
