"""The page of drift in a real browser: filtered by class, topic and broker, at the width of a desk and of a phone."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.browser.tools import DESKTOP, PHONE, opened, written
from tests.unit.reporting.rendered import drift_page
from tests.unit.reporting.test_drift_reports import found, large

pytestmark = pytest.mark.browser
ROWS = "#differences tbody tr"


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_filters_show_and_count_what_they_choose(tmp_path: Path, viewport: dict[str, int]) -> None:
    seen = opened(
        written(tmp_path, drift_page(found(), unmanaged=True)),
        ["text", "#shown"],
        ["click", ".pick[data-kind='failure']"],
        ["texts", f"{ROWS} td:first-child"],
        ["click", ".pick[data-kind='failure']"],
        ["fill", "#topic", "gone"],
        ["texts", f"{ROWS} td"],
        ["press", "Escape"],
        ["fill", "#broker", "6"],
        ["texts", f"{ROWS} td:first-child"],
        ["fill", "#broker", "5"],
        ["texts", f"{ROWS} td:first-child"],
        ["width"],
        viewport=viewport,
    )
    shown, failed, gone, six, five, width = seen.found
    assert shown == "13 of 13 listed: 12 differences, 1 on the way"
    assert failed == ["orders-2", "orders-12", "orders-14"]
    title = "Changed in the cluster or in the placement, and not in both"
    assert gone == ["gone-0", "[5]", "–", "declared, but not in the cluster", title]
    assert six == ["orders-14"]
    assert sorted(five) == ["broker 5", "gone-0", "orders-15"]
    assert width <= viewport["width"]


def test_ten_thousand_differences_are_listed_some_hundred_at_a_time(tmp_path: Path) -> None:
    hostile = "</script><img src=x onerror=alert(1)>"
    report = replace(large(10_000), cluster_name=hostile)
    seen = opened(
        written(tmp_path, drift_page(report)),
        ["text", "h1"],
        ["count", ROWS],
        ["click", "#more"],
        ["count", ROWS],
        ["count", "img"],
    )
    assert seen.found == [hostile, 200, 400, 0]
