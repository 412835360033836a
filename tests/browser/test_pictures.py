"""docs/pictures/*.png: pages as a browser shows them, and beside each the text that it shows.

`REPLAN_REWRITE=1 pytest -m browser tests/browser/test_pictures.py` makes them again where that text has changed; a
picture itself differs from one release of a browser to the next, and is not compared.
"""

import os
import shutil
from pathlib import Path

import pytest
from tests.browser.tools import opened, written
from tests.commandline import checked
from tests.docs.pages import DOCS, TOP, check_page

pytestmark = pytest.mark.browser
DEMO = TOP / "examples" / "demo"
WIDE = {"width": 1100, "height": 600}
PAGES = {
    "plan-page": ("plan", "--simulated", "cluster.json", "--format", "html"),
    "rehearsal-page": (
        *("rehearse", "plan.json", "--simulated", "cluster.json", "--format", "html"),
        *("--fault", "kill 5 at 3s for 20s"),
    ),
}


@pytest.mark.parametrize("name", PAGES)
def test_the_picture_of_a_page_shows_what_the_page_says(name: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(DEMO, tmp_path / "demo"))
    plan = ("plan", "--simulated", "cluster.json", "-o", "plan.json")
    checked(*plan, folder=folder, wanted=2)
    done = checked(*PAGES[name], folder=folder, wanted=2 if name == "plan-page" else 0)
    steps = [["text", "body"]]
    if "REPLAN_REWRITE" in os.environ:
        steps.append(["shot", str(DOCS / "pictures" / f"{name}.png")])
    seen = opened(written(folder, done.stdout), *steps, viewport=WIDE)
    lines = (line.rstrip() for line in seen.found[0].splitlines())
    check_page(f"pictures/{name}.txt", "".join(f"{line}\n" for line in lines if line))
    assert (DOCS / "pictures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
