"""The site in a real browser: diagrams are drawn, the search finds, and nothing comes from elsewhere."""

from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path

import pytest
from tests.browser.tools import DESKTOP, PHONE, opened
from tests.docs.pages import TOP
from tests.docs.snippets import blocks
from tests.http_servers import served

pytestmark = pytest.mark.browser
SITE = TOP / "site"
BOX = "input.md-search__input"
DRAWN = sorted({Path(block.page).stem for block in blocks("mermaid")})


class Quiet(SimpleHTTPRequestHandler):
    """Gives files, and says nothing of it."""

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The address of the site."""
    assert (SITE / "index.html").is_file(), "run `make test-browser`, which builds the site"
    with served(partial(Quiet, directory=SITE)) as address:
        yield address


@pytest.mark.parametrize("name", DRAWN)
def test_every_diagram_of_a_page_is_drawn_by_the_sites_own_script(site: str, name: str) -> None:
    expected = sum(Path(block.page).stem == name for block in blocks("mermaid"))
    seen = opened(
        f"{site}/{name}.html",
        ["await", f"div.mermaid >> nth={expected - 1}"],
        ["count", "div.mermaid"],
        ["count", "pre.mermaid"],
    )
    assert seen.found == [expected, 0]


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_first_page_fits_the_screen(site: str, viewport: dict[str, int]) -> None:
    seen = opened(f"{site}/index.html", ["text", "h1"], ["width"], viewport=viewport)
    heading, width = seen.found
    assert heading.startswith("replan")
    assert width <= viewport["width"]


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("served", [True, False], ids=["served", "folder"])
def test_the_search_finds_a_page(site: str, served: bool, viewport: dict[str, int]) -> None:
    address = site if served else f"file://{SITE}"
    seen = opened(
        f"{address}/index.html",
        ["click", "label.md-header__button[for=__search]" if viewport == PHONE else BOX],
        ["await", ".md-search-result__meta:has-text('Type to start searching')"],
        ["type", "leader blacklist"],
        ["await", "a.md-search-result__link >> nth=0"],
        ["texts", "a.md-search-result__link h1"],
        viewport=viewport,
    )
    assert seen.found[0]
