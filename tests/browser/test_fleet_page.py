"""The page of a fleet in a real browser: filtered by text and class, and drilled into by cluster."""

import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.browser.tools import DESKTOP, PHONE, opened, written
from tests.commandline import environment

from replan.fleet.api import ClusterFacts, FleetFacts, JudgedCluster, render_page

pytestmark = pytest.mark.browser
DEMO = Path(__file__).parents[2] / "examples" / "demo_fleet.py"
ROWS = "#drift tbody tr"
JUDGED = JudgedCluster("2026-11-21T09:00:00Z", 9, 2)


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
        ["text", "#drift-count"],
        ["count", "#clusters tbody tr"],
        ["fill", "#text", "payments"],
        ["texts", f"{ROWS} td:nth-child(2)"],
        ["click", "#reset"],
        ["click", "button[data-cluster='eu-12']"],
        ["texts", f"{ROWS} td:first-child"],
        ["click", "button[data-cluster='eu-12']"],
        ["text", "#drift-count"],
        ["count", ".area"],
        ["text", "ul"],
        ["texts", "#resolved td:nth-child(2)"],
        ["count", "#acknowledged tbody tr"],
        ["click", "button[data-cluster='eu-12']"],
        ["text", "#resolved-count"],
        ["boxes", ".plot"],
        ["width"],
        viewport=viewport,
    )
    everything, clusters, items, drilled, again, pictures, failed, *past, plots, width = seen.found
    assert [plot["x"] + plot["width"] <= viewport["width"] for plot in plots] == [True]
    assert past == [["billing-0", "billing-1"], 1, "0 of 2"]
    assert (everything, again, clusters, pictures) == ("61 of 61", "61 of 61", 20, 1)
    assert items
    assert all(item.startswith("payments") for item in items)
    assert drilled == ["eu-12"] * 3
    assert "us-07, diff" in failed
    assert "us-19, collect" in failed
    assert width <= viewport["width"]


LISTS = {
    "declared": [1, 2, 3],
    "observed": [1, 2, 4],
    "detail": None,
    "rule": "lists-differ",
    "copy_bytes": 0,
}


def row(item: str, *, flapping: bool, **more: object) -> dict[str, object]:
    same = {
        "cluster": "eu",
        "item": item,
        "class": "operator",
        "kind": "replicas",
        "owner": "sales",
    }
    times = {"since": "2026-11-21T03:00:00Z", "spells": 4 if flapping else 1, "flapping": flapping}
    return {**same, **times, **more}


def test_what_flaps_is_marked_and_who_put_it_right_is_named(tmp_path: Path) -> None:
    gone = {"resolved_at": "2026-11-21T09:00:00Z"}
    facts = FleetFacts(
        (ClusterFacts("eu", replace(JUDGED, flapping=2)),),
        tuple(row(f"orders-{n}", flapping=not n, **LISTS) for n in (0, 1)),
        (
            row("clicks-0", flapping=True, resolved_by=None, **gone),
            row("clicks-1", flapping=False, resolved_by="<i>a-1</i>", **gone),
        ),
        (),
        (),
    )
    page = written(tmp_path, render_page(facts))
    seen = opened(
        page,
        ["text", f"{ROWS}:first-child .tag"],
        ["texts", "#resolved td:nth-child(7)"],
        ["click", "#flapping"],
        ["texts", f"{ROWS} td:nth-child(2)"],
        ["texts", "#resolved td:nth-child(2)"],
        ["click", "#reset"],
        ["fill", "#text", "a-1"],
        ["texts", "#resolved td:nth-child(2)"],
        ["visible", "#accepted"],
    )
    assert seen.found == [
        "flapping",
        ["not by replan", "<i>a-1</i>"],
        ["orders-0"],
        ["clicks-0"],
        ["clicks-1"],
        False,
    ]


def test_of_a_hundred_clusters_the_first_are_shown_and_the_rest_at_a_click(tmp_path: Path) -> None:
    facts = FleetFacts(
        tuple(ClusterFacts(f"c{n}", JUDGED) for n in range(100)),
        tuple(row(f"orders-{n}", flapping=False, **LISTS) for n in range(600)),
        *((), (), ()),
    )
    page = written(tmp_path, render_page(facts))
    clusters, body = "#clusters tbody tr:not([hidden])", ["boxes", "body"]
    seen = opened(
        page,
        *(body, ["count", clusters], ["count", ROWS], ["texts", ".rest"]),
        *(["click", ".rest >> nth=0"], ["count", clusters]),
        *(["click", ".rest >> nth=0"], ["count", ROWS], ["texts", ".rest"], body),
        *(
            ["fill", "#text", "orders-599"],
            ["texts", f"{ROWS} td:nth-child(2)"],
            ["count", ".rest"],
        ),
        viewport=PHONE,
    )
    (before,), *shown, (after,), filtered, left = seen.found
    assert shown == [25, 25, ["and 75 more", "and 575 more"], 100, 525, ["and 75 more"]]
    assert (filtered, left) == (["orders-599"], 0)
    assert before["height"] < 8_000 < after["height"]


def test_of_a_leader_that_differs_it_is_said_who_leads(tmp_path: Path) -> None:
    same = {"declared": [2, 1, 3], "observed": [2, 1, 3], "rule": "leadership-moved"}
    lists = {**LISTS, **same}
    drift = (
        row("orders-0", flapping=False, **{**lists, "kind": "leader", "leader": 1}),
        row("orders-1", flapping=False, **{**lists, "leader": 2}),
    )
    facts = FleetFacts((ClusterFacts("eu", JUDGED),), drift, (), (), ())
    page = written(tmp_path, render_page(facts))
    seen = opened(page, ["texts", f"{ROWS} td:nth-child(6)"])
    assert seen.found == [["[2,1,3], led by 1", "[2,1,3]"]]
