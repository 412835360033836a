"""The page of a fleet in a real browser: filtered by text and class, and drilled into by cluster."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.browser.tools import DESKTOP, PHONE, opened
from tests.commandline import environment

pytestmark = pytest.mark.browser
DEMO = Path(__file__).parents[2] / "examples" / "demo_fleet.py"
ROWS = "#drift tbody tr"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the demo."""
    folder = tmp_path_factory.mktemp("fleet")
    demo = [sys.executable, str(DEMO), str(folder)]
    run = subprocess.run(demo, env=environment(), capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return folder / "report" / "index.html"


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_drift_is_filtered_and_a_cluster_is_drilled_into(
    page: Path, viewport: dict[str, int]
) -> None:
    seen = opened(
        page,
        ["text", "#count"],
        ["count", "#clusters tbody tr"],
        ["fill", "#text", "payments"],
        ["texts", f"{ROWS} td:nth-child(2)"],
        ["click", "#reset"],
        ["click", "button[data-cluster='eu-12']"],
        ["texts", f"{ROWS} td:first-child"],
        ["click", "button[data-cluster='eu-12']"],
        ["text", "#count"],
        ["count", "#trend circle"],
        ["text", "#failed"],
        ["width"],
        viewport=viewport,
    )
    everything, clusters, items, drilled, again, moments, failed, width = seen.found
    assert (everything, again, clusters, moments) == ("63 of 63", "63 of 63", 20, 2)
    assert items
    assert all(item.startswith("payments") for item in items)
    assert drilled == ["eu-12"] * 3
    assert "us-07, diff" in failed
    assert "us-19, collect" in failed
    assert width <= viewport["width"]
