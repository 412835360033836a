"""The page of a loop in a real browser: what it shows, that it follows its loop, and hears its silence."""

from collections.abc import Iterator

import pytest
from tests.browser.tools import DESKTOP, NARROW, PHONE, opened
from tests.unit.reporting.loop_statuses import HOSTILE, NOW, acting, at_rest, holding

from replan.commands.api import HttpResponse, ListenAddress, LoopServer, serving
from replan.reporting.api import VIEW_PATH, LoopCounts, render_view

pytestmark = pytest.mark.browser
ANY = ListenAddress("127.0.0.1", 0)


@pytest.fixture
def server() -> LoopServer:
    return LoopServer(LoopCounts())


@pytest.fixture
def url(server: LoopServer) -> Iterator[str]:
    with serving(ANY, server.respond) as url:
        yield url


@pytest.mark.parametrize("viewport", [DESKTOP, NARROW, PHONE], ids=["desktop", "narrow", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_a_loop_does_is_shown_as_text(
    server: LoopServer, url: str, viewport: dict[str, int], scheme: str
) -> None:
    server.changed(acting())
    seen = opened(
        url,
        ["await", "html[data-ready]"],
        ["text", "h1"],
        ["text", "#state"],
        ["texts", "h2"],
        ["count", "img"],
        ["texts", "section:nth-of-type(3) .wide:nth-of-type(2) tbody td:first-child"],
        ["visible", "#lost"],
        ["width"],
        viewport=viewport,
        scheme=scheme,
    )
    name = HOSTILE.replace("\u202e", "\\u202e")
    title, state, parts, images, subjects, lost, width = seen.found
    assert title == f"eu {name}"
    assert state == "acts"
    assert parts == ["It applies", "What differs", "The last rounds that did something"]
    assert images == 0
    assert subjects[:3] == ["orders-7", "ledger-0", f"{name}-0"]
    assert not lost
    assert width <= viewport["width"]


def test_what_happened_to_several_in_a_row_is_said_once(server: LoopServer, url: str) -> None:
    server.changed(acting())
    of_each = "section:nth-of-type(3) .wide:nth-of-type(2) tbody td:nth-child(2)"
    seen = opened(url, ["await", "html[data-ready]"], ["texts", of_each])
    first, second, third, *_ = seen.found[0]
    assert (first, second) == ("a broker is down", "")
    assert third not in {first, ""}


def test_the_page_follows_its_loop(server: LoopServer) -> None:
    server.changed(at_rest())

    def respond(path: str) -> HttpResponse | None:
        """After the first view the loop holds."""
        found = server.respond(path)
        if path == f"/{VIEW_PATH}":
            server.changed(holding())
        return found

    with serving(ANY, respond) as url:
        seen = opened(
            url,
            ["await", ".badge.comes"],
            ["text", "#text"],
            ["await", ".badge.goes"],
            ["texts", "#reasons li"],
        )
    assert seen.found == [
        "The cluster is as its placement says.",
        ["2 brokers of 6 are down (3, 4); it holds from 2 on (hold.brokersDown)."],
    ]


def test_a_loop_that_says_nothing_is_called_so(server: LoopServer) -> None:
    def respond(path: str) -> HttpResponse | None:
        late = render_view(at_rest(), NOW + 3600, frozenset())
        return (
            HttpResponse(late, "application/json")
            if path == f"/{VIEW_PATH}"
            else server.respond(path)
        )

    with serving(ANY, respond) as url:
        seen = opened(url, ["await", "#lost:not([hidden])"], ["text", "#lost"])
    assert seen.found == ["The loop has said nothing for 60 min; it hangs, or has ended."]
