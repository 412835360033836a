"""The picture of a fleet's drift over hours, days and weeks."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from replan.fleet.api import DRAWN, ClusterFacts, FleetFacts, JudgedCluster, render_page

BEGIN = datetime(2026, 11, 3, 5, tzinfo=UTC)


def page(hours: int) -> str:
    """A page whose trend has a point each hour, the highest in the middle."""
    trend = tuple(
        {
            "at": (BEGIN + timedelta(hours=at)).isoformat(),
            "drifted": 900 if at == hours // 2 else at % 7,
            "clusters": 3,
        }
        for at in range(hours)
    )
    facts = ClusterFacts("eu", JudgedCluster(BEGIN.isoformat(), 9, 2))
    return render_page(FleetFacts((facts,), (), (), (), trend))


@pytest.mark.parametrize(
    ("hours", "labels"),
    [
        (8, ["Nov 03 06:00", "Nov 03 08:00", "Nov 03 10:00", "Nov 03 12:00"]),
        (24 * 5, ["Nov 04", "Nov 05", "Nov 06", "Nov 07", "Nov 08"]),
        (24 * 28, ["Nov 10", "Nov 17", "Nov 24", "Dec 01"]),
        (24 * 365, ["2027 Feb 02", "2027 May 04", "2027 Aug 03", "2027 Nov 02"]),
    ],
    ids=["hours", "days", "weeks", "a year"],
)
def test_the_picture_has_round_moments_and_keeps_the_highest(hours: int, labels: list[str]) -> None:
    text = page(hours)
    assert re.findall(r'class="time[^>]*>([^<]*)<', text) == labels
    assert "Differences over time, 900 at most" in text
    (line,) = re.findall(r'class="line" points="([^"]*)"', text)
    assert len(line.split()) <= 2 * (DRAWN + 1)


def test_one_comparison_makes_no_picture() -> None:
    assert "One comparison so far" in page(1)
    assert "<svg" not in page(1)
