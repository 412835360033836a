"""A browser and node, as `make test-browser` installs them; without one a test fails and says so."""

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
INSTALL = "run `make test-browser`, which installs it"
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
NARROW = {"width": 400, "height": 800}


def node(script: str, *arguments: str, text: str | None = None) -> str:
    """What a script of this folder prints."""
    assert (FOLDER / "node_modules").is_dir(), f"the node packages are missing: {INSTALL}"
    done = subprocess.run(
        ["node", str(FOLDER / script), *arguments],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def chromium() -> str:
    """The path of the browser."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium")
    assert found is not None, f"chromium is missing: {INSTALL}"
    return found


def written(folder: Path, text: str) -> Path:
    """A file with the page, to open."""
    path = folder / "page.html"
    path.write_text(text, encoding="utf-8")
    return path


@dataclass(frozen=True)
class Opened:
    """What was found on a page."""

    found: list[Any]
    console: list[str]
    requests: list[str]


def opened(
    page: Path | str,
    *steps: Sequence[str],
    viewport: dict[str, int] = DESKTOP,
    scheme: str = "light",
) -> Opened:
    """Open a page and do these steps; its script must not complain and nothing may be loaded from elsewhere.

    A file loads nothing at all; a page at an address loads what is at the same host, and is served by a test.
    """
    actions = {"viewport": viewport, "colorScheme": scheme, "steps": steps}
    address = page if isinstance(page, str) else f"file://{page}"
    said = json.loads(node("page.mjs", address, chromium(), json.dumps(actions)))
    result = Opened(**said)
    assert result.console == []
    own = f"{address.rpartition('/')[0]}/" if isinstance(page, str) else address
    assert [found for found in result.requests if not found.startswith(own)] == []
    return result
