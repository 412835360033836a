"""The report of a fleet, and its exit code."""

from pathlib import Path

import pyarrow as pa
import pytest

from replan.errors import BadFile
from replan.fleet.report import render_fleet_drift
from replan.fleet.result import FleetDrift, in_order, publish
from replan.fleet.tables import CLUSTERS, DRIFT, ERRORS

AT = "2026-11-21T03:00:00Z"


def drifted(
    partition: int, kind: str, declared: list[int], observed: list[int], leader: int
) -> dict[str, object]:
    return {
        "cluster_id": "one",
        "cluster_name": "payments-eu",
        "topic": "orders",
        "partition": partition,
        "kind": kind,
        "declared": declared,
        "observed": observed,
        "leader": leader,
        "observed_at": AT,
    }


def cluster(name: str, partitions: int, drifted: int, converging: int) -> dict[str, object]:
    return {
        "cluster_id": f"id-{name}",
        "cluster_name": name,
        "observed_at": AT,
        "partitions": partitions,
        "drifted": drifted,
        "converging": converging,
    }


def fleet(
    rows: list[dict[str, object]],
    clusters: list[dict[str, object]],
    errors: list[dict[str, object]],
    undeclared: tuple[str, ...] = (),
    older: int = 0,
) -> FleetDrift:
    return in_order(
        pa.Table.from_pylist(rows, schema=DRIFT),
        pa.Table.from_pylist(clusters, schema=CLUSTERS),
        pa.Table.from_pylist(errors, schema=ERRORS),
        undeclared,
        older,
    )


EVERYTHING = fleet(
    [
        drifted(10, "partitions", [], [1, 2], 1),
        drifted(1, "order", [1, 2], [2, 1], 2),
        drifted(0, "missing", [1, 2], [], -1),
    ],
    [cluster("payments-us", 12345, 0, 2), cluster("payments-eu", 30, 3, 0)],
    [
        {
            "cluster": "x",
            "file": "p/x.yaml",
            "message": "p/x.yaml:1:1: first\np/x.yaml:2:1: second",
        },
        {"cluster": "b", "file": "p/b.yaml", "message": "no readable snapshot of cluster gone"},
    ],
    ("lab",),
    1,
)


def test_everything_there_is_to_say() -> None:
    assert render_fleet_drift(EVERYTHING) == (
        """CLUSTER      PARTITIONS  DRIFTED  ON THE WAY  AS OF
payments-eu          30        3           0  2026-11-21T03:00:00Z
payments-us      12,345        0           2  2026-11-21T03:00:00Z

CLUSTER      PARTITION  CLASS       DECLARED  IS     LEADER
payments-eu  orders-0   missing     [1,2]     -           -
payments-eu  orders-1   order       [1,2]     [2,1]       2
payments-eu  orders-10  partitions  -         [1,2]       1

Not compared:
  b: p/b.yaml: no readable snapshot of cluster gone
  x: p/x.yaml:1:1: first (and 1 line more)

Without a placement: lab.
1 older snapshot not looked at.
Drift: 3 partitions in 2 clusters; 2 errors.
"""
    )


def test_a_fleet_without_drift_is_one_table_and_one_line() -> None:
    assert render_fleet_drift(fleet([], [cluster("eu", 3, 0, 0)], [])) == (
        """CLUSTER  PARTITIONS  DRIFTED  ON THE WAY  AS OF
eu                3        0           0  2026-11-21T03:00:00Z

No drift in 1 cluster.
"""
    )


def test_beyond_the_cap_the_rest_is_counted_and_all_of_it_is_there_when_asked() -> None:
    many = fleet([drifted(n, "order", [1, 2], [2, 1], 2) for n in range(1051)], [], [])
    lines = render_fleet_drift(many).splitlines()
    assert len(lines) == 1 + 50 + 1 + 2
    assert lines[51] == "and 1,001 more; --output writes them all"
    assert len(render_fleet_drift(many, everything=True).splitlines()) == 1 + 1051 + 2


def test_errors_have_the_same_cap() -> None:
    many = fleet([], [], [{"cluster": f"c{n}", "file": "f", "message": "m"} for n in range(60)])
    lines = render_fleet_drift(many).splitlines()
    assert lines[51:] == [
        "  and 10 more; --output writes them all",
        "",
        "No drift in 0 clusters; 60 errors.",
    ]


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (fleet([], [], []), 0),
        (fleet([drifted(0, "order", [1, 2], [2, 1], 2)], [], []), 2),
        (fleet([], [], [{"cluster": "b", "file": "f", "message": "m"}]), 1),
        (EVERYTHING, 1),
    ],
    ids=["nothing", "drift", "an error", "drift and errors"],
)
def test_the_exit_code_says_whether_the_answer_is_whole_and_then_whether_there_is_drift(
    found: FleetDrift, code: int
) -> None:
    assert found.exit_code == code


def test_a_folder_of_something_else_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "drift.parquet").touch()
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(BadFile) as refused:
        publish(EVERYTHING, tmp_path)
    assert str(refused.value) == (
        f"{tmp_path}: something else is there already; remove it or choose another name"
    )
