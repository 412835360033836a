"""The section `reconcile` of a placement file."""

from fractions import Fraction
from pathlib import Path

import pytest

from replan.model.api import DeviationKind, HoldLimits, Placement, Reconcile, Window, Windows
from replan.placement_file.api import check_zone, load_placement, parse_days
from replan.reporting.api import (
    compare_placements,
    render_placement_difference,
)

POLICY = """version: 1
reconcile:
  putRight: {brokerDown: 30m, placementChanged: 0s, changedElsewhere: never, logDirFull: {above: 90%, for: 1d}}
  windows:
    open: [{days: mon-fri, from: "22:00", to: "05:00", zone: Europe/Berlin}]
    except: [brokerDown]
  hold: {brokersDown: 3}
"""


def placement(tmp_path: Path, text: str, name: str = "placement.yaml") -> Placement:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return load_placement([path])


def test_a_policy_arrives_whole(tmp_path: Path) -> None:
    assert placement(tmp_path, POLICY).reconcile == Reconcile(
        {
            DeviationKind.BROKER_DOWN: 1800,
            DeviationKind.LOG_DIR_FULL: 86400,
            DeviationKind.PLACEMENT_CHANGED: 0,
        },
        Fraction(9, 10),
        Windows(
            (Window((0, 1, 2, 3, 4), 22 * 60, 5 * 60, "Europe/Berlin"),),
            frozenset({DeviationKind.BROKER_DOWN}),
        ),
        HoldLimits(brokers_down=3),
    )


def test_without_the_section_nothing_is_put_right(tmp_path: Path) -> None:
    assert placement(tmp_path, "version: 1\n").reconcile == Reconcile()


def test_another_policy_is_no_other_placement(tmp_path: Path) -> None:
    before = placement(tmp_path, "version: 1\n")
    assert placement(tmp_path, POLICY, "with.yaml").digest == before.digest


def test_diff_says_what_changes_of_a_policy(tmp_path: Path) -> None:
    before, after = placement(tmp_path, "version: 1\n"), placement(tmp_path, POLICY, "with.yaml")
    text = render_placement_difference(compare_placements(before, after))
    assert "reconcile.putRight.brokerDown: none -> 1800s" in text
    assert "reconcile.windows.open: none -> mon,tue,wed,thu,fri 22:00-05:00 Europe/Berlin" in text
    assert "reconcile.windows.except: none -> brokerDown" in text
    assert "reconcile.hold.brokersDown: none -> 3" in text


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("mon", (0,)),
        ("sat,sun", (5, 6)),
        ("fri-mon", (0, 4, 5, 6)),
        ("mon - wed, sun", (0, 1, 2, 6)),
    ],
)
def test_days_are_listed_or_a_range_that_may_go_over_the_week(
    text: str, days: tuple[int, ...]
) -> None:
    assert parse_days(text) == days


@pytest.mark.parametrize("text", ["", "mo", "mon-", "mon,,tue"])
def test_what_is_no_day_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no day; write"):
        parse_days(text)


@pytest.mark.parametrize("text", ["Europe/Berlyn", "../etc", "/etc/passwd", ""])
def test_what_is_no_zone_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no time zone"):
        check_zone(text)
