"""The page of a loop that runs on the simulator while a broker dies: it differs, acts, and is at rest again."""

import threading
from functools import partial
from pathlib import Path

import pytest
from tests.browser.tools import DESKTOP, NARROW, opened
from tests.unit.reconciling.test_loop import HOUR, RULE, at, cluster, reader

from replan.commands.api import ListenAddress, LoopServer, serving
from replan.model.api import BrokerId, Snapshot
from replan.planning.api import Plan
from replan.reconciling.api import LoopState, LoopStatus, Proposal
from replan.rehearsal.api import Release, run_loop
from replan.reporting.api import LoopCounts
from replan.simulator.api import KillBroker

pytestmark = pytest.mark.browser


class Paced:
    """Lets the loop wait in each state until the page has shown it: virtual time is too quick for eyes."""

    def __init__(self, server: LoopServer) -> None:
        self._server = server
        self.wanted = [LoopState.WAITING, LoopState.ACTING]
        self.reached, self.shown = threading.Event(), threading.Event()

    def changed(self, status: LoopStatus) -> None:
        """Serve it, and wait where a browser is to look."""
        self._server.changed(status)
        self._server.counts.add(status)
        copies = () if status.running is None else status.running.copies
        ready = status.state is not LoopState.ACTING or any(c.copied_bytes for c in copies)
        if self.wanted and status.state is self.wanted[0] and ready:
            self.wanted.pop(0)
            self.reached.set()
            assert self.shown.wait(60)
            self.shown.clear()

    def planned(self, plan: Plan, snapshot: Snapshot) -> None:
        """Serve its page."""
        self._server.planned(plan, snapshot)

    def proposed(self, proposal: Proposal) -> None:
        """Nobody looks at it."""

    def until_reached(self) -> None:
        """Until the loop waits in the next state."""
        assert self.reached.wait(60)
        self.reached.clear()


@pytest.mark.parametrize(
    ("viewport", "scheme"), [(DESKTOP, "light"), (NARROW, "dark")], ids=["wide", "narrow"]
)
def test_a_broker_that_dies_is_seen_waited_for_and_replaced(
    tmp_path: Path, viewport: dict[str, int], scheme: str
) -> None:
    opened_as = partial(opened, viewport=viewport, scheme=scheme)
    placement = reader(tmp_path)(
        RULE, "throttles: {moves: {rate: 1MB/s}}", "reconcile: {putRight: {brokerDown: 30m}}"
    )
    server = LoopServer(LoopCounts())
    paced = Paced(server)
    loop = threading.Thread(
        target=run_loop,
        args=(cluster(), [Release(0, placement)], 6 * HOUR, at(1, KillBroker(BrokerId(6)))),
        kwargs={"also": paced},
    )
    with serving(ListenAddress("127.0.0.1", 0), server.respond) as url:
        loop.start()
        paced.until_reached()
        waits = opened_as(
            url,
            ["await", ".badge.changes"],
            ["texts", ".badge, section:nth-of-type(2) .wide:first-of-type tbody td:first-child"],
            ["text", "section:nth-of-type(2) .wide:nth-of-type(2) tbody tr td:last-child"],
        )
        paced.shown.set()
        paced.until_reached()
        acts = opened_as(
            url,
            ["await", "dd meter"],
            ["width"],
            ["texts", "#state, h2"],
            ["count", "section:nth-of-type(2) tbody tr"],
            ["click", "section:nth-of-type(2) a"],
            ["text", "title"],
            ["texts", "h1"],
            ["count", "#moves tbody tr"],
        )
        paced.shown.set()
        loop.join(120)
        assert not loop.is_alive()
        ended = opened_as(
            url,
            ["await", "section:nth-of-type(3) a"],
            ["texts", "section:nth-of-type(3) tbody td:nth-child(4)"],
            ["texts", "section:nth-of-type(2) p"],
        )
    assert waits.found == [["waits", "a broker is down"], "has not lasted long enough"]
    width, headings, copies, title, names, moves = acts.found
    assert headings == [
        "acts",
        "It applies",
        "What differs",
        "The last rounds that did something",
    ]
    assert width <= viewport["width"]
    assert copies > 0
    assert title.startswith("replan plan")
    assert names == ["MkU3OEVBNTcwNTJENDM2Qg"]  # the cluster has no other name
    assert moves == 3
    assert ended.found == [["done"], ["Nothing."]]
